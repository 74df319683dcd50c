#pragma once

#include <mutex>
#include <thread>
#include <vector>

#include "peers/support/latencies.h"

namespace dlo::peers {

/// For peers whose calls block: runs body(index, latencies) on `count` threads until all have
/// returned. The latencies of all of them.
template <typename Body>
[[nodiscard]] Latencies run_callers(int count, Body body) {
  Latencies all;
  std::mutex guard;
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int index = 0; index < count; ++index) {
    threads.emplace_back([&, index] {
      Latencies own;
      body(index, own);
      const std::lock_guard lock{guard};
      all.merge(own);
    });
  }
  threads.clear();  // joins
  return all;
}

}  // namespace dlo::peers
