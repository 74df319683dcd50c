#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "dlo/core/classify.h"
#include "dlo/core/counters.h"
#include "dlo/core/failure.h"
#include "dlo/core/profile.h"
#include "dlo/core/time.h"

namespace dlo {

struct Run {  // the checks before the handler let it through
  bool operator==(const Run&) const = default;
};
struct Complete {
  bool operator==(const Complete&) const = default;
};
struct RetryAt {
  TimePoint when;
  Millis delay{0};
  Placement placement = Placement::delayed;
  bool operator==(const RetryAt&) const = default;
};
struct DeadLetterAs {
  std::string reason;
  std::string description;
  bool exhausted = false;  // automatic retries were used up, as opposed to pointless
  bool operator==(const DeadLetterAs&) const = default;
};
struct GiveBack {  // never started: the claim is returned
  bool operator==(const GiveBack&) const = default;
};
struct Drop {  // a legal loss (R8); counted and audited by whoever carries it out
  std::string reason;
  bool operator==(const Drop&) const = default;
};
struct RejectToCaller {
  std::string reason;
  bool operator==(const RejectToCaller&) const = default;
};

/// What the core decides. Everything outside core/ only carries these out.
using Verdict = std::variant<Run, Complete, RetryAt, DeadLetterAs, GiveBack, Drop, RejectToCaller>;

/// run, complete, retry, dead_letter, give_back, drop, reject_to_caller
[[nodiscard]] std::string_view name_of(const Verdict& verdict) noexcept;

/// A verdict with everything needed to record and to explain it.
struct Decision {
  Verdict verdict;
  Counters counters;                     // as they stand after this decision
  std::string_view category;             // empty unless a failure was classified
  std::string_view rule;                 // the rule that fired; empty: a default applied
  std::string_view because;              // static text: which step of the procedure decided
  std::optional<std::uint32_t> limit{};  // that was reached, if one was; perhaps of a call
};

/// The longest wait another side's Retry-After can impose on us, unless the policy's own cap is
/// longer: long enough for hourly quotas, short enough that one bad header strands nothing.
inline constexpr Millis longest_retry_after = std::chrono::hours{1};

/// A profile made ready to decide: its classifier is compiled. Immutable, shared by threads.
/// Views in a `Decision` live as long as the `RuleBook` that made it.
///
/// What moves which counter:
///   claim (the broker)      fetch
///   started()               attempt, total, and retry from the second start on
///   a failure               failure; also abandon, if the profile says failures abandon
///   an abandon (abandon.h)  abandon, if it counts
///   a crash                 as a failure, if `crash_counts`. What was decided in memory is lost
///                           with it, so crashes are derived: of `attempt` starts those whose end
///                           neither a failure nor an abandon reported.
///   never_started           gives the claim back, unless `claims_count`
class RuleBook {
 public:
  /// Refuses what `check(profile)` refuses, rules that do not compile, and custom policies that
  /// `custom` does not hold.
  [[nodiscard]] static Result<RuleBook> build(Profile profile, const RegexCompiler& regex = {},
                                              CustomBackoffs custom = {});

  [[nodiscard]] const Profile& profile() const noexcept { return profile_; }
  [[nodiscard]] const Classifier& classifier() const noexcept { return classifier_; }

  /// Step 2. `counters.fetch` already includes this claim; nothing has started yet. Run or
  /// DeadLetterAs. `last_error` is what the message failed of before, for the description.
  /// `limit_of_call`: the abandon that released it had a limit of its own (S3-25); where that is
  /// higher, it was promised this run.
  [[nodiscard]] Decision before_run(const Counters& counters, std::string_view last_error = {},
                                    std::optional<std::uint32_t> limit_of_call = {}) const;

  /// Step 2 for a delivery whose last attempt never reported (Delivery::interrupted): the
  /// pre-check, then that crash is accounted for, which may end it. Run carries the counters to go
  /// on with; there is no further wait. A limit of a call stands in place of a lower one of the
  /// profile in all of it: a crash takes one run of those that were promised, not the promise. A
  /// crash loop ends under every profile: where crashes do not count, `limit` of them are allowed
  /// beside the counted failures.
  [[nodiscard]] Decision resume(const Counters& counters, std::string_view last_error = {},
                                std::optional<std::uint32_t> limit_of_call = {}) const;

