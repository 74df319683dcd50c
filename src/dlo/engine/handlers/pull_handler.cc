#include "dlo/engine/handlers/pull_handler.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <string>
#include <utility>

#include "dlo/engine/handlers/failures.h"

namespace dlo {

/// One call of `run`, on its stack. Everything in it is guarded by the handler's mutex.
struct PullHandler::Offer {
  const Message& message;
  const RunContext& context;
  LeaseToken token{};
  bool taken = false;
  bool copying = false;  // a worker reads `message`: run must not return yet
  Clock::time_point take_until;
  Clock::time_point lease_until;
  Clock::time_point time_up;
  std::optional<Outcome> outcome;
  bool poked = false;
  std::condition_variable_any changed;

  void poke() {
    poked = true;
    changed.notify_one();
  }
  /// Its worker may still finish or extend it.
  [[nodiscard]] bool is_live() const {
    const auto now = Clock::now();
    return taken && !copying && !outcome && now < lease_until && now < time_up;
  }
};

namespace {

/// That long from now, but not beyond what a clock can hold.
std::chrono::steady_clock::time_point from_now(Millis wait) {
  constexpr Millis longest = std::chrono::hours(24 * 365);
  return std::chrono::steady_clock::now() + std::clamp(wait, Millis{0}, longest);
}

}  // namespace

PullHandler::~PullHandler() {
  assert(waiting_.empty() && held_.empty());
}

PullHandler::Why PullHandler::state_of(const Offer& offer, const RunContext& context) const {
  if (offer.copying) return Why::going_on;
  if (offer.outcome) return Why::finished;
  const auto now = Clock::now();
  if (!offer.taken) {
    const bool leave = closed_ || context.stop.stop_requested() || now >= offer.take_until;
    return leave ? Why::not_taken : Why::going_on;
  }
  if (now >= offer.time_up) return Why::timed_out;
  if (context.stop.stop_requested()) return Why::stopped;
  return now >= offer.lease_until ? Why::lost : Why::going_on;
}

PullHandler::Why PullHandler::wait_for_end(std::unique_lock<std::mutex>& lock, Offer& offer,
                                           const RunContext& context) {
  for (;;) {
    const Why why = state_of(offer, context);
    if (why != Why::going_on) return why;
    if (offer.copying) {
      offer.changed.wait(lock);  // a copy ends by itself, and soon
      continue;
    }
    offer.poked = false;
    const auto until = offer.taken ? std::min(offer.lease_until, offer.time_up) : offer.take_until;
    offer.changed.wait_until(lock, context.stop, until, [&offer] { return offer.poked; });
  }
}

Outcome PullHandler::run(const Message& message, const RunContext& context) {
  Offer offer{message, context};
  offer.take_until = from_now(options_.take_within);
  std::unique_lock lock(mutex_);
  if (closed_ || waiting_.size() >= options_.most_waiting) return {OutcomeKind::never_started, {}};
  waiting_.push_back(&offer);
  offered_.notify_one();
  const Why why = wait_for_end(lock, offer, context);
  withdraw(offer);
  return outcome_of(why, offer, context);
}

void PullHandler::withdraw(Offer& offer) {
  if (offer.taken) {
    held_.erase(offer.token);
  } else {
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &offer));
  }
}

Outcome PullHandler::outcome_of(Why why, Offer& offer, const RunContext& context) const {
  switch (why) {
    case Why::finished:
      return std::move(*offer.outcome);
    case Why::going_on:
    case Why::not_taken:
      return {OutcomeKind::never_started, {}};
    case Why::lost: {
      Outcome lost = failed(failure_type::worker_lost, std::string(failure_code::lease_expired),
                            "the worker that took this message neither finished it nor extended "
                            "its lease in time; it may have crashed, or still be at work");
      lost.kind = OutcomeKind::crashed;
      return lost;
    }
    case Why::timed_out:
      return failed(failure_type::timeout, std::string(failure_code::timed_out),
                    "the worker did not finish within " + std::to_string(context.timeout.count()) +
                        " ms (timeout); it may still be at work");
    case Why::stopped:
      return failed(failure_type::stopped, std::string(failure_code::stopped),
                    "the engine stopped while a worker had this message; it may still be at work");
  }
  return {OutcomeKind::never_started, {}};
}

PulledWork PullHandler::take(std::unique_lock<std::mutex>& lock) {
  Offer& offer = *waiting_.front();
  waiting_.pop_front();
  // Unique by its counter; the fence makes it worthless for another run of the same message.
  offer.token = LeaseToken{{std::hash<LeaseToken>{}(offer.context.fence), ++sequence_}};
  offer.taken = true;
  offer.copying = true;
  held_.emplace(offer.token, &offer);
  PulledWork work{offer.token,           nullptr,       offer.context.id, offer.context.counters,
                  offer.context.started, options_.lease};
  // A worker may outlive the run, so it needs a message of its own; copying megabytes happens
  // outside the lock.
  lock.unlock();
  try {
    work.message = std::make_shared<const Message>(offer.message);
  } catch (...) {  // out of memory: as if nobody had come
    lock.lock();
    held_.erase(offer.token);
    offer.taken = offer.copying = false;
    waiting_.push_front(&offer);
    offer.poke();
    throw;
  }
  lock.lock();
  offer.copying = false;
  offer.lease_until = from_now(options_.lease);
  offer.time_up = offer.context.timeout > Millis{0} ? from_now(offer.context.timeout)
                                                    : Clock::time_point::max();
  offer.poke();
  return work;
}

std::vector<PulledWork> PullHandler::next(std::size_t limit, Millis wait,
                                          const std::stop_token& stop) {
  std::vector<PulledWork> out;
  if (limit == 0) return out;
  out.reserve(std::min(limit, options_.most_waiting));
  std::unique_lock lock(mutex_);
  offered_.wait_until(lock, stop, from_now(wait), [this] { return closed_ || !waiting_.empty(); });
  while (!closed_ && !waiting_.empty() && out.size() < limit && !stop.stop_requested()) {
    try {
      out.push_back(take(lock));
    } catch (const std::bad_alloc&) {
      if (out.empty()) throw;
      break;  // what was taken before must reach the worker
    }
  }
  return out;
}

bool PullHandler::finish(const LeaseToken& token, Outcome outcome) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(token);
  if (found == held_.end() || !found->second->is_live()) return false;
  found->second->outcome = std::move(outcome);
  found->second->poke();
  return true;
}

bool PullHandler::extend(const LeaseToken& token, Millis lease) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(token);
  if (found == held_.end() || !found->second->is_live()) return false;
  found->second->lease_until = from_now(lease);
  found->second->poke();
  return true;
}

void PullHandler::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  offered_.notify_all();
  for (Offer* offer : waiting_) offer->poke();
}

PullHandler::Stats PullHandler::stats() const {
  const std::lock_guard lock(mutex_);
  return {waiting_.size(), held_.size()};
}

}  // namespace dlo
