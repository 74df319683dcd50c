#include "dlo/store/sqlite/group_pages.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "dlo/store/rules.h"
#include "dlo/store/sql/group_rows.h"

namespace dlo::sqlite {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t rows_per_look = 32;  // at the clock

std::string groups_where(const char* where, const char* order) {
  return std::string("SELECT ") + group_columns + " FROM groups" + where + " ORDER BY " + order;
}

// What comes behind a place, one range of an index after the other: a single condition on all of
// them would walk over everything before it.
const std::string recent = groups_where("", "last_seen DESC, fingerprint");
const std::string recent_same_moment =
    groups_where(" WHERE last_seen = ?1 AND fingerprint > ?2", "fingerprint");
const std::string recent_before =
    groups_where(" WHERE last_seen < ?1", "last_seen DESC, fingerprint");
const std::string crowded = groups_where("", "open DESC, last_seen DESC, fingerprint");
const std::string crowded_same_moment =
    groups_where(" WHERE open = ?1 AND last_seen = ?2 AND fingerprint > ?3", "fingerprint");
const std::string crowded_before =
    groups_where(" WHERE open = ?1 AND last_seen < ?2", "last_seen DESC, fingerprint");
const std::string less_crowded =
    groups_where(" WHERE open < ?1", "open DESC, last_seen DESC, fingerprint");

/// What most groups fail by, without reading all of them.
bool may_match(const GroupFilter& filter, Statement& row) {
  const auto status = row.as<GroupStatus>(group_column::status);
  if (!filter.statuses.empty() &&
      std::ranges::find(filter.statuses, status) == filter.statuses.end())
    return false;
  if (filter.owner && *filter.owner != row.view(group_column::owner)) return false;
  return !filter.has_open || *filter.has_open == (row.number(group_column::open) > 0);
}

class GroupWalk {
 public:
  GroupWalk(const AggregateRequest& request, Aggregate& answer)
      : request_(request), answer_(answer), began_(Clock::now()) {}

  /// False: enough, or out of time.
  bool walk(Statement& statement) {
    for (Rows rows(statement); rows.next();) {
      if (answer_.groups.size() == request_.groups) return false;
      if (may_match(request_.group_filter, *rows)) {
        GroupSummary group = read_group(*rows);
        if (matches(request_.group_filter, group)) answer_.groups.push_back(std::move(group));
      }
      if (++looked_at_ % rows_per_look == 0 && is_late()) {
        answer_.partial_at =
            GroupPlace{rows->as<std::uint64_t>(group_column::open),
                       rows->time(group_column::last_seen), rows->id(group_column::fingerprint)};
        return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] bool is_late() const {
    return request_.time_box && Clock::now() - began_ >= *request_.time_box &&
           answer_.groups.size() < request_.groups;
  }

  const AggregateRequest& request_;
  Aggregate& answer_;
  const Clock::time_point began_;
  std::size_t looked_at_ = 0;
};

}  // namespace

void read_groups(Readers::Turn& turn, const AggregateRequest& request, Aggregate& answer) {
  GroupWalk groups(request, answer);
  const bool by_time = request.group_order == GroupOrder::last_seen;
  if (!request.groups_after) {
    groups.walk(turn(by_time ? recent : crowded));
    return;
  }
  const GroupPlace& at = *request.groups_after;
  if (by_time) {
    if (!groups.walk(turn(recent_same_moment).bind(at.last_seen, at.fingerprint))) return;
    groups.walk(turn(recent_before).bind(at.last_seen));
    return;
  }
  if (!groups.walk(turn(crowded_same_moment).bind(at.open, at.last_seen, at.fingerprint))) return;
  if (!groups.walk(turn(crowded_before).bind(at.open, at.last_seen))) return;
  groups.walk(turn(less_crowded).bind(at.open));
}

}  // namespace dlo::sqlite
