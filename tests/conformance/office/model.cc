#include "conformance/office/model.h"

#include <algorithm>

namespace dlo::testing {

void OfficeModel::die(Row& row) {
  row.died = true;
  Group& group = groups_[row.group];
  ++group.total;
  if (is_open(row.status) && group.status == GroupStatus::resolved) {
    group.status = GroupStatus::open;
  }
}

Effect OfficeModel::append(const RecordId& id, const DeadLetter& letter, std::int64_t number) {
  const auto found = rows_.find(id);
  Row row;
  row.status = letter.status;
  row.occurrence = letter.occurrence;
  row.fetches = letter.counters.fetch;
  row.source = letter.message->source;
  row.category = letter.category;
  row.group = letter.fingerprint.hash;
  row.died_at = letter.died_at;
  row.due = letter.next_retry_at;
  row.unsettled = letter.source_unsettled;
  if (found == rows_.end()) {
    row.number = std::max(number, last_number_ + 1);
    last_number_ = row.number;
    if (!is_live(row.status)) die(row);
    rows_.emplace(id, row);
    return Effect::applied;
  }
  Row& old = found->second;
  const bool newer = letter.occurrence > old.occurrence;
  const bool expects_news =
      is_closed(old.status) || old.status == Status::replaying || old.status == Status::replayed;
  // The letters of the model have neither position nor redelivery, so unsettled ones never merge
  // for that reason.
  const bool news = letter.occurrence == 1 && expects_news && letter.died_at != old.died_at;
  if (!newer && !news) return Effect::merged;
  row.occurrence = std::max(letter.occurrence, old.occurrence + 1);
  row.version = old.version + 1;
  row.number = old.number;
  if (!is_live(row.status)) die(row);
  old = row;
  return Effect::reopened;
}

std::optional<Code> OfficeModel::would_refuse(const Transition& t) const {
  const bool leasable = carries_lease(t.to) || t.to == Status::waiting;
  if (t.lease_for && !leasable) return Code::invalid_argument;
  if (t.lease && !t.lease_for && carries_lease(t.to)) return Code::invalid_argument;
  const auto found = rows_.find(t.id);
  if (found == rows_.end()) return Code::not_found;
  const Row& row = found->second;
  if (t.lease && !(holds(row, t.now) && row.lease == t.lease)) return Code::lease_lost;
  if (t.expected_version && *t.expected_version != row.version) return Code::conflict;
  if (!is_legal(row.status, t.to)) return Code::conflict;
  if (t.lease_for && !t.lease && holds(row, t.now)) return Code::conflict;
  if (carries_lease(t.to) && !t.lease_for && t.to != row.status) return Code::invalid_argument;
  return std::nullopt;
}

std::optional<Code> OfficeModel::move(const Transition& t,
                                      const std::optional<LeaseToken>& granted) {
  if (const auto refusal = would_refuse(t)) return refusal;
  Row& row = rows_.at(t.id);
  if (t.lease_for) {
    const TimePoint until = t.now + *t.lease_for;
    row.leased_until = t.lease ? std::max(row.leased_until, until) : until;
    row.lease = granted;
  } else if (t.lease || t.to != row.status) {
    row.lease.reset();
  }
  const Id128 old_group = row.group;
  row.status = t.to;
  ++row.version;
  if (t.category) row.category = *t.category;
  if (t.fingerprint) row.group = t.fingerprint->hash;
  if (t.clear_next_retry) row.due.reset();
  if (t.next_retry_at) row.due = t.next_retry_at;
  if (row.died && row.group != old_group) {
    --groups_[old_group].total;
    die(row);
  } else if (!row.died && is_open(row.status)) {
    die(row);
  }
  return std::nullopt;
}

std::optional<Code> OfficeModel::remove(const RecordId& id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return Code::not_found;
  const Status status = found->second.status;
  if (status != Status::discarded && status != Status::expired) return Code::conflict;
  rows_.erase(found);
  return std::nullopt;
}

std::optional<Code> OfficeModel::edit(const Id128& group, GroupStatus status) {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return Code::not_found;
  if (!is_legal(found->second.status, status)) return Code::conflict;
  found->second.status = status;
  return std::nullopt;
}

void OfficeModel::take_back(TimePoint now) {
  for (auto& [id, row] : rows_) {
    if (!row.lease || holds(row, now)) continue;
    row.lease.reset();
    if (row.status == Status::retrying) {
      row.status = Status::pending;
      ++row.version;
    }
  }
}

std::optional<RecordId> OfficeModel::next_due(TimePoint now, const std::string& source) const {
  std::optional<RecordId> best;
  for (const auto& [id, row] : rows_) {
    const bool claimable = row.status == Status::waiting || row.status == Status::pending;
    if (!claimable || row.lease || !row.due || *row.due > now) continue;
    if (!source.empty() && row.source != source) continue;
    if (!best) {
      best = id;
      continue;
    }
    const Row& other = rows_.at(*best);
    if (std::tie(*row.due, row.number) < std::tie(*other.due, other.number)) best = id;
  }
  return best;
}

void OfficeModel::claim(const RecordId& id, const LeaseToken& lease, TimePoint until) {
  Row& row = rows_.at(id);
  if (row.status == Status::pending) row.status = Status::retrying;
  ++row.version;
  ++row.fetches;
  row.lease = lease;
  row.leased_until = until;
}

bool OfficeModel::renew(const LeaseToken& lease, TimePoint now, Millis lease_for) {
  for (auto& [id, row] : rows_) {
    if (row.lease != lease || !holds(row, now)) continue;
    row.leased_until = std::max(row.leased_until, now + lease_for);
    return true;
  }
  return false;
}

OfficeModel::TallyRows OfficeModel::tallies() const {
  TallyRows counts;
  for (const auto& [id, row] : rows_) ++counts[{row.source, row.status, row.category}];
  return counts;
}

std::map<Id128, std::uint64_t> OfficeModel::open_by_group() const {
  std::map<Id128, std::uint64_t> counts;
  for (const auto& [id, row] : rows_) {
    if (is_open(row.status)) ++counts[row.group];
  }
  return counts;
}

}  // namespace dlo::testing
