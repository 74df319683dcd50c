#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "dlo/core/time.h"

namespace dlo {

/// How many a second, over the last ten whole seconds. Sixteen counters, a few instructions a call.
/// Clock   A steady one: whoever sets the wall clock changes no rate.
class RateMeter {
 public:
  void add(std::uint64_t count, TimePoint now) noexcept {
    Second& second = seconds_[static_cast<std::uint64_t>(tick(now)) % seconds_.size()];
    if (second.tick != tick(now)) second = {tick(now), 0};
    second.count += count;
  }

  /// The second that has just begun is left out: it would look slow.
  [[nodiscard]] double per_second(TimePoint now) const noexcept {
    std::uint64_t count = 0;
    for (const Second& second : seconds_) {
      const auto age = tick(now) - second.tick;
      if (age >= 1 && age <= window) count += second.count;
    }
    return static_cast<double>(count) / window;
  }

 private:
  static constexpr int window = 10;
  struct Second {
    std::int64_t tick = INT64_MIN / 2;
    std::uint64_t count = 0;
  };
  static std::int64_t tick(TimePoint at) noexcept {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
    return std::clamp<std::int64_t>(seconds, INT64_MIN / 4, INT64_MAX / 4);
  }
  std::array<Second, 16> seconds_{};
};

}  // namespace dlo
