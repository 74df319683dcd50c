#include "dlo/engine/clock.h"

#include <algorithm>

namespace dlo {
namespace {

using std::chrono::duration_cast;
using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr std::int64_t look_every = 100;  // milliseconds between looks at the wall clock

std::int64_t steady_millis() noexcept {
  return duration_cast<Millis>(steady_clock::now().time_since_epoch()).count();
}

std::int64_t wall_millis() noexcept {
  return duration_cast<Millis>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

SystemClock::SystemClock() noexcept
    : first_offset_(wall_millis() - steady_millis()),
      offset_(first_offset_),
      look_again_(steady_millis() + look_every) {}

Millis SystemClock::next_offset(Millis in_use, Millis truth, Millis since) noexcept {
  if (truth >= in_use) return truth;
  return std::max(truth, in_use - since / 2);
}

void SystemClock::follow(Millis ahead_of_steady) noexcept {
  followed_.store(ahead_of_steady.count());
  follows_.store(true);
}

Millis SystemClock::own_offset() noexcept {
  return Millis{wall_millis() - steady_millis()};
}

TimePoint SystemClock::now() const noexcept {
  return wall_at(steady_millis());
}

TimePoint SystemClock::wall_at(std::int64_t steady) const noexcept {
  std::int64_t due = look_again_.load(std::memory_order_relaxed);
  if (steady >= due && look_again_.compare_exchange_strong(due, steady + look_every)) {
    const Millis since{steady - due + look_every};
    const Millis truth{follows_.load() ? followed_.load() : wall_millis() - steady};
    offset_.store(next_offset(Millis{offset_.load()}, truth, since).count());
  }
  const std::int64_t answer = steady + offset_.load(std::memory_order_relaxed);
  std::int64_t last = last_.load(std::memory_order_relaxed);
  while (answer > last) {
    if (last_.compare_exchange_weak(last, answer)) return TimePoint{Millis{answer}};
  }
  return TimePoint{Millis{last}};
}

Instant SystemClock::instant() const noexcept {
  const std::int64_t steady = steady_millis();
  return {wall_at(steady), TimePoint{Millis{steady + first_offset_}}};
}

std::chrono::nanoseconds SystemClock::ticks() const noexcept {
  return steady_clock::now().time_since_epoch();
}

void SystemClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv,
                             TimePoint deadline) const {
  const TimePoint present = now();
  if (deadline <= present) return;
  // An hour at most: callers loop, and a deadline at the end of time must not overflow.
  cv.wait_for(lock, std::min<Millis>(deadline - present, std::chrono::hours{1}));
}

void ManualClock::advance_to(TimePoint when) noexcept {
  const std::int64_t target = when.time_since_epoch().count();
  std::int64_t current = now_.load();
  while (target > current && !now_.compare_exchange_weak(current, target)) {
  }
}

void ManualClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv,
                             TimePoint deadline) const {
  // A short real wait instead of a list of waiters: moving the clock needs nobody's lock, and no
  // result depends on how long it took to be noticed.
  if (now() < deadline) cv.wait_for(lock, std::chrono::microseconds{200});
}

}  // namespace dlo
