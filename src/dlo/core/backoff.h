#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

enum class PolicyKind : std::uint8_t {
  never,
  immediate,
  fixed,
  linear,
  exponential,
  list,
  custom,
  expression
};
inline constexpr std::array<PolicyKind, 8> every_policy_kind = {
    PolicyKind::never,       PolicyKind::immediate, PolicyKind::fixed,  PolicyKind::linear,
    PolicyKind::exponential, PolicyKind::list,      PolicyKind::custom, PolicyKind::expression};

enum class Jitter : std::uint8_t {
  none,
  full,          // uniform in [0, delay]
  equal,         // half the delay plus uniform in [0, half]
  decorrelated,  // uniform in [base, 3 x max(base, previous delay)], capped
};

/// When the next try comes. Data: printed, parsed, compared.
struct RetryPolicy {
  PolicyKind kind = PolicyKind::immediate;
  Millis base{0};
  double factor = 2.0;              // exponential
  std::int32_t first_exponent = 0;  // exponential: delay = base x factor^(n - 1 + first_exponent)
  std::optional<Millis> cap{};
  Jitter jitter = Jitter::none;
  std::vector<Millis> delays{};  // list: the last one repeats
  std::string custom{};          // custom: a name registered by the program
  std::string expression{};      // expression: min(5m*n^2,2h), see backoff_expression.h
  bool operator==(const RetryPolicy&) const = default;
};

/// Named schedules a program adds. Given in as an argument: core keeps no registry.
/// What one answers is cut to [0, cap]; one that throws counts as `base`.
using CustomBackoff = std::function<Millis(std::uint64_t retry_number)>;
using CustomBackoffs = std::map<std::string, CustomBackoff, std::less<>>;

/// The wait before retry number `retry_number` (1 = the first retry; 0 is read as 1).
/// linear = base x retry_number. The cap comes before the jitter, and again after it.
/// `random` is any 64 random bits; `previous` the delay before (decorrelated jitter grows from it).
/// Total: never negative, never overflows, at most ten years even at retry 10^9; without jitter
/// fixed, linear and exponential are monotone in the number. Empty: this policy never retries
/// (`never`, an empty list, a custom name that `custom` lacks).
[[nodiscard]] std::optional<Millis> delay_before(const RetryPolicy& policy,
                                                 std::uint64_t retry_number, Millis previous,
                                                 std::uint64_t random,
                                                 const CustomBackoffs& custom = {});

[[nodiscard]] std::string_view name_of(PolicyKind kind) noexcept;
[[nodiscard]] std::string_view name_of(Jitter jitter) noexcept;
/// The kind a printed policy begins with. `never` for every other text, an empty one included.
[[nodiscard]] PolicyKind kind_of_policy(std::string_view printed) noexcept;

/// Refuses what contradicts itself: a setting its kind does not use, a factor below 1, an empty
/// list, a negative or endless time. Says which setting and what would be right.
[[nodiscard]] Result<void> check(const RetryPolicy& policy);

/// One line: `exponential base=1s factor=2 cap=5m jitter=full`. parse_policy(print(p)) == p for
/// every p that `check` accepts.
[[nodiscard]] std::string print(const RetryPolicy& policy);
/// `linear` and `exponential` alone mean what document 002 says; `fixed` alone lacks its base.
[[nodiscard]] Result<RetryPolicy> parse_policy(std::string_view text);

}  // namespace dlo
