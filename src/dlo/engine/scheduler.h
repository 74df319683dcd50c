#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "dlo/engine/bell.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/item.h"

namespace dlo {

/// Hands out what has been received, in the order it came, a chunk at a time.
///
/// Suspects (R7) come first, one by one: while one waits nothing else is started, it is started
/// when nothing else runs (or after `window`, for a slow neighbour must not hold everything up),
/// and it stays alone until it ends or `window` is over.
/// Threads  Any method from any thread.
class Scheduler {
 public:
  /// `bell` is rung when few are left waiting (`ring_at`), for whoever fetches more.
  Scheduler(const Clock& clock, Millis window, Bell& bell)
      : clock_(clock), window_(window), bell_(bell) {}

  struct Turn {
    bool closed = false;     // nothing will ever come again
    bool exclusive = false;  // nothing else runs beside it
  };

  void add(std::span<Item* const> items);
  /// Already start-marked, taken from a worker that is stuck: they run next.
  void put_back(std::span<Item* const> items);
  /// To be looked at again later.
  void defer(Item* item, TimePoint until);

  /// Waits for work. At most `limit` items, and no more than a fair share among `workers`.
  Turn take(std::vector<Item*>& out, std::size_t limit, std::size_t workers);
  /// The same without waiting.
  Turn try_take(std::vector<Item*>& out, std::size_t limit);
  /// `count` of those taken have ended. `suspect`: the one that was handed out alone, or null.
  void finished(std::size_t count, const Item* suspect);

  /// Ends a window that is over, brings back what was deferred.
  void tick(TimePoint now);

  /// No more work is coming: what has not started is handed over, what has will still be taken.
  [[nodiscard]] std::vector<Item*> close();
  /// The grace is over: what has started and waits is not taken any more either. The next `close`
  /// hands it over.
  void give_up();
  void reopen();
  /// Waits until nothing runs or the deadline; true if nothing runs.
  bool wait_idle(TimePoint deadline);
  void wake();

  /// So few waiting that more should be fetched.
  void ring_at(std::size_t waiting) noexcept { ring_at_.store(waiting, std::memory_order_relaxed); }

  [[nodiscard]] std::size_t running() const;
  [[nodiscard]] std::size_t waiting() const;
  /// Neither waiting nor running, and nothing put off.
  [[nodiscard]] bool idle() const;

 private:
  [[nodiscard]] std::size_t waiting_locked() const noexcept;
  bool can_take(TimePoint now);
  Turn take_locked(std::vector<Item*>& out, std::size_t limit, TimePoint now);
  Turn take_suspect(std::vector<Item*>& out, TimePoint now);
  void notify(std::size_t count);

  const Clock& clock_;
  const Millis window_;
  Bell& bell_;
  std::atomic<std::size_t> ring_at_{SIZE_MAX};
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable idle_;
  std::deque<Item*> started_;
  std::deque<Item*> ready_;
  std::deque<Item*> suspects_;
  std::vector<std::pair<TimePoint, Item*>> deferred_;
  std::size_t running_ = 0;
  std::size_t sleepers_ = 0;
  bool closed_ = false;
  bool given_up_ = false;
  const Item* alone_ = nullptr;  // a suspect that runs: nothing else may start
  TimePoint alone_until_{};
  bool draining_ = false;  // a suspect waits for the others to end
  TimePoint drain_until_{};
};

}  // namespace dlo
