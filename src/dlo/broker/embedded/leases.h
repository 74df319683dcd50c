#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "dlo/broker/embedded/records.h"
#include "dlo/broker/timing.h"

namespace dlo::embedded {

/// A message in somebody's hands. Only these have their state in memory.
struct Lease {
  SlotNumber slot = no_slot;
  std::uint32_t index = 0;   // its own place in the table
  std::uint64_t number = 0;  // half of the token
  TimePoint until{};         // by the steady clock
  bool started = false;
  bool first_start = false;  // this lease made its first start
  bool loaded = false;       // `state` and `body` are known
  bool ending = false;       // its settlement is being written
  TimePoint started_at{};
  MessageState state;
  Address body;
  std::optional<TimePoint> expires_at;
};

/// Leases by number of their entry, and when they run out.
class Leases {
 public:
  [[nodiscard]] Lease& take() {
    if (free_.empty()) {
      Lease& lease = entries_.emplace_back();
      lease.index = static_cast<std::uint32_t>(entries_.size() - 1);
      return lease;
    }
    Lease& lease = entries_[free_.back()];
    free_.pop_back();
    return lease;
  }
  void give_back(Lease& lease) {
    timing_.clear(lease.index);
    const auto index = lease.index;
    if (lease.state.is_fresh_but_claimed()) {  // most of them: nothing to free
      lease.slot = no_slot;
      lease.number = 0;
      lease.started = lease.first_start = lease.loaded = lease.ending = false;
      lease.state.counters = {};
      lease.expires_at.reset();
    } else {
      lease = Lease{};
      lease.index = index;
    }
    free_.push_back(index);
  }
  [[nodiscard]] Lease& operator[](std::size_t index) noexcept { return entries_[index]; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] TimingWheel& timing() noexcept { return timing_; }
  [[nodiscard]] const TimingWheel& timing() const noexcept { return timing_; }

 private:
  std::deque<Lease> entries_;  // never move
  std::vector<std::uint32_t> free_;
  TimingWheel timing_;
};

}  // namespace dlo::embedded
