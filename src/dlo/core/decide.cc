#include "dlo/core/decide.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "dlo/core/endings.h"
#include "dlo/core/given_up.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

void raise(std::uint32_t& counter, std::uint32_t by = 1) noexcept {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  counter = by > most - counter ? most : counter + by;
}

struct Blanks {
  std::uint64_t count = 0;
  std::uint64_t limit = 0;
  std::string_view error;
  std::string_view type;
};

/// Puts values into a description. Values are not looked into: an error text that says {limit}
/// stays as it is. A sentence that is to end in the error says so if there is none.
std::string fill_in(std::string_view text, Blanks blanks) {
  if (blanks.error.empty() && text != "{error}") blanks.error = "no error was reported";
  std::string out;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    out += text.substr(0, open);
    text.remove_prefix(open);
    const auto take = [&](std::string_view name, std::string_view value) {
      if (!text.starts_with(name)) return false;
      out += value;
      text.remove_prefix(name.size());
      return true;
    };
    if (text.empty() || take("{count}", std::to_string(blanks.count)) ||
        take("{limit}", std::to_string(blanks.limit)) || take("{error}", blanks.error) ||
        take("{type}", blanks.type)) {
      continue;
    }
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

std::string reason_by_type(const Profile& profile, const Failure& failure,
                           const std::string& otherwise) {
  if (!profile.reasons.use_error_type) return otherwise;
  const std::string_view type = unqualified(failure.type);
  return type.empty() ? otherwise : std::string(type);
}

Failure crash_failure(std::string_view last_error) {
  Failure failure;
  failure.text = "the attempt never reported its end: its process died or its lease ran out";
  if (!last_error.empty()) failure.text += "; before that: " + std::string(last_error);
  return failure;
}

Error unknown_schedule(const std::string& name, const CustomBackoffs& custom) {
  std::vector<std::string_view> names;
  for (const auto& [known, schedule] : custom) names.push_back(known);
  return {Code::invalid_argument, "core.rules",
          names.empty() ? "custom policy " + in_quotes(name) +
                              " is not registered, and this program registers none."
                        : unknown_name("custom policy", name, names)};
}

Result<void> check_custom(const Profile& profile, const CustomBackoffs& custom) {
  std::vector<const RetryPolicy*> policies = {&profile.retry, &profile.inner.policy};
  if (profile.unregistered) policies.push_back(&*profile.unregistered);
  for (const auto& [name, category] : profile.categories) {
    if (category.policy) policies.push_back(&*category.policy);
  }
  for (const RetryPolicy* policy : policies) {
    if (policy->kind == PolicyKind::custom && custom.find(policy->custom) == custom.end()) {
      return unknown_schedule(policy->custom, custom);
    }
  }
  return {};
}

Millis patience(const RetryPolicy& policy, const std::optional<Millis>& asked, Millis delay,
                std::uint64_t random) {
  if (!asked || *asked <= delay) return delay;
  const Millis longest = std::max(longest_retry_after, policy.cap.value_or(Millis{0}));
  const Millis honoured = std::min(*asked, longest);
  if (policy.jitter == Jitter::none) return std::max(delay, honoured);
  const RetryPolicy extra{.kind = PolicyKind::fixed, .base = honoured / 10, .jitter = Jitter::full};
  return std::max(delay, honoured + *delay_before(extra, 1, Millis{0}, std::rotl(random, 32)));
}

}  // namespace

struct RuleBook::Case {
  const Failure& failure;
  Counters counters;  // this failure included
  std::string_view category{};
  std::string_view rule{};
  const RetryPolicy* policy = nullptr;  // instead of the category's
  TimePoint now{};
  std::uint64_t random = 0;
  Millis previous{0};
  std::uint32_t limit_of_call = 0;  // instead of a lower one
};

