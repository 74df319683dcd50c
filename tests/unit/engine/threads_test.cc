// What only threads can show: slow neighbours, timeouts, stops, leases.

#include <latch>

#include "faults.h"
#include "gate.h"
#include "world.h"

#include "dlo/engine/workshop.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

TEST(Threads, OneSlowHandlerDelaysNobodyElse) {  // R0-6, S0-2
  World world;
  Gate gate;
  world.on_every([&](const Message& message, const RunContext&) {
    if (message.id == "m3") gate.pass();
    return ok();
  });
  world.publish_many(500);
  auto processor = world.processor();
  Running running(*processor);
  EXPECT_TRUE(eventually(world.clock, 1ms, [&] { return processor->stats().succeeded == 499; }));
  EXPECT_EQ(gate.waiting(), 1);
  gate.open();
  EXPECT_TRUE(eventually(world.clock, 1ms, [&] { return processor->stats().succeeded == 500; }));
}

TEST(Threads, AStopBeforeTheFirstRunIsNotForgotten) {
  World world;
  world.on_every([](const Message&, const RunContext&) { return ok(); });
  world.publish_many(3);
  auto processor = world.processor();
  processor->stop(1s);
  processor->run({});  // returns
  processor->stop(1s);
  Running running(*processor);  // this one was not stopped
  EXPECT_TRUE(eventually(world.clock, 1ms, [&] { return processor->stats().succeeded == 3; }));
}

TEST(Threads, WhatWaitsBehindASlowHandlerInItsChunkIsHandedToOthersOnce) {
  World world;
  Gate gate;
  std::mutex mutex;
  std::map<std::string, int> runs;
  std::atomic<int> total{0};
  world.on_every([&](const Message& message, const RunContext&) {
    {
      const std::lock_guard lock(mutex);
      ++runs[message.id];
    }
    // Fast ones first, so that chunks have grown when the slow one comes.
    if (++total == 400) gate.pass();
    return ok();
  });
  world.publish_many(2'000);
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually(world.clock, 1ms, [&] { return processor->stats().succeeded >= 1'999; }));
  gate.open();
  ASSERT_TRUE(eventually([&] { return processor->stats().succeeded == 2'000; }));
  for (const auto& [id, count] : runs) EXPECT_EQ(count, 1) << id;
  EXPECT_EQ(processor->stats().started, 2'000U);
}

TEST(Threads, EightHandlersOfEightTypesShareOneSource) {
  World world;
  world.options.max_concurrency = 8;
  std::array<std::atomic<int>, 8> seen{};
  for (int type = 0; type < 8; ++type) {
    world.handlers.set("type-" + std::to_string(type),
                       handler([&seen, type](const Message& message, const RunContext&) {
                         EXPECT_EQ(message.event_type, "type-" + std::to_string(type));
                         ++seen[static_cast<std::size_t>(type)];
                         return message.id == "bad" ? failed("E", "forbidden") : ok();
                       }));
  }
  for (int i = 0; i < 800; ++i) {
    world.publish(i % 10 == 0 ? "bad" : "good", std::to_string(i), "",
                  "type-" + std::to_string(i % 8));
  }
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] {
    const auto stats = processor->stats();
    return stats.succeeded + stats.dead == 800;
  }));
  for (const auto& count : seen) EXPECT_EQ(count.load(), 100);
  EXPECT_EQ(processor->stats().dead, 80U);
  EXPECT_EQ(world.records().size(), 80U);
}

TEST(Timeout, AHandlerThatListensIsAFailedAttemptAndKeepsItsThread) {
  World world;
  world.rules = rules_of("booking");
  Gate gate;
  world.options.handler_timeout = 10s;
  world.on_every([&](const Message&, const RunContext& context) {
    EXPECT_EQ(context.timeout, Millis{10s});
    gate.pass_or_stop(context.stop);
    return ok();  // too late: its time was up
  });
  world.publish("slow");
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return processor->stats().dead == 1; }));
  const auto stats = processor->stats();
  EXPECT_EQ(stats.timeouts, 3U);
  EXPECT_EQ(stats.threads_lost, 0U);
  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.failure.type, "HandlerTimeout");
  EXPECT_EQ(record.failure.text, "the handler did not finish within 10s (timeout)");
  gate.open();
}

TEST(Timeout, AHandlerThatIgnoresItLosesItsThreadAndItsLateResultIsForgotten) {
  World world;
  world.rules = rules_of("booking");
  Gate gate;
  std::atomic<int> runs{0};
  world.options.max_concurrency = 1;
  world.options.handler_timeout = 10s;
  world.on_every([&](const Message& message, const RunContext&) {
    if (message.id == "stuck" && ++runs == 1) gate.pass();
    return ok();
  });
  world.publish("stuck");
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  world.publish_many(10);
  // The only thread is stuck; its replacement runs the neighbours and the second attempt.
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return processor->stats().succeeded == 11; }));
  EXPECT_EQ(processor->stats().threads_lost, 1U);
  EXPECT_EQ(processor->stats().retried, 1U);
  EXPECT_EQ(runs, 2);
  gate.open();
  EXPECT_TRUE(eventually([&] { return processor->stats().threads_lost == 0; }));
  EXPECT_EQ(processor->stats().succeeded, 11U);
  EXPECT_EQ(world.source_stats().completed, 11U);
}

