#include "dlo/store/rules.h"

namespace dlo {
namespace {

TallyKey tally_of(const DeadLetter& record) {
  return {record.message->source, record.status, record.category};
}

bool is_dead(const DeadLetter* record) {
  return record != nullptr && !is_live(record->status);
}

bool is_open_one(const DeadLetter* record) {
  return record != nullptr && is_open(record->status);
}

/// A death is what makes a record a dead letter: its arrival, the end of its waiting, or its coming
/// back as the next occurrence.
bool is_death(const DeadLetter* before, const DeadLetter* after) {
  if (!is_dead(after)) return false;
  return !is_dead(before) || after->occurrence > before->occurrence;
}

}  // namespace

Movement movement(const DeadLetter* before, const DeadLetter* after) {
  Movement moves;
  if (before != nullptr) moves.leaves = tally_of(*before);
  if (after != nullptr) moves.enters = tally_of(*after);
  if (moves.leaves == moves.enters) moves.leaves = moves.enters = std::nullopt;

  const bool death = is_death(before, after);
  const bool regrouped = is_dead(before) && is_dead(after) && !death &&
                         before->fingerprint.hash != after->fingerprint.hash;
  GroupMove out;
  GroupMove in;
  if (is_dead(before)) {
    out = {before->fingerprint.hash, is_open_one(before) ? -1 : 0, regrouped ? -1 : 0, false};
  }
  if (is_dead(after)) {
    const bool arrival = death || regrouped;
    in = {after->fingerprint.hash, is_open_one(after) ? 1 : 0, arrival ? 1 : 0, arrival};
  }
  if (is_dead(before) && is_dead(after) && out.fingerprint == in.fingerprint) {
    in.open += out.open;
    out = {};
  }
  if (out.open != 0 || out.total != 0) moves.groups.push_back(out);
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
  if (group.status == GroupStatus::resolved || woken) {
    group.status = GroupStatus::open;
    group.snoozed_until.reset();
  }
}

void edit_group(GroupSummary& group, const EditGroup& edit) {
  if (edit.status) group.status = *edit.status;
  if (edit.owner) group.owner = *edit.owner;
  if (edit.ticket) group.ticket = *edit.ticket;
  if (edit.notes) group.notes = *edit.notes;
  if (edit.snoozed_until) group.snoozed_until = edit.snoozed_until;
  if (group.status != GroupStatus::snoozed) group.snoozed_until.reset();
}

}  // namespace dlo
