#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "dlo/core/breaker.h"
#include "dlo/core/places.h"
#include "dlo/core/waiting_line.h"

namespace dlo {

/// What stands before a handler, shared by threads: its circuit breaker (R21), and how many runs
/// there may be at once. The values and their rules are core/breaker.h and core/places.h; this only
/// guards them. Without either everything is admitted.
class BreakerGuard {
 public:
  /// `at_once` 0: any number.
  explicit BreakerGuard(std::optional<BreakerPolicy> policy, std::uint32_t at_once = 0)
      : policy_(policy) {
    places_.limit = at_once;
  }

  [[nodiscard]] bool exists() const noexcept { return policy_.has_value() || places_.limit > 0; }

  /// Empty: go ahead, and report the outcome with `ticket` or take it back, once. Otherwise when to
  /// ask again.
  [[nodiscard]] std::optional<TimePoint> ask(TimePoint now, BreakerTicket& ticket);
  /// The same for somebody who is called when the circuit closes: he may be sent away for longer.
  [[nodiscard]] std::optional<TimePoint> ask_in_line(TimePoint now, BreakerTicket& ticket);
  /// `ok`: the other side answered sensibly, be it with a refusal. Answers the state if it moved.
  std::optional<BreakerState> report(const BreakerTicket& ticket, bool ok, TimePoint now,
                                     std::uint64_t random);
  /// False: the circuit has moved since `ticket` was given. Ask again before anything is run.
  [[nodiscard]] bool stands(const BreakerTicket& ticket) const;
  /// Admitted, but not run after all.
  void take_back(const BreakerTicket& ticket, TimePoint now);

  /// How many may be fetched for it now: empty for any number, 0 for none before `ask_again`.
  struct Gate {
    std::optional<std::uint32_t> limit;
    TimePoint ask_again{};
  };
  [[nodiscard]] Gate gate(TimePoint now) const;
  /// By hand: open until a hand closes it. Without a policy there is no circuit.
  void force(bool open, TimePoint now);
  [[nodiscard]] Breaker snapshot() const;

  /// Whenever it moves by itself, not by hand. Called by whoever moved it: must not block, and must
  /// not call back. Empty: nobody is told any more.
  using Told = std::function<void(BreakerState to)>;
  void tell_moves(Told told);

 private:
  /// Holding the mutex, so that moves are told in their order.
  [[nodiscard]] bool go_to(const Breaker& next);
  [[nodiscard]] TimePoint ask_again(const Admission& refused, TimePoint now) const;
  [[nodiscard]] TimePoint line_up(const Admission& refused, TimePoint now);
  [[nodiscard]] std::optional<TimePoint> ask(TimePoint now, BreakerTicket& ticket, bool in_line);

  mutable std::mutex mutex_;
  std::optional<BreakerPolicy> policy_;
  Breaker breaker_;
  Places places_;
  WaitingLine line_;
  Told told_;
};

}  // namespace dlo
