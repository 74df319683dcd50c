#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/time.h"

namespace dlo::api {

/// Somebody else's dead-letter queue, drained into the office: how that goes.
struct CollectedSource {
  std::string source;  // of its dead letters
  std::string name;
  std::string broker;  // "rabbitmq"
  std::string queue;
  std::string profile;
  std::string state;
  std::uint64_t collected = 0;  // since the start, as are
  std::uint64_t repeats = 0;
  std::uint64_t refused = 0;
  std::optional<TimePoint> last_at;
  std::string trouble;  // empty: none
};
/// From any thread.
using ListCollected = std::function<std::vector<CollectedSource>()>;

}  // namespace dlo::api
