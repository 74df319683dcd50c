#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.h"
#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/core/retry_request.h"
#include "dlo/engine/report_desk.h"
#include "dlo/retries/retry_processor.h"
#include "dlo/store/memory/memory_office.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::testing {

/// A circuit that opens after so many failures in a row, for so long.
inline HandlerOptions guarded_by(std::uint32_t consecutive, Millis cool_down) {
  HandlerOptions options;
  options.breaker = BreakerPolicy{};
  options.breaker->consecutive = consecutive;
  options.breaker->cool_down = cool_down;
  return options;
}

using namespace std::chrono_literals;

inline Outcome works() {
  return {};
}
inline Outcome fails(std::string text) {
  Outcome outcome{OutcomeKind::failed, {}};
  outcome.failure.text = std::move(text);
  return outcome;
}

/// A retry processor in virtual time over each kind of office.
class RetryRoom : public ::testing::TestWithParam<const char*> {
 protected:
  RetryRoom() { open(); }

  void open() {
    kept_.reset();
    if (GetParam() == std::string("memory")) {
      if (!memory_) memory_ = std::make_shared<MemoryOffice>();
      kept_ = memory_;
    } else {
      kept_ = must(SqliteOffice::open(directory_.path()));
    }
    timer_ = std::make_unique<DueTimer>(clock, interval);
    office_ = std::make_unique<SchedulingOffice>(*kept_, *timer_);
  }
  /// As after a kill: what was held is still leased.
  void restart() {
    processor_.reset();
    office_.reset();
    open();
  }

  Office& office() { return *office_; }
  DueTimer& timer() { return *timer_; }

  void on(const std::string& adapter, FunctionHandler::Function run, HandlerOptions how = {}) {
    executors.set(adapter, std::make_shared<FunctionHandler>(std::move(run)), std::move(how));
  }
  RetryProcessor& processor() {
    if (!processor_) {
      processor_ =
          must(RetryProcessor::make({*office_, *timer_, shelf, executors, clock}, options));
    }
    return *processor_;
  }
  /// Every minute what is due is run.
  void pass(Millis time, Millis step = 1min) {
    for (Millis gone{0}; gone < time; gone += step) {
      clock.advance(step);
      processor().drain();
    }
  }

  /// A task that failed elsewhere, handed over.
  RecordId report(const std::string& task_id, const std::string& error, RetryRequest asked = {},
                  std::string payload = "{}", Priority priority = Priority::normal,
                  const std::string& targets = "", std::string metadata = "") {
    auto task = std::make_shared<Message>();
    task->id = task_id;
    task->source = "workflows";
    task->payload = std::move(payload);
    task->priority = priority;
    task->enqueued_at = clock.now();
    put_request(task->headers, asked);
    if (!targets.empty()) task->headers.push_back({std::string(targets_header), targets});
    Report report;
    report.message = task;
    report.failure.text = error;
    report.metadata = std::move(metadata);
    report.counters = RuleBook::started({});
    report.counters.fetch = 1;
    ReportDesk desk(*office_, must(shelf.find(profile, *task)), {}, clock);
    return must(desk.report({std::move(report)})).at(0).record.value();
  }
  RetryRequest ask(const std::string& policy, std::uint32_t max_retries) {
    return {must(parse_workflow_policy(policy)), max_retries};
  }

  DeadLetter record(const RecordId& id) { return must(office().get(id)).record; }
  Status status(const RecordId& id) { return record(id).status; }
  void retry_by_hand(const RecordId& id) {
    Transition asked;
    asked.id = id;
    asked.to = Status::pending;
    asked.now = clock.now();
    asked.next_retry_at = clock.now();
    const Change change = asked;
    must(office().apply({&change, 1}));
  }

  ManualClock clock{noon};
  Millis interval{0};
  RetryOptions options;
  RuleShelf shelf{ProfileBook{}};
  Executors executors{"llamaindex"};
  std::string profile = "workflow";

 private:
  TemporaryDirectory directory_;
  std::shared_ptr<Office> memory_;
  std::shared_ptr<Office> kept_;
  std::unique_ptr<DueTimer> timer_;
  std::unique_ptr<SchedulingOffice> office_;
  std::unique_ptr<RetryProcessor> processor_;
};

}  // namespace dlo::testing