Result<RuleBook> RuleBook::build(Profile profile, const RegexCompiler& regex,
                                 CustomBackoffs custom) {
  if (auto checked = check(profile); !checked) return checked.error();
  if (auto known = check_custom(profile, custom); !known) return known.error();
  auto classifier = Classifier::build(profile.rules, profile.default_category,
                                      profile.empty_error_category, regex);
  if (!classifier) return classifier.error();
  return RuleBook(std::move(profile), std::move(*classifier), std::move(custom));
}

const CategoryRule* RuleBook::rule_for(std::string_view category) const {
  const auto found = profile_.categories.find(category);
  return found == profile_.categories.end() ? nullptr : &found->second;
}

const RetryPolicy& RuleBook::policy_for(std::string_view category) const {
  static const RetryPolicy never{.kind = PolicyKind::never};
  const CategoryRule* rule = rule_for(category);
  if (rule != nullptr && rule->action == Action::never) return never;
  return rule != nullptr && rule->policy ? *rule->policy : profile_.retry;
}

std::uint32_t RuleBook::limit_for(std::string_view category) const {
  const CategoryRule* rule = rule_for(category);
  return rule != nullptr && rule->limit ? *rule->limit : profile_.limit;
}

bool RuleBook::trips(const Check& check, const Counters& counters,
                     std::uint32_t limit) const noexcept {
  const std::uint64_t count = count_for(profile_, check.counter, counters);
  return check.comparison == Comparison::greater ? count > limit : count >= limit;
}

std::string RuleBook::reason_for(const Failure& failure, const std::string& otherwise) const {
  return reason_by_type(profile_, failure, otherwise);
}

DeadLetterAs RuleBook::death_by(const Check& check, const Counters& counters, std::uint32_t limit,
                                const Failure& failure) const {
  return {reason_for(failure, check.reason),
          fill_in(check.description, {count_for(profile_, check.counter, counters), limit,
                                      failure.text, failure.type}),
          true};
}

Decision RuleBook::before_run(const Counters& counters, std::string_view last_error,
                              std::optional<std::uint32_t> limit_of_call) const {
  const auto& check = profile_.pre_check;
  const std::uint32_t limit = check ? std::max(check->limit, limit_of_call.value_or(0)) : 0;
  if (check && trips(*check, counters, limit)) {
    Failure known;
    known.text = last_error;
    return {death_by(*check, counters, limit, known),
            after_crash(counters),
            {},
            {},
            "pre-check: the limit was reached before this run",
            limit};
  }
  return {Run{}, counters, {}, {}, "pre-check passed"};
}

std::uint32_t RuleBook::crashes(const Counters& counters) const noexcept {
  const std::uint64_t told = reported_ends(profile_, counters);
  return static_cast<std::uint32_t>(counters.attempt -
                                    std::min<std::uint64_t>(counters.attempt, told));
}

Decision RuleBook::resume(const Counters& counters, std::string_view last_error,
                          std::optional<std::uint32_t> limit_of_call) const {
  Decision first = before_run(counters, last_error, limit_of_call);
  if (!std::holds_alternative<Run>(first.verdict)) return first;
  // The crash belongs to the claim before this one.
  Counters then = counters;
  if (then.fetch > 0) --then.fetch;
  const Failure crash = crash_failure(last_error);
  Decision decision = after_cut_off({.failure = crash,
                                     .counters = after_crash(then),
                                     .category = crash_category,
                                     .limit_of_call = limit_of_call.value_or(0)});
  decision.counters.fetch = counters.fetch;
  if (!std::holds_alternative<RetryAt>(decision.verdict)) return decision;
  // The crash may have been one too many.
  return before_run(decision.counters, crash.text, limit_of_call);
}

Decision RuleBook::crashed_alone(const Counters& counters) const {
  return {DeadLetterAs{profile_.reasons.crash,
                       "The process died while running this message alone, after it had died "
                       "running it among others. It is kept away from workers until somebody "
                       "replays it on purpose.",
                       false},
          after_crash(counters),
          crash_category,
          {},
          "crashed again while it ran alone"};
}

