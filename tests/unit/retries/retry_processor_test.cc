// Due records are run at their moment, until they work or are exhausted (document 002).

#include <atomic>
#include <mutex>
#include <thread>

#include "retry_room.h"

namespace dlo::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Offices, RetryRoom, ::testing::Values("memory", "sqlite"),
                         [](const auto& row) { return std::string(row.param); });

TEST_P(RetryRoom, ExponentialRetriesComeAfterOneTwoAndFourMinutesThenItIsExhausted) {  // S2-6
  std::vector<Millis> at;
  on("llamaindex", [&](const Message&, const RunContext&) {
    at.push_back(clock.now() - noon);
    return fails("connection refused");
  });
  const RecordId id = report("wf_1", "connection refused");
  EXPECT_EQ(status(id), Status::pending) << "handed over: a dead letter, not a message that waits";
  EXPECT_EQ(record(id).next_retry_at, noon + 1min);
  pass(24h);
  EXPECT_EQ(at, (std::vector<Millis>{1min, 3min, 7min}));
  const DeadLetter kept = record(id);
  EXPECT_EQ(kept.status, Status::exhausted);
  EXPECT_EQ(kept.counters.retry, 3U);
  EXPECT_EQ(kept.counters.total, 4U) << "the first failure, and three retries";
  EXPECT_FALSE(kept.next_retry_at);
  EXPECT_EQ(must(office().get(id)).attempts.size(), 4U);
}

TEST_P(RetryRoom, LinearRetriesComeFiveMinutesLaterEachTime) {  // S2-5
  std::vector<Millis> at;
  on("llamaindex", [&](const Message&, const RunContext&) {
    at.push_back(clock.now() - noon);
    return fails("out of memory");
  });
  report("wf_1", "out of memory");
  pass(2h);
  EXPECT_EQ(at, (std::vector<Millis>{5min, 15min, 30min}));
}

TEST_P(RetryRoom, TheExponentialWaitIsNeverLongerThanAnHour) {  // S2-6
  std::vector<Millis> at;
  Millis before{0};
  on("llamaindex", [&](const Message&, const RunContext&) {
    at.push_back(clock.now() - noon - before);
    before = clock.now() - noon;
    return fails("busy");
  });
  report("wf_1", "busy", ask("exponential", 9));
  pass(24h);
  EXPECT_EQ(at, (std::vector<Millis>{1min, 2min, 4min, 8min, 16min, 32min, 1h, 1h, 1h}));
}

TEST_P(RetryRoom, AnImmediateRetryComesAtOnce) {  // S2-7
  int runs = 0;
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return fails("flaky");
  });
  const RecordId id = report("wf_1", "flaky", ask("immediate", 5));
  processor().drain();
  EXPECT_EQ(runs, 5) << "without the clock moving";
  EXPECT_EQ(status(id), Status::exhausted);
}

TEST_P(RetryRoom, NeverIsKeptAndNotRetried) {  // S2-4, R2-6
  int runs = 0;
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return works();
  });
  const RecordId by_category = report("wf_1", "permission denied");
  const RecordId asked_for = report("wf_2", "connection lost", ask("never", 3));
  pass(24h, 10min);
  EXPECT_EQ(runs, 0);
  for (const RecordId& id : {by_category, asked_for}) {
    EXPECT_EQ(status(id), Status::pending);
    EXPECT_FALSE(record(id).next_retry_at) << "it says that nothing will happen";
  }
  EXPECT_EQ(record(asked_for).policy, "never");
  EXPECT_EQ(record(asked_for).reason, "NeverRetried");
}

TEST_P(RetryRoom, NoRetriesAtAllMeansExhaustedAtOnce) {  // R2-6, S2-32
  const RecordId id = report("wf_1", "connection lost", ask("exponential", 0));
  EXPECT_EQ(status(id), Status::exhausted);
  EXPECT_EQ(record(id).limit, 0U);
}

TEST_P(RetryRoom, APolicyThatATaskAskedForHoldsWhateverItsErrorIs) {  // S2-18
  int runs = 0;
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return fails(runs == 1 ? "out of memory" : "access denied");
  });
  const RecordId id = report("wf_1", "who knows", ask("fixed base=1m", 5));
  pass(20min);
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(status(id), Status::exhausted);
}

