#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

namespace dlo::embedded {

/// A mutex that can be told to be fair. As a rule whoever comes while it is free takes it, which is
/// fastest; but then somebody who takes it again and again, each time for long, shuts out those who
/// have to be woken first. While it is orderly, everybody gets it in the order they came.
class OrderlyMutex {
 public:
  [[nodiscard]] std::mutex& plain() noexcept { return mutex_; }

  /// Whoever holds it says so: the turns to come are long ones.
  void set_orderly(bool on) noexcept {
    if (orderly_.load(std::memory_order_relaxed) != on) orderly_ = on;
  }

  [[nodiscard]] bool is_orderly() const noexcept {
    return orderly_.load(std::memory_order_relaxed);
  }

  void enter(std::unique_lock<std::mutex>& lock) {
    if (orderly_.load(std::memory_order_relaxed)) return queue_up(lock);
    if (lock.try_lock()) return;
    ++waiting_;
    lock.lock();
    --waiting_;
  }

  /// How many wait, for tests.
  [[nodiscard]] std::uint32_t waiting() const noexcept { return waiting_ + (tickets_ - served_); }

 private:
  // Looks again after a moment instead of being woken: turns are long, and there are few of them.
  void queue_up(std::unique_lock<std::mutex>& lock) {
    const std::uint32_t ticket = tickets_++;
    const auto is_early = [&] { return static_cast<std::int32_t>(ticket - served_) > 0; };
    while (orderly_ && (is_early() || waiting_ > 0)) {
      std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    lock.lock();
    ++served_;
  }

  std::mutex mutex_;
  std::atomic<bool> orderly_ = false;
  std::atomic<std::uint32_t> waiting_ = 0;  // came before it was orderly
  std::atomic<std::uint32_t> tickets_ = 0;
  std::atomic<std::uint32_t> served_ = 0;
};

/// Holds an OrderlyMutex. Condition variables take it as they take any lock.
class OrderlyLock : public std::unique_lock<std::mutex> {
 public:
  explicit OrderlyLock(OrderlyMutex& mutex)
      : std::unique_lock<std::mutex>(mutex.plain(), std::defer_lock) {
    mutex.enter(*this);
  }
};

}  // namespace dlo::embedded
