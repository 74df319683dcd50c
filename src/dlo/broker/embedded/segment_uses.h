#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace dlo::embedded {

/// How much of a segment is still needed.
struct SegmentUse {
  std::uint64_t base = 0;     // sequence from which the segment's records are counted
  std::uint64_t records = 0;  // messages and states still in use
  std::uint64_t bytes = 0;    // of what is in them
  /// About what they take of the file: each has a header, a tail and its share of a group.
  [[nodiscard]] std::uint64_t weight() const noexcept { return bytes + 64 * records; }
};

/// Counters per segment, kept on every change: a segment without use can go.
class SegmentUses {
 public:
  /// The segment that holds record `sequence`; the first one seen in it is its base.
  SegmentUse& at(std::uint32_t segment, std::uint64_t sequence) {
    if (!known(segment)) [[unlikely]]
      make(segment);
    SegmentUse& use = uses_[segment - first_];
    if (use.base == 0) use.base = sequence;
    return use;
  }
  [[nodiscard]] std::uint64_t base(std::uint32_t segment) const noexcept {
    return known(segment) ? uses_[segment - first_].base : 0;
  }
  void add(std::uint32_t segment, std::uint64_t bytes) noexcept {
    if (!known(segment)) return;
    ++uses_[segment - first_].records;
    uses_[segment - first_].bytes += bytes;
    bytes_ += bytes;
  }
  void drop(std::uint32_t segment, std::uint64_t bytes) noexcept {
    if (!known(segment)) return;
    SegmentUse& use = uses_[segment - first_];
    use.records -= use.records > 0 ? 1 : 0;
    const auto left = bytes < use.bytes ? bytes : use.bytes;
    use.bytes -= left;
    bytes_ -= left;
    dropped_ += left;
  }
  /// Of those that went since `count_dropped_anew`.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
  void count_dropped_anew() noexcept { dropped_ = 0; }
  /// Of all messages and states.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] SegmentUse use(std::uint32_t segment) const noexcept {
    return known(segment) ? uses_[segment - first_] : SegmentUse{};
  }
  [[nodiscard]] std::uint64_t records(std::uint32_t segment) const noexcept {
    return known(segment) ? uses_[segment - first_].records : 0;
  }
  void forget(std::uint32_t segment) {
    if (known(segment)) {
      bytes_ -= uses_[segment - first_].bytes;
      uses_[segment - first_] = {};
    }
    const auto needed = [](const SegmentUse& use) { return use.base != 0 || use.records != 0; };
    const auto first = std::find_if(uses_.begin(), uses_.end(), needed);
    first_ += static_cast<std::uint32_t>(first - uses_.begin());
    uses_.erase(uses_.begin(), first);
  }
  /// As a checkpoint has it.
  void restore(std::uint32_t segment, const SegmentUse& use) {
    at(segment, use.base) = use;
    bytes_ += use.bytes;
  }
  /// Every segment with a base: number and use.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, SegmentUse>> all() const {
    std::vector<std::pair<std::uint32_t, SegmentUse>> out;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i].base != 0) out.emplace_back(first_ + static_cast<std::uint32_t>(i), uses_[i]);
    }
    return out;
  }

 private:
  [[nodiscard]] bool known(std::uint32_t segment) const noexcept {
    return segment >= first_ && segment - first_ < uses_.size();
  }
  void make(std::uint32_t segment) {
    if (uses_.empty()) first_ = segment;
    if (segment < first_) {
      uses_.insert(uses_.begin(), first_ - segment, SegmentUse{});
      first_ = segment;
    }
    uses_.resize(std::max<std::size_t>(uses_.size(), segment - first_ + 1));
  }
  std::uint32_t first_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
  std::vector<SegmentUse>
      uses_;  // asked several times for every message; segments come and go seldom
};

}  // namespace dlo::embedded