TEST_P(RetryRoom, ARetryThatWorksClosesTheTask) {
  on("llamaindex", [](const Message&, const RunContext&) { return works(); });
  const RecordId id = report("wf_1", "timeout");
  pass(1min);
  EXPECT_EQ(status(id), Status::resolved);
  EXPECT_EQ(record(id).resolution.value_or(Resolution{}).how, "retried");
  EXPECT_EQ(must(office().aggregate({})).lifetime.retry_success, 1U);
}

TEST_P(RetryRoom, AFailureThatIsReturnedIsAFailure) {  // R2-2, I5
  on("llamaindex", [](const Message&, const RunContext&) { return fails("partial: timeout"); });
  const RecordId id = report("wf_1", "timeout");
  pass(1min);
  EXPECT_EQ(status(id), Status::pending);
  EXPECT_EQ(record(id).failure.text, "partial: timeout");
}

TEST_P(RetryRoom, AnExecutorThatThrowsEndsItsRunAndNothingElse) {  // R2-7
  int runs = 0;
  on("llamaindex", [&](const Message& task, const RunContext&) -> Outcome {
    ++runs;
    if (task.id == "wf_1") throw std::runtime_error("connection reset");
    return works();
  });
  const RecordId bad = report("wf_1", "timeout");
  const RecordId good = report("wf_2", "timeout");
  pass(1min);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(record(bad).failure.text, "connection reset");
  EXPECT_EQ(status(good), Status::resolved);
}

TEST_P(RetryRoom, AManualRetryThatFailsAtTheLimitIsExhausted) {  // R2-5
  on("llamaindex", [](const Message&, const RunContext&) { return fails("timeout"); });
  const RecordId id = report("wf_1", "timeout", ask("exponential", 1));
  retry_by_hand(id);
  processor().drain();
  EXPECT_EQ(status(id), Status::exhausted) << "the count is the same whichever way it was run";
  EXPECT_EQ(record(id).counters.retry, 1U);
  retry_by_hand(id);
  processor().drain();
  EXPECT_EQ(status(id), Status::exhausted) << "and it does not go back to pending for ever";
  EXPECT_EQ(record(id).counters.retry, 2U);
}

TEST_P(RetryRoom, AManualAndAnAutomaticRetryNeverRunTheSameTaskTwice) {  // R2-5
  int runs = 0;
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return works();
  });
  const RecordId id = report("wf_1", "timeout");
  clock.advance(1min);
  const auto held = must(office().claim(1, clock.now(), 30s, {}));
  ASSERT_EQ(held.size(), 1U);
  retry_by_hand(id);
  processor().drain();
  EXPECT_EQ(runs, 1) << "people overrule workers, and whoever held it settles nothing";
  Transition late;
  late.id = id;
  late.lease = held[0].lease;
  late.to = Status::exhausted;
  late.now = clock.now();
  const Change change = late;
  EXPECT_FALSE(office().apply({&change, 1}));
  EXPECT_EQ(status(id), Status::resolved);
}

TEST_P(RetryRoom, EveryRunCarriesAFenceAndTheIdOfItsRecord) {
  RunContext seen;
  on("llamaindex", [&](const Message&, const RunContext& context) {
    seen = context;
    return works();
  });
  const RecordId id = report("", "timeout");
  pass(1min);
  EXPECT_EQ(seen.id, id);
  EXPECT_NE(seen.fence, LeaseToken{});
  EXPECT_EQ(seen.counters.retry, 1U);
}

TEST_P(RetryRoom, AnExecutorIsToldTheTargetsAndTheMetadataOfItsTask) {  // S2-17, S2-44
  std::vector<std::string> targets;
  RunContext seen;
  on("llamaindex", [&](const Message& task, const RunContext& context) {
    targets = targets_of(task);
    seen = context;
    return works();
  });
  report("wf_1", "timeout", {}, "{}", Priority::normal, R"(["/a/repo", {"host": "b"}])",
         R"({"slos":{"max_delay_minutes":15}})");
  pass(1min);
  EXPECT_EQ(targets, (std::vector<std::string>{"/a/repo", R"({"host": "b"})"}));
  EXPECT_EQ(seen.metadata, R"({"slos":{"max_delay_minutes":15}})");
  EXPECT_EQ(seen.occurrence, 1U);
}

