#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "dlo/broker/embedded/bytes.h"
#include "dlo/broker/embedded/delay_wheel.h"
#include "dlo/broker/embedded/slots.h"
#include "dlo/core/time.h"

namespace dlo::embedded {

/// The delays of one queue. What ends within a second stands in a ring with a line for every
/// millisecond; everything else is in a wheel that runs a second ahead. So the wheel's large
/// buckets, which can hold a million, are split before anybody in them is due, a slice in every
/// call, and who is due waits for none of that.
class Delays {
 public:
  /// `slots[number].time()` says when it ends.
  void set(Slots& slots, SlotNumber number) noexcept {
    ++size_;
    if (slots[number].time() > wheel_.current()) {
      wheel_.set(slots, number);
    } else {
      stand(slots, number);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// When to look again: not later than the next one is due.
  [[nodiscard]] std::optional<TimePoint> next(const Slots& slots) const noexcept;

  /// The moments of some changed: everybody is placed anew, by and by.
  void place_anew(Slots& slots, TimePoint now) noexcept { rewind(slots, pack(now)); }

  /// Takes out what is due at `now` and calls `due(number)` for each, in order. After `budget`
  /// messages it leaves the rest for the next call: then `next` is a moment that has come.
  /// Answers what is left of the budget.
  template <typename F>
  std::size_t advance(Slots& slots, TimePoint now, F&& due, std::size_t budget = SIZE_MAX) {
    const auto tick = pack(now);
    if (tick + slack < ended_) rewind(slots, tick);
    const auto end = [&](SlotNumber number) {
      --size_;
      due(number);
    };
    if (!late_.empty()) end_late(late_, slots, tick, end);
    while (ended_ < tick) {
      const auto at = first_in_ring();
      if (!at || *at > tick) break;
      Line& line = ring_[*at % ring_size];
      for (; !line.empty(); --budget) {
        if (budget == 0) return 0;
        end(line.pop(slots));
      }
      occupied_[*at % ring_size / 64] &= ~(std::uint64_t{1} << *at % 64);
      ended_ = *at;
    }
    ended_ = std::max(ended_, tick);
    return wheel_.advance(
        slots, unpack(std::min(tick + lead, end_of_time - 1)),
        [&](SlotNumber number) {
          if (slots[number].time() <= tick) return end(number);
          stand(slots, number);
        },
        budget);
  }

 private:
  static constexpr std::uint64_t ring_size = 1024;  // milliseconds
  static constexpr std::uint64_t lead = 1000;       // of the wheel
  static constexpr std::uint64_t slack = 1000;      // callers' clocks disagree by a little
  static_assert(lead < ring_size && ring_size % 64 == 0);

  void stand(Slots& slots, SlotNumber number) noexcept {
    const auto due = slots[number].time();
    if (due <= ended_) return late_.push(slots, number);
    occupied_[due % ring_size / 64] |= std::uint64_t{1} << due % 64;
    ring_[due % ring_size].push(slots, number);
  }
  [[nodiscard]] std::optional<std::uint64_t> first_in_ring() const noexcept;
  void rewind(Slots& slots, std::uint64_t tick) noexcept;

  DelayWheel wheel_;
  std::array<Line, ring_size> ring_{};  // by due moment; all after `ended_`, by `lead` at most
  std::array<std::uint64_t, ring_size / 64> occupied_{};
  Line late_;                // set to a moment that had already passed
  std::uint64_t ended_ = 0;  // what was due until then is out of the ring
  std::size_t size_ = 0;
};

}  // namespace dlo::embedded
