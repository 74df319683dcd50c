#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/backoff.h"
#include "dlo/core/dead_letter.h"
#include "dlo/store/query.h"
#include "dlo/store/rules.h"

namespace dlo::sql {

/// 0 live, 1 open, 2 closed: the coarse status that most indexes carry.
enum class StatusClass : std::uint8_t { live, open, closed };
[[nodiscard]] StatusClass class_of(Status status) noexcept;

namespace flag {
inline constexpr std::uint32_t source_unsettled = 1;
inline constexpr std::uint32_t facts_searched = 2;    // causes or a long text: see the facts
inline constexpr std::uint32_t text_cut = 4;          // the head has only the beginning
inline constexpr std::uint32_t payload_searched = 8;  // its payload belongs into the text index
inline constexpr std::uint32_t died = 16;             // `DeadLetter::died`
inline constexpr std::uint32_t policy = 15U << 5U;    // the kind of its retry policy
}  // namespace flag

/// How the flags say the kind of a policy.
[[nodiscard]] constexpr std::uint32_t flags_of(PolicyKind kind) noexcept {
  return static_cast<std::uint32_t>(kind) << 5U;
}
[[nodiscard]] PolicyKind policy_kind_of(std::uint32_t flags) noexcept;
/// Of facts as they are stored, for migrations. Those that cannot be read count as `never`: nobody
/// loses an office over a number.
[[nodiscard]] std::uint32_t policy_flags_of(std::string_view facts) noexcept;

/// A row of `records`. The record has its head only, until facts and message are loaded.
struct Head {
  DeadLetter record;
  std::optional<Lease> lease;
  std::uint32_t flags = 0;
  std::uint32_t tries = 0;
  std::int64_t seat = 0;
  std::uint64_t payload_size = 0;
  std::shared_ptr<Message> message;  // what `record.message` points to, still to be filled
};

/// The columns `read_head` expects, in its order.
inline constexpr const char* head_columns =
    "number, id, occurrence, status, source, category, grp, event_type, key, message_id, reason, "
    "error_type, died_at, next_retry_at, lease, lease_until, version, change, fetches, attempts, "
    "failures, abandons, retries, replays, total, most, payload_size, flags, tries, seat, kind, "
    "instance, error_text, priority";

namespace column {
inline constexpr int number = 0, id = 1, occurrence = 2, status = 3, source = 4, category = 5,
                     group = 6, event_type = 7, key = 8, message_id = 9, reason = 10,
                     error_type = 11, died_at = 12, next_retry_at = 13, lease = 14,
                     lease_until = 15, version = 16, change = 17, counters = 18, limit = 25,
                     payload_size = 26, flags = 27, tries = 28, seat = 29, kind = 30, instance = 31,
                     error_text = 32, priority = 33;
}  // namespace column

// A row is whatever reads columns by place, as `sqlite::Statement` does.

template <typename Row>
[[nodiscard]] Counters read_counters(const Row& row) {
  Counters counters;
  int place = column::counters;
  for (std::uint32_t* counter :
       {&counters.fetch, &counters.attempt, &counters.failure, &counters.abandon, &counters.retry,
        &counters.replay, &counters.total}) {
    *counter = row.template as<std::uint32_t>(place++);
  }
  return counters;
}

template <typename Row>
[[nodiscard]] Head read_head(const Row& row) {
  Head head;
  head.message = std::make_shared<Message>();
  head.message->source = row.text(column::source);
  head.message->event_type = row.text(column::event_type);
  head.message->key = row.text(column::key);
  head.message->id = row.text(column::message_id);
  head.message->priority = row.template as<Priority>(column::priority);
  DeadLetter& record = head.record;
  record.message = head.message;
  record.number = row.number(column::number);
  record.id = RecordId{row.id(column::id)};
  record.occurrence = row.template as<std::uint32_t>(column::occurrence);
  record.status = row.template as<Status>(column::status);
  record.category = row.text(column::category);
  record.fingerprint.hash = row.id(column::group);
  record.reason = row.text(column::reason);
  record.failure.type = row.text(column::error_type);
  record.failure.text = row.text(column::error_text);
  record.died_at = row.time(column::died_at);
  record.next_retry_at = row.maybe_time(column::next_retry_at);
  record.version = row.template as<std::uint64_t>(column::version);
  record.change = row.template as<std::uint64_t>(column::change);
  record.counters = read_counters(row);
  record.limit = row.template as<std::uint32_t>(column::limit);
  if (!row.is_null(column::lease)) {
    head.lease = Lease{LeaseToken{row.id(column::lease)}, row.time(column::lease_until)};
  }
  head.payload_size = row.template as<std::uint64_t>(column::payload_size);
  head.flags = row.template as<std::uint32_t>(column::flags);
  head.tries = row.template as<std::uint32_t>(column::tries);
  head.seat = row.number(column::seat);
  record.source_unsettled = (head.flags & flag::source_unsettled) != 0;
  record.died = (head.flags & flag::died) != 0;
  record.policy = name_of(policy_kind_of(head.flags));  // its kind; the facts have the rest
  if (!row.is_null(column::kind)) {
    Owner owner;  // enough to tell what kind of work it is; the envelope has the rest
    owner.instance = row.text(column::instance);
    if (row.number(column::kind) == 1) owner.activity.emplace();
    head.message->owner = std::move(owner);
  }
  return head;
}

/// What a list shows; the error text may be cut (`flag::text_cut`).
template <typename Row>
[[nodiscard]] RecordHead read_row(const Row& row) {
  RecordHead head;
  head.id = RecordId{row.id(column::id)};
  head.occurrence = row.template as<std::uint32_t>(column::occurrence);
  head.number = row.number(column::number);
  head.version = row.template as<std::uint64_t>(column::version);
  head.change = row.template as<std::uint64_t>(column::change);
  head.status = row.template as<Status>(column::status);
  head.source = row.text(column::source);
  head.event_type = row.text(column::event_type);
  head.key = row.text(column::key);
  head.message_id = row.text(column::message_id);
  head.reason = row.text(column::reason);
  head.category = row.text(column::category);
  head.error_type = row.text(column::error_type);
  head.error_text = row.text(column::error_text);
  head.group = row.id(column::group);
  head.counters = read_counters(row);
  head.limit = row.template as<std::uint32_t>(column::limit);
  head.died_at = row.time(column::died_at);
  head.next_retry_at = row.maybe_time(column::next_retry_at);
  head.payload_size = row.template as<std::uint64_t>(column::payload_size);
  return head;
}

/// The beginning of an error text that the head keeps.
[[nodiscard]] std::string_view head_text(const DeadLetter& record) noexcept;
/// Flags that follow from the record; `payload_searched` is kept from `before`.
[[nodiscard]] std::uint32_t flags_of(const DeadLetter& record, std::uint32_t before) noexcept;
[[nodiscard]] std::optional<TimePoint> due_at(const DeadLetter& record,
                                              const std::optional<Lease>& lease) noexcept;
/// Of the owner, for poison management: an activity or not, and its instance; empty: it has none.
[[nodiscard]] std::optional<int> kind_of(const Message& message) noexcept;
[[nodiscard]] std::optional<std::string_view> instance_of(const Message& message) noexcept;
[[nodiscard]] std::optional<Id128> token_of(const std::optional<Lease>& lease) noexcept;
[[nodiscard]] std::optional<TimePoint> end_of(const std::optional<Lease>& lease) noexcept;

}  // namespace dlo::sql
