#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace dlo::embedded {

/// How much of a segment is still needed.
struct SegmentUse {
  std::uint64_t base = 0;     // sequence from which the segment's records are counted
  std::uint64_t placed = 0;   // messages and states ever
  std::uint64_t records = 0;  // ... and still in use
  std::uint64_t bytes = 0;    // of the messages among them
};

/// Counters per segment, kept on every change: a segment without use can go.
class SegmentUses {
 public:
  /// The segment that holds record `sequence`; the first one seen in it is its base.
  SegmentUse& at(std::uint32_t segment, std::uint64_t sequence) {
    if (uses_.empty()) first_ = segment;
    while (segment < first_) {
      uses_.emplace_front();
      --first_;
    }
    while (segment >= first_ + uses_.size()) uses_.emplace_back();
    SegmentUse& use = uses_[segment - first_];
    if (use.base == 0) use.base = sequence;
    return use;
  }
  [[nodiscard]] std::uint64_t base(std::uint32_t segment) const noexcept {
    return known(segment) ? uses_[segment - first_].base : 0;
  }
  void add(std::uint32_t segment, std::uint64_t bytes) noexcept {
    if (!known(segment)) return;
    ++uses_[segment - first_].placed;
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
  }
  /// Of all messages.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t records(std::uint32_t segment) const noexcept {
    return known(segment) ? uses_[segment - first_].records : 0;
  }
  void forget(std::uint32_t segment) {
    if (known(segment)) {
      bytes_ -= uses_[segment - first_].bytes;
      uses_[segment - first_] = {};
    }
    while (!uses_.empty() && uses_.front().base == 0 && uses_.front().records == 0) {
      uses_.pop_front();
      ++first_;
    }
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
  std::uint32_t first_ = 0;
  std::uint64_t bytes_ = 0;
  std::deque<SegmentUse> uses_;
};

}  // namespace dlo::embedded
