#include "dlo/core/group.h"

#include <algorithm>

namespace dlo {
namespace {

constexpr std::array<GroupStatus, group_status_count> statuses = {
    GroupStatus::open,    GroupStatus::acknowledged, GroupStatus::fixing,
    GroupStatus::snoozed, GroupStatus::resolved,     GroupStatus::ignored};
constexpr std::array<std::string_view, group_status_count> names = {
    "open", "acknowledged", "fixing", "snoozed", "resolved", "ignored"};

constexpr bool yes = true;
constexpr bool no = false;
// From the row to the column, in order of declaration.
constexpr std::array<std::array<bool, group_status_count>, group_status_count> legal = {{
    // open ack  fix  snooze resolve ignore
    {yes, yes, yes, yes, yes, yes},  // open
    {yes, yes, yes, yes, yes, yes},  // acknowledged
    {yes, yes, yes, yes, yes, yes},  // fixing
    {yes, yes, yes, yes, yes, yes},  // snoozed
    {yes, no, no, no, yes, no},      // resolved
    {yes, no, no, no, no, yes},      // ignored
}};

constexpr std::int64_t hours_before = 24;

bool is_escalating(const GroupHistory& history, TimePoint now, const MarkRules& rules) {
  const std::int64_t hour = hour_of(now);
  const std::int64_t since = hour_of(history.first_seen);
  const std::int64_t last = hour - 2;  // the last hour that is compared with
  const std::int64_t first = std::max(since, hour - 1 - hours_before);
  if (first > last) return false;  // nothing to compare with: it is new
  const std::uint64_t recent = deaths_in_hours(history.trend, hour - 1, hour);
  if (recent < rules.escalating_from) return false;
  const auto hours = static_cast<std::uint64_t>(last - first + 1);
  const std::uint64_t before = deaths_in_hours(history.trend, first, last);
  // recent > factor * 2 * before / hours, without a division
  return recent * hours > rules.escalating_factor * 2 * before;
}

}  // namespace

const std::array<GroupStatus, group_status_count>& all_group_statuses() noexcept {
  return statuses;
}

std::string_view name_of(GroupStatus status) noexcept {
  const auto place = static_cast<std::size_t>(status);
  return place < names.size() ? names[place] : "unknown";
}

std::optional<GroupStatus> parse_group_status(std::string_view text) noexcept {
  for (const GroupStatus status : statuses) {
    if (name_of(status) == text) return status;
  }
  return std::nullopt;
}

bool is_legal(GroupStatus from, GroupStatus to) noexcept {
  return legal[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

GroupMarks marks_of(const GroupHistory& history, TimePoint now, const MarkRules& rules) {
  GroupMarks marks;
  const bool untouched = history.status == GroupStatus::open;
  const bool over =
      history.status == GroupStatus::resolved || history.status == GroupStatus::ignored;
  marks.regressed = untouched && history.regressed_at.has_value();
  marks.is_new = untouched && !marks.regressed && now - history.first_seen < rules.new_for;
  marks.escalating = !over && is_escalating(history, now, rules);
  marks.repeat = history.repeats;
  return marks;
}

bool is_over(GroupStatus status, std::uint64_t open, TimePoint last_seen, TimePoint now,
             Millis quiet_for) noexcept {
  const bool left_to_time = status == GroupStatus::open || status == GroupStatus::acknowledged ||
                            status == GroupStatus::fixing;
  return left_to_time && open == 0 && now - last_seen >= quiet_for;
}

}  // namespace dlo
