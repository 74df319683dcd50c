#include "dlo/engine/breaker_guard.h"

namespace dlo {
namespace {

/// A probe is out: somebody will report soon, so ask again soon.
constexpr Millis probe_patience{100};

}  // namespace

std::optional<TimePoint> BreakerGuard::ask(TimePoint now, BreakerTicket& ticket) {
  if (!policy_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const Admission admission = admit(breaker_, *policy_, now);
  breaker_ = admission.next;
  ticket = admission.ticket;
  if (admission.admitted) return std::nullopt;
  return std::max(admission.ask_again, now + probe_patience);
}

std::optional<BreakerState> BreakerGuard::report(const BreakerTicket& ticket, bool ok,
                                                 TimePoint now, std::uint64_t random) {
  if (!policy_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const BreakerState before = breaker_.state;
  breaker_ = after_call(breaker_, *policy_, ticket, ok, now, random);
  if (breaker_.state == before) return std::nullopt;
  return breaker_.state;
}

void BreakerGuard::take_back(const BreakerTicket& ticket) {
  if (!policy_) return;
  const std::lock_guard lock(mutex_);
  breaker_ = give_back(breaker_, ticket);
}

BreakerGuard::Gate BreakerGuard::gate(TimePoint now) const {
  if (!policy_) return {};
  const std::lock_guard lock(mutex_);
  if (breaker_.state == BreakerState::closed) return {};
  // Asked on a copy: looking at the gate takes no probe.
  const Admission admission = admit(breaker_, *policy_, now);
  if (!admission.admitted) return {0, std::max(admission.ask_again, now + probe_patience)};
  return {policy_->probes, now};
}

Breaker BreakerGuard::snapshot() const {
  const std::lock_guard lock(mutex_);
  return breaker_;
}

}  // namespace dlo
