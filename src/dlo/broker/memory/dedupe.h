#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "dlo/broker/moments.h"
#include "dlo/core/time.h"

namespace dlo::memory {

/// Which dedupe ids were accepted within the last `window`, and where their messages stand. The
/// window is time that passes: moments are of the steady clock.
class DedupeWindow {
 public:
  explicit DedupeWindow(Millis window) noexcept : window_(window) {}

  [[nodiscard]] bool on() const noexcept { return window_ > Millis{0}; }

  void forget_old(TimePoint now) {
    while (!order_.empty() && later(order_.front()->second.at, window_) <= now) {
      seen_.erase(order_.front()->first);
      order_.pop_front();
    }
  }

  /// The offset under which `id` was accepted, or nullptr.
  [[nodiscard]] const std::int64_t* find(const std::string& id) const {
    const auto found = seen_.find(id);
    return found == seen_.end() ? nullptr : &found->second.offset;
  }

  void remember(const std::string& id, std::int64_t offset, TimePoint now) {
    const auto [entry, added] = seen_.emplace(id, Seen{now, offset});
    if (added) order_.push_back(&*entry);
  }

  /// Takes back the newest `count` ids: their batch was refused.
  void forget_newest(std::size_t count) {
    for (; count > 0; --count) {
      seen_.erase(order_.back()->first);
      order_.pop_back();
    }
  }

 private:
  struct Seen {
    TimePoint at;
    std::int64_t offset;
  };
  using Map = std::unordered_map<std::string, Seen>;
  Millis window_;
  Map seen_;
  std::deque<Map::value_type*> order_;  // oldest first; nodes of the map do not move
};

}  // namespace dlo::memory
