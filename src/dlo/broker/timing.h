#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "dlo/core/time.h"

namespace dlo {

/// Deadlines of numbered things: leases, delays, retries. A hierarchical timing wheel with one
/// tick per millisecond, eleven levels of 64 slots, so every moment has a place and none needs a
/// special case. The caller's numbers index the nodes: keep them dense.
/// Exact   An item comes out at the first `advance` whose `now` is not before its deadline; never
///         earlier, and in the order of deadlines.
/// Cost    set, clear: O(1), a few nanoseconds, no allocation once the highest number was seen.
///         advance: O(1) while nothing is due, whatever the time since the last call; otherwise
///         O(1) per item, plus at most ten moves in the whole life of an item.
/// Clock   The caller's. `now` may stand still or jump either way: going back frees nothing early,
///         keeps what already came out out, and places what remains anew (O(items), once a jump).
/// Threads One at a time.
class TimingWheel {
 public:
  using Item = std::uint32_t;

  TimingWheel() : nodes_(first_item) { empty_all_lists(); }

  /// Arms `item`, or moves its deadline.
  void set(Item item, TimePoint due) {
    const auto node = first_item + std::size_t{item};
    if (node >= nodes_.size()) nodes_.resize(std::max(node + 1, nodes_.size() * 2));
    const auto index = static_cast<std::uint32_t>(node);
    if (nodes_[index].next != unlinked) unlink(index);
    nodes_[index].due = tick_of(due);
    place(index);
  }

  /// Disarms `item`. False if it was not armed.
  bool clear(Item item) noexcept {
    if (!armed(item)) return false;
    unlink(first_item + item);
    return true;
  }

  [[nodiscard]] bool armed(Item item) const noexcept {
    const auto node = first_item + std::size_t{item};
    return node < nodes_.size() && nodes_[node].next != unlinked;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// When to look again: nothing is due before this moment, and asking again then comes closer
  /// (at most ten times) until it is exact. Empty: nothing is armed.
  [[nodiscard]] std::optional<TimePoint> next() const noexcept {
    std::optional<std::uint64_t> soonest;
    if (levels_ != 0) soonest = first_bucket().begins;
    for (auto at = nodes_[late].next; at != late; at = nodes_[at].next) {
      if (!soonest || nodes_[at].due < *soonest) soonest = nodes_[at].due;
    }
    if (nodes_[opening].next != opening) soonest = std::min(soonest.value_or(current_), current_);
    if (const auto first = nodes_[firing].next; first != firing) {
      soonest = std::min(soonest.value_or(nodes_[first].due), nodes_[first].due);
    }
    if (!soonest) return std::nullopt;
    return moment_of(*soonest);
  }

  /// The deadline of an item that is armed.
  [[nodiscard]] std::optional<TimePoint> deadline(Item item) const noexcept {
    if (!armed(item)) return std::nullopt;
    return moment_of(nodes_[first_item + std::size_t{item}].due);
  }

  /// Disarms everything that is due at `now` and calls `due(item, deadline)` for each, in order of
  /// deadline. `due` may set and clear any item; one that it sets to a moment already passed comes
  /// out with the next call. At most `most` come out, and the work is bounded accordingly: false if
  /// some were left for the next call. They stay armed until then.
  template <typename F>
  bool advance(TimePoint now, F&& due, std::size_t most = SIZE_MAX) {
    const auto tick = tick_of(now);
    if (tick < current_) {
      if (current_ - tick > slack) rewind(tick);
    }
    auto moves = most > SIZE_MAX / moves_each ? SIZE_MAX : most * moves_each;
    if (nodes_[late].next != late) take_late(tick);
    while (true) {
      if (!fire(due, most)) return false;
      if (!distribute(moves)) return false;
      if (nodes_[firing].next != firing) continue;
      if (levels_ == 0) break;
      const auto bucket = first_bucket();
      if (bucket.begins > tick) break;
      open(bucket);
    }
    if (tick > current_) current_ = tick;
    return true;
  }

 private:
  static constexpr std::uint32_t slots = 64;
  static constexpr std::uint32_t bits = 6;
  static constexpr std::uint32_t level_count = 11;  // 6 x 11 >= 64 bits
  // Nodes before the items' are the heads of circular lists.
  static constexpr std::uint32_t late = level_count * slots;  // set to a moment already passed
  static constexpr std::uint32_t firing = late + 1;
  static constexpr std::uint32_t opening = firing + 1;  // of a bucket whose time has come
  static constexpr std::uint32_t first_item = opening + 1;
  static constexpr std::uint32_t unlinked = 0xFFFF'FFFF;
  // Threads that read one clock disagree by a little; only more than this is a jump.
  static constexpr std::uint64_t slack = 1000;
  static constexpr std::size_t moves_each = 8;  // to a lower level, for one that comes out

  struct Node {
    std::uint64_t due = 0;
    std::uint32_t next = unlinked;
    std::uint32_t prev = unlinked;
  };
  struct Bucket {
    std::uint32_t level;
    std::uint32_t slot;
    std::uint64_t begins;
  };

  // Order-preserving, so that moments before 1970 need no special case.
  static constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  static std::uint64_t tick_of(TimePoint at) noexcept {
    return static_cast<std::uint64_t>(at.time_since_epoch().count()) ^ sign;
  }
  static TimePoint moment_of(std::uint64_t tick) noexcept {
    return TimePoint{Millis{static_cast<Millis::rep>(tick ^ sign)}};
  }

  void empty_all_lists() noexcept {
    for (std::uint32_t i = 0; i < first_item; ++i) nodes_[i] = {0, i, i};
    occupied_.fill(0);
    levels_ = 0;
    size_ = 0;
  }

  // An item stands on the level of the highest group of bits in which it differs from `current_`:
  // every slot taken lies ahead of `current_` and the lowest level holds the nearest deadlines.
  void place(std::uint32_t index) noexcept {
    const auto due = nodes_[index].due;
    if (due <= current_) return link(late, index);
    const auto level = static_cast<std::uint32_t>(63 - std::countl_zero(due ^ current_)) / bits;
    const auto slot = static_cast<std::uint32_t>(due >> (level * bits)) & (slots - 1);
    occupied_[level] |= std::uint64_t{1} << slot;
    levels_ |= 1U << level;
    link(level * slots + slot, index);
  }

  void link(std::uint32_t head, std::uint32_t index) noexcept {
    const auto last = nodes_[head].prev;
    nodes_[index].next = head;
    nodes_[index].prev = last;
    nodes_[last].next = index;
    nodes_[head].prev = index;
    ++size_;
  }

  void unlink(std::uint32_t index) noexcept {
    auto& node = nodes_[index];
    nodes_[node.prev].next = node.next;
    nodes_[node.next].prev = node.prev;
    if (node.prev == node.next && node.next < late) vacate(node.next / slots, node.next % slots);
    node.next = node.prev = unlinked;
    --size_;
  }

  void vacate(std::uint32_t level, std::uint32_t slot) noexcept {
    occupied_[level] &= ~(std::uint64_t{1} << slot);
    if (occupied_[level] == 0) levels_ &= ~(1U << level);
  }

  [[nodiscard]] Bucket first_bucket() const noexcept {
    assert(levels_ != 0);
    const auto level = static_cast<std::uint32_t>(std::countr_zero(levels_));
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(occupied_[level]));
    const auto above = (level + 1) * bits;
    const auto prefix = above >= 64 ? 0 : (current_ >> above) << above;
    return {level, slot, prefix | (std::uint64_t{slot} << (level * bits))};
  }

