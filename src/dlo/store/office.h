#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/store/change.h"
#include "dlo/store/query.h"

namespace dlo {

class Ledger;
class PoisonBook;

/// What only some backends can do: null where a backend cannot.
struct OfficeExtras {
  Ledger* ledger = nullptr;
  PoisonBook* poison = nullptr;
};

/// The durable home of dead letters and of messages that wait.
/// tests/conformance/office/ is this comment, executable.
/// Threads  Any method from any thread, without outside locking.
/// Time     An office owns no clock: `now` is always the caller's.
/// Atomic   A list of changes happens wholly or not at all, also across a crash.
/// Durable  What `apply` and `claim` answered survives the death of process and machine.
/// Errors   Returned, never thrown. Any method may return unavailable, timed_out, corrupt, full (a
///          limit, or memory) or disk_full: nothing is written until somebody makes room on the
///          disk.
/// Bounded  Memory does not grow with the number of records.
class Office {
 public:
  virtual ~Office() = default;

  /// Carries out all of `changes` in order, or none. The answer has one entry per change; a later
  /// change sees what an earlier one did.
  /// Counters, groups and the error index move in the same transaction. Concurrent callers share
  /// one sync. On failure the error names the change by its place in the list.
  virtual Result<std::vector<Applied>> apply(std::span<const Change> changes) = 0;

  /// The whole record with attempts and versions; not_found if there is none.
  virtual Result<RecordDetail> get(const RecordId& id) = 0;

  /// Records in keyset order (died_at, number); a word search with many matches may come in order
  /// of arrival instead (`Walk`). Never counts, never skips rows of the page order. Following
  /// `Page::next` until it is absent gives every match once; each step makes progress, even in a
  /// time box of zero. A listing goes on as it began, whatever happens between two pages: what
  /// matched all along comes once, also when other records join or leave the matches.
  /// invalid_argument if `after` cannot have come from such a query on this office.
  virtual Result<Page> list(const Query& query) = 0;

  /// Numbers kept as they change: the cost does not depend on how many records there are.
  virtual Result<Aggregate> aggregate(const AggregateRequest& request) = 0;

  /// Leases up to `limit` records whose `next_retry_at` is not after `now`, longest due first
  /// (then by number; a priority counts as a head start: `turn_of` in rules.h), until `now +
  /// lease_for`, and counts the claim (`Counters::fetch`). `waiting` stays waiting, `pending`
  /// becomes `retrying`; no other status is handed out. First, leases that ended by `now` are taken
  /// back, whatever `limit` and `from` are: `retrying` becomes `pending` again and is due as
  /// before, so no state is without an exit (I7); a `replaying` record keeps its status for the
  /// replayer to take over. No record is in two live leases. invalid_argument unless `lease_for` is
  /// positive. Of two leases of one record the later has the larger token, restarts or not.
  virtual Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                           const ClaimFrom& from) = 0;

  /// Extends live leases to `now + lease_for`, never shortening one; answers for each whether it
  /// was still live at `now`. A lease is live while `now` is before its end. Not a change of the
  /// record.
  virtual Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                          Millis lease_for) = 0;

  /// The records that changed after change number `after`, each once with its newest change, in
  /// order of these, at most `limit`. Numbers rise with gaps. Removed records are not among them.
  virtual Result<std::vector<ChangeNote>> changes_since(std::uint64_t after, std::size_t limit) = 0;

  virtual OfficeExtras extras() noexcept = 0;
};

struct Document {
  std::string key;
  std::string body;
  std::uint64_t version = 0;
};

struct AuditEntry {
  std::uint64_t number = 0;  // 1, 2, 3, ... without gaps
  AddAudit act;
  std::string previous;  // hex of the hash before; empty for the first entry
  std::string hash;
};

/// Documents and the audit trail.
class Ledger {
 public:
  virtual ~Ledger() = default;
  virtual Result<std::optional<Document>> document(const std::string& kind,
                                                   const std::string& key) = 0;
  /// Keys in byte order, strictly after `after`.
  virtual Result<std::vector<Document>> documents(const std::string& kind, const std::string& after,
                                                  std::size_t limit) = 0;
  /// Entries numbered above `after`, in order.
  virtual Result<std::vector<AuditEntry>> audit(std::uint64_t after, std::size_t limit) = 0;
};

/// The hash an entry must carry, given the one before it: every backend chains alike.
[[nodiscard]] std::string audit_hash(const std::string& previous, std::uint64_t number,
                                     const AddAudit& act);

/// The newest entry; nothing if there is none. Found in as many looks as its number has bits,
/// twice.
[[nodiscard]] Result<std::optional<AuditEntry>> newest_audit(Ledger& ledger);

/// The act of an entry that tells of one that was refused.
inline constexpr std::string_view refused_act = "refused";

/// The number of the first entry that does not follow from the one before it, if any: a changed
/// byte, a missing or a swapped entry. `before` is the entry ahead of the first; null at the start.
[[nodiscard]] std::optional<std::uint64_t> first_broken(std::span<const AuditEntry> entries,
                                                        const AuditEntry* before = nullptr);

}  // namespace dlo