TEST(Targets, WhatIsNoListIsNoTarget) {  // S2-17
  Message task;
  EXPECT_TRUE(targets_of(task).empty());
  for (const char* odd : {"", "[", "7", R"({"a":1})"}) {
    task.headers = {{std::string(targets_header), odd}};
    EXPECT_TRUE(targets_of(task).empty()) << odd;
  }
}

TEST_P(RetryRoom, ARunThatWasKilledCountsAndIsRunAgainWhenItsLeaseEnds) {  // R2-4, I7
  int runs = 0;
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return works();
  });
  const RecordId id = report("wf_1", "timeout");
  clock.advance(1min);
  {  // a process that claims, marks the start, and dies
    OfficeSource other(office(), OfficeSource::Options{});
    const auto taken = must(other.receive({1, 30s, {}}, clock.now()));
    must(other.start(std::vector{taken.at(0).lease}, clock.now()));
  }
  EXPECT_EQ(status(id), Status::retrying);
  restart();
  processor().drain();
  EXPECT_EQ(runs, 0) << "the lease is not over";
  pass(1min, 30s);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(status(id), Status::resolved);
  EXPECT_EQ(record(id).counters.retry, 2U) << "the run that was cut off has counted";
}

TEST_P(RetryRoom, RestartForgetsNoSchedule) {  // R2-3, I6, S2-48
  if (GetParam() == std::string("memory")) GTEST_SKIP() << "memory is lost on restart (S2-48)";
  int runs = 0;
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return works();
  });
  report("wf_1", "timeout");
  restart();
  processor().drain();
  EXPECT_EQ(runs, 0);
  pass(1min);
  EXPECT_EQ(runs, 1);
}

TEST_P(RetryRoom, AStopReturnsWhatRunsToPendingAndCostsNothing) {  // R2-4, I8
  std::atomic<bool> inside{false};
  on("llamaindex", [&](const Message&, const RunContext& context) {
    inside = true;
    while (!context.stop.stop_requested()) std::this_thread::yield();
    return fails("told to stop");
  });
  options.grace = 0ms;
  const RecordId id = report("wf_1", "timeout");
  const DeadLetter before = record(id);
  clock.advance(1min);
  processor().start();
  EXPECT_TRUE(processor().is_running());
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  EXPECT_TRUE(processor().stop().clean());
  EXPECT_FALSE(processor().is_running());
  EXPECT_EQ(status(id), Status::pending);
  EXPECT_EQ(record(id).counters, before.counters);
  EXPECT_LE(record(id).next_retry_at, clock.now()) << "due at once";
}

TEST_P(RetryRoom, WhatIsReadyRunsInParallelUpToTheLimit) {  // S2-47, R2-6
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<bool> go{false};
  on("llamaindex", [&](const Message&, const RunContext&) {
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    while (!go) std::this_thread::yield();
    --inside;
    return works();
  });
  options.at_once = 3;
  std::vector<RecordId> ids;
  for (int i = 0; i < 7; ++i) ids.push_back(report("wf_" + std::to_string(i), "timeout"));
  clock.advance(1min);
  processor().start();
  EXPECT_TRUE(eventually([&] { return inside.load() == 3; }));
  go = true;
  EXPECT_TRUE(eventually([&] {
    return std::ranges::all_of(ids,
                               [&](const RecordId& id) { return status(id) == Status::resolved; });
  }));
  EXPECT_EQ(most.load(), 3);
}

TEST_P(RetryRoom, AnExecutorHasItsOwnLimitAndOthersGoOn) {  // S2-47
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> others{0};
  std::atomic<bool> go{false};
  HandlerOptions two;
  two.at_once = 2;
  on(
      "prefect",
      [&](const Message&, const RunContext&) {
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        while (!go) std::this_thread::yield();
        --inside;
        return works();
      },
      two);
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++others;
    return works();
  });
  options.at_once = 4;
  std::vector<RecordId> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(report("wf_" + std::to_string(i), "timeout", {}, R"({"adapter": "prefect"})"));
  }
  clock.advance(1s);  // so the others are due last of all
  for (int i = 0; i < 10; ++i) report("other_" + std::to_string(i), "timeout");
  clock.advance(1min);
  processor().start();
  EXPECT_TRUE(eventually([&] { return others.load() == 10 && inside.load() == 2; }))
      << others << " of 10 ran beside " << inside;
  std::uint32_t retries = 0;
  for (const RecordId& id : slow) retries += record(id).counters.retry;
  EXPECT_EQ(retries, 2U) << "who waits for a place has not begun";
  go = true;
  EXPECT_TRUE(eventually([&] {
    clock.advance(1s);
    return std::ranges::all_of(slow,
                               [&](const RecordId& id) { return status(id) == Status::resolved; });
  }));
  EXPECT_EQ(most.load(), 2);
}

