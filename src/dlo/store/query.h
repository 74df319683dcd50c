#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/backoff.h"
#include "dlo/core/dead_letter.h"
#include "dlo/store/change.h"

namespace dlo {

/// In which order a listing goes. The first page chooses, and its cursor says so to all others:
/// what is quicker may change between two pages, the order of one listing may not.
enum class Walk : std::uint8_t {
  by_death,    // (died_at, number): every listing but
  by_arrival,  // a word search with many matches: the order in which the office learnt of the
               // deaths
};

/// A place between two rows of a listing: later rows come strictly after it. Opaque to people.
struct Cursor {
  TimePoint died_at{};      // by_arrival: not used
  std::int64_t number = 0;  // by_arrival: a place in the word index
  Walk walk = Walk::by_death;
  auto operator<=>(const Cursor&) const = default;
};
[[nodiscard]] std::string to_string(const Cursor& cursor);
[[nodiscard]] std::optional<Cursor> parse_cursor(std::string_view text) noexcept;

enum class Order : std::uint8_t { newest_first, oldest_first };

/// What a `FieldTest` can look at. The first ten are in every head; to read the others an office
/// has to look elsewhere, record by record.
enum class Field : std::uint8_t {
  id,
  source,
  category,
  group,
  event_type,
  key,
  message_id,
  error_type,
  reason,
  instance,
  handler,
  node,
  build,
  tag,      // any of the record's tags
  header,   // `path` names it (ASCII case ignored); the last one of that name counts
  body,     // `path` is a JsonPath into the payload as it died; what is no scalar has no value
  error,    // words: all of a value's words are in the error text and the texts of its causes
  payload,  // words: all of them are in the indexed part of the payload
};

/// One field has one of these values; negated: has none of them, be it that there is no such field.
/// Compared byte for byte; ids as 32 lower-case hex digits; JSON strings by what they say, numbers,
/// `true`, `false` and `null` as they are written. No index leads: a list that has to pass over
/// many records answers partial.
struct FieldTest {
  Field field = Field::source;
  std::string path;  // of header and body
  std::vector<std::string> values;
  bool negated = false;
  bool operator==(const FieldTest&) const = default;
};
/// More than these in one query are refused: each costs something on every record that is looked
/// at.
inline constexpr std::size_t most_tests = 64;
inline constexpr std::size_t most_values = 1000;

/// Which records. Empty fields do not filter; filled ones must all hold. rules.h `matches` is this
/// comment, executable.
/// A word is a run of ASCII letters and digits and of non-ASCII bytes; ASCII case is ignored.
/// Nothing in a search text is syntax: quotes, stars and `OR` are separators and words like any
/// other. A search text without a single word is refused (invalid_argument).
struct Query {
  std::vector<Status> statuses;  // empty: every dead letter, live messages excluded
  std::optional<std::string> source;
  std::optional<std::string> category;
  std::optional<Id128> group;       // by any of its fingerprints
  std::vector<Id128> fingerprints;  // those of `group` if it was merged; an office fills this in
  std::optional<std::string> event_type;
  std::optional<std::string> key;
  std::optional<std::string> message_id;
  std::optional<std::string> error_type;
  std::optional<std::string> reason;
  std::optional<std::string> instance;  // owner's instance
  std::optional<bool> source_unsettled;
  std::optional<TimePoint> from;   // died_at >= from
  std::optional<TimePoint> until;  // died_at < until
  std::string error_words;         // all of them, in the error text and the texts of its causes
  std::string payload_words;       // all of them, in the indexed part of the payload
  std::vector<RecordId> ids;       // any of them; looked up, not searched for
  std::optional<std::uint32_t> attempts_over;   // Counters::attempt > this
  std::optional<std::uint32_t> attempts_below;  // Counters::attempt < this
  std::optional<std::uint32_t> replays_over;    // Counters::replay > this
  std::optional<std::uint32_t> replays_below;   // Counters::replay < this
  std::optional<TimePoint> next_retry_from;     // it has a next retry, and that is >= this
  std::optional<TimePoint> next_retry_until;    // ... and < this
  std::optional<TimePoint> resolved_from;       // it has a resolution, given at >= this
  std::optional<TimePoint> resolved_until;      // ... and < this
  std::vector<FieldTest> tests;                 // all must hold
  std::optional<std::uint64_t> changed_up_to;   // change <= this (a frozen set, R23)

  Order order = Order::newest_first;
  std::size_t limit = 50;
  std::optional<Cursor> after;
  Millis time_box{250};  // a query that takes longer answers what it found, marked partial

