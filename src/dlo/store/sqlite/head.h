#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "dlo/core/dead_letter.h"
#include "dlo/store/query.h"
#include "dlo/store/rules.h"
#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {

/// 0 live, 1 open, 2 closed: the coarse status that most indexes carry.
enum class StatusClass : std::uint8_t { live, open, closed };
[[nodiscard]] StatusClass class_of(Status status) noexcept;

namespace flag {
inline constexpr std::uint32_t source_unsettled = 1;
inline constexpr std::uint32_t facts_searched = 2;    // causes or a long text: see the facts
inline constexpr std::uint32_t text_cut = 4;          // the head has only the beginning
inline constexpr std::uint32_t payload_searched = 8;  // its payload belongs into the text index
inline constexpr std::uint32_t died = 16;             // `DeadLetter::died`
}  // namespace flag

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
    "instance, error_text";

namespace column {
inline constexpr int number = 0, id = 1, occurrence = 2, status = 3, source = 4, category = 5,
                     group = 6, event_type = 7, key = 8, message_id = 9, reason = 10,
                     error_type = 11, died_at = 12, next_retry_at = 13, lease = 14,
                     lease_until = 15, version = 16, change = 17, counters = 18, limit = 25,
                     payload_size = 26, flags = 27, tries = 28, seat = 29, kind = 30, instance = 31,
                     error_text = 32;
}  // namespace column

[[nodiscard]] Head read_head(const Statement& row);
/// What a list shows; the error text may be cut (`flag::text_cut`).
[[nodiscard]] RecordHead read_row(const Statement& row);
[[nodiscard]] Counters read_counters(const Statement& row);

/// The beginning of an error text that the head keeps.
[[nodiscard]] std::string_view head_text(const DeadLetter& record) noexcept;
/// Flags that follow from the record; `payload_searched` is kept from `before`.
[[nodiscard]] std::uint32_t flags_of(const DeadLetter& record, std::uint32_t before) noexcept;
[[nodiscard]] std::optional<TimePoint> due_at(const DeadLetter& record,
                                              const std::optional<Lease>& lease) noexcept;

}  // namespace dlo::sqlite
