#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "dlo/core/failure.h"
#include "dlo/core/time.h"

namespace dlo {

enum class BreakerState : std::uint8_t { closed, open, half_open };

struct BreakerPolicy {
  double failure_share = 0.5;        // opens at this share ...
  std::uint32_t minimum_calls = 10;  // ... of at least this many calls in the window
  std::uint32_t consecutive = 5;     // or after this many failures in a row; 0: never
  Millis window{30'000};
  Millis cool_down{10'000};
  double cool_down_jitter = 0.2;  // up to this share is added, so that nodes do not probe together
  std::uint32_t probes = 1;       // calls let through while half open; all must succeed
  Millis probe_patience{60'000};  // a probe that has not answered by then is given up
  bool operator==(const BreakerPolicy&) const = default;
};

/// A circuit breaker as a value: copy it, store it, replay it. Guards every handler and target
/// (R21); while it is open no attempt is burnt.
struct Breaker {
  BreakerState state = BreakerState::closed;
  std::uint32_t calls = 0;
  std::uint32_t failures = 0;
  std::uint32_t in_a_row = 0;
  std::uint32_t probes_out = 0;
  std::uint32_t probes_ok = 0;
  TimePoint window_began{};
  TimePoint probe_at{};       // when an open breaker lets a probe through
  TimePoint last_probe_at{};  // when the newest probe went out
  std::uint64_t era = 0;      // raised by every change of state: results of older calls are ignored
  bool forced = false;        // opened by hand: only a hand closes it
  bool operator==(const Breaker&) const = default;
};

/// Ties the result of a call to the question that admitted it.
struct BreakerTicket {
  std::uint64_t era = 0;
  bool probe = false;  // it is to find out whether the other side works again
  bool operator==(const BreakerTicket&) const = default;
};

struct Admission {
  bool admitted = false;
  Breaker next;  // the breaker after the question
  BreakerTicket ticket;
  TimePoint ask_again{};  // if not admitted; a hand may close it meanwhile
};

/// May a call be made now? Total. An open breaker that was not forced admits a probe at the latest
/// one cool-down with full jitter after it opened, also when the clock jumps back; a half-open one
/// at the latest when its patience with lost probes ends. Never more than `probes` are out.
[[nodiscard]] Admission admit(const Breaker& breaker, const BreakerPolicy& policy, TimePoint now);

/// The admitted call ended. A result from an earlier era changes nothing: it says how things were.
[[nodiscard]] Breaker after_call(Breaker breaker, const BreakerPolicy& policy,
                                 const BreakerTicket& ticket, bool ok, TimePoint now,
                                 std::uint64_t random);

/// The admitted call was never made (there was no message to run).
[[nodiscard]] Breaker give_back(Breaker breaker, const BreakerTicket& ticket) noexcept;

/// Codes of systems and of our own handlers which say that whoever was called did not answer.
[[nodiscard]] std::span<const std::string_view> no_answer_codes() noexcept;

/// Whether a failure speaks of the target, whatever becomes of the message: it did not answer, or
/// said that it is in trouble itself. Any other that is not retried is an answer of a target that
/// works.
[[nodiscard]] bool says_target_failed(const Failure& failure) noexcept;

/// Whether a failure costs the message no attempt: it was a probe, and the other side was not even
/// reached. That says nothing of the message, and an outage of any length uses none up (R21). A
/// probe that was answered, or got lost on its way, counts: the message may be why.
[[nodiscard]] bool costs_no_attempt(const BreakerTicket& ticket, const Failure& failure) noexcept;

[[nodiscard]] Breaker force_open(Breaker breaker) noexcept;
[[nodiscard]] Breaker force_closed(Breaker breaker, TimePoint now) noexcept;
[[nodiscard]] std::string_view name_of(BreakerState state) noexcept;

}  // namespace dlo
