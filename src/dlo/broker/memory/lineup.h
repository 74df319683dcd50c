#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "dlo/broker/memory/slab.h"

namespace dlo::memory {

/// Everything that could be handed out now, and who is next. Interrupted ones first (R7); then
/// whoever became ready first, a step of priority being worth `ageing` of waiting. So an urgent
/// message passes, and a low one that has waited long enough is passed by nobody.
class Lineup {
 public:
  explicit Lineup(Millis ageing) noexcept : ageing_(ageing) {}

  void push_interrupted(Slab& slab, SlotNumber number) noexcept { interrupted_.push(slab, number); }

  /// `slab[number].since` says when it became ready. Later ones go to the end of their line; one
  /// that stood behind its key while others came is older than the line and joins the elders.
  void push(Slab& slab, SlotNumber number) {
    const Slot& slot = slab[number];
    auto& line = lines_[static_cast<std::size_t>(slot.priority)];
    if (line.empty() || slab[line.last].since <= slot.since) {
      line.push(slab, number);
    } else {
      elders_.push_back({rank(slot), sequence_++, number});
      std::push_heap(elders_.begin(), elders_.end(), Elder::later);
    }
  }

  /// The next one, taken out of the lineup; `no_slot` if there is none.
  SlotNumber pop(Slab& slab) {
    if (!interrupted_.empty()) return interrupted_.pop(slab);
    Line* best = nullptr;
    auto best_rank = Millis::max();
    for (std::size_t priority = lines_.size(); priority-- > 0;) {
      auto& line = lines_[priority];
      if (line.empty()) continue;
      const auto its = rank(slab[line.first]);
      if (best == nullptr || its < best_rank) {
        best = &line;
        best_rank = its;
      }
    }
    if (!elders_.empty() && (best == nullptr || elders_.front().rank <= best_rank)) {
      std::pop_heap(elders_.begin(), elders_.end(), Elder::later);
      const auto number = elders_.back().number;
      elders_.pop_back();
      return number;
    }
    return best == nullptr ? no_slot : best->pop(slab);
  }

  void clear() noexcept {
    interrupted_ = {};
    lines_ = {};
    elders_.clear();
  }

  /// The clock went back by `jump` and every `since` with it.
  void shift(Millis jump) noexcept {
    for (auto& elder : elders_) elder.rank -= jump;
  }

 private:
  struct Elder {
    Millis rank;
    std::uint64_t sequence;
    SlotNumber number;
    static bool later(const Elder& a, const Elder& b) noexcept {
      return a.rank != b.rank ? a.rank > b.rank : a.sequence > b.sequence;
    }
  };
  [[nodiscard]] Millis rank(const Slot& slot) const noexcept {
    return slot.since.time_since_epoch() - ageing_ * static_cast<int>(slot.priority);
  }

  Millis ageing_;
  Line interrupted_;
  std::array<Line, 3> lines_;
  std::vector<Elder> elders_;
  std::uint64_t sequence_ = 0;
};

}  // namespace dlo::memory
