#pragma once

#include <cstdint>
#include <string_view>

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
  std::uint32_t probes = 1;       // calls let through while half open
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
  TimePoint probe_at{};  // when an open breaker lets a probe through
  bool forced = false;   // opened by hand: only a hand closes it
  bool operator==(const Breaker&) const = default;
};

struct Admission {
  bool admitted = false;
  Breaker next;           // the breaker after the question
  TimePoint ask_again{};  // if not admitted
};

[[nodiscard]] Admission admit(const Breaker& breaker, const BreakerPolicy& policy, TimePoint now);
[[nodiscard]] Breaker after_call(Breaker breaker, const BreakerPolicy& policy, bool ok,
                                 TimePoint now, std::uint64_t random);
[[nodiscard]] Breaker force_open(Breaker breaker) noexcept;
[[nodiscard]] Breaker force_closed(Breaker breaker, TimePoint now) noexcept;
[[nodiscard]] std::string_view name_of(BreakerState state) noexcept;

}  // namespace dlo
