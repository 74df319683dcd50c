#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "dlo/core/instant.h"
#include "dlo/core/time.h"

namespace dlo {

/// The only place where time comes from. Everything below engine/ gets `now` as an argument.
/// Threads  Any method from any thread.
/// Order    `now()` never goes back, whatever the machine's clock does.
class Clock {
 public:
  virtual ~Clock() = default;

  [[nodiscard]] virtual TimePoint now() const noexcept = 0;

  /// The same moment, with the reading by which leases and the time of handlers are measured.
  [[nodiscard]] virtual Instant instant() const noexcept { return Instant(now()); }

  /// Fine-grained, from an arbitrary beginning: for measuring how fast something is.
  [[nodiscard]] virtual std::chrono::nanoseconds ticks() const noexcept = 0;

  /// Waits until `cv` is notified or the clock reaches `deadline`, whichever is first. May return
  /// early, so callers loop over their own condition. `lock` is held before and after.
  virtual void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv,
                          TimePoint deadline) const = 0;
};

/// The machine's time, made monotone. If the wall clock is set forward we follow at once; if it is
/// set back we go on at half speed until it has caught up, so delays that were promised are kept
/// and no moment is lived twice. The steady reading is the wall time of this clock's beginning plus
/// what has passed since: whoever sets the wall clock, it goes on as before.
class SystemClock final : public Clock {
 public:
  SystemClock() noexcept;
  [[nodiscard]] TimePoint now() const noexcept override;
  [[nodiscard]] Instant instant() const noexcept override;
  [[nodiscard]] std::chrono::nanoseconds ticks() const noexcept override;
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv,
                  TimePoint deadline) const override;

  /// From now on this is the wall clock: another one, that several machines share, which is ahead
  /// of the steady clock by so much. What the machine's own shows does not matter any more. Told
  /// again when it was measured again.
  void follow(Millis ahead_of_steady) noexcept;
  /// What the machine's own wall clock is ahead of the steady one by, now.
  [[nodiscard]] static Millis own_offset() noexcept;

  /// The rule behind `now()`, by itself: the offset between steady and wall time to use from now
  /// on, given the one in use, the true one and the steady time since the last look.
  [[nodiscard]] static Millis next_offset(Millis in_use, Millis truth, Millis since) noexcept;

 private:
  /// What the wall clock shows now, when this is what the steady one shows.
  [[nodiscard]] TimePoint wall_at(std::int64_t steady) const noexcept;

  const std::int64_t first_offset_;               // wall - steady at the beginning, milliseconds
  mutable std::atomic<std::int64_t> offset_;      // ... and now
  mutable std::atomic<std::int64_t> look_again_;  // steady milliseconds
  mutable std::atomic<std::int64_t> last_{0};     // what now() answered last
  std::atomic<std::int64_t> followed_{0};         // the truth, if it
  std::atomic<bool> follows_{false};
};

/// Time that moves only when a test says so. Waiters look again as soon as it has moved.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimePoint start) noexcept : now_(start.time_since_epoch().count()) {}

  void advance(Millis by) noexcept { now_.fetch_add(by.count()); }
  void advance_to(TimePoint when) noexcept;
  /// Somebody sets the wall clock forward: no time has passed.
  void set_forward(Millis by) noexcept {
    ahead_.fetch_add(by.count());
    now_.fetch_add(by.count());
  }

  [[nodiscard]] TimePoint now() const noexcept override { return TimePoint{Millis{now_.load()}}; }
  [[nodiscard]] Instant instant() const noexcept override {
    const Millis ahead{ahead_.load()};
    return {now(), now() - ahead};
  }
  [[nodiscard]] std::chrono::nanoseconds ticks() const noexcept override {
    return Millis{now_.load()};
  }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv,
                  TimePoint deadline) const override;

 private:
  std::atomic<std::int64_t> now_;
  std::atomic<std::int64_t> ahead_{0};  // of the time that passed
};

}  // namespace dlo
