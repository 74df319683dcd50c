#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "dlo/core/counters.h"
#include "dlo/core/message.h"
#include "dlo/core/profile.h"
#include "dlo/core/time.h"

namespace dlo {

/// Options of one abandon (S3-22..26). All default to false and empty.
struct AbandonOptions {
  bool increment_count = false;  // false: the item was never processed
  bool force_poison = false;     // regardless of the count
  std::optional<std::string> error_message{};
  std::optional<std::uint32_t> max_abandon_count{};  // absent: the profile's limit
  Millis delay{0};
  bool operator==(const AbandonOptions&) const = default;
};

/// Whether the execution that this abandon ends is one: it stays counted and is remembered as an
/// attempt, with the row and the count a failed one has. What was never processed leaves neither,
/// also if it is poisoned by the limit it had reached before. What is forced to its end was looked
/// at, whether the abandon itself counts or not.
[[nodiscard]] constexpr bool is_execution(const AbandonOptions& options) noexcept {
  return options.increment_count || options.force_poison;
}

struct Released {
  bool operator==(const Released&) const = default;
};
struct Poisoned {
  std::uint32_t abandon_count = 0;
  bool operator==(const Poisoned&) const = default;
};
using AbandonResult = std::variant<Released, Poisoned>;

struct AbandonDecision {
  AbandonResult result;
  Counters counters;    // after the abandon
  std::uint32_t limit;  // the limit that applied
};

/// S3-20: count if asked to, then compare, then release or poison. Pure and total. `counters` have
/// the start of what is_execution() calls one, and of nothing else.
/// - Without `increment_count` the item was never processed, so the claim goes back (S3-30, I8),
/// and
///   what is compared is its abandons alone: neither claims, nor runs that failed or were cut off,
///   can make an end of it while nothing runs; the check before its next run looks at those. The
///   limit is then that of the call which released it before (`carried`), if it had one: what
///   lives by that limit does not die because somebody hands it back.
/// - The profile's check sees its own count (count_for), or what it would be had every counted
///   abandon been an execution that failed, whichever is higher. So whoever abandons and fails by
///   turns executes as often as whoever only fails (the third retry of workflow is its fourth
///   execution), and no profile can be abandoned for ever. Where the only check is before the run
///   it is asked here, unless it will see the claims by itself then (durable-fetch).
/// - A limit given with the call is one of abandons: they, or the profile's own count if that is
///   higher, are compared with `>=`. It may be above the profile's: a released item takes it along
///   to the check before its next run. Where nothing can take it along (`carries_limit`), or where
///   that check would end the item all the same, it is poisoned here by the profile's limit: what
///   is released under a limit of the call runs again.
/// - `force_poison` without increment answers the current count.
[[nodiscard]] AbandonDecision decide_abandon(const Profile& profile, const Counters& counters,
                                             const AbandonOptions& options,
                                             bool carries_limit = true,
                                             std::optional<std::uint32_t> carried = {}) noexcept;

/// The count a poisoned item is said to have: the highest of its abandons and what the profile's
/// checks look at.
[[nodiscard]] std::uint32_t poison_count(const Profile& profile, const Counters& counters) noexcept;

/// What a record of a poisoned item gives as its reason: the profile's word for its limit.
[[nodiscard]] std::string poison_reason(const Profile& profile);

enum class ErrorClass : std::uint8_t { infrastructure, configuration, application, poison };
[[nodiscard]] std::string_view name_of(ErrorClass value) noexcept;

/// The error a poisoned item leaves behind (S3-10..13). Never retryable.
struct Poison {
  std::uint32_t abandon_count = 0;
  std::uint32_t max_abandons = 0;
  std::optional<std::string> last_error;
  std::optional<Activity> activity;         // empty: message_type is Orchestration
  std::optional<std::uint32_t> abandons{};  // how many of the count were; empty: all of them
  bool operator==(const Poison&) const = default;
};
inline constexpr ErrorClass category_of(const Poison& /*unused*/) noexcept {
  return ErrorClass::poison;
}
[[nodiscard]] constexpr bool is_retryable(ErrorClass value) noexcept {
  return value == ErrorClass::infrastructure;
}
/// "poison: orchestration exceeded 5 abandons (max 5): last error", or "attempts" where not all of
/// the count were abandons. `what` it is called if it is no activity.
[[nodiscard]] std::string describe(const Poison& poison, std::string_view what = "orchestration");

}  // namespace dlo
