#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unit/engine/faults.h"
#include "unit/retries/retry_room.h"

#include "dlo/retries/dependency_office.h"
#include "dlo/retries/task_book.h"
#include "dlo/retries/task_desk.h"

namespace dlo::testing {

using Names = std::vector<std::string>;

/// Tasks that wait for others, in virtual time.
class DependencyRoom : public RetryRoom {
 protected:
  /// The layers of a server: the timer's office below, that of dependencies above.
  void begin() {
    processor_.reset();
    flaky_ = std::make_unique<FlakyOffice>(
        office(), [this](std::span<const Change> changes) -> std::optional<Error> {
          if (writes_left_ && (*writes_left_)-- <= 0) return down("apply");
          return changes.empty() ? std::nullopt : std::optional<Error>{};
        });
    waits_ = std::make_unique<Dependencies>(*flaky_, clock);
    layered_ = std::make_unique<DependencyOffice>(*flaky_, *waits_);
    must(waits_->load());
    TaskDesk::Parts parts{*layered_, clock};
    parts.dependencies = waits_.get();
    desk_ = std::make_unique<TaskDesk>(std::move(parts));
    if (executors.empty()) {
      on("llamaindex", [this](const Message& task, const RunContext&) {
        ran_.push_back(task.id);
        return works();
      });
    }
  }
  void SetUp() override { begin(); }
  void kill_and_start() {
    desk_.reset();
    processor_.reset();
    layered_.reset();
    waits_.reset();
    flaky_.reset();
    writes_left_.reset();
    restart();
    begin();
  }
  TaskAnswer report(const std::string& task_id, Names after = {},
                    const std::string& policy = "immediate") {
    auto task = std::make_shared<Message>();
    task->id = task_id;
    task->source = "workflows";
    task->payload = "{}";
    TaskReport report;
    report.report.message = std::move(task);
    report.report.failure.text = "busy";
    report.profile = "workflow";
    report.asked = ask(policy, 3);
    report.depends_on = std::move(after);
    return desk_->report(std::move(report));
  }
  /// Everything that is due now.
  Names run() {
    if (!processor_) {
      processor_ =
          must(RetryProcessor::make({*layered_, timer(), shelf, executors, clock}, options));
    }
    while (processor_->drain() > 0) {
    }
    return std::exchange(ran_, {});
  }
  DeadLetter task(const std::string& id) { return must(book().find(id)).value(); }
  TaskBook book() { return {*layered_, clock}; }
  void restore(const std::string& id) {
    Transition back;
    back.id = task(id).id;
    back.to = Status::pending;
    back.now = clock.now();
    const Change change = back;
    must(layered_->apply({&change, 1}));
  }

  std::optional<int> writes_left_;
  std::unique_ptr<FlakyOffice> flaky_;
  std::unique_ptr<Dependencies> waits_;
  std::unique_ptr<DependencyOffice> layered_;
  std::unique_ptr<TaskDesk> desk_;
  std::unique_ptr<RetryProcessor> processor_;
  Names ran_;
};

}  // namespace dlo::testing
