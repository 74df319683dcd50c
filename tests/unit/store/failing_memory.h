#pragma once

#include <cstdint>

namespace dlo::testing {

/// Lets allocations fail: the `nth` from now on (0: the very next) and those that follow, `times`
/// in all, counted in every thread but the one that made this. So a test can take memory from an
/// office's own threads and look on. At most one at a time. Only `operator new` fails; SQLite's own
/// memory comes from elsewhere.
class FailingMemory {
 public:
  explicit FailingMemory(std::uint64_t nth, std::uint64_t times = 1);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  [[nodiscard]] bool has_struck() const noexcept;
};

}  // namespace dlo::testing
