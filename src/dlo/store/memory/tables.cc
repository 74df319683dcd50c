#include "dlo/store/memory/tables.h"

#include <algorithm>
#include <tuple>

namespace dlo::memory {
namespace {

template <typename Map, typename Key>
void set_index(Map& map, const Key& key, const EntryPtr& entry, bool in) {
  if (in) {
    map.insert_or_assign(key, entry);
  } else {
    map.erase(key);
  }
}

/// The larger a number, the smaller this. A minus sign would not do for the least there is.
std::int64_t backwards(std::int64_t number) {
  return ~number;
}

std::int64_t millis(TimePoint time) {
  return time.time_since_epoch().count();
}

template <typename Map, typename Key>
EntryPtr find_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace

void Tables::begin() {
  undo_.clear();
  began_ = sequence_;
}

void Tables::roll_back() {
  while (!undo_.empty()) {
    const auto step = std::move(undo_.back());
    undo_.pop_back();
    step();
  }
  sequence_ = began_;
}

EntryPtr Tables::find(const RecordId& id) const {
  return find_in(records_, id);
}
EntryPtr Tables::find(const LeaseToken& token) const {
  return find_in(leased_, token);
}

LeaseToken Tables::next_token() {
  LeaseToken token;
  token.high = lease_epoch_;
  token.low = ++last_token_;
  return token;
}

void Tables::index_lease(const EntryPtr& entry, bool in) {
  const DeadLetter& record = entry->record;
  if (entry->lease) {
    set_index(leased_, entry->lease->token, entry, in);
    set_index(lease_ends_, std::pair(entry->lease->until, entry->lease->token), entry, in);
  } else if (is_claimable(record.status) && record.next_retry_at) {
    const std::pair line(record.message->source, record.message->priority);
    set_index(due_[line], DueKey(*record.next_retry_at, record.number), entry, in);
    if (due_[line].empty()) due_.erase(line);
  }
}

void Tables::index(const EntryPtr& entry, bool in) {
  const DeadLetter& record = entry->record;
  set_index(records_, record.id, entry, in);
  set_index(by_place_, cursor_of(record), entry, in);
  set_index(by_change_, record.change, entry, in);
  if (record.message->owner && is_poisoned(record.status)) {
    const auto kind =
        record.message->owner->activity ? PoisonKind::activity : PoisonKind::orchestration;
    set_index(poisoned_[static_cast<std::size_t>(kind)], record.number, entry, in);
  }
  index_lease(entry, in);
}

void Tables::swap(const EntryPtr& before, const EntryPtr& after) {
  if (before) index(before, false);
  if (after) index(after, true);
}

template <typename Key>
void Tables::move_count(std::map<Key, std::uint64_t>& counts, const std::optional<Key>& leaves,
                        const std::optional<Key>& enters) {
  if (leaves && --counts[*leaves] == 0) counts.erase(*leaves);
  if (enters) ++counts[*enters];
  if (leaves || enters) {
    undo_.emplace_back([&counts, leaves, enters] {
      if (enters && --counts[*enters] == 0) counts.erase(*enters);
      if (leaves) ++counts[*leaves];
    });
  }
}

void Tables::replace(const EntryPtr& before, const EntryPtr& after) {
  swap(before, after);
  undo_.emplace_back([this, before, after] { swap(after, before); });
  const DeadLetter* const was = before ? &before->record : nullptr;
  const DeadLetter* const is = after ? &after->record : nullptr;
  undo_.emplace_back([this, saved = lifetime_] { lifetime_ = saved; });
  add(lifetime_, lifetime_move(was, is));
  const Movement moves = movement(was, is);
  move_count(tallies_, moves.leaves, moves.enters);
  move_count(policies_, moves.leaves_policy, moves.enters_policy);
  move_groups(moves, after.get());
}

void Tables::replace_lease(const EntryPtr& before, const std::optional<Lease>& lease) {
  auto after = std::make_shared<Entry>(*before);
  after->lease = lease;
  swap(before, after);
}

void Tables::move_groups(const Movement& moves, const Entry* after) {
  // A group loses only what it was given, so without an arrival `after` is not looked at.
  static const DeadLetter nobody;
  const DeadLetter& arrival = after != nullptr ? after->record : nobody;
  for (const GroupMove& move : moves.groups) {
    const Strand* merged = strand(move.fingerprint);
    const GroupSummary* known = group(merged != nullptr ? merged->into : move.fingerprint);
    GroupSummary next = known != nullptr ? *known : new_group(move, arrival);
    move_group(next, move, arrival);
    if (merged != nullptr) {
      Strand own = *merged;
      move_group(own.own, move, arrival);
      put_strand(move.fingerprint, own);
    }
    put_group(next);
  }
}

void Tables::remove_group(const Id128& fingerprint) {
  std::optional<GroupSummary> saved;
  if (const GroupSummary* known = group(fingerprint)) saved = *known;
  undo_.emplace_back([this, fingerprint, saved] { restore_group(fingerprint, saved); });
  restore_group(fingerprint, std::nullopt);
}

const Strand* Tables::strand(const Id128& fingerprint) const {
  const auto found = strands_.find(fingerprint);
  return found == strands_.end() ? nullptr : &found->second;
}

std::vector<Strand> Tables::strands_of(const Id128& group) const {
  std::vector<Strand> found;
  for (const auto& [fingerprint, strand] : strands_) {
    if (strand.into == group) found.push_back(strand);
  }
  return found;
}

void Tables::put_strand(const Id128& fingerprint, const std::optional<Strand>& strand) {
  const auto put = [this, fingerprint](const std::optional<Strand>& wanted) {
    strands_.erase(fingerprint);
    if (wanted) strands_.emplace(fingerprint, *wanted);
  };
  std::optional<Strand> saved;
  if (const Strand* known = this->strand(fingerprint)) saved = *known;
  undo_.emplace_back([put, saved = std::move(saved)] { put(saved); });
  put(strand);
}

const GroupSummary* Tables::group(const Id128& fingerprint) const {
  const auto found = groups_.find(fingerprint);
  return found == groups_.end() ? nullptr : &found->second;
}

Tables::RecentKey Tables::recent_key(const GroupPlace& place) {
  return {backwards(millis(place.last_seen)), place.fingerprint};
}

Tables::CrowdedKey Tables::crowded_key(const GroupPlace& place) {
  return {backwards(static_cast<std::int64_t>(place.open)), backwards(millis(place.last_seen)),
          place.fingerprint};
}

void Tables::index_group(const GroupSummary& group, bool in) {
  const RecentKey recent = recent_key(place_of(group));
  const CrowdedKey crowded = crowded_key(place_of(group));
  if (in) {
    groups_by_last_seen_.insert(recent);
    groups_by_open_.insert(crowded);
  } else {
    groups_by_last_seen_.erase(recent);
    groups_by_open_.erase(crowded);
  }
}

void Tables::restore_group(const Id128& fingerprint, const std::optional<GroupSummary>& saved) {
  const auto found = groups_.find(fingerprint);
  if (found != groups_.end()) {
    index_group(found->second, false);
    groups_.erase(found);
  }
  if (saved) {
    index_group(*saved, true);
    groups_.emplace(fingerprint, *saved);
  }
}

void Tables::put_group(const GroupSummary& group) {
  const GroupSummary* known = this->group(group.fingerprint);
  std::optional<GroupSummary> saved;
  if (known != nullptr) saved = *known;
  undo_.emplace_back(
      [this, id = group.fingerprint, saved = std::move(saved)] { restore_group(id, saved); });
  restore_group(group.fingerprint, group);
}

std::vector<GroupSummary> Tables::top_groups(const AggregateRequest& request) const {
  std::vector<GroupSummary> top;
  const auto take = [&](const Id128& id) {
    const GroupSummary& group = groups_.at(id);
    if (matches(request.group_filter, group)) top.push_back(group);
    return top.size() < request.groups;
  };
  if (request.groups == 0) return top;
  const auto& after = request.groups_after;
  if (request.group_order == GroupOrder::last_seen) {
    auto key =
        after ? groups_by_last_seen_.upper_bound(recent_key(*after)) : groups_by_last_seen_.begin();
    while (key != groups_by_last_seen_.end() && take(key->second)) ++key;
  } else {
    auto key = after ? groups_by_open_.upper_bound(crowded_key(*after)) : groups_by_open_.begin();
    while (key != groups_by_open_.end() && take(std::get<2>(*key))) ++key;
  }
  return top;
}

const Document* Tables::document(const DocumentKey& key) const {
  const auto found = documents_.find(key);
  return found == documents_.end() ? nullptr : &found->second;
}

std::uint64_t Tables::put_document(const DocumentKey& key, const std::optional<std::string>& body) {
  const Document* known = document(key);
  std::optional<Document> saved;
  if (known != nullptr) saved = *known;
  undo_.emplace_back([this, key, saved = std::move(saved)] {
    documents_.erase(key);
    if (saved) documents_.emplace(key, *saved);
  });
  if (!body) {
    documents_.erase(key);
    return 0;
  }
  const std::uint64_t version = next_change();
  documents_.insert_or_assign(key, Document{key.second, *body, version});
  return version;
}

std::uint64_t Tables::add_audit(const AddAudit& act) {
  AuditEntry entry;
  entry.number = audit_.size() + 1;
  entry.act = act;
  entry.previous = audit_.empty() ? "" : audit_.back().hash;
  entry.hash = audit_hash(entry.previous, entry.number, act);
  audit_.push_back(std::move(entry));
  undo_.emplace_back([this] { audit_.pop_back(); });
  return audit_.size();
}

EntryPtr Tables::next_ended(TimePoint now) const {
  if (lease_ends_.empty()) return nullptr;
  const EntryPtr& first = lease_ends_.begin()->second;
  return is_live(*first->lease, now) ? nullptr : first;
}

template <typename Consider>
void Tables::each_line(const ClaimFrom& from, const Consider& consider) const {
  auto line = from.source.empty() ? due_.begin() : due_.lower_bound({from.source, Priority::low});
  for (; line != due_.end(); ++line) {
    if (!from.source.empty() && line->first.first != from.source) return;
    if (takes(from, line->first.first)) consider(line->first.second, line->second);
  }
}

EntryPtr Tables::next_due(TimePoint now, const ClaimFrom& from) const {
  EntryPtr best;
  DueKey place;
  each_line(from, [&](Priority priority, const Line& line) {
    const auto& [key, entry] = *line.begin();
    const DueKey here(turn_of(key.first, priority), key.second);
    if (key.first > now || (best && place < here)) return;
    best = entry;
    place = here;
  });
  return best;
}

std::optional<TimePoint> Tables::earliest(const ClaimFrom& from) const {
  std::optional<TimePoint> first;
  const auto consider = [&](TimePoint when) { first = first ? std::min(*first, when) : when; };
  each_line(from, [&](Priority, const Line& line) { consider(line.begin()->first.first); });
  if (!lease_ends_.empty()) consider(lease_ends_.begin()->first.first);
  return first;
}

}  // namespace dlo::memory
