#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/backoff.h"
#include "dlo/core/classify.h"
#include "dlo/core/counters.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

enum class Comparison : std::uint8_t { greater, at_least };

/// A limit on a counter and what a message that reaches it dies of.
struct Check {
  CounterName counter = CounterName::attempt;
  Comparison comparison = Comparison::at_least;
  std::uint32_t limit = 0;
  std::string reason;       // "PoisonMessage"
  std::string description;  // may hold {limit}, {count}, {error}, {type}
  bool operator==(const Check&) const = default;
};

/// What a category of failure leads to.
enum class Action : std::uint8_t {
  retry,
  terminal,          // dead-letter at once
  never,             // kept as a dead letter that no automatic retry touches (S2-4)
  reject_to_caller,  // not stored; whoever reported it is told why
};

struct CategoryRule {
  Action action = Action::retry;
  std::optional<RetryPolicy> policy{};   // instead of the profile's
  std::optional<std::uint32_t> limit{};  // instead of the post-check's (S2-31)
  std::string reason{};                  // for terminal and never; empty: NonRetryableError
  bool operator==(const CategoryRule&) const = default;
};

enum class Stage : std::uint8_t { header, decode, schema };
enum class InvalidAction : std::uint8_t {
  dead_letter,
  drop,   // a legal loss (R8): off unless the profile says so, always counted
  count,  // treated as a failed attempt
};
enum class Placement : std::uint8_t { requeue, delayed, in_office, hold };
/// What becomes of a death that the office cannot take. A message that has a source stays there
/// unsettled, whatever this says (I1, R20); it is for those who hold a message themselves and
/// report its failure.
enum class StoreFailure : std::uint8_t {
  keep_source,      // whoever reported it is told, and keeps it
  reject,           // the same: fail closed
  memory_fallback,  // kept in memory until the office writes again (S2-2); gone with the process
};
enum class OwnerEffect : std::uint8_t { none, mark_published, permanently_failed, fail_owner };
enum class ReplayCount : std::uint8_t { restart, carry_on };
enum class FirstAttempt : std::uint8_t {
  measured,
  estimated,  // died_at - 5 s x count, as document 001 does (S1-23)
};
enum class Strategy : std::uint8_t { automatic, selective, manual, disabled };
/// What becomes of a failure that the strategy does not want.
enum class Skips : std::uint8_t {
  lose,    // whoever reported it keeps it
  record,  // kept all the same, and not retried
};

/// Tries inside one attempt (step 4). They never move the outer counters.
struct InnerPipeline {
  std::uint32_t retries = 0;
  RetryPolicy policy;
  std::vector<std::string> retry_on;  // categories; empty: every failure
  bool operator==(const InnerPipeline&) const = default;
};

/// What becomes of a record of a given status when it is old.
enum class RetentionAct : std::uint8_t { archive, discard, expire };
/// From when on it grows old.
enum class RetentionFrom : std::uint8_t {
  end,            // its last sign of life: exhaustion, death, closing
  first_failure,  // as document 002 has it (S2-45); for archiving only
};
struct RetentionRule {
  std::string status;  // a status name, or "open" | "closed"
  Millis age{0};
  RetentionAct act = RetentionAct::archive;
  RetentionFrom from = RetentionFrom::end;
  bool operator==(const RetentionRule&) const = default;
};

struct Capacity {
  std::optional<std::uint64_t> records;
  std::optional<std::uint64_t> bytes;
  bool operator==(const Capacity&) const = default;
};

/// Reason names a profile gives to deaths that no check or category names.
struct ReasonNames {
  std::string non_retryable = "NonRetryableError";
  std::string non_retryable_description = "{error}";
  std::string invalid_header = "MissingEventTypeHeader";
  std::string invalid_decode = "DeserializationFailure";
  std::string invalid_schema = "SchemaViolation";
  std::string expired = "Expired";
  std::string crash = "crash";
  std::string never = "NeverRetried";
  bool use_error_type = false;  // kafka: the reason is the exception's type name (S4-17), and the
                                // names above only stand in for a failure without a type
  bool operator==(const ReasonNames&) const = default;
};

