#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dlo/core/time.h"
#include "dlo/core/trend.h"

namespace dlo {

/// What people decided about a group of dead letters (UI.md 4).
enum class GroupStatus : std::uint8_t {
  open,
  acknowledged,  // somebody has seen it
  fixing,        // somebody works on it
  snoozed,       // until a moment; a death after it opens the group again
  resolved,      // a death opens it again: it has regressed
  ignored,       // nothing opens it but a person
};
inline constexpr std::size_t group_status_count = 6;
[[nodiscard]] const std::array<GroupStatus, group_status_count>& all_group_statuses() noexcept;

[[nodiscard]] std::string_view name_of(GroupStatus status) noexcept;
[[nodiscard]] std::optional<GroupStatus> parse_group_status(std::string_view text) noexcept;

/// Whether people may lead a group from `from` to `to`. Staying is legal everywhere: a snooze gets
/// another end. What is over (resolved, ignored) is opened before anybody works on it again, so
/// that the trail shows who took it up.
[[nodiscard]] bool is_legal(GroupStatus from, GroupStatus to) noexcept;

/// What the marks of a group are decided from.
struct GroupHistory {
  GroupStatus status = GroupStatus::open;
  TimePoint first_seen{};
  std::optional<TimePoint> regressed_at;  // when a death opened it after it was resolved
  std::uint64_t repeats = 0;              // deaths of messages that had been sent back
  const Trend& trend;
};

struct MarkRules {
  Millis new_for{24 * 3'600'000};
  std::uint64_t escalating_from = 10;   // deaths in this hour and the one before
  std::uint64_t escalating_factor = 3;  // ... and this many times what two hours used to bring
};

/// Why a group deserves a look before others.
struct GroupMarks {
  bool is_new = false;       // NEW: first seen lately, and nobody has said anything yet
  bool regressed = false;    // REGRESSED: it was resolved and is back
  bool escalating = false;   // ESCALATING: far more than in the day before; needs a day before
  std::uint64_t repeat = 0;  // REPEAT n: so many came back after a replay
  bool operator==(const GroupMarks&) const = default;
};
[[nodiscard]] GroupMarks marks_of(const GroupHistory& history, TimePoint now,
                                  const MarkRules& rules = {});

/// Whether a group without open dead letters has been quiet for so long that it resolves by
/// itself. Only what people left to time does: a snoozed or ignored group is theirs.
[[nodiscard]] bool is_over(GroupStatus status, std::uint64_t open, TimePoint last_seen,
                           TimePoint now, Millis quiet_for) noexcept;

}  // namespace dlo
