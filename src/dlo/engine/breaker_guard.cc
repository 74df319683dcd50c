#include "dlo/engine/breaker_guard.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlo {
namespace {

constexpr Millis shortest_wait{100};
constexpr Millis longest_probe_wait{1'000};

}  // namespace

/// While a probe is out its report will come long before patience with it ends.
TimePoint BreakerGuard::ask_again(const Admission& refused, TimePoint now) const {
  const TimePoint next = std::max(refused.ask_again, now + shortest_wait);
  if (refused.next.state != BreakerState::half_open) return next;
  return std::min(next, now + longest_probe_wait);
}

/// Whole seconds where there is no moment of a probe: those who ask one after another ask together.
TimePoint BreakerGuard::line_up(const Admission& refused, TimePoint now) {
  TimePoint from = ask_again(refused, now);
  const bool has_moment = refused.next.state == BreakerState::open && !refused.next.forced;
  if (!has_moment) from = std::chrono::ceil<std::chrono::seconds>(from);
  return stand_in_line(line_, from, now);
}

std::optional<TimePoint> BreakerGuard::ask(TimePoint now, BreakerTicket& ticket) {
  return ask(now, ticket, false);
}

std::optional<TimePoint> BreakerGuard::ask_in_line(TimePoint now, BreakerTicket& ticket) {
  return ask(now, ticket, true);
}

std::optional<TimePoint> BreakerGuard::ask(TimePoint now, BreakerTicket& ticket, bool in_line) {
  if (!exists()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (policy_) {
    const Admission admission = admit(breaker_, *policy_, now);
    (void)go_to(admission.next);
    ticket = admission.ticket;
    if (!admission.admitted) return in_line ? line_up(admission, now) : ask_again(admission, now);
  }
  const auto later = take_place(places_, now);
  if (later && policy_) breaker_ = give_back(breaker_, ticket);
  return later;
}

bool BreakerGuard::stands(const BreakerTicket& ticket) const {
  if (!policy_) return true;
  const std::lock_guard lock(mutex_);
  return breaker_.era == ticket.era;
}

std::optional<BreakerState> BreakerGuard::report(const BreakerTicket& ticket, bool ok,
                                                 TimePoint now, std::uint64_t random) {
  if (!exists()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  leave_place(places_, now);
  if (!policy_) return std::nullopt;
  if (!go_to(after_call(breaker_, *policy_, ticket, ok, now, random))) return std::nullopt;
  return breaker_.state;
}

bool BreakerGuard::go_to(const Breaker& next) {
  const bool moves = next.state != breaker_.state;
  breaker_ = next;
  if (moves && next.state == BreakerState::closed) line_ = {};
  if (moves && told_) told_(breaker_.state);
  return moves;
}

void BreakerGuard::tell_moves(Told told) {
  const std::lock_guard lock(mutex_);
  told_ = std::move(told);
}

void BreakerGuard::take_back(const BreakerTicket& ticket, TimePoint now) {
  if (!exists()) return;
  const std::lock_guard lock(mutex_);
  leave_place(places_, now);
  if (policy_) breaker_ = give_back(breaker_, ticket);
}

BreakerGuard::Gate BreakerGuard::gate(TimePoint now) const {
  if (!policy_) return {};
  const std::lock_guard lock(mutex_);
  if (breaker_.state == BreakerState::closed) return {};
  // Asked on a copy: looking at the gate takes no probe.
  const Admission admission = admit(breaker_, *policy_, now);
  if (!admission.admitted) return {0, ask_again(admission, now)};
  return {policy_->probes, now};
}

void BreakerGuard::force(bool open, TimePoint now) {
  if (!policy_) return;
  const std::lock_guard lock(mutex_);
  breaker_ = open ? force_open(breaker_) : force_closed(breaker_, now);
  if (!open) line_ = {};
}

Breaker BreakerGuard::snapshot() const {
  const std::lock_guard lock(mutex_);
  return breaker_;
}

}  // namespace dlo
