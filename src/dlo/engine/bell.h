#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "dlo/engine/clock.h"

namespace dlo {

/// Wakes one waiter. Ringing while nobody waits costs one load, so busy threads may ring often.
class Bell {
 public:
  void ring() {
    if (!waiting_.load()) return;
    const std::lock_guard lock(mutex_);
    waiting_.store(false);
    wake_.notify_all();
  }

  /// Waits for a ring or the deadline, unless `ready()` holds already.
  template <typename Ready>
  void wait(const Clock& clock, TimePoint deadline, Ready ready) {
    std::unique_lock lock(mutex_);
    waiting_.store(true);
    // Asked after the flag is up: whoever makes it true from now on also rings.
    if (!ready()) {
      while (waiting_.load() && clock.now() < deadline) clock.wait_until(lock, wake_, deadline);
    }
    waiting_.store(false);
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> waiting_{false};
};

}  // namespace dlo
