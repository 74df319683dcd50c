#include "dlo/engine/procedure.h"

#include <exception>
#include <utility>

#include "dlo/core/encoding.h"
#include "dlo/core/given_up.h"
#include "dlo/core/parking.h"
#include "dlo/core/redact.h"
#include "dlo/core/unclassified.h"
#include "dlo/engine/capture.h"
#include "dlo/engine/trail.h"

namespace dlo {
namespace {

const std::string no_handler;

/// What a broker remembers may come from anybody, and so may a description that quotes it.
Failure known_failure(const Delivery& delivery) {
  Failure failure = last_known_failure(delivery);
  redact(failure);
  return failure;
}
void redact_death(Decision& decision) {
  if (auto* death = std::get_if<DeadLetterAs>(&decision.verdict)) {
    death->description = redact(death->description);
  }
}

Failure not_registered(const HandlerTable& handlers, const Message& message) {
  Failure failure;
  failure.type = "HandlerNotRegistered";
  if (!handlers.chooses()) {
    failure.text = "no handler is registered for event type \"" + message.event_type +
                   "\", and there is no default one";
    return failure;
  }
  std::string known;
  for (const auto& [name, entry] : handlers.named()) known += (known.empty() ? "" : ", ") + name;
  failure.text = "no executor \"" + handlers.choice(message) +
                 "\" is registered; there are: " + (known.empty() ? "none" : known);
  return failure;
}

}  // namespace

Procedure::Procedure(std::shared_ptr<const RuleBook> book, const HandlerTable& handlers,
                     Validators validators, RecordWriter& writer, Suspects& suspects, Origin origin)
    : rules_(std::move(book)),
      handlers_(handlers),
      validators_(std::move(validators)),
      writer_(writer),
      suspects_(suspects),
      origin_(std::move(origin)) {}

Prepared Procedure::prepare(Item& item, TimePoint now, std::uint64_t random) const {
  Delivery& delivery = item.delivery;
  item.rules = writer_.rules(delivery);
  if (delivery.may_be_repeat) {
    if (auto known = recall(item)) return std::move(*known);
  }
  if (delivery.interrupted) delivery.trail = with_cut_off_runs(delivery, now, origin_.node);
  const auto& expires = delivery.message->expires_at;
  if (delivery.expired || (expires && *expires <= now)) {
    std::string text = expires ? "Message expired at " + to_iso8601(*expires) : "Message expired";
    return plan(
        item,
        {expired(rules(item), delivery.counters, std::move(text)), known_failure(delivery), {}},
        now);
  }
  auto ended = delivery.interrupted ? account_for_crash(item, now) : check_before_run(item, now);
  if (ended) return std::move(*ended);
  if (auto invalid = validate(item, now, random)) return std::move(*invalid);

  item.entry = handlers_.find(*delivery.message);
  if (item.entry == nullptr) {
    Failure failure = not_registered(handlers_, *delivery.message);
    Decision decision =
        rules(item).unregistered(delivery.counters, now, random, delivery.previous_delay);
    const Attempt attempt = make_attempt(decision.counters, now, now, OutcomeKind::failed, decision,
                                         failure, origin_.node);
    return plan(item, {std::move(decision), std::move(failure), attempt}, now);
  }
  BreakerGuard& breaker = item.entry->breaker;
  const auto later =
      writer_.is_office() ? breaker.ask_in_line(now, item.ticket) : breaker.ask(now, item.ticket);
  if (later) return Postpone{*later};
  return RunIt{};
}

std::optional<Prepared> Procedure::recall(Item& item) const {
  auto known = writer_.find_repeat(item.delivery);
  if (!known) return LookAgain{known.error()};
  if (!*known) return std::nullopt;
  Plan plan;
  plan.kind = Plan::Kind::repeat;
  plan.named = true;
  // One that only waited and was cured meanwhile is done, and no death.
  if ((*known)->died) plan.ending = DeadLettered{};
  plan.record = std::make_shared<DeadLetter>(std::move(**known));
  return plan;
}

std::optional<Prepared> Procedure::check_before_run(Item& item, TimePoint now) const {
  const Delivery& delivery = item.delivery;
  Decision decision =
      rules(item).before_run(delivery.counters, delivery.last_error, call_limit_of(delivery.trail));
  if (std::holds_alternative<Run>(decision.verdict)) return std::nullopt;
  redact_death(decision);
  return plan(item, {std::move(decision), known_failure(delivery), {}}, now);
}

/// The run before this one was cut off. That run is settled first, as a crash; what remains of the
/// delivery is then as if it had failed and come back.
std::optional<Prepared> Procedure::account_for_crash(Item& item, TimePoint now) const {
  Delivery& delivery = item.delivery;
  const auto trust = suspects_.trust(delivery);
  if (!trust) return LookAgain{trust.error()};
  const bool alone = *trust == Trust::none;
  Decision decision = alone ? rules(item).crashed_alone(delivery.counters)
                            : rules(item).resume(delivery.counters, delivery.last_error,
                                                 call_limit_of(delivery.trail));
  if (std::holds_alternative<Run>(decision.verdict)) {
    delivery.counters = decision.counters;
    return std::nullopt;
  }
  redact_death(decision);
  Failure last = alone ? Failure{} : known_failure(delivery);
  if (last == Failure{}) last = cut_off_failure(delivery.counters);
  return plan(item, {std::move(decision), std::move(last), {}, alone}, now);
}

std::optional<Failure> Procedure::check(Stage stage, const Delivery& delivery) const {
  if (stage == Stage::decode && delivery.undecodable) return *delivery.undecodable;
  if (stage == Stage::header && delivery.message->event_type.empty() && !handlers_.has_default() &&
      !handlers_.chooses()) {
    Failure failure;
    failure.type = "MissingEventTypeHeader";
    failure.text = "the message names no event type and there is no default handler";
    return failure;
  }
  for (const auto& validator : validators_) {
    if (validator->stage() != stage) continue;
    try {
      if (auto failure = validator->check(*delivery.message)) return failure;
    } catch (...) {
      return failure_of(std::current_exception());
    }
  }
  return std::nullopt;
}

std::optional<Plan> Procedure::validate(Item& item, TimePoint now, std::uint64_t random) const {
  const Delivery& delivery = item.delivery;
  std::optional<Failure> failure;
  Stage failed = Stage::decode;
  for (const Stage stage : rules(item).profile().validation) {
    failure = check(stage, delivery);
    failed = stage;
    if (failure) break;
  }
  // Bytes that cannot be read go no further, whatever the profile looks at (I3).
  if (!failure && delivery.undecodable) {
    failure = *delivery.undecodable;
    failed = Stage::decode;
  }
  if (!failure) return std::nullopt;
  redact(*failure);
  Decision decision = rules(item).after_invalid(delivery.counters, failed, *failure, now, random,
                                                delivery.previous_delay);
  const Attempt attempt = make_attempt(decision.counters, now, now, OutcomeKind::failed, decision,
                                       *failure, origin_.node);
  return plan(item, {std::move(decision), std::move(*failure), attempt}, now);
}

Plan Procedure::after_success(Item& item) const {
  suspects_.end(item);
  Plan plan;
  plan.decision = rules(item).after_run({}, item.running, TimePoint{}, 0);
  return plan;
}

Plan Procedure::after_failure(Item& item, Outcome outcome, TimePoint started, TimePoint now,
                              std::uint64_t random, bool final) const {
  // Before anything looks at it: the text that decides is the text that is kept, so the same rules
  // find the same in the record later.
  redact(outcome.failure);
  const bool began = outcome.kind != OutcomeKind::never_started;
  Decision decision = rules(item).after_run(outcome, began ? item.running : item.delivery.counters,
                                            now, random, item.delivery.previous_delay);
  if (final) {
    decision = given_up(std::move(decision), rules(item).profile(), outcome.failure);
  }
  const Attempt attempt = make_attempt(item.running, started, now, outcome.kind, decision,
                                       outcome.failure, origin_.node);
  if (!item.delivery.first_attempt_at) item.delivery.first_attempt_at = started;
  return plan(item, {std::move(decision), std::move(outcome.failure), attempt}, now);
}

void Procedure::overruled(const Item& item, const RecordId& record, Outcome outcome,
                          TimePoint started, TimePoint now) const {
  redact(outcome.failure);
  writer_.overruled(
      record,
      {make_attempt(item.running, started, now, outcome.kind, {}, outcome.failure, origin_.node)},
      now);
}

Plan Procedure::after_report(Item& item, Failure failure, TimePoint now, std::uint64_t random,
                             bool final) const {
  return after_failure(item, {OutcomeKind::failed, std::move(failure)}, now, now, random, final);
}

Plan Procedure::plan(Item& item, Death death, TimePoint now) const {
  Plan plan;
  suspects_.end(item);
  if (const auto* again = std::get_if<RetryAt>(&death.decision.verdict)) {
    plan_retry(plan, item, death, *again, now);
  } else if (const auto* drop = std::get_if<Drop>(&death.decision.verdict)) {
    plan_drop(plan, item, *drop, now);
  } else if (std::holds_alternative<GiveBack>(death.decision.verdict)) {
    plan.kind = Plan::Kind::release;
    plan.ending = ReleasedUnrun{};
  } else if (item.has_caller && std::holds_alternative<RejectToCaller>(death.decision.verdict)) {
    plan.kind = Plan::Kind::reject;
    plan.ending = ReleasedUnrun{};
  } else {
    // Nobody could be told of a rejection, so it is kept like any other death.
    if (const auto* reject = std::get_if<RejectToCaller>(&death.decision.verdict)) {
      death.decision.verdict = DeadLetterAs{reject->reason, death.failure.text, false};
    }
    plan.kind = Plan::Kind::dead;
    plan.ending = DeadLettered{};
    plan_record(plan, item, death, now);
  }
  plan.decision = std::move(death.decision);
  return plan;
}

void Procedure::plan_record(Plan& plan, Item& item, const Death& death, TimePoint now) const {
  const RecordInput input{item.delivery,
                          {},
                          1,
                          death.decision,
                          death.failure,
                          death.last,
                          rules(item),
                          item.entry == nullptr ? no_handler : item.entry->name,
                          origin_,
                          now,
                          death.quarantine};
  plan.record = std::make_shared<DeadLetter>(build_record(input));
  plan.attempts = attempts_of(input);
  plan.named = writer_.name(item.delivery, *plan.record).has_value();
}

void Procedure::plan_retry(Plan& plan, Item& item, Death& death, const RetryAt& again,
                           TimePoint now) const {
  plan.again = again;
  if (writer_.is_office() || waits_in_office(again, writer_.source_keeps_waits())) {
    plan.kind = Plan::Kind::wait;
    plan.ending = Completed{};
    if (writer_.is_office()) plan.ending = DeadLettered{};  // written there is settled there
    plan_record(plan, item, death, now);
    return;
  }
  plan.kind = Plan::Kind::retry;
  Failed failed;
  failed.again_at = again.when;
  failed.counters = death.decision.counters;
  failed.error = beginning(death.failure.text.empty() ? death.failure.type : death.failure.text,
                           carried_error);
  failed.delay = again.delay;
  failed.trail = item.delivery.trail;
  if (death.last) failed.trail = with_attempt(failed.trail, *death.last);
  failed.trail = with_call_limit(failed.trail, std::nullopt);
  plan.ending = std::move(failed);
}

void Procedure::plan_drop(Plan& plan, const Item& item, const Drop& drop, TimePoint now) const {
  plan.kind = Plan::Kind::drop;
  plan.ending = Completed{};
  const Message& message = *item.delivery.message;
  std::string name = message.id;
  if (name.empty() && message.position) {
    name = message.position->partition + ":" + std::to_string(message.position->offset);
  }
  plan.changes.emplace_back(AddAudit{now, "engine", "drop", message.source + "/" + name,
                                     "dropped as the profile says: " + drop.reason});
}

}  // namespace dlo
