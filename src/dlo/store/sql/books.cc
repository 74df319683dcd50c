#include "dlo/store/sql/books.h"

#include "dlo/store/office.h"
#include "dlo/store/poison_book.h"

namespace dlo::sql {
namespace {

bool is_poison(const DeadLetter* record) {
  return record != nullptr && record->message->owner && is_poisoned(record->status);
}
std::size_t poison_kind(const DeadLetter& record) {
  return record.message->owner->activity ? 1 : 0;
}

}  // namespace

void Books::move(const DeadLetter* before, const DeadLetter* after) {
  const Movement moves = movement(before, after);
  if (moves.leaves) --pages_.tallies[*moves.leaves];
  if (moves.enters) ++pages_.tallies[*moves.enters];
  if (moves.leaves_policy) --pages_.policies[*moves.leaves_policy];
  if (moves.enters_policy) ++pages_.policies[*moves.enters_policy];
  if (!moves.groups.empty()) move_groups(moves, after);
  add(pages_.lifetime, lifetime_move(before, after));
  if (is_poison(before)) --pages_.poison[poison_kind(*before)];
  if (is_poison(after)) ++pages_.poison[poison_kind(*after)];
}

void Books::move_groups(const Movement& moves, const DeadLetter* after) {
  static const DeadLetter nobody;  // without an arrival the record is not looked at
  const DeadLetter& arrival = after != nullptr ? *after : nobody;
  for (const GroupMove& move : moves.groups) {
    GroupSummary* known = group(move.fingerprint);
    // Most groups were never merged, and their row says so: nothing more is read for them.
    if (known == nullptr || known->strands > 0) {
      if (Strand* merged = strand(move.fingerprint)) {
        move_group(merged->own, move, arrival);
        known = group(merged->into);
      }
    }
    if (known == nullptr) {
      put_group(new_group(move, arrival));
      known = group(move.fingerprint);
    }
    move_group(*known, move, arrival);
  }
}

GroupSummary* Books::group(const Id128& fingerprint) {
  const auto found = pages_.groups.find(fingerprint);
  if (found != pages_.groups.end()) return found->second ? &*found->second : nullptr;
  auto fetched = fetch_group(fingerprint);
  if (!fetched) return nullptr;
  return &*pages_.groups.emplace(fingerprint, std::move(fetched)).first->second;
}

Strand* Books::strand(const Id128& fingerprint) {
  const auto found = pages_.strands.find(fingerprint);
  if (found != pages_.strands.end()) return found->second ? &*found->second : nullptr;
  auto fetched = fetch_strand(fingerprint);
  if (!fetched) return nullptr;
  return &*pages_.strands.emplace(fingerprint, std::move(fetched)).first->second;
}

std::vector<Strand> Books::strands_of(const Id128& group) {
  std::map<Id128, Strand> found;
  for (Strand& strand : fetch_strands_of(group)) {
    const Id128 fingerprint = strand.own.fingerprint;
    found.insert_or_assign(fingerprint, std::move(strand));
  }
  for (const auto& [fingerprint, strand] : pages_.strands) {
    found.erase(fingerprint);
    if (strand && strand->into == group) found.insert_or_assign(fingerprint, *strand);
  }
  std::vector<Strand> all;
  for (auto& [fingerprint, strand] : found) all.push_back(std::move(strand));
  return all;
}

std::pair<std::uint64_t, std::string> Books::chain(const AddAudit& act) {
  pages_.audit_hash = audit_hash(pages_.audit_hash, ++pages_.audit, act);
  return {pages_.audit, pages_.audit_hash};
}

}  // namespace dlo::sql
