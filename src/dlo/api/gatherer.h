#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "dlo/server/worker_pool.h"

namespace dlo::api {

/// What arrives while one list is being written goes into the next: a sync costs the same for one
/// and for a hundred, and only one thread waits for it. Threads: `add` from any thread.
template <typename Item>
class Gatherer {
 public:
  using Write = std::function<void(std::vector<Item>)>;

  /// `write` is called on a thread of `pool`, one call at a time.
  Gatherer(WorkerPool& pool, std::size_t most_at_once, Write write)
      : pool_(pool), most_at_once_(most_at_once), write_(std::move(write)) {}

  /// False: too much is under way; the item was not taken in.
  [[nodiscard]] bool add(Item&& item) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(item));
    if (busy_) return true;
    busy_ = pool_.post([this] { run(); });
    if (busy_) return true;
    item = std::move(waiting_.back());
    waiting_.pop_back();
    return false;
  }

 private:
  void run() {
    while (true) {
      std::vector<Item> taken;
      {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) {
          busy_ = false;
          return;
        }
        if (waiting_.size() <= most_at_once_) {
          taken.swap(waiting_);
        } else {
          const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(most_at_once_);
          taken.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
          waiting_.erase(waiting_.begin(), end);
        }
      }
      write_(std::move(taken));
    }
  }

  WorkerPool& pool_;
  const std::size_t most_at_once_;
  const Write write_;
  std::mutex mutex_;
  std::vector<Item> waiting_;
  bool busy_ = false;
};

}  // namespace dlo::api
