#include "dlo/retries/rounds.h"

#include <algorithm>
#include <utility>

namespace dlo {

void Rounds::start(std::vector<Duty> duties) {
  const std::lock_guard lock(mutex_);
  duties_ = std::move(duties);
  next_.assign(duties_.size(), TimePoint::min());
  thread_ = std::thread([this] { run(); });
}

Rounds::~Rounds() {
  stop();
}

void Rounds::ring(std::size_t duty) {
  const std::lock_guard lock(mutex_);
  if (duty >= next_.size()) return;  // not yet begun: it is done then
  next_[duty] = TimePoint::min();
  changed_.notify_all();
}

void Rounds::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::optional<std::size_t> Rounds::due(TimePoint now) const {
  for (std::size_t i = 0; i < next_.size(); ++i) {
    if (next_[i] && *next_[i] <= now) return i;
  }
  return std::nullopt;
}

TimePoint Rounds::earliest() const {
  TimePoint first = TimePoint::max();
  for (const auto& each : next_) first = std::min(first, each.value_or(TimePoint::max()));
  return first;
}

void Rounds::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const TimePoint now = clock_.now();
    const auto duty = due(now);
    if (!duty) {
      clock_.wait_until(lock, changed_, earliest());
      continue;
    }
    next_[*duty].reset();  // whoever rings while it is at it is heard
    lock.unlock();
    const auto again = duties_[*duty](now);
    lock.lock();
    if (again && (!next_[*duty] || *again < *next_[*duty])) next_[*duty] = again;
  }
}

}  // namespace dlo
