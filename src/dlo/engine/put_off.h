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
/// now. They are due: when a circuit closes they come forward.
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

  /// All of them are called; `bring` lets them come.
  void call();
  [[nodiscard]] bool has_called() const noexcept { return called_.load(); }
  /// At most so many of those that were called are due now, except those that somebody has moved
  /// since. What cannot be written keeps its moment. Answers how many came.
  std::size_t bring(Office& office, TimePoint now, std::size_t limit);

 private:
  using Moments = std::unordered_map<RecordId, TimePoint>;
  [[nodiscard]] Moments take_called(std::size_t limit);

  std::atomic<std::uint64_t> calls_{0};
  std::atomic<bool> called_{false};
  std::mutex mutex_;
  Moments until_;
  Moments coming_;
};

}  // namespace dlo
