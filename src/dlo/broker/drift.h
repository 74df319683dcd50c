#pragma once

#include "dlo/core/instant.h"

namespace dlo {

/// Tells when somebody set the wall clock, and by how much. What waits for so much time, and has
/// its end written as a moment of the wall clock, is moved by that.
/// Exact    To a second: that much callers of one clock disagree, and a clock that is slowed down
///          or sped up drifts before it is worth looking at everything that waits.
class Drift {
 public:
  /// By how much the wall clock was set since the last answer that was not zero, or the first call.
  [[nodiscard]] Millis since_last(const Instant& now) noexcept {
    const Millis ahead = now.wall - now.steady;
    if (!known_) {
      known_ = true;
      ahead_ = ahead;
    }
    const Millis by = ahead - ahead_;
    if (by <= slack && by >= -slack) [[likely]]
      return Millis{0};
    ahead_ = ahead;
    return by;
  }

 private:
  static constexpr Millis slack{1000};
  bool known_ = false;
  Millis ahead_{0};
};

}  // namespace dlo
