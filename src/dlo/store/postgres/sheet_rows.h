#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/store/postgres/desk.h"
#include "dlo/store/sql/head.h"

namespace dlo::postgres {

/// Of `records`, in the order of `with_head`.
inline constexpr int head_width = 35;
inline const std::string head_names =
    "number, id, occurrence, status, class, source, category, grp, event_type, key, message_id, "
    "reason, error_type, died_at, next_retry_at, due_at, lease, lease_until, version, change, "
    "fetches, attempts, failures, abandons, retries, replays, total, most, payload_size, flags, "
    "tries, kind, instance, error_text, priority";

[[nodiscard]] std::optional<std::string_view> view_of(const std::optional<std::string>& text);

/// Calls `take` with the values of the row of a head.
template <typename Take>
auto with_head(const sql::Head& head, const Take& take) {
  const DeadLetter& r = head.record;
  const Message& m = *r.message;
  const Counters& c = r.counters;
  return take(r.number, r.id, r.occurrence, r.status, sql::class_of(r.status), m.source, r.category,
              r.fingerprint.hash, m.event_type, m.key, m.id, r.reason, r.failure.type, r.died_at,
              r.next_retry_at, sql::due_at(r, head.lease), sql::token_of(head.lease),
              sql::end_of(head.lease), r.version, r.change, c.fetch, c.attempt, c.failure,
              c.abandon, c.retry, c.replay, c.total, r.limit, head.payload_size, head.flags,
              head.tries, sql::kind_of(m), sql::instance_of(m), sql::head_text(r), m.priority);
}

/// The row of `details` of a sheet, which has to stay while this is used.
class FactsRow {
 public:
  explicit FactsRow(const Sheet& sheet);

  std::int64_t number;
  std::string_view facts;
  const std::vector<std::int32_t>* words;
  bool by_retries;
  std::optional<TimePoint> first_attempt_at, last_failed_at, resolved_at;
  std::optional<std::string_view> resolved_by, resolution_notes, whole_text;

 private:
  std::string made_facts_;  // where nobody had prepared them
  std::vector<std::int32_t> made_words_;
};

/// What of a message is in neither its head nor its payload.
[[nodiscard]] std::string envelope_of(const Sheet& sheet);

}  // namespace dlo::postgres
