#include "dlo/outbox/judge.h"

#include <utility>

#include "dlo/engine/random_bits.h"
#include "dlo/engine/trail.h"
#include "dlo/json/writer.h"

namespace dlo::outbox {
namespace {

constexpr Millis ask_again{5'000};

/// Attempts of a row are sends that failed: whatever succeeded left the table.
Counters counters_of(std::uint32_t attempts) {
  Counters counters;
  counters.fetch = attempts + 1;
  counters.attempt = counters.failure = counters.total = attempts;
  counters.retry = attempts == 0 ? 0 : attempts - 1;
  return counters;
}

Delivery delivery_of(const Row& row) {
  Delivery delivery;
  delivery.message = row.message;
  delivery.counters = counters_of(row.failures.attempts);
  delivery.may_be_repeat = row.failures.attempts > 0;
  delivery.first_attempt_at = row.failures.first_attempt_at;
  delivery.last_error = row.failures.last_error;
  delivery.trail = row.failures.trail;
  const std::vector<Attempt> earlier = attempts_of(delivery.trail);
  if (!earlier.empty()) delivery.previous_delay = earlier.back().next_delay;
  return delivery;
}

std::string_view type_of(Code code) {
  switch (code) {
    case Code::not_found:
      return "Unroutable";
    case Code::full:
    case Code::disk_full:
      return "NoRoom";
    case Code::timed_out:
      return "NotConfirmed";
    case Code::lease_lost:
    case Code::conflict:
    case Code::invalid_argument:
    case Code::refused:
    case Code::corrupt:
    case Code::unavailable:
      break;
  }
  return "PublishFailed";
}

}  // namespace

Failure failure_of(const Error& error) {
  Failure failure;
  failure.type = type_of(error.code);
  failure.text = error.detail;
  failure.code = name_of(error.code);
  return failure;
}

Judge::Judge(Office& office, const RulesFor& rules, Origin origin, std::string outbox,
             std::string table)
    : outbox_(std::move(outbox)),
      table_(std::move(table)),
      writer_(office, rules),
      suspects_(office, "outbox"),
      procedure_(rules(Message{}), sender_, {}, writer_, suspects_, std::move(origin)) {
  HandlerOptions options;
  options.name = "outbox " + outbox_;
  sender_.set_default(std::make_shared<FunctionHandler>(
                          [](const Message&, const RunContext&) { return Outcome{}; }),
                      options);
}

void Judge::take(Plan plan, const Row& row, const Delivery& delivery, TimePoint now,
                 Judgement& into) {
  into.failures = row.failures;
  into.changes = std::move(plan.changes);
  into.attempts = std::move(plan.attempts);
  switch (plan.kind) {
    case Plan::Kind::complete:
      into.what = Judgement::What::send;
      return;
    case Plan::Kind::drop:
      into.what = Judgement::What::drop;
      return;
    case Plan::Kind::repeat:
      into.what = Judgement::What::known;
      into.record = std::move(plan.record);
      return;
    case Plan::Kind::retry:
    case Plan::Kind::wait: {  // wherever a profile has messages wait: a row waits in its table
      into.what = Judgement::What::later;
      into.failures.due = plan.again->when;
      into.failures.attempts = plan.decision.counters.failure;
      if (const auto* failed = std::get_if<Failed>(&plan.ending)) {
        into.failures.last_error = failed->error;
        into.failures.trail = failed->trail;
      } else if (!into.attempts.empty()) {
        into.failures.last_error = into.attempts.back().error_text;
        into.failures.trail = with_attempt(delivery.trail, into.attempts.back());
      }
      return;
    }
    case Plan::Kind::release:
    case Plan::Kind::reject:
      into.what = Judgement::What::later;
      into.failures.due = now + ask_again;
      return;
    case Plan::Kind::dead:
      break;
  }
  into.what = Judgement::What::dead;
  into.failures.attempts = plan.decision.counters.failure;
  into.record = std::move(plan.record);
  if (!plan.named) {
    if (auto named = writer_.name(delivery, *into.record); !named) {
      into.what = Judgement::What::later;
      into.failures = row.failures;
      into.failures.due = now + ask_again;
      into.trouble = named.error();
      return;
    }
  }
  into.record->handler = "outbox " + outbox_;
  JsonWriter json;
  json.begin_object().key("outbox").begin_object().member("name", outbox_);
  json.member("table", table_).member("row", row.id).end_object().end_object();
  into.record->metadata = json.take();
}

Judgement Judge::before(const Row& row, TimePoint now) {
  Judgement judgement;
  Item item;
  item.delivery = delivery_of(row);
  item.running = item.delivery.counters;
  Prepared prepared = procedure_.prepare(item, now, random_bits());
  if (auto* plan = std::get_if<Plan>(&prepared)) {
    take(std::move(*plan), row, item.delivery, now, judgement);
  } else if (const auto* look = std::get_if<LookAgain>(&prepared)) {
    judgement.what = Judgement::What::later;
    judgement.failures = row.failures;
    judgement.failures.due = now + ask_again;
    judgement.trouble = look->error;
  }
  return judgement;
}

Judgement Judge::after(const Row& row, const Error& error, TimePoint started, TimePoint now) {
  Judgement judgement;
  Item item;
  item.delivery = delivery_of(row);
  item.running = RuleBook::started(item.delivery.counters);
  item.rules = writer_.rules(item.delivery);
  Plan plan = procedure_.after_failure(item, {OutcomeKind::failed, failure_of(error)}, started, now,
                                       random_bits());
  take(std::move(plan), row, item.delivery, now, judgement);
  judgement.failures.first_attempt_at = item.delivery.first_attempt_at;
  return judgement;
}

}  // namespace dlo::outbox
