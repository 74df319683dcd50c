#include "dlo/jobs/group_keeper.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "dlo/jobs/batch.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

constexpr std::size_t most_at_once = 500;

Result<std::vector<GroupSummary>> groups_like(Office& office, const AggregateRequest& request) {
  auto numbers = office.aggregate(request);
  if (!numbers) return numbers.error();
  return std::move(numbers->groups);
}

AggregateRequest first_groups() {
  AggregateRequest request;
  request.tallies = false;
  request.groups = most_at_once;
  return request;
}

/// All groups of this status, however many there are, a page at a time; those last seen first.
Result<void> look_at_all(Office& office, GroupStatus status,
                         const std::function<void(const GroupSummary&)>& look) {
  AggregateRequest request = first_groups();
  request.group_filter.statuses = {status};
  std::set<Id128> seen;  // of the moment at which the page before ended
  while (true) {
    const auto page = groups_like(office, request);
    if (!page) return page.error();
    for (const GroupSummary& group : *page) {
      if (!seen.contains(group.fingerprint)) look(group);
    }
    if (page->size() < request.groups) return {};
    const TimePoint end = page->back().last_seen;
    const bool one_moment = page->front().last_seen == end;
    if (!one_moment) seen.clear();
    for (const GroupSummary& group : *page) {
      if (group.last_seen == end) seen.insert(group.fingerprint);
    }
    request.groups = one_moment ? request.groups * 2 : most_at_once;
    request.group_filter.seen_before = end + Millis{1};
  }
}

/// Those that are to wake by now, in order of their moments.
Result<std::vector<GroupSummary>> due_to_wake(Office& office, TimePoint now) {
  std::vector<GroupSummary> due;
  const auto looked = look_at_all(office, GroupStatus::snoozed, [&](const GroupSummary& group) {
    if (group.snoozed_until && *group.snoozed_until <= now) due.push_back(group);
  });
  if (!looked) return looked.error();
  std::stable_sort(due.begin(), due.end(), [](const GroupSummary& a, const GroupSummary& b) {
    return *a.snoozed_until < *b.snoozed_until;
  });
  return due;
}

/// One group to another status; false if a person was quicker.
Result<bool> change(Office& office, const GroupSummary& group, GroupStatus to, const char* act,
                    TimePoint now) {
  EditGroup edit;
  edit.fingerprint = group.fingerprint;
  edit.expected_version = group.version;
  edit.at = now;
  edit.status = to;
  JsonWriter said;
  said.begin_object().member("before", name_of(group.status)).member("after", name_of(to));
  said.member("last_seen", group.last_seen).end_object();
  const std::vector<Change> changes{
      edit, AddAudit{now, "office", act, to_string(group.fingerprint), said.take()}};
  const auto applied = office.apply(changes);
  if (applied) return true;
  if (is_overtaken(applied.error())) return false;
  return applied.error();
}

}  // namespace

Result<std::size_t> keep_groups(Office& office, Millis quiet_for, TimePoint now) {
  AggregateRequest quiet = first_groups();
  quiet.group_filter.statuses = {GroupStatus::open, GroupStatus::acknowledged, GroupStatus::fixing};
  quiet.group_filter.has_open = false;
  quiet.group_filter.seen_before = now - quiet_for + Millis{1};
  const auto over = groups_like(office, quiet);
  if (!over) return over.error();
  std::size_t kept = 0;
  for (const GroupSummary& group : *over) {
    if (!is_over(group.status, group.open, group.last_seen, now, quiet_for)) continue;
    const auto done = change(office, group, GroupStatus::resolved, "group.quiet", now);
    if (!done) return done.error();
    kept += *done ? 1 : 0;
  }
  const auto due = due_to_wake(office, now);
  if (!due) return due.error();
  for (const GroupSummary& group : *due) {
    const auto done = change(office, group, GroupStatus::open, "group.wake", now);
    if (!done) return done.error();
    kept += *done ? 1 : 0;
  }
  return kept;
}

}  // namespace dlo
