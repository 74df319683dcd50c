#pragma once

#include "dlo/core/instant.h"
#include "dlo/core/time.h"

namespace dlo {

/// `at + wait`, stopping at the end of time instead of running over it. A negative wait is none.
[[nodiscard]] constexpr TimePoint later(TimePoint at, Millis wait) noexcept {
  if (wait <= Millis{0}) return at;
  return at > TimePoint::max() - wait ? TimePoint::max() : at + wait;
}
[[nodiscard]] constexpr Instant later(const Instant& at, Millis wait) noexcept {
  return {later(at.wall, wait), later(at.steady, wait)};
}
static_assert(later(TimePoint{Millis{5}}, Millis::max()) == TimePoint::max());
static_assert(later(TimePoint{Millis{-5}}, Millis{-1}) == TimePoint{Millis{-5}});

}  // namespace dlo
