// What document 002 promises as a whole (S2-39), in virtual time.

#include <string>
#include <vector>

#include "retry_room.h"
#include "unit/engine/faults.h"

namespace dlo::testing {
namespace {

class RetryPromises : public RetryRoom {};

INSTANTIATE_TEST_SUITE_P(Offices, RetryPromises, ::testing::Values("memory", "sqlite"),
                         [](const auto& row) { return std::string(row.param); });

// S2-3, S2-39: failure, classifier, strategy, office, processor or hand, success or exhausted.
TEST_P(RetryPromises, AFailureIsClassifiedKeptRetriedAndEndsResolvedOrExhausted) {
  std::vector<std::string> ran;
  on("llamaindex", [&](const Message& task, const RunContext&) {
    ran.push_back(task.id);
    return task.id == "cured" ? works() : fails("connection refused");
  });
  const RecordId cured = report("cured", "connection reset");
  const RecordId lost = report("lost", "connection reset");
  const RecordId denied = report("denied", "permission denied");
  EXPECT_EQ(record(cured).category, "network");
  EXPECT_EQ(record(denied).category, "permission");
  pass(1h);
  EXPECT_EQ(status(cured), Status::resolved);
  EXPECT_EQ(status(lost), Status::exhausted);
  EXPECT_EQ(status(denied), Status::pending) << "kept for people";
  EXPECT_EQ(ran.size(), 4U);
  retry_by_hand(denied);
  processor().drain();
  EXPECT_EQ(ran.back(), "denied");
  const Aggregate numbers = must(office().aggregate({}));
  EXPECT_EQ(numbers.lifetime.enqueued, 3U);
  EXPECT_EQ(numbers.lifetime.retry_success, 1U);
  EXPECT_EQ(numbers.lifetime.exhausted, 1U);
}

TEST_P(RetryPromises, TheSameTaskReportedTwiceIsOneRecord) {  // R2-6
  const RecordId first = report("wf_1", "timeout");
  const RecordId second = report("wf_1", "timeout");
  EXPECT_EQ(first, second);
  Query query;
  query.statuses = {Status::pending};
  query.limit = 10;
  EXPECT_EQ(must(office().list(query)).rows.size(), 1U);
}

TEST_P(RetryPromises, WhatIsMoreImportantRunsFirstAndNothingIsLeftOut) {  // S2-51
  std::vector<std::string> ran;
  on("llamaindex", [&](const Message& task, const RunContext&) {
    ran.push_back(task.id);
    return works();
  });
  options.at_once = 1;
  report("low", "timeout", {}, "{}", Priority::low);
  report("normal", "timeout", {}, "{}", Priority::normal);
  report("high", "timeout", {}, "{}", Priority::high);
  pass(1min);
  EXPECT_EQ(ran, (std::vector<std::string>{"high", "normal", "low"}));
}

TEST_P(RetryPromises, AnOfficeThatFailsDuringACycleDoesNotEndTheProcessor) {  // R2-7, S2-2
  std::atomic<int> runs{0};
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return works();
  });
  std::atomic<bool> broken{true};
  std::atomic<int> refused{0};
  FlakyOffice flaky(office(), [&](const char* call) -> std::optional<Fault> {
    if (!broken || std::string(call) != "claim") return std::nullopt;
    ++refused;
    return Fault{down("test.office")};
  });
  const RecordId id = report("wf_1", "timeout", ask("immediate", 3));
  auto running = must(RetryProcessor::make({flaky, timer(), shelf, executors, clock}, {}));
  running->start();
  EXPECT_TRUE(eventually([&] {
    clock.advance(10ms);
    return refused.load() >= 3;
  })) << "it goes on asking";
  EXPECT_TRUE(running->is_running());
  broken = false;
  EXPECT_TRUE(eventually([&] {
    clock.advance(10ms);
    return status(id) == Status::resolved;
  }));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(running->stop().clean());
}

}  // namespace
}  // namespace dlo::testing
