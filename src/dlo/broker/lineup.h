#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/core/time.h"

namespace dlo {

/// Messages of our own queues are numbered slots of a table.
using SlotNumber = std::uint32_t;
inline constexpr SlotNumber no_slot = 0xFFFF'FFFF;

/// A line of slots, first in first out, linked through the table: `next(n)` and `set_next(n, m)`.
struct Line {
  SlotNumber first = no_slot;
  SlotNumber last = no_slot;

  [[nodiscard]] bool empty() const noexcept { return first == no_slot; }
  template <typename Slots>
  void push(Slots& slots, SlotNumber number) noexcept {
    slots.set_next(number, no_slot);
    if (empty()) {
      first = number;
    } else {
      slots.set_next(last, number);
    }
    last = number;
  }
  template <typename Slots>
  SlotNumber pop(Slots& slots) noexcept {
    const auto number = first;
    first = slots.next(number);
    if (first == no_slot) last = no_slot;
    slots.set_next(number, no_slot);
    return number;
  }
  /// `before` stands before `number`; `no_slot`: nobody does.
  template <typename Slots>
  void remove(Slots& slots, SlotNumber number, SlotNumber before) noexcept {
    const auto next = slots.next(number);
    if (before == no_slot) {
      first = next;
    } else {
      slots.set_next(before, next);
    }
    if (next == no_slot) last = before;
    slots.set_next(number, no_slot);
  }
};

/// The messages of one key, in the order of publication. Only the head is in play: ready, delayed
/// or leased. The others are held.
struct KeyLine {
  const std::string* name = nullptr;
  SlotNumber head = no_slot;
  Line followers;
  bool on_hold = false;  // a dead head keeps them back until the key is freed
};

/// Everything that could be handed out now, and who is next. Interrupted ones first (R7); then
/// whoever became ready first, a step of priority being worth `ageing` of waiting. So an urgent
/// message passes, and a low one that has waited long enough is passed by nobody.
/// Of the table it needs the links of `Line`, `since(n)` (when it became ready), `priority(n)`.
class Lineup {
 public:
  explicit Lineup(Millis ageing) noexcept : ageing_(ageing) {}

  template <typename Slots>
  void push_interrupted(Slots& slots, SlotNumber number) noexcept {
    interrupted_.push(slots, number);
  }

  /// Later ones go to the end of their line; one that stood behind its key while others came is
  /// older than the line and joins the elders.
  template <typename Slots>
  void push(Slots& slots, SlotNumber number) {
    auto& line = lines_[static_cast<std::size_t>(slots.priority(number))];
    if (line.empty() || slots.since(line.last) <= slots.since(number)) {
      line.push(slots, number);
    } else {
      elders_.push_back({rank(slots, number), sequence_++, number});
      std::push_heap(elders_.begin(), elders_.end(), Elder::later);
    }
  }

  /// The next one, taken out of the lineup; `no_slot` if there is none.
  template <typename Slots>
  SlotNumber pop(Slots& slots) {
    const auto number = pop_next(slots);
    if (number == sweep_.before) [[unlikely]]
      sweep_.before = no_slot;  // all before it went, too: the rest begins with the first
    return number;
  }

  /// Looks at everybody, wherever he stands, and takes those out for whom `goes(n)` is true: at
  /// most `visits` of them in one call. False: some were not looked at yet, and the next call goes
  /// on. Whoever comes meanwhile at the end of a line is looked at, too.
  template <typename Slots, typename Goes>
  bool sweep(Slots& slots, Goes&& goes, std::size_t visits) {
    for (; sweep_.line <= lines_.size(); ++sweep_.line, sweep_.before = no_slot) {
      Line& line = sweep_.line == 0 ? interrupted_ : lines_[sweep_.line - 1];
      auto at = sweep_.before == no_slot ? line.first : slots.next(sweep_.before);
      for (; at != no_slot; --visits) {
        if (visits == 0) return false;
        const auto next = slots.next(at);
        if (goes(at)) {
          line.remove(slots, at, sweep_.before);
        } else {
          sweep_.before = at;
        }
        at = next;
      }
    }
    sweep_ = {};
    const auto left = std::remove_if(elders_.begin(), elders_.end(),
                                     [&](const Elder& elder) { return goes(elder.number); });
    if (left == elders_.end()) return true;
    elders_.erase(left, elders_.end());
    std::make_heap(elders_.begin(), elders_.end(), Elder::later);
    return true;
  }

  void clear() noexcept {
    interrupted_ = {};
    lines_ = {};
    elders_.clear();
    sweep_ = {};
  }

  /// From now on a step of priority is worth `ageing`.
  template <typename Slots>
  void set_ageing(const Slots& slots, Millis ageing) noexcept {
    ageing_ = ageing;
    for (auto& elder : elders_) elder.rank = rank(slots, elder.number);
    std::make_heap(elders_.begin(), elders_.end(), Elder::later);
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
  template <typename Slots>
  SlotNumber pop_next(Slots& slots) {
    if (!interrupted_.empty()) return interrupted_.pop(slots);
    Line* best = nullptr;
    auto best_rank = Millis::max();
    for (std::size_t priority = lines_.size(); priority-- > 0;) {
      auto& line = lines_[priority];
      if (line.empty()) continue;
      const auto its = rank(slots, line.first);
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
    return best == nullptr ? no_slot : best->pop(slots);
  }

  template <typename Slots>
  [[nodiscard]] Millis rank(const Slots& slots, SlotNumber number) const noexcept {
    return slots.since(number).time_since_epoch() -
           ageing_ * static_cast<int>(slots.priority(number));
  }

  Millis ageing_;
  Line interrupted_;
  std::array<Line, 3> lines_;
  std::vector<Elder> elders_;
  std::uint64_t sequence_ = 0;
  struct Sweep {
    std::size_t line = 0;         // 0: the interrupted ones
    SlotNumber before = no_slot;  // the last one that was looked at and stays
  };
  Sweep sweep_;
};

}  // namespace dlo
