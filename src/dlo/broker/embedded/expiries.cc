#include "dlo/broker/embedded/expiries.h"

#include <algorithm>
#include <utility>

namespace dlo::embedded {

void Expiries::rebase(const std::array<bool, count>& kept, Expiry first, Expiry last) {
  // Some room on both sides, or the next one would be beyond it again.
  constexpr Expiry widest = unknown / 4 * 3;
  const Expiry width = last > first ? last - first : 0;
  auto before = std::move(near_);
  const auto base_before = base_;
  const auto expiry = [&](std::size_t n) {
    return kept[n] ? base_before + before[n] : never_expires;
  };
  if (width > widest) {
    far_ = std::make_unique_for_overwrite<Expiry[]>(count);
    for (std::size_t n = 0; n < count; ++n) far_[n] = expiry(n);
    return;
  }
  base_ = first - std::min(first, (unknown - width) / 2);
  near_ = std::make_unique_for_overwrite<Near[]>(count);
  for (std::size_t n = 0; n < count; ++n) {
    near_[n] = kept[n] ? static_cast<Near>(expiry(n) - base_) : unknown;
  }
}

}  // namespace dlo::embedded