TEST(Timeout, WhenNoThreadIsLeftIntakeStopsAndSaysWhy) {
  World world;
  Gate gate;
  world.options.max_concurrency = 2;
  world.options.max_lost_threads = 0;
  world.options.handler_timeout = 1s;
  world.rules = rules_of("kafka");
  world.on_every([&](const Message&, const RunContext&) {
    gate.pass();
    return ok();
  });
  world.publish_many(2);
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 2; }));
  ASSERT_TRUE(eventually(world.clock, 500ms, [&] {
    return processor->stats().intake_stopped_because.find("stuck") != std::string::npos;
  }));
  gate.open();
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return processor->stats().succeeded == 2; }));
}

TEST(Stop, LetsWhatRunsFinishAndGivesBackTheRestUncounted) {  // I8, R0-5
  World world;
  Gate gate;
  world.options.prefetch = 50;
  world.options.max_chunk = 1;
  world.on_every([&](const Message&, const RunContext&) {
    gate.pass();
    return ok();
  });
  world.publish_many(20);
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(
      eventually([&] { return gate.waiting() == 2 && processor->stats().in_flight == 20; }));
  std::thread opener([&] {
    EXPECT_TRUE(eventually([&] { return processor->stats().released == 18; }));
    gate.open();
  });
  const StopReport report = running.stop(1h);
  opener.join();
  EXPECT_TRUE(report.clean());
  EXPECT_EQ(world.source_stats().completed, 2U);
  EXPECT_EQ(world.source_stats().ready, 18U);
  for (const Delivery& back : must(world.broker.receive({100, 1s, {}}, world.clock.now()))) {
    EXPECT_EQ(back.counters.fetch, 1U) << "only the claim just made";
    EXPECT_EQ(back.counters.attempt, 0U);
  }
}

TEST(Stop, AFailureOfAHandlerThatWasToldToStopCostsNoAttempt) {  // I8
  World world;
  Gate gate;
  world.on_every([&](const Message&, const RunContext& context) {
    return gate.pass_or_stop(context.stop) ? failed("OperationCanceled", "told to stop") : ok();
  });
  world.publish("long");
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  const StopReport report = running.stop(0ms);
  EXPECT_TRUE(report.clean());
  const auto back = must(world.broker.receive({1, 1s, {}}, world.clock.now()));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].counters.attempt, 0U);
  EXPECT_FALSE(back[0].interrupted);
}

TEST(Stop, AfterTheGraceNothingNewIsBegunAndWhatWasMarkedGetsItsStartBack) {  // I8
  World world;
  std::atomic<int> runs{0};
  std::atomic<int> held{0};
  Gate gate;
  world.on_every([&](const Message&, const RunContext& context) {
    // Fast ones first, so that chunks have grown when both threads are held up.
    if (++runs < 1'000) return ok();
    ++held;
    return gate.pass_or_stop(context.stop) ? failed("HandlerStopped", "told to stop") : ok();
  });
  world.options.prefetch = 3'000;
  world.publish_many(3'000);
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return held == 2; }));
  const int begun = runs;
  ASSERT_GT(processor->stats().started, static_cast<std::uint64_t>(begun)) << "some are marked";
  EXPECT_TRUE(running.stop(0ms).clean());
  EXPECT_EQ(runs, begun);
  EXPECT_EQ(world.source_stats().completed, static_cast<std::uint64_t>(begun - 2));
  for (const Delivery& back : must(world.broker.receive({3'000, 1s, {}}, world.clock.now()))) {
    EXPECT_EQ(back.counters.attempt, 0U);
    EXPECT_FALSE(back.interrupted);
  }
}

TEST(Stop, WhatStillRunsAfterTheGraceIsLeftToItsLease) {
  World world;
  Gate gate;
  auto* gate_of_a_thread_that_outlives_the_processor = &gate;
  world.options.stop_patience = 0ms;
  world.on_every([=](const Message&, const RunContext&) {
    gate_of_a_thread_that_outlives_the_processor->pass();
    return ok();
  });
  world.publish("endless");
  {
    auto processor = world.processor();
    Running running(*processor);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    const StopReport report = running.stop(0ms);
    EXPECT_EQ(report.left_running, 1U);
  }
  gate.open();
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 0; }));
  EXPECT_EQ(world.source_stats().leased, 1U) << "a late result settles nothing";
  world.clock.advance(2h);
  const auto back = must(world.broker.receive({1, 1s, {}}, world.clock.now()));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_TRUE(back[0].interrupted);
}