  /// R7: it crashed again while it ran alone. Dead letter `crash`, whatever the limits.
  [[nodiscard]] Decision crashed_alone(const Counters& counters) const;

  /// The start mark (R1): what the counters are while the handler runs.
  [[nodiscard]] static Counters started(Counters counters) noexcept;

  /// Step 3: the message did not pass `stage`. `counters` as at the claim.
  [[nodiscard]] Decision after_invalid(const Counters& counters, Stage stage,
                                       const Failure& failure, TimePoint now, std::uint64_t random,
                                       Millis previous = Millis{0}) const;

  /// Steps 5 to 7. `counters` as `started()` left them (as at the claim, for never_started).
  /// `previous` is the delay before this attempt (zero for the first), `random` any 64 random bits.
  /// A Retry-After in the failure is honoured up to `longest_retry_after`; a policy with jitter
  /// adds up to a tenth, so that a herd does not come back at once.
  [[nodiscard]] Decision after_run(const Outcome& outcome, const Counters& counters, TimePoint now,
                                   std::uint64_t random, Millis previous = Millis{0}) const;

  /// The wait before the same attempt tries once more, `tries` of it having been made: the inner
  /// pipeline of the profile. Empty: the attempt has failed. That is so when the tries are used up,
  /// when the pipeline is not for such failures, when its policy never retries, and when the other
  /// side asked for more patience than the pipeline has.
  [[nodiscard]] std::optional<Millis> try_again(const Outcome& outcome, std::uint32_t tries,
                                                Millis previous, std::uint64_t random) const;

  /// No handler is registered for this message's type: counts as a failed attempt and waits for a
  /// rolling deployment (R3-5), then dies of the profile's limit. `counters` as at the claim.
  [[nodiscard]] Decision unregistered(const Counters& counters, TimePoint now, std::uint64_t random,
                                      Millis previous = Millis{0}) const;

  /// The policy and limit that hold for a category.
  [[nodiscard]] const RetryPolicy& policy_for(std::string_view category) const;
  [[nodiscard]] std::uint32_t limit_for(std::string_view category) const;

 private:
  struct Case;  // one failed attempt under decision

  RuleBook(Profile profile, Classifier classifier, CustomBackoffs custom)
      : profile_(std::move(profile)),
        classifier_(std::move(classifier)),
        custom_(std::move(custom)) {}

  [[nodiscard]] const CategoryRule* rule_for(std::string_view category) const;
  [[nodiscard]] Counters after_failure(Counters counters) const noexcept;
  [[nodiscard]] Counters after_crash(Counters counters) const noexcept;
  [[nodiscard]] std::uint32_t crashes(const Counters& counters) const noexcept;
  [[nodiscard]] bool trips(const Check& check, const Counters& counters,
                           std::uint32_t limit) const noexcept;
  [[nodiscard]] DeadLetterAs death_by(const Check& check, const Counters& counters,
                                      std::uint32_t limit, const Failure& failure) const;
  [[nodiscard]] Decision decide(const Case& given) const;
  /// The post-check; nothing if there is none or it does not trip.
  [[nodiscard]] std::optional<Decision> limit_reached(const Case& given) const;
  [[nodiscard]] Decision retry(const Case& given) const;
  [[nodiscard]] Decision after_cut_off(const Case& given) const;
  [[nodiscard]] Decision end_without_retry(const Case& given, const std::string& reason,
                                           std::string_view because) const;
  [[nodiscard]] std::string reason_for(const Failure& failure, const std::string& otherwise) const;

  Profile profile_;
  Classifier classifier_;
  CustomBackoffs custom_;
};

/// Counters of a message that comes back to life by a replay (D16).
[[nodiscard]] Counters after_replay(const Counters& counters, ReplayCount how) noexcept;

/// The time a record states as its first attempt: what was measured, else, for a profile that
/// estimates, died_at - 5 s x count (S1-23).
[[nodiscard]] std::optional<TimePoint> first_attempt_of(const Profile& profile,
                                                        const Counters& counters,
                                                        std::optional<TimePoint> measured,
                                                        TimePoint died_at) noexcept;

}  // namespace dlo