TEST_P(RetryRoom, TheExecutorIsTheOneTheTaskNames) {  // S2-35
  std::vector<std::string> ran;
  for (const char* name : {"llamaindex", "prefect"}) {
    on(name, [&ran, name](const Message& task, const RunContext&) {
      ran.push_back(task.id + " by " + name);
      return works();
    });
  }
  report("a", "timeout", {}, R"({"type": "code_sweep"})");
  report("b", "timeout", {}, R"({"type": "x", "adapter": "prefect"})");
  const RecordId unknown = report("c", "timeout", {}, R"({"adapter": "airflow"})");
  pass(1min);
  EXPECT_EQ(ran, (std::vector<std::string>{"a by llamaindex", "b by prefect"}));
  EXPECT_EQ(record(unknown).failure.text,
            "no executor \"airflow\" is registered; there are: llamaindex, prefect");
  EXPECT_EQ(record(unknown).counters.failure, 2U);
}

TEST_P(RetryRoom, AMillionThatWaitCostNothingBecauseTheOfficeIsAskedWhenSomethingIsDue) {
  on("llamaindex", [](const Message&, const RunContext&) { return works(); });
  report("wf_1", "timeout");
  processor().drain();
  EXPECT_EQ(timer().next(), noon + 1min);
  report("wf_2", "timeout", ask("fixed base=10s", 3));
  EXPECT_EQ(timer().next(), noon + 10s) << "whoever schedules tells the timer";
  clock.advance(10s);
  processor().drain();
  EXPECT_EQ(timer().next(), noon + 40s) << "then a lease would have ended";
  clock.advance(30s);
  processor().drain();
  EXPECT_EQ(timer().next(), noon + 1min);
  pass(3min);
  EXPECT_EQ(timer().next(), std::nullopt) << "nothing is scheduled any more";
}

TEST_P(RetryRoom, SourcesWithWorkersOfTheirOwnAreLeftToThem) {
  int runs = 0;
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return works();
  });
  options.without = [] { return std::vector<std::string>{"workflows"}; };
  report("wf_1", "timeout");
  pass(5min);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(must(office().claim(9, clock.now(), 30s, "workflows")).size(), 1U);
}

TEST_P(RetryRoom, AnOpenCircuitBurnsNoAttemptsAndDelaysOnlyItsTarget) {  // S2-2, R21
  int runs = 0;
  int others = 0;
  bool well = false;
  HandlerOptions guarded;
  guarded.breaker = BreakerPolicy{};
  guarded.breaker->consecutive = 2;
  guarded.breaker->cool_down = 10min;
  guarded.breaker->cool_down_jitter = 0;
  on(
      "prefect",
      [&](const Message&, const RunContext&) {
        ++runs;
        return well ? works() : fails("connection refused");
      },
      guarded);
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++others;
    return works();
  });
  std::vector<RecordId> ids;
  for (int i = 0; i < 6; ++i) {
    ids.push_back(report("wf_" + std::to_string(i), "timeout", {}, R"({"adapter": "prefect"})"));
  }
  report("other", "timeout");
  pass(1min);
  EXPECT_EQ(runs, 2) << "then the circuit is open";
  EXPECT_EQ(others, 1);
  std::uint32_t retries = 0;
  for (const RecordId& id : ids) retries += record(id).counters.retry;
  EXPECT_EQ(retries, 2U);
  pass(8min);
  EXPECT_EQ(runs, 2) << "what is due meanwhile is put off";
  well = true;
  pass(20min);
  for (const RecordId& id : ids) EXPECT_EQ(status(id), Status::resolved);
}

}  // namespace
}  // namespace dlo::testing
