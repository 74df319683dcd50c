#include "dlo/broker/embedded/delays.h"

namespace dlo::embedded {

std::optional<std::uint64_t> Delays::first_in_ring() const noexcept {
  const auto from = ended_ + 1;
  for (std::uint64_t passed = 0; passed < ring_size;) {
    const auto at = from + passed;
    const auto rest = occupied_[at % ring_size / 64] >> at % 64;
    if (rest != 0) {
      const auto found = passed + static_cast<std::uint64_t>(std::countr_zero(rest));
      return found < ring_size ? std::optional(from + found) : std::nullopt;
    }
    passed += 64 - at % 64;
  }
  return std::nullopt;
}

std::optional<TimePoint> Delays::next(const Slots& slots) const noexcept {
  std::optional<std::uint64_t> soonest = first_in_ring();
  if (const auto split = wheel_.next(slots)) {
    // What is small can wait, so that one call does the work of many.
    const auto before = wheel_.next_is_small() ? lead / 2 : lead;
    const auto at = pack(*split);
    soonest = std::min(soonest.value_or(end_of_time), at - std::min(at, before));
  }
  for (auto at = late_.first; at != no_slot; at = slots.next(at)) {
    soonest = std::min(soonest.value_or(end_of_time), slots[at].time());
  }
  if (!soonest) return std::nullopt;
  return unpack(*soonest);
}

// The clock was set: everybody goes into the wheel, which places them anew by and by.
void Delays::rewind(Slots& slots, std::uint64_t tick) noexcept {
  wheel_.take_back(slots, std::exchange(late_, {}));
  while (const auto at = first_in_ring()) {
    wheel_.take_back(slots, std::exchange(ring_[*at % ring_size], {}));
    occupied_[*at % ring_size / 64] &= ~(std::uint64_t{1} << *at % 64);
  }
  wheel_.rewind(slots, tick + lead);
  ended_ = tick;
}

}  // namespace dlo::embedded
