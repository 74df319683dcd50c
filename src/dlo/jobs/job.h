#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/acts.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/jobs/replay.h"
#include "dlo/store/query.h"

namespace dlo {

enum class JobState : std::uint8_t {
  planned,    // frozen, looked at, not begun
  running,    // somebody works on it, or will after the next start
  paused,     // by a person
  cancelled,  // by a person; what was done stays done
  done,
  failed,   // it cannot go on; `problem` says why
  stopped,  // a replay of which too many came back
};
[[nodiscard]] std::string_view name_of(JobState state) noexcept;
[[nodiscard]] std::optional<JobState> parse_job_state(std::string_view text) noexcept;

/// What a job does, and to what.
struct JobSpec {
  Act act = Act::resolve;
  std::optional<ReplaySpec> replay;     // instead of `act`
  std::string query;                    // docs/query.md, times made absolute
  std::optional<std::string> from_job;  // instead: what became ...
  std::string outcome;                  // ... this of it in another job (job_set.h)
  Order order = Order::oldest_first;
  bool by_key = false;  // of a replay: oldest first, and never two of a key at a time
  std::optional<std::uint64_t> limit;  // not more than this many
  std::optional<std::uint32_t> rate;   // not more than this many a second
  std::string by;                      // of a resolution
  std::string how;                     // of a resolution
  std::string notes;
  std::vector<std::string> tags;         // of a tag: these come
  std::vector<std::string> remove_tags;  // ... and these go
  std::string recipe;                    // of a repair or replay: its steps as they were then
  std::string recipe_name;               // where they came from, if they have a name
  std::optional<Id128> into;             // of a regroup: the group they become
  std::string into_title;                // ... and what it is called
  std::optional<TimePoint> not_before;   // it is started, and begins then
  bool operator==(const JobSpec&) const = default;
};

struct JobCounts {
  std::uint64_t ok = 0;
  std::uint64_t changed = 0;  // somebody else changed or removed it first: left alone
  std::uint64_t refused = 0;  // the act is not possible in its status
  // Of a replay, beside `ok`, which were sent:
  std::uint64_t looped = 0;      // sent too often before: quarantined
  std::uint64_t verified = 0;    // of those sent: somebody said that it worked (R24)
  std::uint64_t presumed = 0;    // ... did not come back
  std::uint64_t returned = 0;    // ... died again
  std::uint64_t behind = 0;      // not sent: an earlier one of its key is still open
  std::uint64_t taken_over = 0;  // of those sent: a person dealt with it before that was known
  [[nodiscard]] std::uint64_t total() const noexcept {
    return ok + changed + refused + looped + behind;
  }
  /// Sent, and nobody knows yet what becomes of it.
  [[nodiscard]] std::uint64_t awaited() const noexcept {
    return ok - verified - presumed - returned - taken_over;
  }
  /// What people took over says nothing of the fix: as if it had not been sent.
  [[nodiscard]] RampTally tally() const noexcept {
    return {ok - taken_over, verified + presumed, returned};
  }
  bool operator==(const JobCounts&) const = default;
};

/// A bulk act on a frozen set (R23): every record that matches the query and was last changed by
/// change number `frozen_at`. It is walked by keyset, and cursor, outcomes and what was done are
/// one write, so a job that is killed goes on where it was. What was in it stands in the items
/// (job_freeze.h).
struct Job {
  std::string id;
  JobSpec spec;
  JobState state = JobState::planned;
  std::uint64_t frozen_at = 0;
  TimePoint created_at{};
  std::string created_by;
  std::optional<TimePoint> started_at;
  std::optional<TimePoint> ended_at;
  std::string problem;
  std::uint64_t version = 0;  // of its document
  bool operator==(const Job&) const = default;
};

/// A record that was taken to be sent, the occurrence of it, and the group it was in.
struct Taken {
  RecordId id;
  std::uint32_t occurrence = 1;
  Id128 group{};
  Status was = Status::pending;  // what it is again if it cannot be sent
  bool operator==(const Taken&) const = default;
};

/// Where those are now that came back.
struct ReturnedTo {
  Id128 group;
  std::uint64_t count = 0;
  bool same = false;  // some of them were sent from this very group
  bool operator==(const ReturnedTo&) const = default;
};

/// A target that nothing can be sent to, and how many that were to go there stay where they are.
struct Unreachable {
  std::string target;
  std::string reason;
  std::uint64_t count = 0;
  bool operator==(const Unreachable&) const = default;
};

/// Between two records of a job's set: in its query, or among the items of another job.
struct JobPlace {
  std::optional<Cursor> record;
  std::string item;
  bool operator==(const JobPlace&) const = default;
};

/// How far a job is. Kept by the office beside what it did.
struct JobProgress {
  bool freezing = false;      // its set is not written down to the end yet
  JobPlace frozen;            // ... but up to here; where it ends, if a limit ends it
  std::uint64_t planned = 0;  // so many are written down; of an older version's job none
  JobPlace after;
  JobCounts counts;
  bool listed = false;         // nothing is left to be taken
  std::vector<Taken> sending;  // taken, perhaps sent, not yet written down as sent
  std::optional<TimePoint> last_sent;
  std::uint64_t seen_change = 0;         // up to which changes were looked at for outcomes
  bool presumed = false;                 // of many: what is not back was presumed cured ...
  std::optional<Cursor> presumed_up_to;  // ... up to here, until that
  std::string settled_up_to;             // the item up to which outcomes are settled, once they are
  std::vector<ReturnedTo> returned_to;   // the first few groups
  std::vector<Taken> awaiting;           // sent, where few are at a time; others have outcomes only
  std::vector<std::string> held;         // marks of keys that nothing more is sent of
  std::vector<Unreachable> unreachable;  // the first few
  std::string blocked;                   // why what was taken could not be sent yet
  std::string accounted_up_to;           // the item up to which `planned` ones became `changed`
  bool accounted = false;                // ... and that was the last
  bool operator==(const JobProgress&) const = default;
};

/// What `act` and `order` are called, in documents and over HTTP; replay is the last act.
inline constexpr std::array<std::string_view, 10> job_act_names = {
    "resolve", "archive", "discard", "restore",    "retry",
    "tag",     "repair",  "regroup", "quarantine", "replay"};
inline constexpr std::size_t replay_act = 9;
inline constexpr std::array<std::string_view, 3> job_order_names = {"newest", "oldest", "key"};
[[nodiscard]] std::string_view order_of(const JobSpec& spec) noexcept;
/// One of `job_order_names` by its place.
void set_order(JobSpec& spec, std::size_t order) noexcept;

/// "resolve", ..., or "replay".
[[nodiscard]] std::string_view act_of(const JobSpec& spec) noexcept;

class JsonWriter;
/// Its member `returned_to`, left out if nothing came back.
void write_returned(JsonWriter& out, const JobProgress& progress);
/// Its member `unreachable`, left out if every target could be reached.
void write_unreachable(JsonWriter& out, const JobProgress& progress);
/// Its members, for whoever has more to say of it in the same object.
void write_members(JsonWriter& out, const Job& job);
[[nodiscard]] std::string to_json(const Job& job);
[[nodiscard]] Result<Job> parse_job(std::string_view text);
[[nodiscard]] std::string to_json(const JobProgress& progress);
[[nodiscard]] Result<JobProgress> parse_job_progress(std::string_view text);

/// The records a job is about, as a query for its next step.
[[nodiscard]] Result<Query> query_of(const Job& job);

}  // namespace dlo
