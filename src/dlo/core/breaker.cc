#include "dlo/core/breaker.h"

#include <algorithm>
#include <array>
#include <limits>

#include "dlo/core/duration.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 15> codes_without_answer = {"ECONNREFUSED",
                                                                   "ECONNRESET",
                                                                   "ECONNABORTED",
                                                                   "EHOSTUNREACH",
                                                                   "ENETUNREACH",
                                                                   "EPIPE",
                                                                   "EAI_AGAIN",
                                                                   "ETIMEDOUT",
                                                                   "timed_out",
                                                                   "connection_failed",
                                                                   "connection_refused",
                                                                   "connection_reset",
                                                                   "dns",
                                                                   "tls",
                                                                   "transport"};

/// Of these: the request never left, so nobody can have worked on it.
constexpr std::array<std::string_view, 8> codes_of_unreached = {
    "ECONNREFUSED", "EHOSTUNREACH",      "ENETUNREACH",        "EAI_AGAIN",
    "dns",          "connection_failed", "connection_refused", "tls"};

void count(std::uint32_t& counter) noexcept {
  if (counter < std::numeric_limits<std::uint32_t>::max()) ++counter;
}

Millis bounded(Millis duration) noexcept {
  return std::clamp(duration, Millis{0}, longest_duration);
}

std::uint32_t wanted_probes(const BreakerPolicy& policy) noexcept {
  return std::max(policy.probes, std::uint32_t{1});
}

/// `share` of what the jitter may add, 0 to 1.
Millis cool_down(const BreakerPolicy& policy, double share) noexcept {
  const double jitter = policy.cool_down_jitter > 0 ? std::min(policy.cool_down_jitter, 1.0) : 0.0;
  const Millis base = bounded(policy.cool_down);
  return base +
         Millis{static_cast<Millis::rep>(static_cast<double>(base.count()) * jitter * share)};
}

/// A breaker in `state` with nothing counted yet; what was in flight belongs to the past.
Breaker entered(const Breaker& from, BreakerState state) noexcept {
  Breaker fresh;
  fresh.state = state;
  fresh.era = from.era + 1;
  return fresh;
}

Breaker opened(const Breaker& from, const BreakerPolicy& policy, TimePoint now,
               std::uint64_t random) noexcept {
  Breaker breaker = entered(from, BreakerState::open);
  constexpr double two_to_64 = 18446744073709551616.0;
  breaker.probe_at = now + cool_down(policy, static_cast<double>(random) / two_to_64);
  return breaker;
}

Breaker closed(const Breaker& from, TimePoint now) noexcept {
  Breaker breaker = entered(from, BreakerState::closed);
  breaker.window_began = now;
  return breaker;
}

bool is_too_much(const Breaker& breaker, const BreakerPolicy& policy) noexcept {
  if (policy.consecutive > 0 && breaker.in_a_row >= policy.consecutive) return true;
  if (breaker.calls < std::max(policy.minimum_calls, std::uint32_t{1})) return false;
  return static_cast<double>(breaker.failures) >=
         policy.failure_share * static_cast<double>(breaker.calls);
}

Admission refused(const Breaker& breaker, TimePoint ask_again) {
  return {false, breaker, {}, ask_again};
}

Admission probing(Breaker breaker, TimePoint now) {
  count(breaker.probes_out);
  breaker.last_probe_at = now;
  return {true, breaker, {breaker.era, true}, now};
}

}  // namespace

Admission admit(const Breaker& breaker, const BreakerPolicy& policy, TimePoint now) {
  if (breaker.forced) return refused(breaker, now + std::max(bounded(policy.cool_down), Millis{1}));
  switch (breaker.state) {
    case BreakerState::closed:
      return {true, breaker, {breaker.era, false}, now};
    case BreakerState::open: {
      // Further away than any cool-down reaches: the clock jumped back.
      const bool clock_jumped = breaker.probe_at - now > cool_down(policy, 1.0);
      if (now < breaker.probe_at && !clock_jumped) return refused(breaker, breaker.probe_at);
      return probing(entered(breaker, BreakerState::half_open), now);
    }
    case BreakerState::half_open: {
      if (std::uint64_t{breaker.probes_out} + breaker.probes_ok < wanted_probes(policy)) {
        return probing(breaker, now);
      }
      const TimePoint given_up = breaker.last_probe_at + bounded(policy.probe_patience);
      if (now < given_up && now >= breaker.last_probe_at) return refused(breaker, given_up);
      return probing(entered(breaker, BreakerState::half_open), now);  // those are lost
    }
  }
  return refused(breaker, now);
}

Breaker after_call(Breaker breaker, const BreakerPolicy& policy, const BreakerTicket& ticket,
                   bool ok, TimePoint now, std::uint64_t random) {
  if (ticket.era != breaker.era || breaker.state == BreakerState::open) return breaker;
  if (breaker.state == BreakerState::half_open) {
    if (!ok) return opened(breaker, policy, now, random);
    if (breaker.probes_out > 0) --breaker.probes_out;
    count(breaker.probes_ok);
    return breaker.probes_ok >= wanted_probes(policy) ? closed(breaker, now) : breaker;
  }
  const bool window_over = now - breaker.window_began >= bounded(policy.window);
  if (window_over || now < breaker.window_began) {
    breaker.calls = breaker.failures = 0;
    breaker.window_began = now;
  }
  count(breaker.calls);
  if (ok) {
    breaker.in_a_row = 0;
    return breaker;
  }
  count(breaker.failures);
  count(breaker.in_a_row);
  return is_too_much(breaker, policy) ? opened(breaker, policy, now, random) : breaker;
}

Breaker give_back(Breaker breaker, const BreakerTicket& ticket) noexcept {
  if (ticket.era == breaker.era && breaker.probes_out > 0) --breaker.probes_out;
  return breaker;
}

std::span<const std::string_view> no_answer_codes() noexcept {
  return codes_without_answer;
}

bool says_target_failed(const Failure& failure) noexcept {
  if (failure.status) return *failure.status >= 500;
  if (failure.code == "protocol" || failure.code == "not_started") return true;
  return std::ranges::find(codes_without_answer, failure.code) != codes_without_answer.end();
}

bool costs_no_attempt(const BreakerTicket& ticket, const Failure& failure) noexcept {
  return ticket.probe && !failure.status &&
         std::ranges::find(codes_of_unreached, failure.code) != codes_of_unreached.end();
}

Breaker force_open(Breaker breaker) noexcept {
  Breaker forced = entered(breaker, BreakerState::open);
  forced.forced = true;
  return forced;
}

Breaker force_closed(Breaker breaker, TimePoint now) noexcept {
  return closed(breaker, now);
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
  return "unknown";
}

}  // namespace dlo
