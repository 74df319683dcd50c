#include "dlo/postgres/link.h"

#include <algorithm>
#include <utility>

namespace dlo::postgres {

void Backoff::failed(Clock::time_point now) noexcept {
  constexpr Clock::duration first = std::chrono::milliseconds{50};
  constexpr Clock::duration longest = std::chrono::seconds{5};
  wait_ = wait_ == Clock::duration{} ? first : std::min(wait_ * 2, longest);
  next_ = now + wait_;
}

Backoff::Clock::duration Backoff::left(Clock::time_point now) const noexcept {
  return std::max(next_ - now, Clock::duration{});
}

Connection& Link::use() {
  if (connection_ && !connection_->is_lost()) return *connection_;
  connection_.reset();
  const auto now = Backoff::Clock::now();
  if (last_ && !backoff_.may_try(now)) {
    Failed again = *last_;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(backoff_.left(now));
    again.error.detail += "; tried again in " + std::to_string(left.count()) + " ms";
    throw again;  // NOLINT(misc-throw-by-value-catch-by-reference)
  }
  try {
    connection_ = std::make_unique<Connection>(address_, settings_);
    if (greet_) greet_(*connection_);
  } catch (const Failed& failed) {
    connection_.reset();
    backoff_.failed(Backoff::Clock::now());
    last_ = failed;
    throw;
  }
  backoff_.succeeded();
  last_.reset();
  return *connection_;
}

Pool::Pool(const std::string& address, const std::string& settings, std::size_t links) {
  for (std::size_t i = 0; i < links; ++i) {
    links_.push_back(std::make_unique<Link>(address, settings));
    free_.push_back(links_.back().get());
  }
}

Pool::Turn::Turn(Pool& pool) : pool_(pool) {
  std::unique_lock lock(pool.mutex_);
  pool.back_.wait(lock, [&] { return !pool.free_.empty(); });
  link_ = pool.free_.back();  // the one used last: the others may rest
  pool.free_.pop_back();
}

Pool::Turn::~Turn() {
  Connection* connection = link_->current();
  const bool usable = connection != nullptr && !connection->is_lost() &&
                      !connection->in_transaction() && connection->in_pipeline() == 0;
  if (!usable) link_->drop();
  {
    const std::lock_guard lock(pool_.mutex_);
    pool_.free_.push_back(link_);
  }
  pool_.back_.notify_one();
}

}  // namespace dlo::postgres
