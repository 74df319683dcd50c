#include "dlo/entities/entity_record.h"

#include <memory>
#include <utility>

#include "dlo/engine/trail.h"
#include "dlo/entities/entity_text.h"

namespace dlo {
namespace {

MessagePtr message_of(const EntityKind& kind, const Entity& entity) {
  auto message = std::make_shared<Message>();
  message->id = entity.id;
  message->source = kind.source;
  message->event_type = kind.event_type;
  message->content_type = "application/json";
  message->payload = payload_of(kind, entity);
  message->enqueued_at = entity.created_at;
  return message;
}

}  // namespace

std::string trail_with_last(const Entity& before, const std::string& node) {
  Attempt attempt;
  attempt.number = before.counters.total;
  attempt.started_at = before.last_retry_at.value_or(before.created_at);
  attempt.error_type = before.error_type;
  attempt.error_text = before.error;
  attempt.node = node;
  return with_attempt(before.trail, attempt);
}

Append dead_letter_of(const EntityKind& kind, const RetriesOver& over, const RuleBook& rules,
                      const Origin& origin, TimePoint now) {
  Delivery delivery;
  delivery.message = message_of(kind, over.entity);
  delivery.counters = over.entity.counters;
  delivery.first_attempt_at = over.entity.created_at;
  delivery.trail = over.entity.trail;
  const std::string handler;
  RecordInput input{
      delivery, death_id(over.entity), 1, over.decision, over.failure, {}, rules, handler, origin,
      now};
  DeadLetter record = build_record(input);
  record.last_failed_at = now;  // that the last retry failed is known since somebody asked again
  std::vector<Attempt> attempts = attempts_of(input);
  return {std::make_shared<const DeadLetter>(std::move(record)), std::move(attempts)};
}

}  // namespace dlo
