#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "dlo/api/consumed.h"
#include "dlo/cli/context.h"
#include "dlo/config/config.h"
#include "dlo/core/profile_book.h"
#include "dlo/core/result.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/due_timer.h"
#include "dlo/engine/record.h"
#include "dlo/retries/scheduling_office.h"
#include "dlo/store/office.h"

namespace dlo::cli {

/// What a server could not carry out of `sources` here, and why; it would not start with it.
[[nodiscard]] std::vector<ConfigProblem> consumer_problems(const Config& config);

/// A timer for each of these sources, told of everything that is scheduled in an office, whoever
/// does it: what `office` answers is the office as others are to write it.
class SourceTimers {
 public:
  SourceTimers(Office& office, const Clock& clock, std::size_t count);
  [[nodiscard]] Office& office() noexcept { return *top_; }
  [[nodiscard]] DueTimer& timer(std::size_t index) { return timers_[index]; }

 private:
  std::deque<DueTimer> timers_;
  std::deque<SchedulingOffice> watching_;
  Office* top_;
};

/// The queues of RabbitMQ whose messages a configuration wants to be handled. A broker that is not
/// there is no reason not to start: it is looked for in the background.
/// Threads  `list` and `pause` from any; the others from one, `ask_to_stop` from another.
class Consumers {
 public:
  Consumers();
  ~Consumers();
  Consumers(const Consumers&) = delete;
  Consumers& operator=(const Consumers&) = delete;

  struct Parts {
    Office& office;
    SourceTimers& timers;
    const Clock& clock;
    Origin origin;
    std::string data{};   // of this node: what runs here is marked there; empty: nowhere
    bool shared = false;  // other nodes are on this office
  };
  /// Refused if one cannot be made. Everything outlives `stop`.
  [[nodiscard]] Result<void> start(Context& context, const Config& config, Parts parts);
  /// From now on these profiles decide. Refused, with nothing changed, if one is not among them.
  [[nodiscard]] Result<void> use(const ProfileBook& rules);
  [[nodiscard]] std::vector<api::ConsumedSource> list() const;
  void pause(const std::string& source, bool paused);
  /// Copies that a node which is gone still owed.
  void look_for_owed();
  void ask_to_stop();
  void stop();

 private:
  class Running;
  std::unique_ptr<Running> running_;
};

/// What the API is told of them.
[[nodiscard]] api::ConsumedSources consumed_sources(const Config& config, Consumers& consumers);

}  // namespace dlo::cli
