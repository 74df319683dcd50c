#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "dlo/core/error.h"
#include "dlo/engine/events.h"
#include "dlo/engine/office_behind.h"

namespace dlo {

/// Why intake stands still, for people. One line per part that is in trouble.
/// Threads  Any method from any thread.
class StatusBoard {
 public:
  /// `counts` and `recall`: what the source keeps in the office, on its way there and back.
  enum Part : std::size_t { store, lookup, counts, recall, source, circuit, threads, part_count };

  explicit StatusBoard(EngineEvents* events) : events_(events) {}

  [[nodiscard]] bool ok(Part part) const noexcept { return !down_[part].load(); }

  void down(Part part, const Error& error) {
    const std::lock_guard lock(mutex_);
    why_[part] = error.where + ": " + error.detail;
    const bool known = is_of_office(part) && office_is_down();
    if (down_[part].exchange(true) || events_ == nullptr) return;
    if (is_of_office(part) && !known) events_->store_down(error);
    if (part == source) events_->source_down(error);
  }
  void up(Part part) {
    if (!down_[part].load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    if (!down_[part].exchange(false)) return;
    why_[part].clear();
    if (events_ == nullptr) return;
    if (is_of_office(part) && !office_is_down()) events_->store_up();
    if (part == source) events_->source_up();
  }
  /// Of a source: it may be the office behind it that fails.
  void source_down(Part office_part, const Error& error) {
    down(is_office_behind_source(error) ? office_part : source, error);
  }

  [[nodiscard]] std::string why_stopped() const {
    static constexpr std::array<const char*, part_count> names = {
        "the office cannot be written", "the office cannot be read",
        "the office keeps no counts",   "the office tells no counts",
        "the source cannot be reached", "circuit open",
        "handler threads are stuck"};
    std::string text;
    const std::lock_guard lock(mutex_);
    for (std::size_t part = 0; part < part_count; ++part) {
      if (!down_[part].load()) continue;
      if (!text.empty()) text += "; ";
      text += std::string(names[part]) + " (" + why_[part] + ")";
    }
    return text;
  }

 private:
  static constexpr bool is_of_office(Part part) noexcept { return part < source; }
  [[nodiscard]] bool office_is_down() const noexcept {
    return std::any_of(down_.begin(), down_.begin() + source,
                       [](const std::atomic<bool>& each) { return each.load(); });
  }

  EngineEvents* events_;
  mutable std::mutex mutex_;
  std::array<std::atomic<bool>, part_count> down_{};
  std::array<std::string, part_count> why_;
};

/// Waits that grow while something stays broken.
class Patience {
 public:
  Patience(Millis first, Millis most) : first_(first), most_(most) {}
  [[nodiscard]] Millis next() {
    wait_ = wait_ == Millis{0} ? first_ : std::min(most_, wait_ * 2);
    return wait_;
  }
  void reset() noexcept { wait_ = Millis{0}; }

 private:
  Millis first_;
  Millis most_;
  Millis wait_{0};
};

}  // namespace dlo
