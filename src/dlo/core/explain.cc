#include "dlo/core/explain.h"

#include <algorithm>
#include <limits>

#include "dlo/core/duration.h"
#include "dlo/core/endings.h"
#include "dlo/core/redact.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::uint32_t furthest_simulated = 10'000;

Counters at_execution(const Profile& profile, std::uint32_t number) {
  Counters counters;
  counters.fetch = counters.attempt = counters.total = number;
  counters.failure = counters.retry = number - 1;
  if (profile.failure_abandons) counters.abandon = number - 1;
  return counters;
}

/// The claim before the start mark.
Counters before_start(Counters counters) {
  for (std::uint32_t* counter : {&counters.attempt, &counters.retry, &counters.total}) {
    if (*counter > 0) --*counter;
  }
  return counters;
}

/// `death` is what the check ended in, null if it let the message live. The reason is the verdict's
/// own: some profiles name the type of the error instead of the check's reason.
std::string sentence(const Profile& profile, const Check& check, const Counters& counters,
                     std::uint32_t limit, const DeadLetterAs* death) {
  return std::string(name_of(check.counter)) + " " +
         std::to_string(count_for(profile, check.counter, counters)) +
         (death != nullptr ? " is " : " is not ") + std::string(name_of(check.comparison)) + " " +
         std::to_string(limit) + (death != nullptr ? ": dead letter " + death->reason : "");
}

std::string trace_sentence(const RuleTrace& trace) {
  std::string text = "rule " + in_quotes(trace.rule) + " matched " + in_quotes(trace.value) + " (" +
                     std::string(name_of(trace.match)) + ")";
  if (trace.stopped_by.empty()) return text + " and fired";
  return text + " but not with " + in_quotes(trace.stopped_by) + " in the text";
}

class Explainer {
 public:
  /// Secrets are taken out before anything is decided, as in production: what is hidden matches no
  /// rule.
  Explainer(const RuleBook& book, const Question& question) : book_(book), question_(question) {
    redact(question_.outcome.failure);
  }

  Explanation answer(const Counters& at_run) {
    const Profile& profile = book_.profile();
    out_.profile = profile.name;
    out_.limit = profile.limit;
    out_.policy = print(profile.retry);
    out_.counters_at_run = at_run;
    say("profile", profile.name + ": " + profile.summary);
    for (const AppliedOverride& override : question_.overrides) {
      say("override",
          override.setting + " = " + override.value +
              (override.kept ? ", as when it was decided; now it would be " + override.from
                             : ", set by " + override.from + " instead of the profile"));
    }
    if (!question_.lived) note_an_earlier_death(at_run);
    if (survives_pre_check(at_run)) decide_after_run(at_run);
    say("verdict", verdict_sentence());
    return std::move(out_);
  }

 private:
  void say(std::string_view step, std::string text) {
    out_.steps.push_back({step, std::move(text)});
  }

  /// A wait that is drawn is given as its range: a single number would be a guess.
  [[nodiscard]] std::string verdict_sentence() const {
    const auto* retry = std::get_if<RetryAt>(&out_.verdict);
    if (retry == nullptr || out_.shortest_delay == out_.longest_delay)
      return describe(out_.verdict);
    return "retry after " + print_duration(out_.shortest_delay) + " to " +
           print_duration(out_.longest_delay) + ", placed " +
           std::string(name_of(retry->placement));
  }

  /// An Nth execution may be asked about that the profile would never grant.
  void note_an_earlier_death(const Counters& at_run) {
    if (at_run != at_execution(book_.profile(), question_.attempt)) return;
    const std::uint32_t last = std::min(question_.attempt, furthest_simulated);
    for (std::uint32_t n = 1; n < last; ++n) {
      const Counters then = at_execution(book_.profile(), n);
      const bool ran = std::holds_alternative<Run>(book_.before_run(before_start(then)).verdict);
      const bool died = !ran || std::holds_alternative<DeadLetterAs>(decide(then).verdict);
      if (!died) continue;
      say("history", "failing like this every time, it would already have died " +
                         std::string(ran ? "of execution " : "before execution ") +
                         std::to_string(n) + "; the rest shows the rules, not a real life");
      return;
    }
  }

  bool survives_pre_check(const Counters& at_run) {
    const auto& check = book_.profile().pre_check;
    const Counters claimed = question_.before_run ? at_run : before_start(at_run);
    const Decision decision = book_.before_run(claimed, question_.outcome.failure.text);
    out_.ran = std::holds_alternative<Run>(decision.verdict);
    const auto* death = std::get_if<DeadLetterAs>(&decision.verdict);
    if (check) say("pre_check", sentence(book_.profile(), *check, claimed, check->limit, death));
    if (!out_.ran) take(decision);
    return out_.ran;
  }

  [[nodiscard]] Decision decide(const Counters& at_run) const {
    return decide(at_run, question_.random, question_.previous);
  }
  [[nodiscard]] Decision decide(const Counters& at_run, std::uint64_t random,
                                Millis previous) const {
    return book_.after_run(question_.outcome, at_run, question_.now, random, previous);
  }
  [[nodiscard]] Millis delay_with(const Counters& at_run, std::uint64_t random,
                                  Millis previous) const {
    const Decision decision = decide(at_run, random, previous);
    const auto* retry = std::get_if<RetryAt>(&decision.verdict);
    return retry == nullptr ? Millis{0} : retry->delay;
  }

