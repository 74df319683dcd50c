#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "dlo/broker/embedded/slots.h"
#include "dlo/core/time.h"

namespace dlo::embedded {

/// Ends those of `late`, which came too late for any order, that are due at `tick`, earliest first.
template <typename F>
void end_late(Line& late, Slots& slots, std::uint64_t tick, F& end) {
  std::vector<SlotNumber> ready;
  Line line = std::exchange(late, {});
  while (!line.empty()) {
    const auto number = line.pop(slots);
    if (slots[number].time() <= tick) {
      ready.push_back(number);
    } else {
      late.push(slots, number);
    }
  }
  std::stable_sort(ready.begin(), ready.end(),
                   [&](SlotNumber a, SlotNumber b) { return slots[a].time() < slots[b].time(); });
  for (const auto number : ready) end(number);
}

/// The messages whose delay has not ended, linked through their own slots: a timing wheel that
/// costs a waiting message nothing. As dlo/broker/timing.h, but singly linked, because delays end
/// and are never taken back one by one.
class DelayWheel {
 public:
  /// `slots[number].time()` says when it ends.
  void set(Slots& slots, SlotNumber number) noexcept { place(slots, number); }

  /// Everything that was due until then is out.
  [[nodiscard]] std::uint64_t current() const noexcept { return current_; }

  /// What opens next covers 64 milliseconds at most, and nothing is open.
  [[nodiscard]] bool next_is_small() const noexcept {
    return opened_.empty() && levels_ != 0 && std::countr_zero(levels_) < 2;
  }

  /// These were out, and are to be placed anew.
  void take_back(Slots& slots, const Line& line) noexcept {
    if (line.empty()) return;
    if (opened_.empty()) {
      opened_ = line;
    } else {
      slots.set_next(opened_.last, line.first);
      opened_.last = line.last;
    }
  }
  /// It is as early as `tick`: everybody is placed anew, by and by.
  void rewind(Slots& slots, std::uint64_t tick) noexcept;

  /// When to look again, as TimingWheel::next.
  [[nodiscard]] std::optional<TimePoint> next(const Slots& slots) const noexcept;

  /// Takes out what is due at `now` and calls `due(number)` for each, in order. After `budget`
  /// messages it leaves the rest for the next call: then `next` is a moment that has come.
  /// Answers what is left of the budget.
  template <typename F>
  std::size_t advance(Slots& slots, TimePoint now, F&& due, std::size_t budget = SIZE_MAX) {
    const auto tick = pack(now);
    if (tick + slack < current_) rewind(slots, tick);
    if (!late_.empty()) end_late(late_, slots, tick, due);
    while (true) {
      for (; !opened_.empty(); --budget) {
        if (budget == 0) return 0;
        const auto number = opened_.pop(slots);
        if (slots[number].time() <= current_) {
          due(number);
        } else {
          place(slots, number);
        }
      }
      if (levels_ == 0) break;
      const auto bucket = first_bucket();
      if (bucket.begins > tick) break;
      current_ = bucket.begins;
      opened_ = std::exchange(lines_[bucket.level * width + bucket.slot], {});
      vacate(bucket.level, bucket.slot);
    }
    current_ = std::max(current_, tick);
    return budget;
  }

 private:
  static constexpr std::uint32_t width = 64;
  static constexpr std::uint32_t bits = 6;
  static constexpr std::uint32_t level_count = 8;  // 6 x 8 = the 48 bits of a moment
  static constexpr std::uint64_t slack = 1000;     // callers' clocks disagree by a little

  struct Bucket {
    std::uint32_t level;
    std::uint32_t slot;
    std::uint64_t begins;
  };

  void place(Slots& slots, SlotNumber number) noexcept;
  [[nodiscard]] Bucket first_bucket() const noexcept;
  void vacate(std::uint32_t level, std::uint32_t slot) noexcept {
    occupied_[level] &= ~(std::uint64_t{1} << slot);
    if (occupied_[level] == 0) levels_ &= ~(1U << level);
  }
  [[nodiscard]] Line take_all(Slots& slots) noexcept;

  std::array<Line, level_count * width> lines_{};
  std::array<std::uint64_t, level_count> occupied_{};
  std::uint32_t levels_ = 0;
  Line late_;    // set to a moment that had already passed
  Line opened_;  // of the bucket that is being worked off, or of all: the clock went back
  std::uint64_t current_ = 0;
};

}  // namespace dlo::embedded