Counters RuleBook::started(Counters counters) noexcept {
  return with_start(counters);
}

/// With `crash_counts` every start that did not end well has failed, so the number of failures can
/// be read off the durable start marks even if a crash lost the count itself.
Counters RuleBook::after_crash(Counters counters) const noexcept {
  if (!profile_.crash_counts) return counters;
  const std::uint32_t unreported = crashes(counters);
  raise(counters.failure, unreported);
  if (profile_.failure_abandons) raise(counters.abandon, unreported);
  return counters;
}

Counters RuleBook::after_failure(Counters counters) const noexcept {
  const Counters caught_up = after_crash(counters);
  if (caught_up.failure != counters.failure) return caught_up;
  raise(counters.failure);
  if (profile_.failure_abandons) raise(counters.abandon);
  return counters;
}

Decision RuleBook::after_run(const Outcome& outcome, const Counters& counters, TimePoint now,
                             std::uint64_t random, Millis previous) const {
  switch (outcome.kind) {
    case OutcomeKind::ok:
      return {Complete{}, counters, {}, {}, "the handler succeeded"};
    case OutcomeKind::never_started: {
      Counters given_back = counters;
      if (!profile_.claims_count && given_back.fetch > 0) --given_back.fetch;
      return {GiveBack{}, given_back, {}, {}, "never started: the claim is given back"};
    }
    case OutcomeKind::failed: {
      const Classification found = classifier_.classify(outcome.failure);
      return decide({outcome.failure, after_failure(counters), found.category, found.rule, nullptr,
                     now, random, previous});
    }
    case OutcomeKind::crashed:
      break;
  }
  return after_cut_off({.failure = outcome.failure,
                        .counters = after_crash(counters),
                        .category = crash_category,
                        .now = now,
                        .random = random,
                        .previous = previous});
}

Decision RuleBook::after_cut_off(const Case& given) const {
  if (profile_.crash_counts) return decide(given);
  const std::uint32_t seen = crashes(given.counters);
  const std::uint32_t most = std::max<std::uint32_t>(profile_.limit, 1);
  if (seen < most) return retry(given);
  const Blanks blanks{seen, most, given.failure.text, given.failure.type};
  return {DeadLetterAs{
              profile_.reasons.crash,
              fill_in("{count} attempts ended without a report (limit {limit}): {error}", blanks),
              true},
          given.counters,
          given.category,
          {},
          "crashes do not count here, but they are bounded",
          most};
}

Decision RuleBook::after_invalid(const Counters& counters, Stage stage, const Failure& failure,
                                 TimePoint now, std::uint64_t random, Millis previous) const {
  const std::string_view category = profile_.invalid_category;
  if (profile_.invalid == InvalidAction::count) {
    return decide(
        {failure, after_failure(started(counters)), category, {}, nullptr, now, random, previous});
  }
  const ReasonNames& names = profile_.reasons;
  std::string reason = stage == Stage::header   ? names.invalid_header
                       : stage == Stage::decode ? reason_for(failure, names.invalid_decode)
                                                : names.invalid_schema;
  if (profile_.invalid == InvalidAction::drop) {
    return {
        Drop{std::move(reason)}, counters, category, {}, "invalid, and the profile drops those"};
  }
  Counters kept = counters;
  if (!profile_.invalid_keeps_count) {
    kept.attempt = kept.failure = kept.abandon = kept.retry = 0;
  }
  return {DeadLetterAs{std::move(reason),
                       failure.text.empty()
                           ? "Message did not pass validation: " + std::string(name_of(stage))
                           : failure.text,
                       false},
          kept,
          category,
          {},
          "invalid: no attempt can change that"};
}

