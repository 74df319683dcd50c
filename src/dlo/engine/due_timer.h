#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

#include "dlo/core/time.h"
#include "dlo/engine/clock.h"

namespace dlo {

/// When the office has to be asked again: one moment, the earliest of all that are scheduled. A
/// million records that wait cost nothing until then. Whoever schedules something tells it `note`;
/// whoever asks the office brackets that with `begin` and `found`, so that what is noted meanwhile
/// is not forgotten.
/// Threads  Any method from any thread.
class DueTimer {
 public:
  /// At the beginning nobody has asked yet. With a `pace` the office is asked only so often: what
  /// falls due in between waits for the next of these moments (S2-14).
  explicit DueTimer(const Clock& clock, Millis pace = Millis{0})
      : clock_(clock), pace_(pace), began_(clock.now()) {}

  /// Something is due at `when`.
  void note(TimePoint due) {
    {
      const std::lock_guard lock(mutex_);
      const TimePoint when = served(due);
      if (!noted_ || when < *noted_) noted_ = when;
      if (next_ && *next_ <= when) return;
      next_ = when;
    }
    moved_.notify_all();
  }

  /// Somebody wants something now, whatever the pace.
  void hurry() {
    {
      const std::lock_guard lock(mutex_);
      const TimePoint now = clock_.now();
      if (!noted_ || now < *noted_) noted_ = now;
      if (next_ && *next_ <= now) return;
      next_ = now;
    }
    moved_.notify_all();
  }

  /// The clock may have been set: whoever waits looks at it again.
  void look_again() {
    {
      const std::lock_guard lock(mutex_);
    }  // whoever has looked is waiting by now
    moved_.notify_all();
  }

  /// The office is about to be asked.
  void begin() {
    const std::lock_guard lock(mutex_);
    noted_.reset();
    next_ = TimePoint::min();
    asked_ = clock_.now();
  }
  /// It said that the next is due then; empty: nothing is scheduled.
  void found(std::optional<TimePoint> next) {
    const std::lock_guard lock(mutex_);
    if (next) next = served(*next);
    next_ = next;
    if (noted_ && (!next_ || *noted_ < *next_)) next_ = noted_;
  }

  [[nodiscard]] Instant now() const noexcept { return clock_.instant(); }
  [[nodiscard]] std::optional<TimePoint> next() const {
    const std::lock_guard lock(mutex_);
    return next_;
  }
  [[nodiscard]] bool is_due(TimePoint now) const {
    const std::lock_guard lock(mutex_);
    return next_ && *next_ <= now;
  }

  /// Returns when something is due, when the clock reaches `deadline`, or after a stop; perhaps
  /// earlier, as a clock's waits do, so that whoever waits can look around.
  void wait(TimePoint deadline, const std::stop_token& stop = {}) {
    const std::stop_callback wake(stop, [this] {
      {
        const std::lock_guard lock(mutex_);
      }  // whoever has looked is waiting by now
      moved_.notify_all();
    });
    std::unique_lock lock(mutex_);
    const TimePoint now = clock_.now();
    if (stopped_ || stop.stop_requested() || (next_ && *next_ <= now) || now >= deadline) return;
    clock_.wait_until(lock, moved_, next_ && *next_ < deadline ? *next_ : deadline);
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    moved_.notify_all();
  }

 private:
  [[nodiscard]] TimePoint served(TimePoint due) const noexcept {
    if (pace_ <= Millis{0} || due > TimePoint::max() - pace_) return due;
    const Millis past = std::max(due, clock_.now()) - began_;
    const TimePoint tick = began_ + (past + pace_ - Millis{1}) / pace_ * pace_;
    return asked_ && tick <= *asked_ ? tick + pace_ : tick;
  }

  const Clock& clock_;
  const Millis pace_;
  const TimePoint began_;
  mutable std::mutex mutex_;
  std::condition_variable moved_;
  std::optional<TimePoint> next_ = TimePoint::min();
  std::optional<TimePoint> noted_;  // the earliest since `begin`
  std::optional<TimePoint> asked_;  // when that was
  bool stopped_ = false;
};

}  // namespace dlo
