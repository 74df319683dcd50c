#include "dlo/engine/scheduler.h"

#include <algorithm>

namespace dlo {

/// As many as there is work for, not all of them.
void Scheduler::notify(std::size_t count) {
  if (count >= sleepers_) {
    if (sleepers_ > 0) work_.notify_all();
    return;
  }
  for (; count > 0; --count) work_.notify_one();
}

void Scheduler::add(std::span<Item* const> items) {
  const std::lock_guard lock(mutex_);
  for (Item* item : items) (item->suspect ? suspects_ : ready_).push_back(item);
  notify(items.size());
}

void Scheduler::put_back(std::span<Item* const> items) {
  const std::lock_guard lock(mutex_);
  started_.insert(started_.end(), items.begin(), items.end());
  running_ -= items.size();
  if (running_ == 0) idle_.notify_all();
  notify(items.size());
}

void Scheduler::defer(Item* item, TimePoint until) {
  const std::lock_guard lock(mutex_);
  deferred_.emplace_back(until, item);
}

bool Scheduler::can_take(TimePoint now) {
  if (alone_ != nullptr) return false;
  if (!suspects_.empty()) {
    if (!draining_) {
      draining_ = true;
      drain_until_ = now + window_;
    }
    return running_ == 0 || now >= drain_until_;
  }
  return !started_.empty() || !ready_.empty();
}

Scheduler::Turn Scheduler::take_suspect(std::vector<Item*>& out, TimePoint now) {
  alone_ = suspects_.front();
  out.push_back(suspects_.front());
  suspects_.pop_front();
  const bool exclusive = running_ == 0;
  draining_ = false;
  alone_until_ = now + window_;
  ++running_;
  return {false, exclusive};
}

Scheduler::Turn Scheduler::take_locked(std::vector<Item*>& out, std::size_t limit, TimePoint now) {
  if (!suspects_.empty()) return take_suspect(out, now);
  // One chunk is either all marked or all unmarked.
  std::deque<Item*>& from = started_.empty() ? ready_ : started_;
  const std::size_t count = std::min(limit, from.size());
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
  out.insert(out.end(), from.begin(), end);
  from.erase(from.begin(), end);
  running_ += count;
  return {};
}

Scheduler::Turn Scheduler::take(std::vector<Item*>& out, std::size_t limit, std::size_t workers) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (given_up_) return {true, false};
    const TimePoint now = clock_.now();
    if (can_take(now)) {
      const std::size_t waiting = started_.empty() ? ready_.size() : started_.size();
      const std::size_t share = (waiting + workers - 1) / std::max<std::size_t>(workers, 1);
      const Turn turn = take_locked(out, std::clamp<std::size_t>(share, 1, limit), now);
      const bool few = waiting_locked() <= ring_at_.load(std::memory_order_relaxed);
      lock.unlock();
      if (few) bell_.ring();
      return turn;
    }
    if (closed_ && started_.empty() && suspects_.empty()) return {true, false};
    ++sleepers_;
    work_.wait(lock);  // `tick` wakes us when a window is over
    --sleepers_;
  }
}

Scheduler::Turn Scheduler::try_take(std::vector<Item*>& out, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.now();
  return can_take(now) ? take_locked(out, limit, now) : Turn{};
}

void Scheduler::finished(std::size_t count, const Item* suspect) {
  const std::lock_guard lock(mutex_);
  running_ -= count;
  if (suspect != nullptr && alone_ == suspect) alone_ = nullptr;
  if (running_ == 0) idle_.notify_all();
  if (suspect != nullptr || (draining_ && running_ == 0)) notify(sleepers_);
}

void Scheduler::tick(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (alone_ != nullptr && now >= alone_until_) {
    alone_ = nullptr;
    notify(sleepers_);
  }
  if (draining_ && now >= drain_until_) notify(sleepers_);
  const auto due = std::partition(deferred_.begin(), deferred_.end(),
                                  [now](const auto& entry) { return entry.first > now; });
  for (auto it = due; it != deferred_.end(); ++it) {
    (it->second->suspect ? suspects_ : ready_).push_back(it->second);
  }
  notify(static_cast<std::size_t>(deferred_.end() - due));
  deferred_.erase(due, deferred_.end());
}

std::vector<Item*> Scheduler::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  std::vector<Item*> unstarted(ready_.begin(), ready_.end());
  unstarted.insert(unstarted.end(), suspects_.begin(), suspects_.end());
  for (const auto& entry : deferred_) unstarted.push_back(entry.second);
  if (given_up_) {
    unstarted.insert(unstarted.end(), started_.begin(), started_.end());
    started_.clear();
  }
  ready_.clear();
  suspects_.clear();
  deferred_.clear();
  draining_ = false;
  work_.notify_all();
  return unstarted;
}

void Scheduler::give_up() {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
  work_.notify_all();
}

void Scheduler::reopen() {
  const std::lock_guard lock(mutex_);
  closed_ = given_up_ = false;
}

bool Scheduler::wait_idle(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  while (running_ + (given_up_ ? 0 : started_.size()) > 0) {
    if (clock_.now() >= deadline) return false;
    clock_.wait_until(lock, idle_, deadline);
  }
  return true;
}

void Scheduler::wake() {
  const std::lock_guard lock(mutex_);
  work_.notify_all();
}

std::size_t Scheduler::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

std::size_t Scheduler::waiting_locked() const noexcept {
  return started_.size() + ready_.size() + suspects_.size() + deferred_.size();
}

std::size_t Scheduler::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_locked();
}

bool Scheduler::idle() const {
  const std::lock_guard lock(mutex_);
  return running_ + waiting_locked() == 0;
}

}  // namespace dlo