  // Time reaches `bucket`.
  void open(const Bucket& bucket) noexcept {
    current_ = bucket.begins;
    const auto head = bucket.level * slots + bucket.slot;
    nodes_[opening] = nodes_[head];
    nodes_[nodes_[head].next].prev = opening;
    nodes_[nodes_[head].prev].next = opening;
    nodes_[head].next = nodes_[head].prev = head;
    vacate(bucket.level, bucket.slot);
  }

  // Of the bucket that was opened: what is due at its first tick fires, the rest moves to lower
  // levels. False if some of it is left.
  bool distribute(std::size_t& moves) noexcept {
    while (nodes_[opening].next != opening) {
      if (moves == 0) return false;
      --moves;
      const auto index = nodes_[opening].next;
      unlink(index);
      if (nodes_[index].due == current_) {
        link(firing, index);
      } else {
        place(index);
      }
    }
    return true;
  }

  void take_late(std::uint64_t tick) {
    std::vector<std::uint32_t> ready;
    for (auto at = nodes_[late].next; at != late; at = nodes_[at].next) {
      if (nodes_[at].due <= tick) ready.push_back(at);
    }
    std::stable_sort(ready.begin(), ready.end(),
                     [this](auto a, auto b) { return nodes_[a].due < nodes_[b].due; });
    for (const auto index : ready) {
      unlink(index);
      link(firing, index);
    }
  }

  template <typename F>
  bool fire(F& due, std::size_t& most) {
    while (nodes_[firing].next != firing) {
      if (most == 0) return false;
      --most;
      const auto index = nodes_[firing].next;
      unlink(index);
      due(static_cast<Item>(index - first_item), moment_of(nodes_[index].due));
    }
    return true;
  }

  void rewind(std::uint64_t tick) {
    std::vector<std::uint32_t> all;
    all.reserve(size_);
    for (std::uint32_t head = 0; head < first_item; ++head) {
      for (auto at = nodes_[head].next; at != head; at = nodes_[at].next) all.push_back(at);
    }
    empty_all_lists();
    current_ = tick;
    for (const auto index : all) place(index);
  }

  std::vector<Node> nodes_;
  std::array<std::uint64_t, level_count> occupied_{};
  std::uint32_t levels_ = 0;  // bit per level with an occupied slot
  std::uint64_t current_ = 0;
  std::size_t size_ = 0;
};

}  // namespace dlo
