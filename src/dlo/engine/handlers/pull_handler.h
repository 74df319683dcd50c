#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "dlo/engine/handler.h"

namespace dlo {

struct PullOptions {
  Millis take_within{30'000};        // a message nobody takes for this long is given back unrun
  Millis lease{30'000};              // a worker that is silent for this long is taken for lost
  std::size_t most_waiting = 1'024;  // offered and not taken; more are given back at once
};

/// A message in a worker's hands.
struct PulledWork {
  LeaseToken token;  // proof for finish and extend; worthless once the lease ended
  MessagePtr message;
  RecordId id;  // the same for every repeat: use it to be idempotent
  Counters counters;
  TimePoint started{};
  Millis lease{0};  // from now
};

/// Where messages meet workers that come for them, from any thread of this process (the API hands
/// them on to workers elsewhere). `run` offers a message and blocks until its worker has finished
/// it; taking is the start (R1), so a message nobody took was never started.
/// Threads  Any method from any thread. Oldest offer first. A message is in one worker's hands.
/// Fence    A token that is unknown, used up or whose lease ended changes nothing.
class PullHandler final : public Handler {
 public:
  explicit PullHandler(PullOptions options) : options_(options) {}
  /// Every `run` must have returned: close() makes them.
  ~PullHandler() override;
  PullHandler(const PullHandler&) = delete;
  PullHandler& operator=(const PullHandler&) = delete;

  /// ok and failed as the worker said; never_started if nobody took it in time, there are too many,
  /// or the engine stops before; crashed if its worker fell silent; failed with code timed_out or
  /// stopped if the time was up or the engine stopped while a worker had it.
  Outcome run(const Message& message, const RunContext& context) override;

  /// Up to `limit` messages; waits up to `wait` for the first. Empty: there is none, or closed.
  [[nodiscard]] std::vector<PulledWork> next(std::size_t limit, Millis wait,
                                             const std::stop_token& stop = {});
  /// Ends a message. False: the token is no longer live and nothing changed.
  bool finish(const LeaseToken& token, Outcome outcome);
  /// The lease counts anew from now. False: the token is no longer live.
  bool extend(const LeaseToken& token, Millis lease);

  /// Gives everything not yet taken back and lets nothing in any more.
  void close() noexcept;

  struct Stats {
    std::size_t waiting = 0;  // offered
    std::size_t held = 0;     // in workers' hands
  };
  [[nodiscard]] Stats stats() const;

 private:
  struct Offer;
  using Clock = std::chrono::steady_clock;
  enum class Why : std::uint8_t { going_on, finished, not_taken, lost, timed_out, stopped };

  Why wait_for_end(std::unique_lock<std::mutex>& lock, Offer& offer, const RunContext& context);
  [[nodiscard]] Why state_of(const Offer& offer, const RunContext& context) const;
  PulledWork take(std::unique_lock<std::mutex>& lock);
  void withdraw(Offer& offer);
  [[nodiscard]] Outcome outcome_of(Why why, Offer& offer, const RunContext& context) const;

  const PullOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any offered_;
  std::deque<Offer*> waiting_;
  std::unordered_map<LeaseToken, Offer*> held_;
  std::uint64_t sequence_ = 0;
  bool closed_ = false;
};

}  // namespace dlo
