// What the time that passes ends, and a clock that somebody set.
#include <algorithm>
#include <utility>

#include "dlo/broker/embedded/holdings.h"
#include "dlo/broker/moments.h"

namespace dlo::embedded {

void Holdings::advance(const Instant& now, std::vector<Lease*>& ran_out) {
  if (const auto by = drift_.since_last(now); by != Millis{0}) clock_was_set(by);
  const auto moment = even(now.wall);
  // (More than that no caller is late: the next life's clock may have begun elsewhere.)
  const bool late = std::exchange(heard_, true) && now.steady < latest_steady_ &&
                    latest_steady_ - now.steady <= latest_caller;
  if (!late && moment + slack < latest_) {
    clock_went_back(latest_ - moment);
    latest_ = moment;
  }
  latest_ = std::max(latest_, moment);
  if (!late) latest_steady_ = now.steady;
  if (unlooked_ != no_slot) [[unlikely]]
    end_delays_of_expired(latest());
  // A little behind, a caller ends no delay that another's moment would; the wheels bear no more.
  const auto until = moment + slack < latest_ ? latest_ : moment;
  if (until >= next_delay_) end_delays(until);
  constexpr std::size_t at_once = 512;  // their ends are written: more work than a delay
  const auto over = [&](std::uint32_t index, TimePoint /*due*/) {
    ran_out.push_back(&leases_[index]);
  };
  const bool far = late && latest_steady_ - now.steady > Millis{slack};
  leases_behind_ = !leases_.timing().advance(far ? latest_steady_ : now.steady, over, at_once);
}

std::uint64_t Holdings::even(TimePoint at) const noexcept {
  if (at == TimePoint::max()) return end_of_time;
  return pack(set_by_ < Millis{0} ? later(at, -set_by_) : std::max(at, TimePoint{}) - set_by_);
}

TimePoint Holdings::wall(std::uint64_t at) const noexcept {
  return at == end_of_time ? TimePoint::max() : unpack(at) + set_by_;
}

void Holdings::end_delays(std::uint64_t moment) {
  constexpr std::size_t at_once = 2048;  // those who wait for the lock wait half a millisecond
  constexpr std::size_t at_least = 256;  // for every queue: none waits for another's crowd
  std::size_t budget = at_once;
  next_delay_ = end_of_time;
  for (auto& queue : queues_) {
    if (!queue || !queue->delays) continue;
    budget = queue->delays->advance(
        slots_, unpack(moment),
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

// The even clock of a machine never does this; time that is virtual does. Whoever waited keeps the
// age it had, or newcomers of a higher priority would pass for ever.
void Holdings::clock_went_back(std::uint64_t jump) {
  for (SlotNumber number = 0; number < slots_.size(); ++number) {
    const Slot& slot = slots_[number];
    const bool waits = slot.place == Place::ready || slot.place == Place::held;
    const bool aged = waits && slot.time() <= latest_;
    if (aged) slots_.edit(number).set_time(slot.time() - std::min(slot.time(), jump));
  }
  for (auto& queue : queues_) {
    if (!queue) continue;
    queue->lineup.shift(Millis{static_cast<Millis::rep>(jump)});
    queue->sweep_again = TimePoint::min();
  }
  next_delay_ = 0;  // the wheels have to know, too
}

void Holdings::clock_was_set(Millis by) noexcept {
  set_by_ += by;
  for (auto& queue : queues_) {
    if (queue) queue->sweep_again = TimePoint::min();
  }
  if (by > Millis{0} && working_) unlooked_ = 0;
}

/// Expiry is a moment of the wall clock: who has expired because that was set forward waits no
/// longer. A slice of everybody in every call.
void Holdings::end_delays_of_expired(TimePoint now) {
  constexpr SlotNumber at_once = 4096;
  const auto until = expired_until(now);
  const auto end = std::min(slots_.size(), unlooked_ + at_once);
  for (; unlooked_ < end; ++unlooked_) {
    const Slot& slot = slots_[unlooked_];
    const bool waits =
        slot.place == Place::delayed || slot.place == Place::held || slot.place == Place::arriving;
    if (!waits || !slot.can_expire || !is_early(unlooked_)) continue;
    if (slots_.expiry(unlooked_) > until) continue;
    cut_short_ = cut_short_ || slot.place == Place::delayed;
    slots_.edit(unlooked_).set_time(latest_);
  }
  if (unlooked_ < slots_.size()) return;
  unlooked_ = no_slot;
  if (!std::exchange(cut_short_, false)) return;
  for (auto& queue : queues_) {
    if (queue && queue->delays) queue->delays->place_anew(slots_, unpack(latest_));
  }
  next_delay_ = 0;
}

std::optional<TimePoint> Holdings::next_due(const QueueState& queue) const noexcept {
  auto delay = queue.delays ? queue.delays->next(slots_) : std::nullopt;
  if (delay) delay = wall(pack(*delay));
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