/// A complete rule set. Every profile is only a value of this; one procedure reads it (decide.h).
struct Profile {
  std::string name;
  std::string summary;  // one line for people
  std::uint32_t limit = 0;
  std::optional<Check> pre_check;   // before the handler runs
  std::optional<Check> post_check;  // after a failure that would be retried
  std::vector<Rule> rules;
  std::string default_category = "transient";
  std::string empty_error_category = "transient";
  std::map<std::string, CategoryRule, std::less<>> categories;  // unnamed ones: retry
  RetryPolicy retry;
  std::optional<RetryPolicy> unregistered;  // no handler for this type yet (R3-5)
  Placement placement = Placement::delayed;
  std::vector<Stage> validation = {Stage::header, Stage::decode, Stage::schema};
  InvalidAction invalid = InvalidAction::dead_letter;
  std::string invalid_category = "invalid";
  bool invalid_keeps_count = true;  // false: recorded with count 0 (kafka)
  bool crash_counts = true;         // a start that ended in a crash or lost lease is a failure
  bool failure_abandons = false;    // durable: a failed run is an abandon that counts (S3-28)
  bool claims_count = false;        // durable-fetch: a claim that never started stays counted
  StoreFailure store_failure = StoreFailure::keep_source;
  OwnerEffect owner_effect = OwnerEffect::none;
  ReplayCount replay_count = ReplayCount::restart;
  std::optional<std::uint32_t> replay_limit;  // more replays than this are a loop (S4-22)
  FirstAttempt first_attempt = FirstAttempt::measured;
  Strategy strategy = Strategy::automatic;
  Skips skips = Skips::record;
  InnerPipeline inner;
  std::vector<RetentionRule> retention;
  Capacity capacity;
  ReasonNames reasons;
  std::string exhausted_status = "pending";  // workflow: "exhausted"
  std::string form;                          // wire form of its document (R14); empty: ours
  bool operator==(const Profile&) const = default;
};

/// The category of an attempt that never reported: not for rules to find, but a profile may name
/// it.
inline constexpr std::string_view crash_category = "crash";

/// Every built-in profile, `+safe` variants included, in the order people should read them.
[[nodiscard]] const std::vector<Profile>& builtin_profiles();

/// Refuses an unknown name with the valid names and the nearest spelling. `standard` is safe as it
/// is, so `standard+safe` names it too.
[[nodiscard]] Result<Profile> find_profile(std::string_view name);

/// The name to recommend to somebody who asks for `name`: its `+safe` variant if there is one.
[[nodiscard]] std::string recommended_name(std::string_view name);

/// The same profile with another limit, in every place that holds it.
[[nodiscard]] Profile with_limit(Profile profile, std::uint32_t limit);

/// What applies when nothing is configured (R12).
inline constexpr std::string_view default_profile_name = "standard";

/// Refuses a profile that could retry for ever (R8), names unknown categories or states, or
/// contradicts itself; says which setting is wrong and what would be right.
[[nodiscard]] Result<void> check(const Profile& profile);

/// A text form that is also valid YAML. parse_profile(print(p)) == p for every valid p.
[[nodiscard]] std::string print(const Profile& profile);
[[nodiscard]] Result<Profile> parse_profile(std::string_view text);

[[nodiscard]] std::string_view name_of(Comparison value) noexcept;  // ">" or ">="
[[nodiscard]] std::string_view name_of(Action value) noexcept;
[[nodiscard]] std::string_view name_of(Stage value) noexcept;
[[nodiscard]] std::string_view name_of(InvalidAction value) noexcept;
[[nodiscard]] std::string_view name_of(Placement value) noexcept;
[[nodiscard]] std::string_view name_of(StoreFailure value) noexcept;
[[nodiscard]] std::string_view name_of(OwnerEffect value) noexcept;
[[nodiscard]] std::string_view name_of(ReplayCount value) noexcept;
[[nodiscard]] std::string_view name_of(FirstAttempt value) noexcept;
[[nodiscard]] std::string_view name_of(Strategy value) noexcept;
[[nodiscard]] std::string_view name_of(Skips value) noexcept;
[[nodiscard]] std::string_view name_of(RetentionAct value) noexcept;
[[nodiscard]] std::string_view name_of(RetentionFrom value) noexcept;

}  // namespace dlo
