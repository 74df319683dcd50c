#include <algorithm>

#include "dlo/store/rules.h"

namespace dlo {
namespace {

TallyKey tally_of(const DeadLetter& record) {
  return {record.message->source, record.status, record.category};
}

PolicyKey policy_of(const DeadLetter& record) {
  return {record.status, kind_of_policy(record.policy)};
}

/// Messages that wait are in no group, nor are those that only ever waited (R9).
bool is_grouped(const DeadLetter* record) {
  return record != nullptr && record->died;
}

std::int64_t open_place(const DeadLetter& record) {
  return is_open(record.status) ? 1 : 0;
}

}  // namespace

Movement movement(const DeadLetter* before, const DeadLetter* after) {
  Movement moves;
  if (before != nullptr) moves.leaves = tally_of(*before);
  if (after != nullptr) moves.enters = tally_of(*after);
  if (moves.leaves == moves.enters) moves.leaves = moves.enters = std::nullopt;
  if (before != nullptr) moves.leaves_policy = policy_of(*before);
  if (after != nullptr) moves.enters_policy = policy_of(*after);
  if (moves.leaves_policy == moves.enters_policy) {
    moves.leaves_policy = moves.enters_policy = std::nullopt;
  }

  const bool was = is_grouped(before);
  const bool is = is_grouped(after);
  const bool death = is && (!was || after->occurrence > before->occurrence);
  const bool stays = was && is && before->fingerprint.hash == after->fingerprint.hash;
  const bool arrival = death || (was && is && !stays);

  GroupMove in;
  if (is) {
    in = {after->fingerprint.hash, open_place(*after),        arrival ? 1 : 0, arrival,
          after->died_at,          after->counters.replay > 0};
  }
  if (stays) in.open -= open_place(*before);
  if (was && !stays) {
    const std::int64_t takes_along = is && !death ? 1 : 0;
    const GroupMove out{before->fingerprint.hash, -open_place(*before),       -takes_along, false,
                        before->died_at,          before->counters.replay > 0};
    if (out.open != 0 || out.total != 0) moves.groups.push_back(out);
  }
  if (in.open != 0 || in.arrival) moves.groups.push_back(in);
  return moves;
}

GroupSummary new_group(const GroupMove& move, const DeadLetter& arrival) {
  GroupSummary group;
  group.fingerprint = move.fingerprint;
  group.first_seen = arrival.died_at;
  group.last_seen = arrival.died_at;
  return group;
}

void move_group(GroupSummary& group, const GroupMove& move, const DeadLetter& record) {
  group.open = static_cast<std::uint64_t>(static_cast<std::int64_t>(group.open) + move.open);
  group.total = static_cast<std::uint64_t>(static_cast<std::int64_t>(group.total) + move.total);
  if (move.repeat) {
    group.repeats =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(group.repeats) + move.total);
  }
  count_deaths(group.trend, move.at, move.total);
  if (!move.arrival) return;
  if (record.died_at < group.first_seen) group.first_seen = record.died_at;
  if (record.died_at >= group.last_seen) {
    group.last_seen = record.died_at;
    group.sample = record.id;
    group.title = record.fingerprint.title;
    group.category = record.category;
    group.source = record.message->source;
  }
  if (!is_open(record.status)) return;
  const bool woken = group.status == GroupStatus::snoozed && group.snoozed_until &&
                     record.died_at >= *group.snoozed_until;
  const bool regressed = group.status == GroupStatus::resolved;
  if (!regressed && !woken) return;
  if (regressed) group.regressed_at = record.died_at;
  group.status = GroupStatus::open;
  group.snoozed_until.reset();
  ++group.version;
}

bool matches(const GroupFilter& filter, const GroupSummary& group) {
  const auto among = [](const auto& values, const auto& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  return (filter.statuses.empty() || among(filter.statuses, group.status)) &&
         (!filter.owner || *filter.owner == group.owner) &&
         (!filter.tag || among(group.tags, *filter.tag)) &&
         (!filter.has_open || *filter.has_open == (group.open > 0)) &&
         (!filter.seen_before || group.last_seen < *filter.seen_before);
}

GroupPlace place_of(const GroupSummary& group) noexcept {
  return {group.open, group.last_seen, group.fingerprint};
}

Result<void> edit_group(GroupSummary& group, const EditGroup& edit) {
  if (edit.expected_version && *edit.expected_version != group.version) {
    return Error{Code::conflict, "office.group",
                 "the group is at version " + std::to_string(group.version) + ", not " +
                     std::to_string(*edit.expected_version) + ": somebody changed it meanwhile"};
  }
  if (edit.status && !is_legal(group.status, *edit.status)) {
    return Error{Code::conflict, "office.group",
                 "a group that is " + std::string(name_of(group.status)) + " cannot become " +
                     std::string(name_of(*edit.status)) + ": open it first"};
  }
  if (edit.status == GroupStatus::resolved && group.status != GroupStatus::resolved) {
    group.resolved_at = edit.at;
    group.regressed_at.reset();
  }
  if (edit.status) group.status = *edit.status;
  if (edit.owner) group.owner = *edit.owner;
  if (edit.ticket) group.ticket = *edit.ticket;
  if (edit.notes) group.notes = *edit.notes;
  if (edit.tags) group.tags = *edit.tags;
  if (edit.snoozed_until) group.snoozed_until = edit.snoozed_until;
  if (group.status != GroupStatus::snoozed) group.snoozed_until.reset();
  ++group.version;
  return {};
}

}  // namespace dlo
