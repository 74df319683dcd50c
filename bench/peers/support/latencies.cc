#include "peers/support/latencies.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace dlo::peers {

void Latencies::add(Duration took) {
  constexpr auto longest = std::numeric_limits<std::uint32_t>::max();
  const auto tenths = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count() / 100;
  tenths_.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(tenths, 0, longest)));
}

void Latencies::merge(const Latencies& other) {
  tenths_.insert(tenths_.end(), other.tenths_.begin(), other.tenths_.end());
}

Millis Latencies::percentile(double share) const {
  if (tenths_.empty()) return Millis{0};
  auto sorted = tenths_;
  const auto rank = std::min(sorted.size() - 1,
                             static_cast<std::size_t>(share * static_cast<double>(sorted.size())));
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(sorted.begin(), at, sorted.end());
  return Millis{static_cast<double>(*at) / 1e4};
}

}  // namespace dlo::peers
