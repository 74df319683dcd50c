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

/// A verdict with everything needed to record and to explain it.
struct Decision {
  Verdict verdict;
  Counters counters;          // as they stand after this decision
  std::string_view category;  // empty unless a failure was classified
  std::string_view rule;      // the rule that fired; empty: a default applied
  std::string_view because;   // static text: which step of the procedure decided
};

/// A profile made ready to decide: its classifier is compiled. Immutable, shared by threads.
/// Views in a `Decision` live as long as the `RuleBook` that made it.
class RuleBook {
 public:
  /// Refuses what `check(profile)` refuses and rules that do not compile.
  [[nodiscard]] static Result<RuleBook> build(Profile profile, const RegexCompiler& regex = {},
                                              CustomBackoffs custom = {});

  [[nodiscard]] const Profile& profile() const noexcept { return profile_; }
  [[nodiscard]] const Classifier& classifier() const noexcept { return classifier_; }

  /// Step 2. `counters.fetch` already includes this claim; nothing has started yet.
  [[nodiscard]] Decision before_run(const Counters& counters) const;

  /// The start mark (R1): what the counters are while the handler runs.
  [[nodiscard]] static Counters started(Counters counters) noexcept;

  /// Step 3: the message did not pass `stage`. `counters` as at the claim.
  [[nodiscard]] Decision after_invalid(const Counters& counters, Stage stage,
                                       const Failure& failure, TimePoint now,
                                       std::uint64_t random) const;

  /// Steps 5 to 7. `counters` as `started()` left them. `previous` is the delay before this
  /// attempt (zero for the first), `random` any 64 random bits.
  [[nodiscard]] Decision after_run(const Outcome& outcome, const Counters& counters, TimePoint now,
                                   std::uint64_t random, Millis previous = Millis{0}) const;

  /// No handler is registered for this message's type: wait for a rolling deployment (R3-5),
  /// then die of the profile's limit.
  [[nodiscard]] Decision unregistered(const Counters& counters, TimePoint now,
                                      std::uint64_t random) const;

 private:
  RuleBook(Profile profile, Classifier classifier, CustomBackoffs custom)
      : profile_(std::move(profile)),
        classifier_(std::move(classifier)),
        custom_(std::move(custom)) {}
  Profile profile_;
  Classifier classifier_;
  CustomBackoffs custom_;
};

/// Counters of a message that comes back to life by a replay (D16).
[[nodiscard]] Counters after_replay(const Counters& counters, ReplayCount how) noexcept;

}  // namespace dlo
