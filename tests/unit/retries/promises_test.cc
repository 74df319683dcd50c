// What document 002 promises as a whole (S2-39), in virtual time.

#include <atomic>
#include <malloc.h>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "retry_room.h"
#include "unit/engine/faults.h"

#include "dlo/core/identity.h"

namespace dlo::testing {
namespace {

class RetryPromises : public RetryRoom {
 protected:
  void expect_tasks_to_wait_for_a_target_that_is_down();
};

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

TEST_P(RetryPromises, AnOfficeThatThrowsDuringACycleDoesNotEndTheProcessor) {  // R2-7, S2-2
  std::atomic<int> runs{0};
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return works();
  });
  std::mutex mutex;
  std::map<std::string, int> thrown;
  FlakyOffice flaky(office(), [&](const char* call) -> std::optional<Fault> {
    const std::lock_guard lock(mutex);
    if (++thrown[call] == 1) throw std::bad_alloc();
    if (thrown[call] == 2) throw 7;
    return std::nullopt;
  });
  const RecordId id = report("wf_1", "timeout", ask("immediate", 3));
  auto running = must(RetryProcessor::make({flaky, timer(), shelf, executors, clock}, {}));
  running->start();
  EXPECT_TRUE(eventually([&] {
    clock.advance(1s);  // what was claimed and could not be read is leased until then
    return status(id) == Status::resolved;
  }));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(running->stop().clean());
  for (const char* call : {"claim", "get", "aggregate", "apply"}) {
    EXPECT_GT(thrown[call], 2) << call << " threw, and worked after that";
  }
}

TEST_P(RetryPromises, OnceTheProcessorIsStartedItsCallbackGetsEachTaskAndItsRepos) {  // S2-17
  std::atomic<int> runs{0};
  std::string task;
  std::vector<std::string> repos;
  on("llamaindex", [&](const Message& message, const RunContext&) {
    task = message.payload.value_or("");
    repos = targets_of(message);
    ++runs;
    return works();
  });
  const RecordId id = report("wf_1", "timeout", {}, R"({"type":"code_sweep"})", Priority::normal,
                             R"(["/repo/a","/repo/b"])");
  clock.advance(1h);
  (void)processor();  // there, and not started
  EXPECT_FALSE(processor().is_running());
  EXPECT_EQ(status(id), Status::pending);
  EXPECT_EQ(runs, 0);
  processor().start();
  ASSERT_TRUE(eventually([&] { return status(id) == Status::resolved; }));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(task, R"({"type":"code_sweep"})");
  EXPECT_EQ(repos, (std::vector<std::string>{"/repo/a", "/repo/b"}));
}

/// Bytes that are allocated; 0 where a sanitizer counts otherwise.
std::size_t allocated() {
  return ::mallinfo2().uordblks;
}

// The document says about 1 KB a task in memory, 10 000 of them by default. An office on disk keeps
// them there, and the processor none at all: what waits costs it nothing.
TEST_P(RetryPromises, TenThousandTasksThatWaitFitIntoAFewMegabytes) {  // S2-46
  const std::size_t empty = allocated();
  if (empty == 0) GTEST_SKIP() << "memory is not counted here";
  const auto keep = [this](std::uint64_t from, std::uint64_t to) {
    std::vector<Change> some;
    for (std::uint64_t n = from; n < to; ++n) {
      auto task = std::make_shared<Message>();
      task->id = "wf_" + std::to_string(n);
      task->source = "workflows";
      task->payload = R"({"type":"code_sweep","n":)" + std::to_string(n) + "}";
      DeadLetter waits;
      waits.id = RecordId{identify(*task)};
      waits.message = task;
      waits.profile = "workflow";
      waits.failure.text = "connection reset";
      waits.policy = "exponential base=1m factor=2 cap=1h";
      waits.next_retry_at = clock.now() + 24h;
      some.emplace_back(Append{std::make_shared<DeadLetter>(std::move(waits)), {}});
    }
    must(office().apply(some));
  };
  for (std::uint64_t n = 0; n < 2'000; n += 500) keep(n, n + 500);
  processor().drain();
  const std::size_t few = allocated();
  for (std::uint64_t n = 2'000; n < 10'000; n += 500) keep(n, n + 500);
  processor().drain();
  const double each = (static_cast<double>(allocated()) - static_cast<double>(few)) / 8'000;
  if (GetParam() == std::string("memory")) {
    EXPECT_LT(each, 2'500) << "bytes a task, indexes and all";
  } else {
    EXPECT_LT(each, 1'000) << "they are on the disk: what grows is its cache, up to its bound";
  }
  EXPECT_EQ(timer().next(), noon + 24h);
}

// An executor that is down is not the fault of the tasks: they wait, and its circuit opens.
void RetryPromises::expect_tasks_to_wait_for_a_target_that_is_down() {
  int runs = 0;
  const HandlerOptions guarded = guarded_by(3, 10min);
  on(
      "prefect",
      [&](const Message&, const RunContext&) {
        ++runs;
        Outcome down = fails("POST http://h/x failed (network, connection_refused): no route");
        down.failure.code = "connection_refused";
        return down;
      },
      guarded);
  std::vector<RecordId> ids;
  for (int i = 0; i < 8; ++i) {
    ids.push_back(report("wf_" + std::to_string(i), "timeout", {}, R"({"adapter": "prefect"})"));
  }
  pass(2min);
  EXPECT_EQ(runs, 3) << "then the circuit is open";
  for (const RecordId& id : ids) {
    EXPECT_EQ(record(id).category, "network");
    EXPECT_TRUE(record(id).next_retry_at) << "it is tried again";
  }
}

TEST_P(RetryPromises, AnExecutorThatIsDownEndsNoTaskAndOpensItsCircuit) {  // S2-2, S2-8, R21
  profile = "workflow";
  expect_tasks_to_wait_for_a_target_that_is_down();
}

TEST_P(RetryPromises, AnExecutorThatIsDownEndsNoTaskOfTheSafeProfileEither) {
  profile = "workflow+safe";
  expect_tasks_to_wait_for_a_target_that_is_down();
}

// 5xx that the words of `workflow` call permanent are not retried, and still speak of the target.
TEST_P(RetryPromises, AnExecutorThatAnswersWithServerErrorsOpensItsCircuit) {  // R21
  int runs = 0;
  const HandlerOptions guarded = guarded_by(3, 10min);
  on(
      "prefect",
      [&](const Message&, const RunContext&) {
        ++runs;
        Outcome broken = fails("HTTP 500");
        broken.failure.status = 500;
        return broken;
      },
      guarded);
  for (int i = 0; i < 8; ++i) {
    report("wf_" + std::to_string(i), "timeout", {}, R"({"adapter": "prefect"})");
  }
  pass(2min);
  EXPECT_EQ(runs, 3);
}

TEST_P(RetryPromises, ARetryByHandBeyondTheLimitIsExhaustedWhateverItsError) {  // R2-5
  on("llamaindex", [](const Message&, const RunContext&) { return fails("permission denied"); });
  const RecordId id = report("wf_1", "permission denied");
  for (int n = 1; n <= 5; ++n) {
    retry_by_hand(id);
    processor().drain();
    EXPECT_EQ(status(id), n < 3 ? Status::pending : Status::exhausted) << n;
    EXPECT_EQ(record(id).counters.retry, static_cast<std::uint32_t>(n));
  }
  EXPECT_EQ(record(id).policy, "never") << "S2-4, S2-8";
}

}  // namespace
}  // namespace dlo::testing
