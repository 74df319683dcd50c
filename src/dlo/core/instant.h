#pragma once

#include "dlo/core/time.h"

namespace dlo {

/// One moment, as two clocks show it. What somebody named (a delay, an expiry) follows `wall`, also
/// when that clock is set. What was promised to last (a lease) is measured by `steady`, which knows
/// nothing but the time that passes: its moments mean something beside each other only.
struct Instant {
  TimePoint wall{};
  TimePoint steady{};

  constexpr Instant() noexcept = default;
  /// Of a clock that nobody sets: virtual time. A clock of the machine gives both:
  /// `Clock::instant`.
  // NOLINTNEXTLINE(google-explicit-constructor): where time is an argument, it is one moment
  constexpr Instant(TimePoint at) noexcept : wall(at), steady(at) {}
  constexpr Instant(TimePoint on_the_wall, TimePoint steadily) noexcept
      : wall(on_the_wall), steady(steadily) {}

  /// What the wall clock shows at a moment of the steady one, if nobody sets it in between.
  [[nodiscard]] constexpr TimePoint wall_at(TimePoint moment) const noexcept {
    return moved(moment, wall - steady);
  }
  /// The other way round.
  [[nodiscard]] constexpr TimePoint steady_at(TimePoint moment) const noexcept {
    return moved(moment, steady - wall);
  }
  constexpr bool operator==(const Instant&) const noexcept = default;

 private:
  // The ends of time stay where they are.
  static constexpr TimePoint moved(TimePoint at, Millis by) noexcept {
    if (at == TimePoint::max() || at == TimePoint::min()) return at;
    if (by > Millis{0} && at > TimePoint::max() - by) return TimePoint::max();
    if (by < Millis{0} && at < TimePoint::min() - by) return TimePoint::min();
    return at + by;
  }
};

}  // namespace dlo
