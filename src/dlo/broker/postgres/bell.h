#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace dlo::postgres {

/// Rung when a queue may have something new; whoever waits for a message waits here. It says
/// nothing of what is there: who hears it asks the server.
/// Threads  Any.
class Bell {
 public:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::uint64_t rings() const {
    const std::lock_guard lock(mutex_);
    return rings_;
  }
  void ring() {
    {
      const std::lock_guard lock(mutex_);
      ++rings_;
    }
    rung_.notify_all();
  }
  /// Until it has been rung more than `heard` times, `until` has come or `stop` is requested.
  void wait(std::uint64_t heard, Clock::time_point until, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    rung_.wait_until(lock, stop, until, [&] { return rings_ != heard; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any rung_;
  std::uint64_t rings_ = 0;
};

}  // namespace dlo::postgres