Decision RuleBook::unregistered(const Counters& counters, TimePoint now, std::uint64_t random,
                                Millis previous) const {
  Failure failure;
  failure.text = "no handler is registered for this message's type";
  const RetryPolicy* policy = profile_.unregistered ? &*profile_.unregistered : nullptr;
  return decide({failure,
                 after_failure(started(counters)),
                 "unregistered",
                 {},
                 policy,
                 now,
                 random,
                 previous});
}

Decision RuleBook::end_without_retry(const Case& given, const std::string& reason,
                                     std::string_view because) const {
  const Blanks blanks{given.counters.attempt, profile_.limit, given.failure.text,
                      given.failure.type};
  return {DeadLetterAs{reason, fill_in(profile_.reasons.non_retryable_description, blanks), false},
          given.counters, given.category, given.rule, because};
}

Decision RuleBook::decide(const Case& given) const {
  const CategoryRule* rule = rule_for(given.category);
  const Action action = rule == nullptr ? Action::retry : rule->action;
  const auto reason_or = [&](const std::string& otherwise) -> const std::string& {
    return rule != nullptr && !rule->reason.empty() ? rule->reason : otherwise;
  };
  switch (action) {
    case Action::terminal:
      return end_without_retry(given,
                               reason_for(given.failure, reason_or(profile_.reasons.non_retryable)),
                               "its category is terminal");
    case Action::never:  // by itself; people may, and that counts as well (R2-5)
      if (auto used_up = limit_reached(given)) return *std::move(used_up);
      return end_without_retry(given, reason_or(profile_.reasons.never),
                               "its category is never retried");
    case Action::reject_to_caller:
      return {RejectToCaller{reason_or(profile_.reasons.non_retryable)}, given.counters,
              given.category, given.rule, "its category is not stored: the caller is told"};
    case Action::retry:
      break;
  }
  if (auto used_up = limit_reached(given)) return *std::move(used_up);
  return retry(given);
}

std::optional<Decision> RuleBook::limit_reached(const Case& given) const {
  const std::uint32_t limit = std::max(limit_for(given.category), given.limit_of_call);
  if (!profile_.post_check || !trips(*profile_.post_check, given.counters, limit)) return {};
  return Decision{death_by(*profile_.post_check, given.counters, limit, given.failure),
                  given.counters,
                  given.category,
                  given.rule,
                  "post-check: the limit is reached",
                  limit};
}

Decision RuleBook::retry(const Case& given) const {
  const RetryPolicy& policy = given.policy != nullptr ? *given.policy : policy_for(given.category);
  const std::uint64_t number = std::max<std::uint64_t>(given.counters.attempt, 1);
  const auto planned = delay_before(policy, number, given.previous, given.random, custom_);
  if (!planned) {
    return end_without_retry(given, profile_.reasons.never, "its policy never retries");
  }
  const Millis delay = patience(policy, given.failure.retry_after, *planned, given.random);
  // A requeue cannot wait.
  const Placement placement = profile_.placement == Placement::requeue && delay > Millis{0}
                                  ? Placement::delayed
                                  : profile_.placement;
  return {RetryAt{given.now + delay, delay, placement}, given.counters, given.category, given.rule,
          "a retry is owed"};
}

Decision given_up(Decision decision, const Profile& profile, const Failure& failure) {
  if (!std::holds_alternative<RetryAt>(decision.verdict)) return decision;
  const auto& check = profile.post_check ? profile.post_check : profile.pre_check;
  const std::uint64_t count = check ? count_for(profile, check->counter, decision.counters) : 0;
  const Blanks blanks{count, count, failure.text, failure.type};
  const ReasonNames& names = profile.reasons;
  decision.verdict = DeadLetterAs{
      reason_by_type(profile, failure, check ? check->reason : names.non_retryable),
      fill_in(count > 0 ? check->description : names.non_retryable_description, blanks), true};
  decision.because = "it was given up: no further attempt is asked for";
  return decision;
}

}  // namespace dlo
