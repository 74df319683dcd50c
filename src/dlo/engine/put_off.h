#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "dlo/store/office.h"

namespace dlo {

/// Records that were claimed and given back until later because whoever runs them takes nothing
/// now. They are due: when a circuit is closed by hand they come forward.
/// Memory  Of a hundred thousand; more than that keep the moment they were given.
/// Threads  Any method from any thread.
class PutOff {
 public:
  /// How often somebody has called them back. Who puts one off that was claimed before the last
  /// call puts it off until now.
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_.load(); }

  void add(const RecordId& id, TimePoint until);
  /// Somebody has it again.
  void forget(const RecordId& id);

  /// All of them are due now, except those that somebody has moved since. What cannot be written
  /// keeps its moment. Answers how many came.
  std::size_t call_back(Office& office, TimePoint now);

 private:
  std::atomic<std::uint64_t> calls_{0};
  std::mutex mutex_;
  std::unordered_map<RecordId, TimePoint> until_;
};

}  // namespace dlo
