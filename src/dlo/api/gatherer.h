#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "dlo/server/http_exchange.h"
#include "dlo/server/worker_pool.h"

namespace dlo::api {

/// What arrives while one list is being written goes into the next, and so does what arrived at the
/// same time: a sync costs the same for one and for a hundred, and only one thread waits for it.
/// Threads: `add` from any thread.
template <typename Item>
class Gatherer {
 public:
  using Write = std::function<void(std::vector<Item>)>;
  using Refuse = std::function<void(Item&)>;

  /// `write` is called on threads of `pool`, in at most `runs` calls at a time. With one, what
  /// comes first is written first; with more, one list is made ready while another waits for the
  /// disk. `refuse` is told of items for which no thread could be had.
  Gatherer(WorkerPool& pool, std::size_t most_at_once, std::size_t runs, Write write, Refuse refuse)
      : pool_(pool),
        most_at_once_(most_at_once),
        runs_(runs),
        write_(std::move(write)),
        refuse_(std::move(refuse)) {}

  /// Takes an item in that came with `exchange`. Written with all that has arrived by now: begun
  /// with the first, the others would each wait for a list of their own.
  void add(Item&& item, HttpExchange& exchange) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(item));
      if (start_due_ || running_ >= runs_) return;
      start_due_ = true;
    }
    exchange.after_round([this] { start(); });
  }

 private:
  void start() {
    std::vector<Item> refused;
    {
      const std::lock_guard lock(mutex_);
      start_due_ = false;
      if (waiting_.empty() || running_ >= runs_) return;
      if (pool_.post([this] { run(); })) {
        ++running_;
        return;
      }
      if (running_ > 0) return;  // those who run will come to it
      refused.swap(waiting_);
    }
    for (Item& item : refused) refuse_(item);
  }

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
  const Refuse refuse_;
  std::mutex mutex_;
  std::vector<Item> waiting_;
  std::size_t running_ = 0;
  bool start_due_ = false;
};

}  // namespace dlo::api
