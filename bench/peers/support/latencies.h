#pragma once

#include <cstdint>
#include <vector>

#include "peers/support/clock.h"

namespace dlo::peers {

/// How long requests took. Kept in tenths of a microsecond, so that a million cost 4 MB.
class Latencies {
 public:
  void add(Duration took);
  void merge(const Latencies& other);

  /// The time that `share` of the requests did not exceed; zero if there were none.
  [[nodiscard]] Millis percentile(double share) const;

 private:
  std::vector<std::uint32_t> tenths_;
};

}  // namespace dlo::peers
