#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace dlo::testing {

/// A door handlers wait at.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  /// As `pass`, but leaves when told to stop. True: it was told.
  bool pass_or_stop(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [&] { return open_ || stop.stop_requested(); });
    --waiting_;
    return !open_;
  }
  int waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

}  // namespace dlo::testing
