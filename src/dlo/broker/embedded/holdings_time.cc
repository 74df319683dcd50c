// What the time that passes ends, and a clock that somebody set.
#include <algorithm>
#include <utility>

#include "dlo/broker/embedded/holdings.h"
#include "dlo/broker/moments.h"

namespace dlo::embedded {
namespace {

// Callers that read one clock disagree by a little; only more than this is a jump.
constexpr Millis slack{1000};

}  // namespace

void Holdings::advance(const Instant& now, std::vector<Lease*>& ran_out) {
  if (latest_ != TimePoint::min() && now.wall < latest_ && latest_ - now.wall > slack) {
    clock_went_back(latest_ - now.wall);
    latest_ = now.wall;
  }
  if (const auto by = drift_.since_last(now); by != Millis{0}) clock_was_set(by, now.wall);
  latest_ = std::max(latest_, now.wall);
  // No clock of a machine does this; the next life's may have begun elsewhere.
  const bool elsewhere = latest_steady_ > now.steady && latest_steady_ - now.steady > slack;
  latest_steady_ = elsewhere ? now.steady : std::max(latest_steady_, now.steady);
  if (pack(now.wall) >= next_delay_) end_delays(now.wall);
  constexpr std::size_t at_once = 512;  // their ends are written: more work than a delay
  const auto over = [&](std::uint32_t index, TimePoint /*due*/) {
    ran_out.push_back(&leases_[index]);
  };
  leases_behind_ = !leases_.timing().advance(now.steady, over, at_once);
}

void Holdings::end_delays(TimePoint now) {
  constexpr std::size_t at_once = 2048;  // those who wait for the lock wait half a millisecond
  constexpr std::size_t at_least = 256;  // for every queue: none waits for another's crowd
  std::size_t budget = at_once;
  next_delay_ = end_of_time;
  for (auto& queue : queues_) {
    if (!queue || !queue->delays) continue;
    budget = queue->delays->advance(
        slots_, now,
        [&](SlotNumber number) {
          move_to(number, Place::ready);
          stand(*queue, number);
        },
        std::max(budget, at_least));
    if (const auto next = queue->delays->next(slots_)) {
      next_delay_ = std::min(next_delay_, pack(*next));
    } else {
      queue->delays.reset();
    }
  }
}

// Whoever waited keeps the age it had, or newcomers of a higher priority would pass for ever.
void Holdings::clock_went_back(Millis jump) {
  const auto back = static_cast<std::uint64_t>(jump.count());
  const auto before = pack(latest_);
  for (SlotNumber number = 0; number < slots_.size(); ++number) {
    const Slot& slot = slots_[number];
    const bool waits = slot.place == Place::ready || slot.place == Place::held;
    const bool aged = waits && slot.time() <= before;
    if (aged) slots_.edit(number).set_time(slot.time() - std::min(slot.time(), back));
  }
  for (auto& queue : queues_) {
    if (!queue) continue;
    queue->lineup.shift(jump);
    queue->sweep_again = TimePoint::min();
  }
  next_delay_ = 0;  // the wheels have to know, too
}

// Delays are time that passes, and none did: they end as much later, or sooner. Expiry is a moment
// of the wall clock, and ends them.
void Holdings::clock_was_set(Millis by, TimePoint now) {
  for (SlotNumber number = 0; number < slots_.size(); ++number) {
    const Slot& slot = slots_[number];
    const bool waits = slot.place == Place::delayed || slot.place == Place::held;
    const auto due = slot.time();
    if (!waits || unpack(due) <= latest_ || due == end_of_time) continue;
    auto moved = later(unpack(due), by) + std::min(by, Millis{0});
    if (slot.can_expire && slots_.expiry(number) != never_expires) {
      moved = std::min(moved, TimePoint{std::chrono::seconds{slots_.expiry(number)}});
    }
    slots_.edit(number).set_time(pack(moved));
  }
  for (auto& queue : queues_) {
    if (queue && queue->delays) queue->delays->place_anew(slots_, now);
  }
  next_delay_ = 0;
}

std::optional<TimePoint> Holdings::next_due(const QueueState& queue) const noexcept {
  const auto delay = queue.delays ? queue.delays->next(slots_) : std::nullopt;
  const bool leased = queue.places[static_cast<std::size_t>(Place::leased)] > 0;
  auto lease = leased ? leases_.timing().next() : std::nullopt;
  if (lease) lease = latest_instant().wall_at(*lease);
  if (!delay || !lease) return delay ? delay : lease;
  return std::min(*delay, *lease);
}

std::vector<SlotNumber> Holdings::take_expired(QueueState& queue, TimePoint now,
                                               std::size_t limit) {
  constexpr std::size_t at_once = 4096;   // looked at: a fraction of a millisecond
  constexpr std::uint64_t at_ease = 256;  // ... in a millisecond: less than one part in a hundred
  std::vector<SlotNumber> out;
  if (!std::exchange(queue.sweeping, true)) queue.next_expiry = never_expires;
  const auto until = expired_until(now);
  const auto goes = [&](SlotNumber number) {
    const bool over = slots_[number].can_expire && slots_.expiry(number) <= until;
    if (!over || out.size() == limit) {
      note_expiry(queue, number);
      return false;
    }
    out.push_back(number);
    return true;
  };
  queue.sweeping = !queue.lineup.sweep(slots_, goes, at_once);
  if (!queue.sweeping && queue.next_expiry > until) {
    queue.sweep_again = now + Millis{static_cast<Millis::rep>(queue.in(Place::ready) / at_ease)};
  }
  return out;
}

}  // namespace dlo::embedded
