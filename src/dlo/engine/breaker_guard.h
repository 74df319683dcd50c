#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "dlo/core/breaker.h"

namespace dlo {

/// A circuit breaker shared by threads (R21). The value and its rules are core/breaker.h; this
/// only guards it. Without a policy everything is admitted.
class BreakerGuard {
 public:
  explicit BreakerGuard(std::optional<BreakerPolicy> policy) : policy_(policy) {}

  [[nodiscard]] bool exists() const noexcept { return policy_.has_value(); }

  /// Empty: go ahead, and report the outcome with `ticket`. Otherwise when to ask again.
  [[nodiscard]] std::optional<TimePoint> ask(TimePoint now, BreakerTicket& ticket);
  /// `ok`: the other side answered sensibly, be it with a refusal. Answers the state if it moved.
  std::optional<BreakerState> report(const BreakerTicket& ticket, bool ok, TimePoint now,
                                     std::uint64_t random);
  /// False: the circuit has moved since `ticket` was given. Ask again before anything is run.
  [[nodiscard]] bool stands(const BreakerTicket& ticket) const;
  /// Admitted, but not run after all.
  void take_back(const BreakerTicket& ticket);

  /// How many may be fetched for it now: empty for any number, 0 for none before `ask_again`.
  struct Gate {
    std::optional<std::uint32_t> limit;
    TimePoint ask_again{};
  };
  [[nodiscard]] Gate gate(TimePoint now) const;
  /// By hand: open until a hand closes it. Without a policy there is no circuit.
  void force(bool open, TimePoint now);
  [[nodiscard]] Breaker snapshot() const;

 private:
  [[nodiscard]] TimePoint ask_again(const Admission& refused, TimePoint now) const;

  mutable std::mutex mutex_;
  std::optional<BreakerPolicy> policy_;
  Breaker breaker_;
};

}  // namespace dlo
