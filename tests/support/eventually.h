#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace dlo::testing {

/// Waits for a condition of the real world, never for a time: true as soon as it holds, false when
/// patience ends. The one place in tests that may sleep; what depends on `now` has no need of it.
inline bool eventually(const std::function<bool()>& condition,
                       std::chrono::seconds patience = std::chrono::seconds(30)) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace dlo::testing
