#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dlo/engine/clock.h"
#include "dlo/engine/due_timer.h"
#include "dlo/engine/office_source.h"
#include "dlo/engine/processor.h"
#include "dlo/retries/catching_office.h"
#include "dlo/retries/executors.h"
#include "dlo/retries/rounds.h"
#include "dlo/retries/rule_shelf.h"
#include "dlo/retries/scheduling_office.h"

namespace dlo {

struct RetryOptions {
  Origin origin{};
  std::size_t at_once = 8;  // retries that run at the same time
  Millis lease_for{30'000};
  Millis timeout{0};     // of one run; 0: none
  Millis grace{10'000};  // for what runs when it is stopped
  /// How often, at least, to look for leases of others that have ended, and whether the clock was
  /// set past what is scheduled.
  Millis take_back_after = std::chrono::hours{1};
  /// Sources whose own workers run what is due there.
  std::function<std::vector<std::string>()> without{};
  EngineEvents* events = nullptr;
  std::uint64_t seed = 0;  // of jitter; 0: drawn
};

/// Runs what is due in an office (S2-2, S2-17). Claims by lease, marks the start, runs the executor
/// that the task names, writes the outcome under the lease: a run that was cut off is run again
/// when its lease has ended, one that was stopped at once, and neither is lost or doubled. A
/// failure that is returned is a failure. Where the office cannot be reached it goes on trying.
/// What a killed process left is taken back when its lease has ended, though a circuit be open.
/// Threads  Any method from any thread.
class RetryProcessor {
 public:
  /// References outlive it. `timer` is told by `SchedulingOffice`, of which `office` is one.
  struct Parts {
    Office& office;
    DueTimer& timer;
    RuleShelf& rules;
    const Executors& executors;
    const Clock& clock;
  };
  [[nodiscard]] static Result<std::unique_ptr<RetryProcessor>> make(const Parts& parts,
                                                                    RetryOptions options);
  ~RetryProcessor();
  RetryProcessor(const RetryProcessor&) = delete;
  RetryProcessor& operator=(const RetryProcessor&) = delete;

  /// A thread of its own works until `stop`.
  void start();
  /// What runs has `grace` to finish; what is told to stop goes back and has cost no attempt (I8).
  StopReport stop();
  [[nodiscard]] bool is_running() const noexcept { return running_.load(); }

  /// What is due now, on this thread; answers how many were run.
  std::size_t drain() { return processor_->drain(); }

  /// A circuit was closed by hand: what waited for it is sent at once, also if an earlier process
  /// put it off.
  void circuit_closed();

  [[nodiscard]] ProcessorStats stats() const { return processor_->stats(); }

 private:
  RetryProcessor(const Parts& parts, RetryOptions options, std::shared_ptr<const RuleBook> rules);

  const RetryOptions options_;
  CatchingOffice office_;
  OfficeSource source_;
  std::unique_ptr<Processor> processor_;
  std::unique_ptr<Rounds> rounds_;  // while it runs
  DueTimer& timer_;
  const Clock& clock_;
  std::atomic<bool> running_{false};
  std::thread thread_;
};

}  // namespace dlo
