#include "dlo/engine/record.h"

#include <algorithm>

#include "dlo/core/abandon.h"
#include "dlo/core/unclassified.h"
#include "dlo/engine/trail.h"

namespace dlo {
namespace {

/// The newest of them that was classified. Abandons say nothing; what was cut off says least, and
/// nothing at all of what died for another reason than its limit.
const Attempt* newest_classified(const std::vector<Attempt>& attempts, const Decision& decision) {
  const auto* death = std::get_if<DeadLetterAs>(&decision.verdict);
  const Attempt* crash = nullptr;
  for (auto at = attempts.rbegin(); at != attempts.rend(); ++at) {
    if (at->category.empty()) continue;
    if (at->outcome != OutcomeKind::crashed) return &*at;
    if (crash == nullptr) crash = &*at;
  }
  return death != nullptr && death->exhausted ? crash : nullptr;
}

void set_verdict(DeadLetter& record, const RecordInput& input) {
  if (const auto* retry = std::get_if<RetryAt>(&input.decision.verdict)) {
    record.status = Status::waiting;
    record.next_retry_at = retry->when;
    record.description = input.decision.because;
    return;
  }
  const auto* death = std::get_if<DeadLetterAs>(&input.decision.verdict);
  if (death == nullptr) return;
  record.reason = death->reason;
  record.description = death->description;
  if (input.quarantine) {
    record.status = Status::quarantined;
  } else if (death->exhausted) {
    record.status = parse_status(input.rules.profile().exhausted_status).value_or(Status::pending);
  }
}

void set_times(DeadLetter& record, const RecordInput& input, const std::vector<Attempt>& earlier) {
  record.died_at = input.now;
  record.first_attempt_at = input.delivery.first_attempt_at;
  if (!earlier.empty()) {
    record.first_failed_at = earlier.front().started_at + earlier.front().took;
    record.last_failed_at = earlier.back().started_at + earlier.back().took;
    if (!record.first_attempt_at) record.first_attempt_at = earlier.front().started_at;
  }
  if (input.last) {
    if (!record.first_attempt_at) record.first_attempt_at = input.last->started_at;
    record.last_failed_at = input.last->started_at + input.last->took;
    if (!record.first_failed_at) record.first_failed_at = record.last_failed_at;
  }
  record.first_attempt_at = first_attempt_of(input.rules.profile(), record.counters,
                                             record.first_attempt_at, record.died_at);
}

}  // namespace

DeadLetter build_record(const RecordInput& input) {
  const std::vector<Attempt> earlier = attempts_of(input.delivery.trail);
  DeadLetter record;
  record.id = input.id;
  record.occurrence = input.occurrence;
  record.message = input.delivery.message;
  record.profile = input.rules.profile().name;
  record.category = input.decision.category;
  record.rule = input.decision.rule;
  record.failure = input.failure;
  record.counters = input.decision.counters;
  record.limit = input.decision.limit.value_or(input.rules.limit_for(record.category));
  record.handler = input.handler;
  record.node = input.origin.node;
  record.build = input.origin.build;
  set_verdict(record, input);
  set_times(record, input, earlier);
  if (const Attempt* known = newest_classified(earlier, input.decision);
      known && record.category.empty()) {
    record.category = known->category;
    record.rule = known->rule;
  }
  if (const auto* death = std::get_if<DeadLetterAs>(&input.decision.verdict);
      death != nullptr && record.category.empty()) {
    record.category = category_of(input.rules, *death, input.failure);
  }
  record.policy = print(input.rules.policy_for(record.category));
  if (const auto* death = std::get_if<DeadLetterAs>(&input.decision.verdict);
      record.message->owner && death != nullptr && death->exhausted) {
    // One number in the book, the SQL views and what the owner is told: whichever count killed it.
    record.counters.abandon = poison_count(input.rules.profile(), record.counters);
    record.category = name_of(ErrorClass::poison);
  }
  record.fingerprint = fingerprint_of(record.failure, record.message->event_type, record.reason);
  return record;
}

std::vector<Attempt> attempts_of(const RecordInput& input) {
  std::vector<Attempt> attempts = attempts_of(input.delivery.trail);
  if (input.last) attempts.push_back(*input.last);
  return attempts;
}

Failure last_known_failure(const Delivery& delivery) {
  const std::vector<Attempt> attempts = attempts_of(delivery.trail);
  const auto newest = std::find_if(attempts.rbegin(), attempts.rend(), [](const Attempt& attempt) {
    return attempt.outcome == OutcomeKind::failed &&
           !(attempt.error_type.empty() && attempt.error_text.empty());
  });
  Failure failure;
  if (newest != attempts.rend()) {
    failure.type = newest->error_type;
    failure.text = newest->error_text;
  }
  if (delivery.last_error.empty()) return failure;
  // The broker keeps more of the text than the trail. If it is another, the abandon that brought it
  // left no row.
  if (!delivery.last_error.starts_with(failure.text)) failure.type = abandoned_type;
  failure.text = delivery.last_error;
  return failure;
}

std::string with_cut_off_runs(const Delivery& delivery, TimePoint found, const std::string& node) {
  if (!delivery.interrupted) return delivery.trail;
  const std::vector<Attempt> told = attempts_of(delivery.trail);
  std::uint32_t untold = std::max(delivery.interruptions, 1U);
  untold = std::min({untold, delivery.counters.total, std::uint32_t{trail_attempts}});
  std::string trail = delivery.trail;
  while (untold-- > 0) {
    Counters then = delivery.counters;
    then.total -= untold;
    then.attempt -= std::min(then.attempt, untold);
    if (!told.empty() && then.total <= told.back().number) continue;
    trail = with_attempt(trail, cut_off_attempt(then, found, node));
  }
  return trail;
}

Failure cut_off_failure(const Counters& counters) {
  Failure failure;
  failure.type = "Crash";
  failure.text = "the process died, or its lease ran out, while attempt " +
                 std::to_string(counters.attempt) + " was running";
  return failure;
}

Attempt cut_off_attempt(const Counters& counters, TimePoint found, const std::string& node) {
  Decision decision;
  decision.category = crash_category;
  return make_attempt(counters, found, found, OutcomeKind::crashed, decision,
                      cut_off_failure(counters), node);
}

Attempt make_attempt(const Counters& counters, TimePoint started, TimePoint ended,
                     OutcomeKind outcome, const Decision& decision, const Failure& failure,
                     const std::string& node) {
  Attempt attempt;
  attempt.number = counters.total;
  attempt.started_at = started;
  attempt.took = std::max(Millis{0}, ended - started);
  attempt.outcome = outcome;
  attempt.category = decision.category;
  attempt.rule = decision.rule;
  attempt.error_type = failure.type;
  attempt.error_text = failure.text;
  if (const auto* retry = std::get_if<RetryAt>(&decision.verdict)) {
    attempt.next_delay = retry->delay;
  }
  attempt.node = node;
  return attempt;
}

}  // namespace dlo
