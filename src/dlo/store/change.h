#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dlo/core/dead_letter.h"

namespace dlo {

/// Keeps a record and the attempts known so far. Idempotent by (id, occurrence): see
/// core/identity.h `append_effect`. Group, counters and error index follow by themselves.
struct Append {
  DeadLetterPtr record;
  std::vector<Attempt> attempts;
};

/// Moves a record to another status, or changes its fields in place (`to` = its status).
/// One compare-and-set: `conflict` if the version differs or the move is illegal, `lease_lost` if
/// `lease` is given and is not the live one at `now`. Empty fields stay as they are.
struct Transition {
  RecordId id;
  std::optional<std::uint64_t> expected_version;
  std::optional<LeaseToken> lease;
  Status to = Status::pending;
  TimePoint now{};
  std::optional<Counters> counters;
  std::optional<Failure> failure;
  std::optional<std::string> reason;
  std::optional<std::string> description;
  std::optional<std::string> category;
  std::optional<std::string> rule;
  std::optional<Fingerprint> fingerprint;
  std::optional<TimePoint> next_retry_at;  // also when `claim` may hand it out
  bool clear_next_retry = false;
  std::optional<Resolution> resolution;
  std::optional<bool> source_unsettled;
  std::optional<std::vector<std::string>> tags;
  std::optional<TimePoint> died_at;
};

/// One more attempt of a record. Beyond `attempts_kept` the oldest but the first go.
struct AddAttempt {
  RecordId id;
  Attempt attempt;
};

/// Edits append: version 0 is the message as it died and is never changed.
struct AddVersion {
  RecordId id;
  std::uint64_t expected_version = 0;
  Headers headers;
  std::optional<std::string> payload;
  TimePoint at{};
  std::string by;
  std::string why;
};

enum class GroupStatus : std::uint8_t { open, acknowledged, fixing, snoozed, resolved, ignored };
[[nodiscard]] std::string_view name_of(GroupStatus status) noexcept;

/// Changes what people said of a group. Its numbers are derived, never set.
struct EditGroup {
  Id128 fingerprint;
  std::optional<GroupStatus> status;
  std::optional<std::string> owner;
  std::optional<std::string> ticket;
  std::optional<std::string> notes;
  std::optional<TimePoint> snoozed_until;
};

/// Anything small that has a kind and a key: tokens, recipes, views, jobs, mutes, idempotency
/// keys. An empty `body` removes it. `expected_version` 0 means "must not exist yet".
struct PutDocument {
  std::string kind;
  std::string key;
  std::optional<std::string> body;
  std::optional<std::uint64_t> expected_version;
};

/// A job's progress: committed in the same list as the transitions it reports (R23).
struct JobCheckpoint {
  std::string job;
  std::string cursor;
  std::vector<std::pair<RecordId, std::string>> outcomes;
};

/// One act of a person, token, job or of the office itself. Chained by hash (R25).
struct AddAudit {
  TimePoint at{};
  std::string actor;
  std::string act;
  std::string subject;
  std::string detail;
};

/// Removes a discarded or expired record for good. `conflict` if it is in any other state.
struct Remove {
  RecordId id;
};

using Change = std::variant<Append, Transition, AddAttempt, AddVersion, EditGroup, PutDocument,
                            JobCheckpoint, AddAudit, Remove>;

enum class Effect : std::uint8_t {
  applied,
  merged,    // an append that was already there
  reopened,  // an append that became the next occurrence
};

/// What one change did. `version` is the record's (or document's) version afterwards.
struct Applied {
  Effect effect = Effect::applied;
  std::uint64_t version = 0;
  std::int64_t number = 0;
};

}  // namespace dlo
