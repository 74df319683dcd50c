#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

/// No wait and no age is longer than this: longer ones are refused or cut.
inline constexpr Millis longest_duration = std::chrono::hours{24} * 3650;

/// The shortest exact form in one unit: 1500ms, 30s, 5m, 2h, 7d. Zero is 0s.
[[nodiscard]] std::string print_duration(Millis duration);

/// One or more numbers with unit (ms, s, m, h, d), largest first: `90s`, `1.5h`, `1h30m`. Also
/// plain `0`. Refuses negative, inexact and longer than ten years, and says what would be right.
[[nodiscard]] Result<Millis> parse_duration(std::string_view text);

}  // namespace dlo
