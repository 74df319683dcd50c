#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dlo/core/dead_letter.h"
#include "dlo/core/group.h"

namespace dlo {

// What can be written. Every change of a record raises its version by one and gives it the next
// office-wide change number; a merged append changes nothing. The rules themselves are functions in
// rules.h, so that backends agree by construction.

/// Keeps a record and the attempts known so far. Idempotent by (id, occurrence): see
/// core/identity.h `append_effect`. Group, counters and error index follow by themselves.
/// The next occurrence takes over the record: its number stays, attempts go on, any lease ends, and
/// if its headers or payload differ from the newest version they become a version of their own.
/// invalid_argument: no record, no message, occurrence 0, or a status that needs a lease.
struct Append {
  DeadLetterPtr record;
  std::vector<Attempt> attempts;
};

/// Moves a record to another status, or changes its fields in place (`to` = its status).
/// One compare-and-set: `conflict` if the version differs or the move is illegal, `lease_lost` if
/// `lease` is given and is not the live one at `now`. Empty fields stay as they are, except that a
/// record which becomes open again loses its old resolution.
///
/// Leases. With `lease` the holder settles: the lease ends, unless `lease_for` carries it on (a
/// start mark, a note under way). Without `lease`, `lease_for` takes a new one (`Applied::lease`),
/// which is how a replay begins; `conflict` while another is live. Without either, a change of
/// status ends whatever lease there is, for people overrule workers, and a change in place leaves
/// it alone. `retrying` and `replaying` cannot be entered without a lease, and only these two and
/// `waiting` can be leased (invalid_argument).
struct Transition {
  RecordId id;
  std::optional<std::uint64_t> expected_version;
  std::optional<LeaseToken> lease;
  std::optional<Millis> lease_for;  // from `now`; never shortens a lease that is carried on
  Status to = Status::pending;
  TimePoint now{};
  std::optional<Counters> counters;
  std::optional<Failure> failure;  // it failed again, at `now`
  std::optional<std::string> reason;
  std::optional<std::string> description;
  std::optional<std::string> category;
  std::optional<std::string> rule;
  std::optional<std::string> policy;  // of the category, unless the message asked for one
  std::optional<std::uint32_t> limit;
  std::optional<Fingerprint> fingerprint;
  std::optional<TimePoint> next_retry_at;  // also when `claim` may hand it out
  bool clear_next_retry = false;
  std::optional<Resolution> resolution;
  std::optional<std::vector<std::string>> tags;
  std::optional<TimePoint> died_at;
};

/// The source has confirmed that this occurrence's message is gone there: takes the mark
/// `source_unsettled` off (R3). A note, not a change of the record: version and change number stay,
/// so it stands in nobody's way. Nothing happens if the record is gone, was settled before or has
/// died again since; the answer is empty.
struct SourceSettled {
  RecordId id;
  std::uint32_t occurrence = 1;
};

/// One more attempt of a record. Beyond `attempts_kept` the oldest go, but never the first.
struct AddAttempt {
  RecordId id;
  Attempt attempt;
};

/// Edits append: version 0 is the message as it first died and is never changed. The record keeps
/// showing the message as it last died; who sends it again takes the newest version.
struct AddVersion {
  RecordId id;
  std::uint64_t expected_version = 0;
  Headers headers;
  std::optional<std::string> payload;
  TimePoint at{};
  std::string by;
  std::string why;
};

/// Changes what people said of a group. Its numbers are derived, never set. not_found if no record
/// ever died of it; conflict if the version differs or the move is illegal (core/group.h). Leaving
/// `snoozed` forgets `snoozed_until`; the answer carries the group's version afterwards.
struct EditGroup {
  Id128 fingerprint;
  std::optional<std::uint64_t> expected_version;
  TimePoint at{};
  std::optional<GroupStatus> status;
  std::optional<std::string> owner;
  std::optional<std::string> ticket;
  std::optional<std::string> notes;
  std::optional<std::vector<std::string>> tags;
  std::optional<TimePoint> snoozed_until;
};

/// `from` becomes part of `into`: its deaths count there, later ones too, lists of `into` show its
/// records, and what people said of it sleeps until it is split off again. No record is touched: it
/// costs the same however many there are. Not_found unless both are groups (one that was merged is
/// none any more), conflict if the version of `into` differs, invalid_argument if they are one
/// group, full beyond `most_strands` fingerprints.
struct MergeGroups {
  Id128 from;
  Id128 into;
  std::optional<std::uint64_t> expected_version;  // of `into`
};

/// Undoes a merge for one fingerprint: it is a group of its own again, with its own numbers and
/// what people said of it before. Not_found if it is in no other group; conflict if the version of
/// the group it is in differs.
struct SplitGroup {
  Id128 fingerprint;
  std::optional<std::uint64_t> expected_version;
};

/// Anything small that has a kind and a key: tokens, recipes, views, jobs, mutes, idempotency
/// keys. An empty `body` removes it (removing nothing is fine). `expected_version` 0 means "must
/// not exist yet", any other number "must exist with this version": `conflict` otherwise. Versions
/// are taken from the office-wide change numbers, so that one never comes back after a removal.
/// Kind and key must not be empty (invalid_argument).
struct PutDocument {
  std::string kind;
  std::string key;
  std::optional<std::string> body;
  std::optional<std::uint64_t> expected_version;
};

/// Changes nothing: `conflict` unless the document has this version (0: unless there is none), and
/// then nothing of the list is carried out either. By it a list says on what it relies: who leads
/// names the document that made him leader, and writes nothing more once another has taken over.
struct ExpectDocument {
  std::string kind;
  std::string key;
  std::uint64_t version = 0;
};

/// A job's progress: committed in the same list as the transitions it reports (R23). Read back as
/// documents: the cursor under `job_cursor_kind` with the job as key, each outcome under
/// `job_item_kind(job)` with the record id as key (a later outcome replaces an earlier one).
struct JobCheckpoint {
  std::string job;
  std::string cursor;
  std::vector<std::pair<RecordId, std::string>> outcomes;
};

/// Documents that say what a closed record was, for a restore: its key is the record.
inline constexpr const char* former_kind = "former_status";

inline constexpr std::string_view job_cursor_kind = "job_cursor";
[[nodiscard]] std::string job_item_kind(std::string_view job);

/// One act of a person, token, job or of the office itself. Chained by hash (R25).
struct AddAudit {
  TimePoint at{};
  std::string actor;
  std::string act;
  std::string subject;
  std::string detail;
};

/// Removes a discarded or expired record with its attempts and versions for good; its group still
/// counts the death. `conflict` if it is in any other state.
struct Remove {
  RecordId id;
};

using Change =
    std::variant<Append, Transition, SourceSettled, AddAttempt, AddVersion, EditGroup, MergeGroups,
                 SplitGroup, PutDocument, ExpectDocument, JobCheckpoint, AddAudit, Remove>;

enum class Effect : std::uint8_t {
  applied,
  merged,    // an append that was already there
  reopened,  // an append that became the next occurrence
};

/// What one change did.
struct Applied {
  Effect effect = Effect::applied;
  std::uint64_t version = 0;        // of the record or document afterwards; 0 if there is none
  std::int64_t number = 0;          // of the record or audit entry
  std::uint32_t occurrence = 0;     // of the record afterwards, for an append
  std::optional<LeaseToken> lease;  // the one a transition took or carried on
};

}  // namespace dlo
