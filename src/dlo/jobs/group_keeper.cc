#include "dlo/jobs/group_keeper.h"

#include <vector>

#include "dlo/jobs/batch.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

constexpr std::size_t most_at_once = 500;

Result<std::vector<GroupSummary>> groups_like(Office& office, GroupFilter filter) {
  AggregateRequest request;
  request.tallies = false;
  request.groups = most_at_once;
  request.group_filter = std::move(filter);
  auto numbers = office.aggregate(request);
  if (!numbers) return numbers.error();
  return std::move(numbers->groups);
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
  GroupFilter quiet;
  quiet.statuses = {GroupStatus::open, GroupStatus::acknowledged, GroupStatus::fixing};
  quiet.has_open = false;
  quiet.seen_before = now - quiet_for + Millis{1};
  const auto over = groups_like(office, quiet);
  if (!over) return over.error();
  std::size_t kept = 0;
  for (const GroupSummary& group : *over) {
    if (!is_over(group.status, group.open, group.last_seen, now, quiet_for)) continue;
    const auto done = change(office, group, GroupStatus::resolved, "group.quiet", now);
    if (!done) return done.error();
    kept += *done ? 1 : 0;
  }
  GroupFilter asleep;
  asleep.statuses = {GroupStatus::snoozed};
  const auto snoozed = groups_like(office, asleep);
  if (!snoozed) return snoozed.error();
  for (const GroupSummary& group : *snoozed) {
    if (!group.snoozed_until || now < *group.snoozed_until) continue;
    const auto done = change(office, group, GroupStatus::open, "group.wake", now);
    if (!done) return done.error();
    kept += *done ? 1 : 0;
  }
  return kept;
}

}  // namespace dlo
