#pragma once

#include <chrono>

namespace dlo::peers {

using Clock = std::chrono::steady_clock;
using Instant = Clock::time_point;
using Duration = Clock::duration;
using Seconds = std::chrono::duration<double>;
using Millis = std::chrono::duration<double, std::milli>;

}  // namespace dlo::peers