TEST(Stop, InterruptsAWaitBetweenTriesAndGivesItBack) {
  World world;
  Profile profile = must(find_profile("booking"));
  profile.inner.retries = 3;
  profile.inner.policy.kind = PolicyKind::fixed;
  profile.inner.policy.base = 1h;
  world.rules = rules_of(profile);
  std::atomic<int> tries{0};
  world.on_every([&](const Message&, const RunContext&) {
    ++tries;
    return failed("E", "not yet");
  });
  world.publish("waits");
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return tries == 1; }));
  EXPECT_TRUE(running.stop(24h).clean()) << "and does not take an hour";
  const auto back = must(world.broker.receive({1, 1s, {}}, world.clock.now()));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].counters.attempt, 0U);
  EXPECT_EQ(back[0].counters.failure, 0U);
}

TEST(Stop, CanBeRunAgain) {
  World world;
  world.on_every([](const Message&, const RunContext&) { return ok(); });
  auto processor = world.processor();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    world.publish_many(10);
    Running running(*processor);
    EXPECT_TRUE(eventually([&] { return processor->stats().succeeded == 10 * round; }));
    EXPECT_TRUE(running.stop(1s).clean());
  }
}

TEST(Leases, AreRenewedWhileAHandlerRunsAndWhileItsNeighboursWait) {
  World world;
  Gate gate;
  world.options.lease_for = 30s;
  world.options.max_concurrency = 1;
  world.options.prefetch = 10;
  world.options.max_chunk = 1;
  std::atomic<int> runs{0};
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    gate.pass();
    return ok();
  });
  world.publish_many(5);
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1 && processor->stats().in_flight == 5; }));
  const TimePoint later = world.clock.now() + 10min;
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return world.clock.now() >= later; }));
  gate.open();
  ASSERT_TRUE(eventually([&] { return processor->stats().succeeded == 5; }));
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(processor->stats().lost, 0U);
}

TEST(Leases, AreNotLostToAClockThatIsSetForward) {
  World world;
  Gate gate;
  world.options.lease_for = 30s;
  world.options.max_concurrency = 1;
  world.options.prefetch = 10;
  world.options.max_chunk = 1;
  std::atomic<int> runs{0};
  world.on_every([&](const Message& message, const RunContext&) {
    ++runs;
    gate.pass();
    return message.id == "m1" ? failed("E", "forbidden") : ok();
  });
  world.publish_many(5);
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1 && processor->stats().in_flight == 5; }));
  world.clock.set_forward(1h);
  const TimePoint later = world.clock.now() + 2min;  // of which none passes unseen
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return world.clock.now() >= later; }));
  world.clock.set_forward(1h);
  gate.open();
  ASSERT_TRUE(eventually([&] { return world.source_stats().dead_lettered == 1; }));
  ASSERT_TRUE(eventually([&] { return processor->stats().succeeded == 4; }));
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(processor->stats().lost, 0U);
}

TEST(Leases, ALeaseLostInTheBufferIsDroppedUnrunAndUncounted) {  // S3-30
  World world;
  Gate gate;
  world.options.lease_for = 30s;
  world.options.max_concurrency = 1;
  world.options.prefetch = 10;
  world.options.max_chunk = 1;
  std::atomic<int> runs{0};
  std::atomic<bool> renewals_lost{false};
  FlakyBroker broker(world.broker, [&](const char* call) -> std::optional<Fault> {
    if (renewals_lost && std::string_view(call) != "settle") return Fault{down("test.source")};
    return std::nullopt;
  });
  world.source = &broker;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    gate.pass();
    return ok();
  });
  world.publish_many(5);
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1 && processor->stats().in_flight == 5; }));
  renewals_lost = true;
  const TimePoint later = world.clock.now() + 2min;
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return world.clock.now() >= later; }));
  gate.open();
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return processor->stats().lost == 5; }));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(processor->stats().succeeded, 0U) << "a lost lease is never settled by us";
  renewals_lost = false;
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return processor->stats().succeeded == 5; }));
  EXPECT_EQ(world.source_stats().completed, 5U);
}

TEST(Memory, TheBudgetOfBytesHoldsBackFetching) {  // R17
  World world;
  Gate gate;
  world.options.max_in_flight_bytes = 1U << 20U;
  world.options.prefetch = 1'000;
  world.on_every([&](const Message&, const RunContext&) {
    gate.pass();
    return ok();
  });
  for (int i = 0; i < 100; ++i) world.publish("m", std::string(100'000, 'x'));
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 2; }));
  EXPECT_LE(processor->stats().in_flight, 12U + 10U);
  gate.open();
  ASSERT_TRUE(eventually([&] { return processor->stats().succeeded == 100; }));
}

TEST(Memory, AMessageBiggerThanTheBudgetStillGetsThrough) {
  World world;
  world.options.max_in_flight_bytes = 1'000;
  world.on_every([](const Message&, const RunContext&) { return ok(); });
  world.publish("huge", std::string(8U << 20U, 'x'));
  world.publish("small");
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(processor->stats().succeeded, 2U);
}

}  // namespace
}  // namespace dlo::testing
