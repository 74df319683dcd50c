#include "dlo/core/inquiry.h"

#include <algorithm>
#include <array>

#include "dlo/core/abandon.h"
#include "dlo/core/caution.h"
#include "dlo/core/dependencies.h"
#include "dlo/core/encoding.h"
#include "dlo/core/given_up.h"
#include "dlo/core/redact.h"
#include "dlo/core/retry_request.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

/// The rules for one message, and what in them is not the profile's own.
struct Ruled {
  Profile profile;
  std::vector<AppliedOverride> overrides;

  [[nodiscard]] const CategoryRule* rule_for(const std::string& category) const {
    const auto found = profile.categories.find(category);
    return found == profile.categories.end() ? nullptr : &found->second;
  }
  void note(AppliedOverride wanted) {
    std::erase_if(overrides, [&](const auto& each) { return each.setting == wanted.setting; });
    overrides.push_back(std::move(wanted));
  }
};

/// What overrides look at, without the payload.
Message message_of(const Inquiry& inquiry, const DeadLetter* record) {
  Message message;
  if (record != nullptr) {
    message.id = record->message->id;
    message.source = record->message->source;
    message.event_type = record->message->event_type;
    message.headers = record->message->headers;
    message.owner = record->message->owner;
  }
  if (!inquiry.source.empty()) message.source = inquiry.source;
  if (!inquiry.event_type.empty()) message.event_type = inquiry.event_type;
  return message;
}

Result<Ruled> rules_for(const ProfileBook& rules, const std::string& name, const Message& message) {
  auto effective = rules.effective(name, message);
  if (!effective) return effective.error();
  Ruled ruled{std::move(effective->profile), {}};
  const auto note = [&](const char* setting, const OverrideOrigin& origin, std::string value) {
    if (origin.scope == OverrideScope::profile) return;
    ruled.note({setting, std::move(value), describe(origin)});
  };
  note("limit", effective->limit, std::to_string(ruled.profile.limit));
  note("retry", effective->policy, print(ruled.profile.retry));
  note("classifier", effective->classifier, std::to_string(ruled.profile.rules.size()) + " rules");
  const RetryRequest asked = request_of(message.headers);
  ruled.profile = with_request(std::move(ruled.profile), asked);
  if (asked.max_retries) ruled.note({"limit", std::to_string(*asked.max_retries), "the task"});
  if (asked.policy) ruled.note({"retry", print(ruled.profile.retry), "the task"});
  return ruled;
}

/// Limit and policy as the record has them: it was decided by these, whatever holds now.
void keep_to(const DeadLetter& record, Ruled& ruled) {
  const CategoryRule* rule = ruled.rule_for(record.category);
  const std::uint32_t limit = rule != nullptr && rule->limit ? *rule->limit : ruled.profile.limit;
  RetryPolicy policy = rule != nullptr && rule->policy ? *rule->policy : ruled.profile.retry;
  if (rule != nullptr && rule->action == Action::never) policy = {.kind = PolicyKind::never};
  Override kept;
  if (record.limit != 0 && record.limit != limit) {
    kept.limit = record.limit;
    ruled.note({"limit", std::to_string(record.limit), std::to_string(limit), true});
  }
  if (print(policy) != record.policy) {
    auto read = parse_policy(record.policy);
    if (read && read->kind != PolicyKind::custom) {
      kept.policy = std::move(*read);
      ruled.note({"retry", record.policy, print(policy), true});
    }
  }
  ruled.profile = apply_overrides(ruled.profile, {}, *record.message, kept).profile;
}

/// What it died of. An executor to which it was replayed, in vain, said something else later.
struct LastWords {
  Failure failure;
  bool classified = true;  // rules were asked about it
  const Attempt* replayed = nullptr;
};

/// Handed over to be retried, and not dead so far: what it failed of stands for a reason. Some
/// profiles name deaths like that too.
bool is_handed_over(const DeadLetter& record) {
  return !record.category.empty() && record.reason == record.category;
}
bool awaits_retry(const DeadLetter& record) {
  return is_live(record.status) || record.reason == waits_reason ||
         (record.next_retry_at && is_handed_over(record));
}

