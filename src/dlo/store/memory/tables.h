#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dlo/store/office.h"
#include "dlo/store/poison_book.h"
#include "dlo/store/rules.h"

namespace dlo::memory {

/// Everything known of one record. Never changed once stored: readers keep what they hold.
struct Entry {
  DeadLetter record;
  std::optional<Lease> lease;
  std::shared_ptr<const std::vector<Attempt>> attempts;  // oldest first
  std::shared_ptr<const std::vector<Version>> versions;
};
using EntryPtr = std::shared_ptr<const Entry>;

/// When a record is due, and its number: the order in which `claim` hands out.
using DueKey = std::pair<TimePoint, std::int64_t>;
using DocumentKey = std::pair<std::string, std::string>;

/// The records with their indexes, tallies, groups, documents and audit trail, and a way back:
/// what was written since `begin` is undone by `roll_back`, or stays for good after `commit`. Not
/// thread-safe.
class Tables {
 public:
  explicit Tables(std::uint64_t lease_epoch) : lease_epoch_(lease_epoch) {}

  void begin();
  void commit() { undo_.clear(); }
  void roll_back();

  [[nodiscard]] EntryPtr find(const RecordId& id) const;
  [[nodiscard]] EntryPtr find(const LeaseToken& token) const;

  /// Puts `after` in place of `before`; either may be null. Indexes, tallies and groups follow.
  void replace(const EntryPtr& before, const EntryPtr& after);
  /// Only the lease differs: nothing that anybody counts or lists.
  void replace_lease(const EntryPtr& before, const std::optional<Lease>& lease);

  [[nodiscard]] std::uint64_t next_change() { return ++sequence_.change; }
  [[nodiscard]] std::int64_t next_number() { return ++sequence_.number; }
  [[nodiscard]] LeaseToken next_token();
  [[nodiscard]] std::uint64_t last_change() const noexcept { return sequence_.change; }

  [[nodiscard]] const GroupSummary* group(const Id128& fingerprint) const;
  void put_group(const GroupSummary& group);
  void remove_group(const Id128& fingerprint);
  /// Null if it was not merged.
  [[nodiscard]] const Strand* strand(const Id128& fingerprint) const;
  [[nodiscard]] std::vector<Strand> strands_of(const Id128& group) const;  // by fingerprint
  void put_strand(const Id128& fingerprint, const std::optional<Strand>& strand);

  [[nodiscard]] const Document* document(const DocumentKey& key) const;
  /// An empty body removes; answers the version afterwards.
  std::uint64_t put_document(const DocumentKey& key, const std::optional<std::string>& body);
  [[nodiscard]] const std::map<DocumentKey, Document>& documents() const { return documents_; }

  std::uint64_t add_audit(const AddAudit& act);
  [[nodiscard]] const std::vector<AuditEntry>& audit() const noexcept { return audit_; }

  /// The entry whose lease ends first, if it ended by `now`.
  [[nodiscard]] EntryPtr next_ended(TimePoint now) const;
  /// The unleased entry that is longest due at `now`.
  [[nodiscard]] EntryPtr next_due(TimePoint now, const ClaimFrom& from) const;
  /// See `Aggregate::next_due`.
  [[nodiscard]] std::optional<TimePoint> earliest(const ClaimFrom& from) const;

  [[nodiscard]] const std::map<Cursor, EntryPtr>& by_place() const noexcept { return by_place_; }
  [[nodiscard]] const std::map<std::uint64_t, EntryPtr>& by_change() const { return by_change_; }
  [[nodiscard]] const std::map<TallyKey, std::uint64_t>& tallies() const { return tallies_; }
  [[nodiscard]] const std::map<PolicyKey, std::uint64_t>& policies() const { return policies_; }
  [[nodiscard]] const std::map<std::int64_t, EntryPtr>& poisoned(PoisonKind kind) const {
    return poisoned_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const Lifetime& lifetime() const noexcept { return lifetime_; }
  [[nodiscard]] std::vector<GroupSummary> top_groups(const AggregateRequest& request) const;

 private:
  struct Sequence {
    std::uint64_t change = 0;
    std::int64_t number = 0;
  };
  /// Numbers are turned round: a set in this order starts with the largest.
  using RecentKey = std::pair<std::int64_t, Id128>;
  using CrowdedKey = std::tuple<std::int64_t, std::int64_t, Id128>;
  [[nodiscard]] static RecentKey recent_key(const GroupPlace& place);
  [[nodiscard]] static CrowdedKey crowded_key(const GroupPlace& place);

  void index(const EntryPtr& entry, bool in);
  /// Calls `consider` with each line of due records that `from` means.
  template <typename Consider>
  void each_line(const ClaimFrom& from, const Consider& consider) const;
  void index_lease(const EntryPtr& entry, bool in);
  void index_group(const GroupSummary& group, bool in);
  void swap(const EntryPtr& before, const EntryPtr& after);
  void restore_group(const Id128& fingerprint, const std::optional<GroupSummary>& saved);
  template <typename Key>
  void move_count(std::map<Key, std::uint64_t>& counts, const std::optional<Key>& leaves,
                  const std::optional<Key>& enters);
  void move_groups(const Movement& moves, const Entry* after);

  std::uint64_t lease_epoch_;
  std::uint64_t last_token_ = 0;  // never taken back: a token is handed out once
  Sequence sequence_;
  Sequence began_;
  std::vector<std::function<void()>> undo_;

  std::unordered_map<RecordId, EntryPtr> records_;
  std::map<Cursor, EntryPtr> by_place_;
  std::map<std::uint64_t, EntryPtr> by_change_;
  using Line = std::map<DueKey, EntryPtr>;  // never empty
  std::map<std::pair<std::string, Priority>, Line> due_;
  Lifetime lifetime_;
  std::map<std::pair<TimePoint, LeaseToken>, EntryPtr> lease_ends_;
  std::unordered_map<LeaseToken, EntryPtr> leased_;
  std::array<std::map<std::int64_t, EntryPtr>, 2> poisoned_;
  std::map<TallyKey, std::uint64_t> tallies_;
  std::map<PolicyKey, std::uint64_t> policies_;
  std::unordered_map<Id128, GroupSummary> groups_;
  std::map<Id128, Strand> strands_;
  std::set<RecentKey> groups_by_last_seen_;
  std::set<CrowdedKey> groups_by_open_;
  std::map<DocumentKey, Document> documents_;
  std::vector<AuditEntry> audit_;
};

}  // namespace dlo::memory
