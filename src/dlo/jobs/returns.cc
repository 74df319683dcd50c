#include "dlo/jobs/returns.h"

#include <algorithm>
#include <vector>

#include "dlo/json/writer.h"

namespace dlo {
namespace {

constexpr std::size_t most_groups = 20;

Result<void> reopen(Office& office, const Job& job, const Id128& id, TimePoint now) {
  AggregateRequest wanted;
  wanted.tallies = false;
  wanted.only_group = id;
  const auto numbers = office.aggregate(wanted);
  if (!numbers) return numbers.error();
  if (numbers->groups.empty()) return {};
  const GroupSummary& group = numbers->groups.front();
  const bool taken_up =
      group.status == GroupStatus::acknowledged || group.status == GroupStatus::fixing;
  if (!taken_up) return {};
  EditGroup edit;
  edit.fingerprint = group.fingerprint;
  edit.expected_version = group.version;
  edit.at = now;
  edit.status = GroupStatus::open;
  JsonWriter said;
  said.begin_object().member("before", name_of(group.status)).member("after", "open");
  said.member("job", job.id).end_object();
  const std::vector<Change> changes{edit, AddAudit{now, "job " + job.id, "group.reopen",
                                                   to_string(group.fingerprint), said.take()}};
  const auto applied = office.apply(changes);
  return applied ? Result<void>{} : applied.error();
}

}  // namespace

void count_return(JobProgress& progress, const Id128& sent_from, const DeadLetter& record) {
  const Id128& group = record.fingerprint.hash;
  auto& all = progress.returned_to;
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const ReturnedTo& each) { return each.group == group; });
  if (found == all.end()) {
    if (all.size() == most_groups) return;  // how many came back is counted elsewhere
    found = all.insert(all.end(), {group, 0, false});
  }
  ++found->count;
  found->same = found->same || group == sent_from;
}

std::string returned_text(const JobProgress& progress) {
  std::string text;
  for (const ReturnedTo& each : progress.returned_to) {
    text += (text.empty() ? "" : ", ") + std::to_string(each.count) + " as group " +
            to_string(each.group);
  }
  return text;
}

Result<void> reopen_groups(Office& office, const Job& job, const JobProgress& progress,
                           TimePoint now) {
  for (const ReturnedTo& each : progress.returned_to) {
    if (!each.same) continue;
    if (auto opened = reopen(office, job, each.group, now); !opened) return opened;
  }
  return {};
}

}  // namespace dlo
