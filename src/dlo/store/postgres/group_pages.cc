#include "dlo/store/postgres/group_pages.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dlo/store/rules.h"
#include "dlo/store/sql/group_rows.h"

namespace dlo::postgres {
namespace {

constexpr std::int64_t usual_length = 5'000;

bool passes_all(const GroupFilter& filter) {
  return filter.statuses.empty() && !filter.owner && !filter.tag && !filter.has_open &&
         !filter.seen_before;
}

std::int64_t length_for(const AggregateRequest& request) {
  constexpr std::size_t most = std::numeric_limits<std::int64_t>::max();
  if (!passes_all(request.group_filter)) return usual_length;
  return static_cast<std::int64_t>(std::min(request.groups, most));
}

/// Only tags are not told apart for certain.
std::string passing(const GroupFilter& filter) {
  std::string sql = " WHERE true";
  if (!filter.statuses.empty()) sql += " AND status = ANY($1)";
  if (filter.owner) sql += " AND owner = $2";
  if (filter.seen_before) sql += " AND last_seen < $3";
  if (filter.has_open) sql += *filter.has_open ? " AND open > 0" : " AND open = 0";
  if (filter.tag) sql += " AND position($4 IN tags) > 0";
  return sql;
}

}  // namespace

GroupPages::GroupPages(const AggregateRequest& request)
    : request_(request), length_(length_for(request)), after_(request.groups_after) {}

/// What comes behind a place, one range of an index after the other: a single condition on all of
/// them would walk over everything before it.
std::string GroupPages::stretch() const {
  const bool by_time = request_.group_order == GroupOrder::last_seen;
  const std::string order = by_time ? " ORDER BY last_seen DESC, fingerprint"
                                    : " ORDER BY open DESC, last_seen DESC, fingerprint";
  const auto range = [&](const char* where) {
    return "(SELECT * FROM groups" + std::string(where) + order + " LIMIT $5)";
  };
  std::string ranges = range("");
  if (after_ && by_time) {
    ranges = range(" WHERE last_seen = $7 AND fingerprint > $8") + " UNION ALL " +
             range(" WHERE last_seen < $7");
  } else if (after_) {
    ranges = range(" WHERE open = $6 AND last_seen = $7 AND fingerprint > $8") + " UNION ALL " +
             range(" WHERE open = $6 AND last_seen < $7") + " UNION ALL " +
             range(" WHERE open < $6");
  }
  return " FROM (SELECT * FROM (" + ranges + ") ranges" + order + " LIMIT $5) stretch";
}

void GroupPages::send(Connection& db) const {
  const GroupFilter& filter = request_.group_filter;
  std::vector<std::int64_t> statuses;
  for (const GroupStatus status : filter.statuses) {
    statuses.push_back(static_cast<std::int64_t>(status));
  }
  const std::string owner = filter.owner.value_or("");
  const std::string tag = filter.tag.value_or("");
  const GroupPlace at = after_.value_or(GroupPlace{});
  const Params params(statuses, owner, filter.seen_before.value_or(TimePoint{}), tag, length_,
                      static_cast<std::int64_t>(at.open), at.last_seen, at.fingerprint);
  const std::string from = stretch();
  const std::string order = request_.group_order == GroupOrder::last_seen
                                ? " ORDER BY last_seen DESC, fingerprint"
                                : " ORDER BY open DESC, last_seen DESC, fingerprint";
  db.send(std::string("SELECT ") + sql::group_columns + from + passing(filter) + order, params,
          Plan::once);
  db.send("SELECT open, last_seen, fingerprint" + from + order + " OFFSET $5 - 1 LIMIT 1", params,
          Plan::once);
}

void GroupPages::take(const Rows& rows, const Rows& end) {
  for (const Row row : rows) {
    if (groups_.size() == request_.groups) break;
    GroupSummary group = sql::read_group(row);
    if (matches(request_.group_filter, group)) groups_.push_back(std::move(group));
  }
  more_ = !end.empty() && groups_.size() < request_.groups;
  if (!more_) return;
  const Row last = end.front();
  after_ = GroupPlace{last.as<std::uint64_t>(0), last.time(1), last.id(2)};
}

bool GroupPages::goes_on() const {
  return more_ && (!request_.time_box || Clock::now() - began_ < *request_.time_box);
}

void GroupPages::put_into(Aggregate& answer) {
  answer.groups = std::move(groups_);
  if (more_) answer.partial_at = after_;
}

}  // namespace dlo::postgres
