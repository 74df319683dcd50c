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

  /// `write` is called on threads of `pool`, in at most `runs` calls at a time. With one, what
  /// comes first is written first; with more, one list is made ready while another waits for the
  /// disk.
  Gatherer(WorkerPool& pool, std::size_t most_at_once, std::size_t runs, Write write)
      : pool_(pool), most_at_once_(most_at_once), runs_(runs), write_(std::move(write)) {}

  /// False: too much is under way; the item was not taken in.
  [[nodiscard]] bool add(Item&& item) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(item));
    if (running_ >= runs_) return true;
    if (pool_.post([this] { run(); })) {
      ++running_;
      return true;
    }
    if (running_ > 0) return true;  // those who run will come to it
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
          --running_;
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
  const std::size_t runs_;
  const Write write_;
  std::mutex mutex_;
  std::vector<Item> waiting_;
  std::size_t running_ = 0;
};

}  // namespace dlo::api
