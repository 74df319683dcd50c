#pragma once

#include <atomic>
#include <mutex>

#include "peers/support/clock.h"
#include "peers/support/latencies.h"

namespace dlo::peers {

/// What one timed piece of work gave.
struct Measured {
  long messages = 0;
  Seconds took{0};
  Latencies latencies;
};

/// Times one request; work() says how many messages it moved.
template <typename Work>
[[nodiscard]] Measured time_one_request(Work work) {
  const Instant start = Clock::now();
  Measured measured;
  measured.messages = work();
  const Duration took = Clock::now() - start;
  measured.took = took;
  measured.latencies.add(took);
  return measured;
}

/// A run of message numbers: first, first + 1, ...
struct Numbers {
  long first = 0;
  long count = 0;
};

/// How much a piece of work may do: so many messages, and no new ones after so long. The clock
/// starts at the first take(), when connections are open. Any thread.
class Budget {
 public:
  Budget(long messages, Seconds limit) : messages_(messages), limit_(limit) {}

  /// Starts the clock now, for work that does not begin with a take().
  void start();

  /// The next numbers, at most `most`; a count of 0 says that the budget is spent.
  Numbers take(long most = 1);

  /// How many numbers were given out so far, and whether there are no more.
  [[nodiscard]] long taken() const noexcept { return taken_; }
  [[nodiscard]] bool spent() const noexcept { return spent_; }

  /// The result, with the time since the first take().
  [[nodiscard]] Measured measured(long messages, Latencies latencies) const;

 private:
  const long messages_;
  const Seconds limit_;
  std::once_flag started_;
  Instant start_{};
  std::atomic<long> taken_{0};
  std::atomic<bool> spent_{false};
};

/// An open loop: message n is due at start + n x interval, whatever became of those before.
class Pace {
 public:
  Pace(long messages, Duration interval)
      : messages_(messages), interval_(interval), start_(Clock::now()) {}

  [[nodiscard]] long messages() const noexcept { return messages_; }
  [[nodiscard]] Instant due(long number) const noexcept { return start_ + number * interval_; }
  [[nodiscard]] Duration interval() const noexcept { return interval_; }

  /// Starts now: what was prepared before does not count.
  void start() { start_ = Clock::now(); }

  /// When the next message is due, for a loop that sleeps until then.
  [[nodiscard]] Instant wake() const noexcept;

  /// Calls send(number) for every message that is due and was not sent yet.
  template <typename Send>
  void send_due(Send send) {
    while (sent_ < messages_ && Clock::now() >= due(sent_)) send(sent_++);
  }

  /// The result for what has arrived, with the time since the start.
  [[nodiscard]] Measured measured(long messages, Latencies latencies) const;

 private:
  long messages_;
  Duration interval_;
  Instant start_;
  long sent_ = 0;
};

}  // namespace dlo::peers
