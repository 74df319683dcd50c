#pragma once

#include <chrono>

#include "dlo/core/time.h"

namespace dlo::embedded {

/// How long somebody has waited, in whole milliseconds, and until when that is.
struct Waited {
  Millis elapsed{0};
  std::chrono::steady_clock::time_point until;
};

/// Parts of a millisecond count next time, from `until` on: or the clock would stand still for who
/// looks often.
[[nodiscard]] constexpr Waited waited(std::chrono::steady_clock::time_point since,
                                      std::chrono::steady_clock::time_point now) noexcept {
  const auto elapsed = std::chrono::floor<Millis>(now - since);
  return {elapsed, since + elapsed};
}

}  // namespace dlo::embedded