  bool operator==(const Query&) const = default;
};

/// A record without its body: what a list shows.
struct RecordHead {
  RecordId id;
  std::uint32_t occurrence = 1;
  std::int64_t number = 0;
  std::uint64_t version = 0;
  std::uint64_t change = 0;
  Status status = Status::pending;
  std::string source;
  std::string event_type;
  std::string key;
  std::string message_id;
  std::string reason;
  std::string category;
  std::string error_type;
  std::string error_text;  // its beginning if it is long: row_text.h
  Id128 group;
  Counters counters;
  std::uint32_t limit = 0;
  TimePoint died_at{};
  std::optional<TimePoint> next_retry_at;
  std::uint64_t payload_size = 0;  // 0 for a null payload too
};

struct Page {
  std::vector<RecordHead> rows;
  std::optional<Cursor> next;  // present: there may be more
  bool partial = false;        // the time box ended; `next` goes on from where it stopped
};

/// One edit, or (number 0) the message as it died.
struct Version {
  std::uint32_t number = 0;
  Headers headers;
  std::optional<std::string> payload;
  TimePoint at{};
  std::string by;
  std::string why;
};

struct RecordDetail {
  DeadLetter record;
  std::vector<Attempt> attempts;  // newest first
  std::vector<Version> versions;  // oldest first; version 0 included only if there are edits
};

/// How many records of one source, status and category there are.
struct Tally {
  std::string source;
  Status status = Status::pending;
  std::string category;
  std::uint64_t count = 0;
};

/// By which kind of policy the records of one status are retried.
struct PolicyTally {
  Status status = Status::pending;
  PolicyKind kind = PolicyKind::never;
  std::uint64_t count = 0;
};

/// Dead letters of one fingerprint, or of several that people merged; messages that wait are in no
/// group (R9). A new death opens a resolved group again, which is then said to have regressed, and
/// a snoozed one whose time is up. A record that gets another fingerprint takes its death along.
struct GroupSummary {
  Id128 fingerprint;
  std::uint64_t version = 0;  // raised by every edit and when a death opens it; not by its numbers
  std::string title;          // title, category and source are those of the newest death
  GroupStatus status = GroupStatus::open;
  std::string owner;
  std::string ticket;
  std::string notes;
  std::vector<std::string> tags;
  std::optional<TimePoint> snoozed_until;
  std::optional<TimePoint> resolved_at;   // when it last was
  std::optional<TimePoint> regressed_at;  // opened by a death since; forgotten when resolved again
  std::uint64_t open = 0;                 // records of the group that are open
  std::uint64_t total = 0;                // deaths ever, occurrences included
  std::uint64_t repeats = 0;              // ... of messages that had been sent back before
  Trend trend;                            // deaths by hour and day
  std::uint32_t strands = 0;              // fingerprints it was merged from; 0: only its own
  TimePoint first_seen{};
  TimePoint last_seen{};
  RecordId sample;  // the newest death by died_at; the record may have been removed since
  std::string category;
  std::string source;
};

enum class GroupOrder : std::uint8_t { last_seen, open_count };

/// A place in a list of groups: behind the group that has these.
struct GroupPlace {
  std::uint64_t open = 0;  // not looked at in the order of last deaths
  TimePoint last_seen{};
  Id128 fingerprint;
  bool operator==(const GroupPlace&) const = default;
};

/// Which groups. Empty fields do not filter; filled ones must all hold.
struct GroupFilter {
  std::vector<GroupStatus> statuses;
  std::optional<std::string> owner;
  std::optional<std::string> tag;
  std::optional<bool> has_open;          // some of its records are open, or none
  std::optional<TimePoint> seen_before;  // last_seen < this
};

/// Whose records `claim` hands out. A plain text names one source.
struct ClaimFrom {
  ClaimFrom() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): most callers have one source, or want any
  ClaimFrom(std::string one) : source(std::move(one)) {}
  ClaimFrom(const char* one) : source(one) {}  // NOLINT(google-explicit-constructor): as above

  std::string source;                // empty: any ...
  std::vector<std::string> without;  // ... but these, which others hand out; sorted
  bool operator==(const ClaimFrom&) const = default;
};
/// Whether records of `source` are among them.
[[nodiscard]] bool takes(const ClaimFrom& from, const std::string& source) noexcept;

/// What became of dead letters since the office was made (S2-25). Numbers only rise.
struct Lifetime {
  std::uint64_t enqueued = 0;          // deaths, occurrences included
  std::uint64_t retry_success = 0;     // a retry of a dead letter worked
  std::uint64_t retry_failed = 0;      // ... or did not
  std::uint64_t exhausted = 0;         // its automatic retries were used up
  std::uint64_t manually_retried = 0;  // somebody asked for a retry
  std::uint64_t archived = 0;
  bool operator==(const Lifetime&) const = default;
};

struct AggregateRequest {
  bool tallies = true;
  std::size_t groups = 0;                          // how many groups, 0 for none
  GroupOrder group_order = GroupOrder::last_seen;  // largest first; then last_seen, fingerprint
  GroupFilter group_filter;
  std::optional<GroupPlace> groups_after;  // only those behind it; as fast as those from the first
  std::optional<Millis> time_box;          // for groups: then `partial_at` says how far it came
  std::optional<Id128> only_group;         // the one with this fingerprint, whatever `groups` says
  std::optional<ClaimFrom> due;            // when will `claim` have something to do there?
};

struct Aggregate {
  std::vector<Tally> tallies;         // zero counts left out; sorted by source, status, category
  std::vector<PolicyTally> policies;  // with `tallies`; zero counts left out; by status, kind
  std::vector<GroupSummary> groups;
  std::optional<GroupPlace> partial_at;  // the time box ended; `groups_after` this goes on
  std::vector<GroupSummary> strands;  // with `only_group`: what it was merged from, by fingerprint
  std::uint64_t last_change = 0;
  Lifetime lifetime;  // with `tallies`
  /// With `due`: no `claim` before this moment hands anything out or takes anything back, so nobody
  /// need ask. The earliest `next_retry_at` of what can be handed out, or the end of the lease that
  /// ends first, whatever its source. Empty: nothing is scheduled and nothing is leased.
  std::optional<TimePoint> next_due;
  std::uint64_t unindexed_payloads = 0;  // lag of the payload text index
};

/// A leased record: run it, then apply a Transition with its lease.
struct Claim {
  LeaseToken lease;
  TimePoint until{};
  DeadLetter record;  // status as it was before the claim (`was`); version and counters as after it
  Status was = Status::waiting;
};

struct ChangeNote {
  std::uint64_t change = 0;
  RecordId id;
  Status status = Status::pending;
};

}  // namespace dlo
