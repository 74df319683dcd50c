#pragma once

#include <algorithm>
#include <chrono>

namespace dlo {

/// Gathers under load. A round that costs nearly the same whether it carries one or a hundred (a
/// sync, a wake-up) begins at once after a rest, but not sooner than `apart` after the one before:
/// who comes meanwhile shares it. Real time: this is about disks and processors, not about
/// messages, and no result depends on it.
/// Threads  One.
class Pace {
 public:
  using Steady = std::chrono::steady_clock;

  explicit Pace(std::chrono::microseconds apart) noexcept : apart_(apart) {}

  /// How much longer to gather; zero: begin.
  [[nodiscard]] Steady::duration left() const noexcept {
    return std::max(next_ - Steady::now(), Steady::duration::zero());
  }
  void begin() noexcept { next_ = Steady::now() + apart_; }

 private:
  std::chrono::microseconds apart_;
  Steady::time_point next_{};
};

}  // namespace dlo
