#pragma once

#include <chrono>

namespace dlo {

/// Milliseconds: the coarsest precision any backend keeps, so a time survives every round trip.
using Millis = std::chrono::milliseconds;

/// Wall-clock time (UTC). Nothing below engine/ reads a clock: `now` is always an argument.
using TimePoint = std::chrono::sys_time<Millis>;

}  // namespace dlo
