#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "dlo/core/time.h"

namespace dlo {

/// So many a second, and as many at once as a second allows. A value: time is an argument.
class TokenBucket {
 public:
  /// Takes one; or answers how long to wait for it, and takes nothing. `rate` is 1 or more.
  [[nodiscard]] std::optional<Millis> take(std::uint32_t rate, TimePoint now) noexcept {
    const auto full = static_cast<double>(rate);
    // A clock that was set back gives nothing and takes nothing.
    const auto passed = static_cast<double>(std::max(now - filled_at_, Millis{0}).count());
    level_ = begun_ ? std::min(full, level_ + passed * full / 1'000.0) : full;
    begun_ = true;
    filled_at_ = now;
    if (level_ >= 1.0) {
      level_ -= 1.0;
      return std::nullopt;
    }
    const double missing = (1.0 - level_) * 1'000.0 / full;
    return Millis{static_cast<std::int64_t>(missing) + 1};
  }

 private:
  double level_ = 0;
  TimePoint filled_at_{};
  bool begun_ = false;
};

}  // namespace dlo