  /// Waits that grow from the one before may have grown at every retry up to `number`, unless the
  /// question names the one before.
  [[nodiscard]] Millis longest_delay(const Counters& at_run, std::uint32_t number) const {
    constexpr auto highest = std::numeric_limits<std::uint64_t>::max();
    Millis longest = delay_with(at_run, highest, question_.previous);
    if (question_.previous > Millis{0}) return longest;
    for (std::uint32_t retry = 1; retry < number; ++retry) {
      const Millis next = delay_with(at_run, highest, longest);
      if (next <= longest) break;  // at the cap, or of another kind
      longest = next;
    }
    return longest;
  }

  void take(const Decision& decision) {
    out_.verdict = decision.verdict;
    out_.counters_after = decision.counters;
    out_.category = decision.category;
    out_.rule = decision.rule;
    out_.because = decision.because;
  }

  void decide_after_run(const Counters& at_run) {
    const Decision decision = decide(at_run);
    take(decision);
    if (decision.category.empty()) {
      say("outcome", std::string(decision.because));
      return;
    }
    explain_category();
    explain_limit();
    if (std::holds_alternative<RetryAt>(decision.verdict)) explain_delay(at_run);
  }

  void explain_category() {
    const Profile& profile = book_.profile();
    if (question_.outcome.kind == OutcomeKind::crashed) {
      say("classify", std::string("the attempt never reported: category crash, which ") +
                          (profile.crash_counts ? "counts as a failure" : "does not count here"));
    } else if (!question_.found_now.empty()) {
      say("classify", "it was taken for " + out_.category + "; the rules as they are now find " +
                          question_.found_now);
    } else {
      for (const RuleTrace& trace : book_.classifier().trace(question_.outcome.failure)) {
        say("classify", trace_sentence(trace));
      }
      if (out_.rule.empty()) say("classify", "no rule fired: category " + out_.category);
    }
    const auto found = profile.categories.find(out_.category);
    const Action action = found == profile.categories.end() ? Action::retry : found->second.action;
    say("category", out_.category + " means " + std::string(name_of(action)) +
                        (found == profile.categories.end() ? ", as nothing else is said" : ""));
    out_.policy = print(book_.policy_for(out_.category));
  }

  [[nodiscard]] bool uncounted_crash() const {
    return question_.outcome.kind == OutcomeKind::crashed && !book_.profile().crash_counts;
  }

  void explain_limit() {
    const auto& check = book_.profile().post_check;
    out_.limit = book_.limit_for(out_.category);
    say("counters", "after this failure: " + print(out_.counters_after));
    const auto* dead = std::get_if<DeadLetterAs>(&out_.verdict);
    const bool asked =
        std::holds_alternative<RetryAt>(out_.verdict) || (dead != nullptr && dead->exhausted);
    if (!check || !asked || uncounted_crash()) return;
    say("post_check", sentence(book_.profile(), *check, out_.counters_after, out_.limit, dead));
  }

  void explain_delay(const Counters& at_run) {
    const std::uint32_t number = std::max<std::uint32_t>(out_.counters_after.attempt, 1);
    out_.delay = std::get<RetryAt>(out_.verdict).delay;
    out_.shortest_delay = delay_with(at_run, 0, question_.previous);
    out_.longest_delay = longest_delay(at_run, number);
    std::string text = out_.policy + ": retry " + std::to_string(number);
    if (out_.shortest_delay == out_.longest_delay) {
      text += " waits " + print_duration(*out_.delay);
    } else {
      text += " waits between " + print_duration(out_.shortest_delay) + " and " +
              print_duration(out_.longest_delay);
    }
    say("delay", std::move(text));
    if (const auto& asked = question_.outcome.failure.retry_after) {
      say("retry_after", "the other side asked for " + print_duration(*asked) +
                             "; at most 1h of that, or the policy's cap, is honoured");
    }
  }

  const RuleBook& book_;
  Question question_;
  Explanation out_;
};

}  // namespace

std::string describe(const Verdict& verdict) {
  if (const auto* dead = std::get_if<DeadLetterAs>(&verdict)) {
    return "dead letter " + dead->reason + ": " + dead->description;
  }
  if (const auto* retry = std::get_if<RetryAt>(&verdict)) {
    return "retry after " + print_duration(retry->delay) + ", placed " +
           std::string(name_of(retry->placement));
  }
  if (const auto* drop = std::get_if<Drop>(&verdict)) return "dropped: " + drop->reason;
  if (const auto* reject = std::get_if<RejectToCaller>(&verdict)) {
    return "refused to the caller: " + reject->reason;
  }
  return std::string(name_of(verdict));
}

Result<Explanation> explain(const RuleBook& book, const Question& question) {
  if (question.attempt == 0) {
    return Error{Code::invalid_argument, "core.explain",
                 "attempt 0 does not exist: the first execution is attempt 1."};
  }
  Counters at_run = question.lived.value_or(at_execution(book.profile(), question.attempt));
  for (const auto& [name, value] : question.counters) {
    if (auto set = set_counter(at_run, name, value); !set) return set.error();
  }
  return Explainer(book, question).answer(at_run);
}

}  // namespace dlo
