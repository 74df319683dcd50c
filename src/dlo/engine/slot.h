#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "dlo/engine/handler_table.h"
#include "dlo/engine/item.h"

namespace dlo {

/// One worker thread as others see it: what it runs, since when, and what it has not begun yet.
/// The keeper looks in from outside. It may relieve a stuck worker of the rest of its chunk, tell
/// its handler to stop, and in the end let the whole thread go; the thread finds out when its
/// handler returns and then touches nothing but this slot.
/// Threads  Every method locks.
class Slot {
 public:
  enum class StopCause : std::uint8_t { none, timeout, engine, lease };

  /// The worker: a chunk is about to run.
  void load(std::span<Item* const> chunk) {
    const std::lock_guard lock(mutex_);
    chunk_.assign(chunk.begin(), chunk.end());
    next_ = 0;
    owed_ = chunk_.size();
  }
  /// How many of the chunk are still counted as running; from now on none is.
  [[nodiscard]] std::size_t take_owed() {
    const std::lock_guard lock(mutex_);
    return std::exchange(owed_, 0);
  }

  /// What will not be begun any more, because the slot was closed.
  [[nodiscard]] std::vector<Item*> take_unbegun() {
    const std::lock_guard lock(mutex_);
    return cut_off_rest();
  }

  /// The next of the chunk, or null. From now on it is running.
  Item* enter(const Instant& now, Millis timeout_default) {
    const std::lock_guard lock(mutex_);
    if (closed_ || next_ == chunk_.size()) return nullptr;
    if (cause_ != StopCause::none) {
      stop_ = std::stop_source();
      cause_ = StopCause::none;
    }
    running_ = chunk_[next_++];
    ++run_;
    since_ = now;
    timeout_ = running_->entry->timeout.value_or(timeout_default);
    in_handler_ = true;
    return running_;
  }

  struct Left {
    bool gone = false;  // this thread was let go: leave at once
    StopCause cause = StopCause::none;
  };
  /// The handler returned. `completed`: it went well and nothing but the source is to be told.
  Left leave(bool completed) {
    const std::lock_guard lock(mutex_);
    in_handler_ = false;
    if (gone_) return {true, cause_};
    if (completed && cause_ == StopCause::none) {
      done_.push_back(running_);
      running_ = nullptr;
    }
    return {false, cause_};
  }
  /// Back into the handler: another try of the same attempt.
  void reenter() {
    const std::lock_guard lock(mutex_);
    in_handler_ = true;
  }
  /// The attempt is over.
  void end() {
    const std::lock_guard lock(mutex_);
    running_ = nullptr;
  }

  /// Waits between tries; false if the attempt was told to stop meanwhile.
  bool wait(const Clock& clock, TimePoint until) {
    std::unique_lock lock(mutex_);
    waiting_ = true;
    while (cause_ == StopCause::none && clock.now() < until) clock.wait_until(lock, wake_, until);
    waiting_ = false;
    return cause_ == StopCause::none;
  }

  [[nodiscard]] std::stop_token token() const {
    const std::lock_guard lock(mutex_);
    return stop_.get_token();
  }
  [[nodiscard]] Millis timeout() const {
    const std::lock_guard lock(mutex_);
    return timeout_;
  }

  /// What went well since the last call.
  void take_done(std::vector<Item*>& out) {
    const std::lock_guard lock(mutex_);
    out.insert(out.end(), done_.begin(), done_.end());
    done_.clear();
  }

  struct Glance {
    const Item* running = nullptr;
    std::uint64_t run = 0;  // tells one run from the next
    bool in_handler = false;
    bool waiting = false;  // between two tries
    Instant since{};
    TimePoint stopped_at{};  // by the steady clock
    Millis timeout{0};
    StopCause cause = StopCause::none;
    std::size_t rest = 0;
    std::size_t done = 0;
  };
  [[nodiscard]] Glance glance() const {
    const std::lock_guard lock(mutex_);
    return {running_, run_,   in_handler_,           waiting_,    since_, stopped_at_,
            timeout_, cause_, chunk_.size() - next_, done_.size()};
  }

  /// The keeper: takes what has not begun, if it is still the same run.
  std::vector<Item*> take_rest(std::uint64_t run) {
    const std::lock_guard lock(mutex_);
    if (run_ != run || (running_ == nullptr && !gone_)) return {};
    return cut_off_rest();
  }

  /// Nothing more is begun here: the engine stops.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  /// Asks the handler to stop, `now` by the steady clock. Callbacks run outside the lock.
  bool request_stop(std::uint64_t run, StopCause cause, TimePoint now) {
    std::stop_source source;
    {
      const std::lock_guard lock(mutex_);
      if (run_ != run || running_ == nullptr || cause_ != StopCause::none || gone_) return false;
      cause_ = cause;
      stopped_at_ = now;
      source = stop_;
      wake_.notify_all();
    }
    source.request_stop();
    return true;
  }

  /// Lets the thread go if it still sits in its handler. What the handler uses is kept alive here.
  /// The item is the caller's from now on.
  Item* let_go(std::uint64_t run) {
    const std::lock_guard lock(mutex_);
    if (run_ != run || running_ == nullptr || !in_handler_ || gone_) return nullptr;
    gone_ = true;
    message_ = running_->delivery.message;
    handler_ = running_->entry->handler;
    return std::exchange(running_, nullptr);
  }

 private:
  std::vector<Item*> cut_off_rest() {
    std::vector<Item*> rest(chunk_.begin() + static_cast<std::ptrdiff_t>(next_), chunk_.end());
    chunk_.resize(next_);
    owed_ -= rest.size();
    return rest;
  }

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Item*> chunk_;
  std::size_t next_ = 0;
  std::vector<Item*> done_;
  std::size_t owed_ = 0;
  Item* running_ = nullptr;
  std::uint64_t run_ = 0;
  bool in_handler_ = false;
  bool waiting_ = false;
  bool gone_ = false;
  bool closed_ = false;
  StopCause cause_ = StopCause::none;
  Instant since_{};
  TimePoint stopped_at_{};
  Millis timeout_{0};
  std::stop_source stop_;
  MessagePtr message_;
  std::shared_ptr<Handler> handler_;
};

}  // namespace dlo
