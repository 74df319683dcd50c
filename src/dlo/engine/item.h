#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/breaker.h"
#include "dlo/engine/bell.h"

namespace dlo {

struct HandlerEntry;
class RuleBook;

/// A delivery on its way through the engine. Passed on by pointer, owned by one stage at a time;
/// only `lost` is written from outside.
struct Item {
  Delivery delivery;
  std::size_t bytes = 0;
  Counters running;                       // with the start counted
  HandlerEntry* entry = nullptr;          // who runs it
  std::shared_ptr<const RuleBook> rules;  // that decide about it; null: the processor's
  BreakerTicket ticket;                   // its breaker's leave to run
  bool keyed = false;                     // the next of its key comes only when this one is settled
  bool has_caller = false;                // somebody holds the message and hears the verdict
  bool started = false;                   // the start mark is made
  bool refused = false;                   // its handler could not begin: to be given back
  bool suspect = false;                   // runs alone (R7)
  bool marked_exclusive = false;          // the office knows that it runs alone
  std::atomic<bool> lost{false};          // somebody else owns the message now

  // The pool's own.
  bool active = false;
  std::uint64_t serial = 0;
  TimePoint renew_at{};  // by the steady clock, as all of the pool's moments
  TimePoint leased_until{};
};

/// All deliveries of one processor that are not settled yet: storage, the budget of messages and
/// bytes, and the leases to be kept alive. Items are recycled, never freed while the pool lives.
class ItemPool {
 public:
  /// `bell` is rung when there is room again for more than a few.
  ItemPool(std::size_t most_items, std::size_t most_bytes, Bell& bell)
      : most_items_(most_items), most_bytes_(most_bytes), bell_(bell) {}

  /// Takes in what was received at `now`.
  void adopt(std::vector<Delivery>&& deliveries, const Instant& now, std::vector<Item*>& out);
  /// Settled or lost: makes room.
  void finish(std::span<Item* const> items);

  struct Room {
    std::size_t items = 0;
    std::size_t bytes = 0;
  };
  /// A single item of any size fits into an empty pool: nothing is too big to be processed. A pool
  /// that was full has room again when an eighth of it is free, so that fetching stays in batches.
  [[nodiscard]] Room room() const;
  [[nodiscard]] std::size_t usual_bytes() const;  // of one item, as seen lately

  struct Due {
    Item* item = nullptr;
    std::uint64_t serial = 0;
    LeaseToken lease;
  };
  /// Leases of which half is gone.
  void due_for_renewal(TimePoint now, std::vector<Due>& out);
  void renewed(const Due& due, TimePoint now, TimePoint until);
  /// Marks it lost, unless it was settled meanwhile. True if it was marked now.
  bool mark_lost(const Due& due);
  /// Marks those lost whose lease is over: nobody renewed it in time.
  void mark_lapsed(std::span<Item* const> items, TimePoint now);
  /// A renewal could not be made: lost once its time is over.
  bool still_ours(const Due& due, TimePoint now) const;

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  [[nodiscard]] bool has_eased() const noexcept;

  const std::size_t most_items_;
  const std::size_t most_bytes_;
  Bell& bell_;
  mutable std::mutex mutex_;
  std::deque<Item> items_;
  std::vector<Item*> free_;
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
  mutable bool full_ = false;  // somebody was told that there is no room
  std::size_t usual_bytes_ = 0;
  std::uint64_t serial_ = 0;
};

}  // namespace dlo
