#include "dlo/durable/poison_record.h"

#include "dlo/core/identity.h"
#include "dlo/core/redact.h"
#include "dlo/engine/record.h"

namespace dlo {

Poison poison_of(const Delivery& delivery, const AbandonDecision& decision,
                 const std::optional<std::string>& error) {
  Poison poison;
  if (const auto* poisoned = std::get_if<Poisoned>(&decision.result)) {
    poison.abandon_count = poisoned->abandon_count;
  }
  poison.max_abandons = decision.limit;
  const std::uint32_t abandons = decision.counters.abandon;
  if (abandons != poison.abandon_count) poison.abandons = abandons;
  std::string last = error.value_or("");
  if (last.empty()) last = last_known_failure(delivery).text;  // I9
  if (!last.empty()) poison.last_error = redact(last);
  if (delivery.message->owner) poison.activity = delivery.message->owner->activity;
  return poison;
}

Poison poison_of(const DeadLetter& record, const Profile& profile) {
  Poison poison;
  poison.abandon_count = poison_count(profile, record.counters);
  poison.max_abandons = record.limit;
  if (!record.failure.text.empty()) poison.last_error = record.failure.text;
  if (record.message->owner) poison.activity = record.message->owner->activity;
  return poison;
}

DeadLetter poison_record(const Delivery& delivery, const AbandonDecision& decision,
                         const Poison& poison, const Profile& profile, const std::string& node,
                         TimePoint now) {
  DeadLetter record;
  record.message = delivery.message;
  record.profile = profile.name;
  record.status = Status::pending;
  record.reason = poison_reason(profile);
  record.description = describe(poison);
  record.category = name_of(ErrorClass::poison);
  record.failure.type = "Poison";
  record.failure.text = poison.last_error.value_or("");
  record.fingerprint = fingerprint_of(record.failure, delivery.message->event_type, record.reason);
  record.counters = decision.counters;
  // One number in the book, the SQL views and what the owner is told: whichever count killed it.
  record.counters.abandon = poison.abandon_count;
  record.limit = decision.limit;
  record.policy = print(profile.retry);
  record.first_attempt_at = delivery.first_attempt_at;
  record.last_failed_at = now;
  record.died_at = now;
  record.node = node;
  return record;
}

Publication replay_of(const RecordDetail& detail, const Counters& counters) {
  const DeadLetter& record = detail.record;
  Message copy = *record.message;
  if (!detail.versions.empty()) {
    copy.headers = detail.versions.back().headers;
    copy.payload = detail.versions.back().payload;
  }
  copy.position.reset();
  stamp_lineage(copy.headers, {record.id, record.occurrence});
  Publication publication;
  publication.message = std::make_shared<const Message>(std::move(copy));
  // The same replay sent twice, after a crash between publish and mark, is dropped by the queue.
  publication.dedupe_id =
      "dlo-replay:" + to_string(record.id) + ":" + std::to_string(record.occurrence);
  publication.replay = true;
  publication.counters = counters;
  return publication;
}

}  // namespace dlo
