// What becomes of a message when its worker comes back with it.
#include <utility>

#include "dlo/core/redact.h"
#include "dlo/core/unclassified.h"
#include "dlo/engine/abandoning.h"
#include "dlo/engine/pull_desk.h"
#include "dlo/engine/random_bits.h"
#include "dlo/engine/record.h"
#include "dlo/engine/trail.h"

namespace dlo {

Plan PullDesk::condemn(const RuleBook& rules, Out& out, Decision decision, Failure failure,
                       TimePoint now, bool ran) {
  redact(failure);
  auto& verdict = std::get<DeadLetterAs>(decision.verdict);
  verdict.description = redact(verdict.description);
  Plan plan;
  plan.kind = Plan::Kind::dead;
  plan.ending = DeadLettered{.error = failure.text};
  plan.decision = std::move(decision);
  plan.decision.because = "the worker said so";
  static const std::string handler = "worker";
  std::optional<Attempt> last;
  if (ran) {
    last = make_attempt(out.item.running, out.started, now, OutcomeKind::failed, plan.decision,
                        failure, parts_.origin.node);
  }
  const RecordInput input{out.item.delivery, {},   1,     plan.decision,
                          failure,           last, rules, handler,
                          parts_.origin,     now,  false};
  plan.record = std::make_shared<DeadLetter>(build_record(input));
  plan.attempts = attempts_of(input);
  plan.named = writer_.name(out.item.delivery, *plan.record).has_value();
  return plan;
}

Plan PullDesk::abandoned(const RuleBook& rules, Out& out, const AbandonOptions& options,
                         TimePoint now, PullAnswer& answer) {
  const Delivery& delivery = out.item.delivery;
  // Receiving was the start (R1): it is part of every count, unless it is given back.
  const bool ran = is_execution(options);
  const AbandonDecision decided =
      decide_abandon(rules.profile(), ran ? out.item.running : delivery.counters, options,
                     !writer_.is_office(), call_limit_of(delivery.trail));
  const auto* poisoned = std::get_if<Poisoned>(&decided.result);
  if (poisoned == nullptr) {
    answer.abandon_count = decided.counters.abandon;
    Plan plan;
    plan.kind = Plan::Kind::release;
    plan.ending = release_of(delivery, options, decided,
                             AbandonedRun{out.item.running, out.started}, now, parts_.origin.node);
    return plan;
  }
  answer.abandon_count = poisoned->abandon_count;
  std::string error = options.error_message.value_or("");
  if (error.empty()) error = last_known_failure(delivery).text;  // I9
  Poison poison{poisoned->abandon_count, decided.limit, error, {}, decided.counters.abandon};
  const auto& owner = delivery.message->owner;
  if (owner) poison.activity = owner->activity;
  Failure failure;
  failure.type = "Poison";
  failure.text = std::move(error);
  Decision decision;
  decision.verdict = DeadLetterAs{poison_reason(rules.profile()),
                                  owner ? describe(poison) : describe(poison, "message"), true};
  decision.counters = decided.counters;
  decision.category = name_of(ErrorClass::poison);
  Plan plan = condemn(rules, out, std::move(decision), std::move(failure), now, ran);
  plan.record->limit = decided.limit;  // perhaps of the call
  return plan;
}

Plan PullDesk::plan_for(const Working& with, Out& out, PullEnding& ending, TimePoint now,
                        PullAnswer& answer) {
  Item& item = out.item;
  item.rules = with.rules;  // of now, not of when it was handed out
  if (auto* failed = std::get_if<PullFailed>(&ending)) {
    return with.procedure.after_failure(item, {OutcomeKind::failed, std::move(failed->failure)},
                                        out.started, now, random_bits());
  }
  if (auto* said = std::get_if<PullCondemned>(&ending)) {
    Failure failure;
    failure.type = redact(said->reason);  // what decides is what is kept
    failure.text = redact(said->description);
    Decision decision = condemned(*with.rules, item.running, failure.type, failure.text);
    return condemn(*with.rules, out, std::move(decision), std::move(failure), now, true);
  }
  if (auto* abandon = std::get_if<AbandonOptions>(&ending)) {
    return abandoned(*with.rules, out, *abandon, now, answer);
  }
  Plan plan = with.procedure.after_success(item);
  if (std::holds_alternative<PullReleased>(ending)) {
    plan = {};
    plan.kind = Plan::Kind::release;
    plan.ending = ReleasedUnrun{};
  }
  return plan;
}

}  // namespace dlo
