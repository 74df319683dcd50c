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

/// An outbox table of somebody's database, whose rows are sent: how that goes.
struct RelayedSource {
  std::string name;
  std::string table;
  std::string shape;
  std::string to;
  std::string profile;
  std::string state;
  std::uint64_t published = 0;  // since the start, as are
  std::uint64_t failures = 0;
  std::uint64_t dead = 0;
  std::uint64_t waiting = 0;  // now, as is
  std::uint64_t share = 0;    // of 64 buckets
  std::optional<TimePoint> last_at;
  std::string trouble;  // empty: none
};
/// From any thread.
using ListRelayed = std::function<std::vector<RelayedSource>()>;

}  // namespace dlo::api
