#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

/// Waits as arithmetic (S2-55): `min(5m * n^2, 2h)`, `1m * fib(n)`.
///   n                  the number of the retry, 1 for the first
///   5m 1h30m 2 0.5     times and plain numbers
///   + - * / ^ ( )      as usual; ^ binds tightest and to the right
///   min(a, …) max(a, …) fib(a)
/// Times and numbers are told apart: the whole must be a time, and sums, min and max are of one
/// kind.
inline constexpr std::size_t longest_expression = 256;

/// The expression without its blanks; refused with the column of the mistake and what would be
/// right. Whether it is accepted never depends on `n`.
[[nodiscard]] Result<std::string> check_expression(std::string_view text);

/// The wait before retry `number`. Total: at least 0, at most ten years, whatever the number; what
/// has no value (0 / 0) is no wait. Empty: `check_expression` refuses it.
[[nodiscard]] std::optional<Millis> wait_by(std::string_view expression, std::uint64_t number);

}  // namespace dlo
