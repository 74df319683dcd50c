#include "dlo/core/breaker.h"

#include <algorithm>
#include <cmath>

namespace dlo {
namespace {

constexpr Millis longest_cool_down{365LL * 24 * 3600 * 1000};

/// The cool-down with its jitter: 0 .. `cool_down_jitter` of it is added.
Millis cool_down(const BreakerPolicy& policy, std::uint64_t random) noexcept {
  const double share = std::clamp(policy.cool_down_jitter, 0.0, 10.0);
  const double unit = static_cast<double>(random >> 11U) * 0x1.0p-53;
  const double base =
      static_cast<double>(std::clamp(policy.cool_down, Millis{0}, longest_cool_down).count());
  return Millis{static_cast<Millis::rep>(std::floor(base * (1.0 + share * unit)))};
}

Breaker closed_at(TimePoint now) noexcept {
  Breaker breaker;
  breaker.window_began = now;
  return breaker;
}

Breaker opened_at(const BreakerPolicy& policy, TimePoint now, std::uint64_t random) noexcept {
  Breaker breaker;
  breaker.state = BreakerState::open;
  breaker.window_began = now;
  breaker.probe_at = now + cool_down(policy, random);
  return breaker;
}

std::uint32_t probe_budget(const BreakerPolicy& policy) noexcept {
  return std::max<std::uint32_t>(policy.probes, 1);  // with none it could never close again
}

bool should_open(const Breaker& breaker, const BreakerPolicy& policy) noexcept {
  if (policy.consecutive > 0 && breaker.in_a_row >= policy.consecutive) return true;
  if (breaker.calls < std::max<std::uint32_t>(policy.minimum_calls, 1)) return false;
  return breaker.failures > 0 && static_cast<double>(breaker.failures) >=
                                     policy.failure_share * static_cast<double>(breaker.calls);
}

}  // namespace

Admission admit(const Breaker& breaker, const BreakerPolicy& policy, TimePoint now) {
  Admission answer{false, breaker, breaker.probe_at};
  if (breaker.forced) {
    answer.ask_again = now + std::max(policy.cool_down, Millis{1});
    return answer;
  }
  if (breaker.state == BreakerState::closed) {
    answer.admitted = true;
    return answer;
  }
  // Open, or half open with every probe out: at `probe_at` a new set of probes may go. In the
  // second case that is the exit for probes whose result never arrives.
  if (now >= breaker.probe_at) {
    answer.next.state = BreakerState::half_open;
    answer.next.probes_out = 0;
    answer.next.probes_ok = 0;
    answer.next.probe_at = now + std::max(policy.cool_down, Millis{1});
  } else if (breaker.state == BreakerState::open) {
    return answer;
  }
  if (answer.next.probes_out >= probe_budget(policy)) {
    answer.ask_again = answer.next.probe_at;
    return answer;
  }
  ++answer.next.probes_out;
  answer.admitted = true;
  return answer;
}

Breaker after_call(Breaker breaker, const BreakerPolicy& policy, bool ok, TimePoint now,
                   std::uint64_t random) {
  // The result of a call that began before it opened says nothing about now.
  if (breaker.forced || breaker.state == BreakerState::open) return breaker;
  if (breaker.state == BreakerState::half_open) {
    if (!ok) return opened_at(policy, now, random);
    ++breaker.probes_ok;
    return breaker.probes_ok >= probe_budget(policy) ? closed_at(now) : breaker;
  }
  // A window that is over, or that a clock set back has left in the future, begins anew.
  if (now - breaker.window_began >= policy.window || now < breaker.window_began) {
    breaker.calls = 0;
    breaker.failures = 0;
    breaker.window_began = now;
  }
  const auto count = [](std::uint32_t& counter) {
    if (counter < 0xFFFFFFFFU) ++counter;
  };
  count(breaker.calls);
  if (ok) {
    breaker.in_a_row = 0;
    return breaker;
  }
  count(breaker.failures);
  count(breaker.in_a_row);
  return should_open(breaker, policy) ? opened_at(policy, now, random) : breaker;
}

Breaker force_open(Breaker breaker) noexcept {
  breaker.state = BreakerState::open;
  breaker.forced = true;
  return breaker;
}

Breaker force_closed(Breaker /*breaker*/, TimePoint now) noexcept {
  return closed_at(now);
}

std::string_view name_of(BreakerState state) noexcept {
  switch (state) {
    case BreakerState::closed:
      return "closed";
    case BreakerState::open:
      return "open";
    case BreakerState::half_open:
      return "half_open";
  }
  return "closed";
}

}  // namespace dlo
