#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dlo/core/dead_letter.h"
#include "dlo/core/profile.h"
#include "dlo/core/states.h"
#include "dlo/core/time.h"

namespace dlo {

/// The times of a record that retention looks at.
struct RetentionTimes {
  TimePoint failed_at{};   // first failure: what "older than" means in document 002 (S2-45)
  TimePoint touched_at{};  // last sign of life: death, failure or closing, the latest
  std::optional<TimePoint> expires_at;  // its own time to live (S0-55)
  bool operator==(const RetentionTimes&) const = default;
};
[[nodiscard]] RetentionTimes retention_times(const DeadLetter& record) noexcept;

/// Which act is due at `now`, if any (D19). Pure and total.
/// - Its own time to live comes first; then the rules, in order, and the first that is due acts.
/// - Counted from the last sign of life, or, for `archive` and where the rule says so, from the
///   first failure, as document 002 does. What loses something (R8) never does the latter.
/// - Never for live messages, never while a lease is out, and never an act that is no legal
///   transition: so nothing expires out of quarantine.
[[nodiscard]] std::optional<RetentionAct> due(std::span<const RetentionRule> rules, Status status,
                                              const RetentionTimes& times, TimePoint now) noexcept;

/// The earliest moment at which `due` can say more than it says now, so that a sweeper need not
/// ask before. Empty: never, unless the record changes.
[[nodiscard]] std::optional<TimePoint> due_at(std::span<const RetentionRule> rules, Status status,
                                              const RetentionTimes& times) noexcept;

/// Where an act leads. `discard` only begins the grace time.
[[nodiscard]] Status status_after(RetentionAct act) noexcept;

/// How full an office or source is.
struct Usage {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Usage&) const = default;
};

enum class Room : std::uint8_t {
  enough,
  little,  // above 80 % with this one: worth an alert (S2-43)
  none,    // refused: the profile's store_failure says what becomes of it (S2-10, S4-30)
};

/// Whether one more record of `size` bytes fits (D20). Live messages do not count (R9).
[[nodiscard]] Room room_for(const Capacity& capacity, const Usage& used,
                            std::uint64_t size) noexcept;

/// How many more records fit, whatever their size. Without a limit: any number.
[[nodiscard]] std::uint64_t places_left(const Capacity& capacity, const Usage& used) noexcept;

/// In percent, of whichever limit is nearer (S2-25: 15 of 10000 is 0.15). Zero without a limit.
[[nodiscard]] double utilisation(const Capacity& capacity, const Usage& used) noexcept;

inline constexpr double little_room_percent = 80.0;

}  // namespace dlo
