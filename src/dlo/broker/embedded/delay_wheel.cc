#include "dlo/broker/embedded/delay_wheel.h"

#include <algorithm>

namespace dlo::embedded {

void DelayWheel::place(Slots& slots, SlotNumber number) noexcept {
  const auto due = slots[number].time();
  if (due <= current_) return late_.push(slots, number);
  const auto level = static_cast<std::uint32_t>(63 - std::countl_zero(due ^ current_)) / bits;
  const auto slot = static_cast<std::uint32_t>(due >> (level * bits)) & (width - 1);
  occupied_[level] |= std::uint64_t{1} << slot;
  levels_ |= 1U << level;
  lines_[level * width + slot].push(slots, number);
}

DelayWheel::Bucket DelayWheel::first_bucket() const noexcept {
  const auto level = static_cast<std::uint32_t>(std::countr_zero(levels_));
  const auto slot = static_cast<std::uint32_t>(std::countr_zero(occupied_[level]));
  const auto above = (level + 1) * bits;
  const auto prefix = (current_ >> above) << above;
  return {level, slot, prefix | (std::uint64_t{slot} << (level * bits))};
}

std::optional<TimePoint> DelayWheel::next(const Slots& slots) const noexcept {
  std::optional<std::uint64_t> soonest;
  if (levels_ != 0) soonest = first_bucket().begins;
  if (!opened_.empty()) soonest = std::min(soonest.value_or(end_of_time), current_);
  for (auto at = late_.first; at != no_slot; at = slots.next(at)) {
    soonest = std::min(soonest.value_or(end_of_time), slots[at].time());
  }
  if (!soonest) return std::nullopt;
  return unpack(*soonest);
}

Line DelayWheel::take_all(Slots& slots) noexcept {
  Line all = std::exchange(late_, {});
  const auto append = [&](const Line& line) {
    if (line.empty()) return;
    if (all.empty()) {
      all = line;
    } else {
      slots.set_next(all.last, line.first);
      all.last = line.last;
    }
  };
  append(std::exchange(opened_, {}));
  for (std::uint32_t level = 0; level < level_count; ++level) {
    for (; occupied_[level] != 0; occupied_[level] &= occupied_[level] - 1) {
      const auto slot = static_cast<std::uint32_t>(std::countr_zero(occupied_[level]));
      append(std::exchange(lines_[level * width + slot], {}));
    }
  }
  levels_ = 0;
  return all;
}

void DelayWheel::rewind(Slots& slots, std::uint64_t tick) noexcept {
  opened_ = take_all(slots);  // each is placed anew by and by
  current_ = tick;
}

}  // namespace dlo::embedded
