#pragma once

#include <cstdint>
#include <optional>

#include "dlo/core/time.h"

namespace dlo {

/// How many runs of one executor there are at once, of how many there may be. A value, like
/// breaker.h.
struct Places {
  std::uint32_t limit = 0;  // 0: any number
  std::uint32_t taken = 0;
  Millis between{100};   // two ends of runs, lately, while every place was taken
  TimePoint last_end{};  // of a run
  TimePoint line_end{};  // when the last of those who were turned away asks again
};

/// Empty: the place is yours until `leave_place`. Otherwise when to ask again. Those who are turned
/// away stand in a line that moves twice as fast as places fall free, so none stays empty for long
/// and however many there are they do not all ask at once; nobody is sent away for longer than
/// `longest_in_line`.
[[nodiscard]] std::optional<TimePoint> take_place(Places& places, TimePoint now) noexcept;
void leave_place(Places& places, TimePoint now) noexcept;

inline constexpr Millis longest_in_line{60'000};

}  // namespace dlo
