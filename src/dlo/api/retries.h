#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dlo/api/retry_watch.h"
#include "dlo/api/router.h"
#include "dlo/core/profile_book.h"
#include "dlo/core/retry_health.h"
#include "dlo/engine/clock.h"
#include "dlo/jobs/replay.h"
#include "dlo/retries/dependencies.h"
#include "dlo/retries/report_intake.h"
#include "dlo/retries/retry_processor.h"

namespace dlo::api {

/// Scheduled retries as configured (docs/retries.md).
struct RetrySettings {
  bool enabled = true;                     // false: no reports, no retries (S2-9)
  bool processor = true;                   // false: what is due waits (S2-13)
  std::shared_ptr<Executors> executors{};  // null or empty: nobody runs retries here
  std::vector<std::pair<std::string, std::string>> queues{};  // executor and the queue it sends to
  Millis interval{0};  // zero: each retry at its own moment (S2-14)
  std::size_t at_once = 8;
  Millis timeout{0};
  Millis lease{30'000};
  Millis take_back_after{5'000};                   // leases that ended, be they of other servers
  Millis depends_timeout = usual_depends_timeout;  // how long unknown tasks are waited for
  std::function<void(const std::string&)> log{};   // one line for people
  bool watched = false;  // whether this process tells of alerts and of circuits that move
};

/// The retry processor of a server, and what can be asked and done about it:
///   GET  /metrics                           the same numbers, as Prometheus reads them
///   GET  /v1/retries                        statistics and alerts of document 002 (S2-25, S2-43)
///   POST /v1/retries/circuits/{name}/open   nothing is sent to that executor until it is closed
///   POST /v1/retries/circuits/{name}/close
class Retries {
 public:
  struct Parts {
    Office& office;
    DueTimer& timer;
    const Clock& clock;
    const ReportIntake& intake;
    const FallbackShelf& shelf;
    ReplayTargets targets;  // for executors that send to a queue
    Origin origin;
    std::function<std::vector<std::string>()> queues;  // whose own workers run what is due there
    std::function<Dependencies::Numbers()> dependencies{};
    std::function<void()> wake{};  // `watch().tell` has something to do
  };
  Retries(Parts parts, RetrySettings settings, ProfileBook rules, RegexCompiler regex);
  ~Retries();
  Retries(const Retries&) = delete;
  Retries& operator=(const Retries&) = delete;

  [[nodiscard]] std::vector<Route> routes();
  /// Whether somebody here runs tasks that are due.
  [[nodiscard]] bool runs() const noexcept { return processor_ != nullptr; }
  [[nodiscard]] Millis take_back_after() const noexcept { return settings_.take_back_after; }
  void use(const ProfileBook& rules);
  /// What the processor would take.
  [[nodiscard]] ClaimFrom from() const;
  /// Opens and closes circuits by hand, as the office says somebody did, perhaps elsewhere.
  void follow_circuits(TimePoint now);
  void stop();
  [[nodiscard]] bool is_watched() const noexcept { return settings_.watched; }
  [[nodiscard]] RetryWatch& watch() noexcept { return watch_; }

 private:
  void start();
  void say(const std::string& line) const;
  [[nodiscard]] HttpResponse statistics();
  [[nodiscard]] HttpResponse metrics();
  [[nodiscard]] HttpResponse force(const Request& request, bool open);
  void force(HandlerEntry& entry, bool open, TimePoint now);
  [[nodiscard]] Capacity capacity() const;
  [[nodiscard]] RetryNumbers health(const Aggregate& numbers) const;

  Parts parts_;
  const RetrySettings settings_;
  RuleShelf shelf_;
  RetryWatch watch_;
  std::unique_ptr<RetryProcessor> processor_;
  mutable std::mutex mutex_;
  ProfileBook rules_;
};

}  // namespace dlo::api
