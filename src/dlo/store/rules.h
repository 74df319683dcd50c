#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/backoff.h"
#include "dlo/core/dead_letter.h"
#include "dlo/core/identity.h"
#include "dlo/core/result.h"
#include "dlo/store/change.h"
#include "dlo/store/field_tests.h"
#include "dlo/store/query.h"

namespace dlo {

// What every office must do alike, as pure functions: a backend reads, asks here, writes.

struct Lease {
  LeaseToken token;
  TimePoint until{};
  bool operator==(const Lease&) const = default;
};
[[nodiscard]] inline bool is_live(const Lease& lease, TimePoint now) noexcept {
  return now < lease.until;
}
[[nodiscard]] bool is_live(const std::optional<Lease>& lease, TimePoint now) noexcept;
/// `now + lease_for`, held at the end of time instead of overflowing.
[[nodiscard]] TimePoint lease_end(TimePoint now, Millis lease_for) noexcept;
/// What a renewal does: never shortens.
[[nodiscard]] Lease renewed(const Lease& lease, TimePoint now, Millis lease_for) noexcept;

/// A record and who holds it.
struct Standing {
  DeadLetter record;
  std::optional<Lease> lease;
};

/// What can be refused without looking at what is stored (invalid_argument).
[[nodiscard]] Result<void> check(const Change& change);
[[nodiscard]] Result<void> check(const Query& query);
/// What is said to a cursor that the office cannot have given for the query.
[[nodiscard]] Error foreign_cursor(const Cursor& cursor);
[[nodiscard]] Result<void> check_lease_for(Millis lease_for);

/// Adds to `error` which change of the list it was about.
[[nodiscard]] Error at_place(Error error, std::size_t index, std::size_t size,
                             const Change& change);

/// A transition carried out: the compare-and-set, the lease rule and the fields of change.h, with
/// version and change number moved. `fresh` becomes the token of a lease that is taken. Of the
/// message nothing is looked at.
[[nodiscard]] Result<Standing> apply_transition(const DeadLetter& record,
                                                const std::optional<Lease>& lease,
                                                const Transition& transition,
                                                const LeaseToken& fresh, std::uint64_t change);

/// The compare-and-set of an edit.
[[nodiscard]] Result<void> check_version(const DeadLetter& record, std::uint64_t expected);
/// The compare-and-set of a document. `version` is that of the stored one, if there is one.
[[nodiscard]] Result<void> check_document(const std::optional<std::uint64_t>& version,
                                          const std::optional<std::uint64_t>& expected);
[[nodiscard]] Result<void> check_removable(const DeadLetter& record);

/// Version and change number of a record that changed.
void touch(DeadLetter& record, std::uint64_t change) noexcept;

/// What an append does to what is there (null: nothing).
[[nodiscard]] AppendEffect effect_of(const DeadLetter* existing, const DeadLetter& incoming);
/// A first append as it is stored.
[[nodiscard]] DeadLetter inserted(const DeadLetter& incoming, std::int64_t number,
                                  std::uint64_t change);
/// An append that became the next occurrence, as it is stored: with the tags people gave it, and
/// with its replays counted on if it had been sent back.
[[nodiscard]] DeadLetter reopened(const DeadLetter& existing, const DeadLetter& incoming,
                                  std::uint64_t change);
/// The versions after the message of a reopened record replaced `before`: as they were, or longer.
[[nodiscard]] std::vector<Version> versions_after_reopening(std::vector<Version> versions,
                                                            const DeadLetter& before,
                                                            const DeadLetter& after);
/// The versions after an edit. The first edit puts version 0 in front.
[[nodiscard]] std::vector<Version> versions_after_edit(std::vector<Version> versions,
                                                       const DeadLetter& record,
                                                       const AddVersion& edit);

/// Whether `claim` may hand it out at `now`, ended leases having been taken back.
[[nodiscard]] bool is_due(const DeadLetter& record, const std::optional<Lease>& lease,
                          TimePoint now) noexcept;
/// Its place in the line of what is due: a message of high priority stands where one of normal
/// priority would that fell due `head_start` earlier, one of low priority behind. Whoever has
/// waited long enough comes first, so nobody starves (S2-51).
[[nodiscard]] TimePoint turn_of(TimePoint due, Priority priority) noexcept;
inline constexpr Millis head_start = std::chrono::minutes{5};
inline constexpr std::size_t priorities = 3;

/// Whether a record in this status can be handed out once its time has come.
[[nodiscard]] bool is_claimable(Status status) noexcept;
/// A due record under a new lease.
[[nodiscard]] Standing claimed(const DeadLetter& record, const Lease& lease, std::uint64_t change);
/// Whether taking back an ended lease changes the record, and how (`retrying` becomes `pending`).
[[nodiscard]] bool is_changed_by_taking_back(Status status) noexcept;
[[nodiscard]] DeadLetter taken_back(const DeadLetter& record, std::uint64_t change);

/// Adds an attempt to a list that is oldest first; drops what is beyond `attempts_kept`.
void keep_attempt(std::vector<Attempt>& oldest_first, Attempt attempt);

struct TallyKey {
  std::string source;
  Status status = Status::pending;
  std::string category;
  auto operator<=>(const TallyKey&) const = default;
};
struct PolicyKey {
  Status status = Status::pending;
  PolicyKind kind = PolicyKind::never;
  auto operator<=>(const PolicyKey&) const = default;
};
/// What a change means for one group.
struct GroupMove {
  Id128 fingerprint;
  std::int64_t open = 0;
  std::int64_t total = 0;
  bool arrival = false;  // a death came in: seen, sample and status follow
  TimePoint at{};        // when what came or went had died
  bool repeat = false;   // what came or went had been sent back before
};
/// How tallies and groups move when a record goes from `before` to `after` (null: not there).
/// Of the message only the source is looked at, of the policy only its kind.
struct Movement {
  std::optional<TallyKey> leaves;
  std::optional<TallyKey> enters;
  std::optional<PolicyKey> leaves_policy;
  std::optional<PolicyKey> enters_policy;
  std::vector<GroupMove> groups;  // at most two
};
[[nodiscard]] Movement movement(const DeadLetter* before, const DeadLetter* after);
/// The same for what is counted for ever. Of facts that a list does not show only `resolution` of
/// `after` is looked at.
[[nodiscard]] Lifetime lifetime_move(const DeadLetter* before, const DeadLetter* after) noexcept;
void add(Lifetime& sum, const Lifetime& move) noexcept;

/// A group before its first death.
[[nodiscard]] GroupSummary new_group(const GroupMove& move, const DeadLetter& arrival);
/// `record` is what arrived; looked at only if the move is an arrival.
void move_group(GroupSummary& group, const GroupMove& move, const DeadLetter& record);
/// An edit carried out: the compare-and-set, and which status may follow which.
[[nodiscard]] Result<void> edit_group(GroupSummary& group, const EditGroup& edit);

[[nodiscard]] bool matches(const GroupFilter& filter, const GroupSummary& group);
[[nodiscard]] GroupPlace place_of(const GroupSummary& group) noexcept;

/// One fingerprint of a group that was merged. Such a group has a strand for each, the one it is
/// named after included; the group itself holds their sum.
struct Strand {
  Id128 into;
  std::uint64_t since = 0;  // the change number of the merge: a set frozen before is without it
  GroupSummary own;         // its own numbers, and what people said of it before
};
/// Each strand is one more range that a listing of the group walks.
inline constexpr std::size_t most_strands = 32;

/// What merging and splitting leave behind; a backend writes it.
struct Regrouping {
  GroupSummary whole;
  std::vector<Strand> strands;      // of `whole`: all of them, or none if only its own is left
  std::optional<GroupSummary> out;  // what became a group of its own
};
/// Strands as they are kept: none for a group that was never merged.
[[nodiscard]] Result<Regrouping> merge_groups(const MergeGroups& merge, const GroupSummary* from,
                                              std::vector<Strand> strands_from,
                                              const GroupSummary* into,
                                              std::vector<Strand> strands_into,
                                              std::uint64_t change);
/// `whole` is the group that the strand is in.
[[nodiscard]] Result<Regrouping> split_group(const SplitGroup& split, const GroupSummary* whole,
                                             std::vector<Strand> strands);

/// The query with every group it names replaced by that group's fingerprints, root first.
/// `strands_of` answers all strands of the group a fingerprint is in; none if it was not merged.
[[nodiscard]] Query with_strands(
    Query query, const std::function<std::vector<Strand>(const Id128&)>& strands_of);
[[nodiscard]] bool is_in_group(const Query& query, const Id128& fingerprint) noexcept;

/// Of a sealed payload: the size of what is inside. 0 if there is none.
[[nodiscard]] std::uint64_t payload_size(const Message& message) noexcept;
[[nodiscard]] RecordHead head_of(const DeadLetter& record);
[[nodiscard]] Cursor cursor_of(const DeadLetter& record) noexcept;

/// The words of a text in lower case, in order, repeats kept.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text);
/// Whether every word is among those of `text`. `words` as `words_of` gave them.
[[nodiscard]] bool has_words(std::string_view text, const std::vector<std::string>& words);
/// Text beyond this is not searched.
inline constexpr std::size_t searched_text_limit = 64 * 1024;
/// What `Query::error_words` looks at: the error text and the texts of its causes.
[[nodiscard]] std::string searched_error(const Failure& failure);
/// What `Query::payload_words` looks at: nothing of a sealed payload, which is in no index (R26).
[[nodiscard]] std::string_view searched_payload(const Message& message) noexcept;

/// The counts and times of a record that a query bounds.
struct HeadNumbers {
  TimePoint died_at{};
  std::optional<TimePoint> next_retry_at;
  std::uint32_t attempts = 0;
  std::uint32_t replays = 0;
  std::uint64_t change = 0;
};

/// The filter part of a query, made ready. Order, limit, cursor and time box are not its concern.
class Filter {
 public:
  explicit Filter(Query query);
  [[nodiscard]] bool matches(const DeadLetter& record) const;

 private:
  [[nodiscard]] bool matches_message(const Message& message) const;
  Query query_;
  std::vector<std::string> error_words_;
  std::vector<std::string> payload_words_;
  FieldTests tests_;
};
/// The part of `Query` that is about counts and times in a head, every office's rows alike.
[[nodiscard]] bool numbers_fit(const Query& query, const HeadNumbers& numbers) noexcept;
[[nodiscard]] bool matches(const Query& query, const DeadLetter& record);

}  // namespace dlo
