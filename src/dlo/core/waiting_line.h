#pragma once

#include <algorithm>
#include <cstdint>

#include "dlo/core/time.h"

namespace dlo {

/// Those who wait for one circuit and are called when it closes: nobody has to ask often, and
/// whatever asks costs a write. A value, like breaker.h.
struct WaitingLine {
  TimePoint at{};           // when the last of them asks again
  std::uint32_t there = 0;  // how many do so then
};

inline constexpr std::uint32_t ask_together = 16;
inline constexpr Millis between_askers{1'000};
/// Whoever is not called, because the process died, comes by himself after that.
inline constexpr Millis longest_for_circuit{300'000};

/// When to ask again, not before `from`. A few at a time, so that there is always somebody to probe
/// with; more than fit into the longest wait are spread over it evenly.
[[nodiscard]] inline TimePoint stand_in_line(WaitingLine& line, TimePoint from,
                                             TimePoint now) noexcept {
  const bool moves_on = line.at >= from && line.there >= ask_together;
  if (line.at < from) line = {from, 0};
  if (moves_on) line = {line.at + between_askers, 0};
  if (line.at > std::max(now, from) + longest_for_circuit) line = {from, 0};  // once more around
  ++line.there;
  return line.at;
}

}  // namespace dlo