LastWords last_words(const CaseFile& file) {
  const DeadLetter& record = *file.record;
  const auto came_later = [&](const Attempt& each) { return each.started_at > record.died_at; };
  const auto last = std::find_if_not(file.attempts.begin(), file.attempts.end(), came_later);
  const bool known = last != file.attempts.end();
  LastWords words{record.failure, !(known ? last->category : record.category).empty()};
  if (awaits_retry(record) || file.attempts.empty() || !came_later(file.attempts.front()) ||
      file.attempts.front().outcome != OutcomeKind::failed) {
    return words;
  }
  words.replayed = &file.attempts.front();
  words.failure = {};
  if (known) words.failure.type = last->error_type;
  if (known) words.failure.text = last->error_text;
  return words;
}

/// Ends in which no rule has a say.
std::string_view end_without_rules(const Profile& profile, const DeadLetter& record) {
  const ReasonNames& names = profile.reasons;
  if (record.category == name_of(ErrorClass::poison)) return "abandoned as poison";
  if (record.reason == names.expired) return "its time to live was over";
  if (record.reason == names.crash) return "its runs ended without a report";
  if (record.reason == blocked_reason) return "a task that it waits for did not end well";
  if (record.category == profile.invalid_category || record.reason == names.invalid_header ||
      record.reason == names.invalid_decode || record.reason == names.invalid_schema) {
    return "it did not pass validation";
  }
  if (record.failure.type == record.reason) return "dead-lettered by its worker";
  return {};
}

void forget_steps(Explanation& said, std::initializer_list<std::string_view> names) {
  std::erase_if(said.steps, [&](const ExplainStep& each) {
    return std::find(names.begin(), names.end(), each.step) != names.end();
  });
}

/// The verdict as it was explained, with the range of a wait that is drawn.
std::string verdict_said(const Explanation& said) {
  const auto found = std::find_if(said.steps.begin(), said.steps.end(),
                                  [](const ExplainStep& each) { return each.step == "verdict"; });
  return found != said.steps.end() ? found->text : describe(said.verdict);
}

void conclude(Explanation& said, std::string because, const Verdict& verdict) {
  forget_steps(said, {"verdict"});
  if (!because.empty()) {
    said.steps.push_back({"record", because});
    said.because = std::move(because);
  }
  said.verdict = verdict;
  said.steps.push_back({"verdict", describe(verdict)});
}

void agree_on_wait(Explanation& said, const DeadLetter& record) {
  auto* const owed = std::get_if<RetryAt>(&said.verdict);
  RetryAt retry = owed != nullptr ? *owed : RetryAt{record.died_at, Millis{0}};
  if (record.next_retry_at) {
    retry.when = *record.next_retry_at;
    if (record.last_failed_at) {
      retry.delay = std::max(Millis{0}, retry.when - *record.last_failed_at);
    }
  }
  std::string because = record.next_retry_at ? "its retry is due at " + to_iso8601(retry.when)
                                             : "it was handed over to be retried";
  if (owed == nullptr) because += ", by rules that have changed since";
  conclude(said, std::move(because), retry);
}

/// The rules have had their say; where the record says otherwise, it is the record that is right.
void agree(Explanation& said, const Profile& profile, const DeadLetter& record,
           const LastWords& words) {
  const bool retried = std::holds_alternative<RetryAt>(said.verdict) && is_handed_over(record);
  if (awaits_retry(record) || retried) return agree_on_wait(said, record);
  const auto* by_rules = std::get_if<DeadLetterAs>(&said.verdict);
  DeadLetterAs death{record.reason, record.description, by_rules != nullptr && by_rules->exhausted};
  const std::string_view why = end_without_rules(profile, record);
  const bool asked = words.classified && record.category != name_of(ErrorClass::poison);
  if (by_rules != nullptr && by_rules->reason == death.reason && (asked || why.empty())) {
    return conclude(said, "", death);
  }

  Decision decision;
  decision.verdict = said.verdict;
  decision.counters = record.counters;
  decision = given_up(std::move(decision), profile, words.failure);
  const auto* given = std::get_if<DeadLetterAs>(&decision.verdict);
  const std::string rules_say = verdict_said(said);
  forget_steps(said, {"delay", "retry_after"});
  said.delay.reset();
  if (asked && given != nullptr && by_rules == nullptr && given->reason == death.reason) {
    death.exhausted = true;
    return conclude(said, "reported as given up: kept, and not tried again", death);
  }
  if (!why.empty()) {
    forget_steps(said, {"pre_check", "classify", "category", "post_check", "outcome"});
    return conclude(said, std::string(why) + ": kept, no rule was asked", death);
  }
  conclude(said,
           "kept as its record says: whoever brought it here decided, or the rules have changed "
           "since; now they say " +
               rules_say,
           death);
}

