#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dlo/broker/lineup.h"
#include "dlo/core/counters.h"
#include "dlo/core/failure.h"
#include "dlo/core/message.h"
#include "dlo/core/time.h"

namespace dlo::memory {

enum class Place : std::uint8_t { free, ready, delayed, leased, held };
inline constexpr std::size_t place_count = 5;

/// What few messages have; kept out of the slot so that the common one fits two cache lines.
struct Remarks {
  std::string last_error;
  std::string trail;
  std::shared_ptr<const Failure> undecodable;
};

/// One message and everything the broker knows of it.
struct Slot {
  MessagePtr message;
  std::uint64_t lease = 0;  // number of the live lease; 0: none
  TimePoint due{};          // when its lease or its delay ends
  TimePoint since{};        // what its age is counted from: when it became ready
  Counters counters;
  SlotNumber next = no_slot;   // in the one list its place puts it in
  SlotNumber older = no_slot;  // among everything that is here, by publication
  SlotNumber newer = no_slot;
  std::uint64_t bytes = 0;
  TimePoint first_attempt_at = never;
  Millis previous_delay{0};
  std::unique_ptr<Remarks> remarks;
  KeyLine* key = nullptr;
  std::uint32_t interruptions = 0;
  Place place = Place::free;
  Priority priority = Priority::normal;
  bool started : 1 = false;
  bool repeat : 1 = false;       // a lease of it ran out: it may be in the office already
  bool interrupted : 1 = false;  // ... while it was running
  bool first_start : 1 = false;  // this lease made its first start
  bool can_expire : 1 = false;

  static constexpr TimePoint never = TimePoint::max();
};
static_assert(sizeof(Slot) <= 128, "two cache lines per message");

/// Slots by number, in blocks that never move. A freed number is used again first.
class Slab {
 public:
  [[nodiscard]] SlotNumber take() {
    if (free_ != no_slot) {
      const auto number = free_;
      free_ = (*this)[number].next;
      (*this)[number].next = no_slot;
      return number;
    }
    if (used_ % block_size == 0) blocks_.push_back(std::make_unique<Slot[]>(block_size));
    return used_++;
  }
  void give_back(SlotNumber number) noexcept {
    Slot& slot = (*this)[number];
    std::destroy_at(&slot);
    std::construct_at(&slot);
    slot.next = free_;
    free_ = number;
  }
  [[nodiscard]] Slot& operator[](SlotNumber number) noexcept {
    return blocks_[number / block_size][number % block_size];
  }
  [[nodiscard]] const Slot& operator[](SlotNumber number) const noexcept {
    return blocks_[number / block_size][number % block_size];
  }
  [[nodiscard]] SlotNumber size() const noexcept { return used_; }

  // What lines ask of a table.
  [[nodiscard]] SlotNumber next(SlotNumber number) const noexcept { return (*this)[number].next; }
  void set_next(SlotNumber number, SlotNumber next) noexcept { (*this)[number].next = next; }
  [[nodiscard]] TimePoint since(SlotNumber number) const noexcept { return (*this)[number].since; }
  [[nodiscard]] Priority priority(SlotNumber number) const noexcept {
    return (*this)[number].priority;
  }

 private:
  static constexpr SlotNumber block_size = 1024;
  std::vector<std::unique_ptr<Slot[]>> blocks_;
  SlotNumber used_ = 0;
  SlotNumber free_ = no_slot;
};

}  // namespace dlo::memory
