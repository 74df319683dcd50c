#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dlo/core/time.h"

namespace dlo::embedded {

/// When a message expires: the first full second at which it has, since 1970. What expires later
/// than any has `never`, too: that is seen when it is received.
using Expiry = std::uint32_t;
inline constexpr Expiry never_expires = 0xFFFF'FFFF;
[[nodiscard]] constexpr Expiry expiry_of(TimePoint at) noexcept {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(at).time_since_epoch().count();
  return static_cast<Expiry>(std::clamp<std::int64_t>(seconds, 0, never_expires));
}
/// ... has passed for those that have at most this one.
[[nodiscard]] constexpr Expiry expired_until(TimePoint now) noexcept {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  return static_cast<Expiry>(std::clamp<std::int64_t>(seconds, 0, never_expires - 1));
}

/// The expiries of a block of slots. Neighbours are published one after the other and mostly live
/// equally long, so two bytes each are enough while all of them are within some hours; if not, it
/// is four for this block, until nobody is in it.
class Expiries {
 public:
  static constexpr std::size_t count = 1024;

  [[nodiscard]] bool any() const noexcept { return near_ || far_; }
  [[nodiscard]] Expiry operator[](std::size_t i) const noexcept {
    if (far_) [[unlikely]]
      return far_[i];
    return near_ && near_[i] != unknown ? base_ + near_[i] : never_expires;
  }
  /// `matters(n)`: whether somebody is in slot n who can expire. What the others left behind may be
  /// forgotten.
  template <typename Matters>
  void set(std::size_t i, Expiry expiry, Matters&& matters) {
    if (!far_ && !fits(expiry)) make_room(i, expiry, matters);
    if (far_) {
      far_[i] = expiry;
    } else {
      near_[i] = expiry == never_expires ? unknown : static_cast<Near>(expiry - base_);
    }
  }
  void copy_to(Expiry* into) const noexcept {
    for (std::size_t i = 0; i < count; ++i) into[i] = (*this)[i];
  }
  void reset() noexcept {
    near_.reset();
    far_.reset();
  }
  /// Bytes for each.
  [[nodiscard]] std::size_t width() const noexcept {
    return far_ ? sizeof(Expiry) : near_ ? sizeof(Near) : 0;
  }

 private:
  using Near = std::uint16_t;
  static constexpr Near unknown = 0xFFFF;

  [[nodiscard]] bool fits(Expiry expiry) const noexcept {
    if (!near_) return false;
    return expiry == never_expires || (expiry >= base_ && expiry - base_ < unknown);
  }
  template <typename Matters>
  void make_room(std::size_t i, Expiry expiry, Matters&& matters) {
    std::array<bool, count> kept{};
    Expiry first = expiry;
    Expiry last = expiry == never_expires ? 0 : expiry;
    for (std::size_t n = 0; n < count && near_; ++n) {
      kept[n] = n != i && near_[n] != unknown && matters(n);
      if (!kept[n]) continue;
      first = std::min(first, (*this)[n]);
      last = std::max(last, (*this)[n]);
    }
    rebase(kept, first, last);
  }
  void rebase(const std::array<bool, count>& kept, Expiry first, Expiry last);

  Expiry base_ = 0;
  std::unique_ptr<Near[]> near_;
  std::unique_ptr<Expiry[]> far_;
};

}  // namespace dlo::embedded