/// While it ran.
Counters counters_then(const Profile& profile, Counters counters) {
  if (counters.failure > 0) --counters.failure;
  if (profile.failure_abandons && counters.abandon > 0) --counters.abandon;
  return counters;
}

/// The check before a run ended it, and not what the last run came to.
bool died_at_claim(const RuleBook& book, const DeadLetter& record, const Outcome& outcome) {
  const auto is_it = [&](const Decision& decision) {
    const auto* death = std::get_if<DeadLetterAs>(&decision.verdict);
    return death != nullptr && death->reason == record.reason;
  };
  const Counters then = counters_then(book.profile(), record.counters);
  return !is_it(book.after_run(outcome, then, record.died_at, 0)) &&
         is_it(book.before_run(record.counters, outcome.failure.text));
}

Result<Explanation> explain_record(Ruled ruled, const RegexCompiler& regex, const CaseFile& file,
                                   TimePoint now) {
  const DeadLetter& record = *file.record;
  keep_to(record, ruled);
  LastWords words = last_words(file);
  redact(words.failure);
  auto book = RuleBook::build(ruled.profile, regex);
  if (!book) return book.error();
  Question question;
  question.now = now;
  question.overrides = ruled.overrides;
  question.outcome.failure = words.failure;
  const bool crashed = record.category == crash_category;
  if (crashed) question.outcome.kind = OutcomeKind::crashed;
  question.before_run = died_at_claim(*book, record, question.outcome);
  question.lived =
      question.before_run ? record.counters : counters_then(ruled.profile, record.counters);
  const std::string found(book->classifier().classify(words.failure).category);
  if (!crashed && !record.category.empty() && record.category != found) {
    question.found_now = found;
    book = RuleBook::build(with_category(ruled.profile, record.category), regex);
    if (!book) return book.error();
  }
  auto said = explain(*book, question);
  if (!said) return said.error();
  agree(*said, ruled.profile, record, words);
  said->category = record.category;
  said->rule = record.rule;
  said->counters_after = record.counters;
  if (record.limit != 0) said->limit = record.limit;
  if (words.replayed != nullptr) {
    said->steps.insert(said->steps.end() - 1,
                       {"replay", "then replayed to executor " + in_quotes(words.replayed->node) +
                                      " in vain: " + words.replayed->error_text});
  }
  return said;
}

Result<Explanation> explain_supposition(const Ruled& ruled, const RegexCompiler& regex,
                                        const Inquiry& inquiry, const CaseFile& file,
                                        TimePoint now) {
  Question question;
  question.now = now;
  question.overrides = ruled.overrides;
  question.counters = inquiry.counters;
  Failure& failure = question.outcome.failure;
  if (file.record != nullptr) {
    failure = file.record->failure;
    question.attempt = std::max<std::uint32_t>(file.record->counters.attempt, 1);
  }
  if (inquiry.error) failure.text = *inquiry.error;
  if (!inquiry.type.empty()) failure.type = inquiry.type;
  if (!inquiry.code.empty()) failure.code = inquiry.code;
  if (inquiry.status) failure.status = inquiry.status;
  question.attempt = inquiry.attempt.value_or(question.attempt);
  const auto book = RuleBook::build(ruled.profile, regex);
  if (!book) return book.error();
  return explain(*book, question);
}

}  // namespace

bool Inquiry::supposes() const noexcept {
  return !profile.empty() || !source.empty() || !event_type.empty() || error || !type.empty() ||
         !code.empty() || status || attempt || !counters.empty();
}

Result<Explanation> explain(const ProfileBook& rules, const RegexCompiler& regex,
                            const Inquiry& inquiry, const CaseFile& file, TimePoint now) {
  std::string name = inquiry.profile;
  if (name.empty() && file.record != nullptr) name = file.record->profile;
  const bool of_record = inquiry.profile.empty() && !name.empty();
  if (name.empty()) name = default_profile_name;
  auto ruled = rules_for(rules, name, message_of(inquiry, file.record));
  if (!ruled && of_record) {
    return Error{ruled.error().code, "core.explain",
                 "The dead letter went by a profile that is not known here. " +
                     ruled.error().detail +
                     " Name the configuration that has it, or another profile."};
  }
  if (!ruled) return ruled.error();
  std::string risks = caution(ruled->profile);
  const bool happened = file.record != nullptr && !inquiry.supposes();
  auto said = happened ? explain_record(std::move(*ruled), regex, file, now)
                       : explain_supposition(*ruled, regex, inquiry, file, now);
  if (said) said->caution = std::move(risks);
  return said;
}

}  // namespace dlo
