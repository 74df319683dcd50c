// Messages that wait in the office for their own handler (R6, placement in_office).

#include "faults.h"
#include "gate.h"
#include "world.h"

#include "dlo/engine/engine.h"
#include "dlo/engine/office_source.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

struct WaitingRoom : ::testing::Test {
  World world;
  std::unique_ptr<OfficeSource> waiting;
  std::unique_ptr<Processor> source;
  std::unique_ptr<Processor> office;

  WaitingRoom() { world.rules = rules_of("workflow"); }
  void build() {
    waiting = std::make_unique<OfficeSource>(*world.kept_in, "orders");
    source = world.processor();
    office = std::make_unique<Processor>(
        ProcessorParts{*waiting, *world.kept_in, world.rules, world.handlers, world.clock,
                       world.validators, world.events, world.listener, waiting.get()},
        world.options);
  }
  void drain() {
    source->drain();
    office->drain();
  }
};

TEST_F(WaitingRoom, RetriesAfterOneTwoAndFourMinutesThenIsExhausted) {  // S2-6, R2-5
  std::vector<Millis> at;
  world.on_every([&](const Message&, const RunContext&) {
    at.push_back(world.clock.now() - noon);
    return failed("E", "connection refused");
  });
  world.publish("task-1");
  build();
  for (int minute = 0; minute < 20; ++minute) {
    drain();
    world.clock.advance(1min);
  }
  EXPECT_EQ(at, (std::vector<Millis>{0min, 1min, 3min, 7min}));
  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.status, Status::exhausted);
  EXPECT_EQ(record.counters.retry, 3U);
  EXPECT_EQ(record.counters.total, 4U);
  EXPECT_EQ(record.failure.text, "connection refused");
  EXPECT_EQ(record.first_failed_at, noon);
  EXPECT_EQ(record.last_failed_at, noon + 7min);
  EXPECT_EQ(world.attempts_of(record).size(), 4U);
  EXPECT_EQ(world.source_stats().completed, 1U) << "gone from its source at the first failure";
}

TEST_F(WaitingRoom, AWaitingMessageIsNoDeadLetter) {  // R9
  world.on_every([](const Message&, const RunContext&) { return failed("E", "busy"); });
  world.publish("task-1");
  build();
  source->drain();
  EXPECT_TRUE(world.records().empty());
  const DeadLetter record = world.only_record({Status::waiting});
  EXPECT_EQ(record.next_retry_at, noon + 1min);
  EXPECT_FALSE(record.source_unsettled) << "its source has confirmed";
}

TEST_F(WaitingRoom, ARetryThatSucceedsClosesIt) {
  bool well = false;
  world.on_every(
      [&](const Message&, const RunContext&) { return well ? ok() : failed("E", "busy"); });
  world.publish("task-1");
  build();
  drain();
  well = true;
  world.clock.advance(1min);
  drain();
  const DeadLetter record = world.only_record({Status::resolved, Status::waiting, Status::pending});
  EXPECT_EQ(record.status, Status::resolved);
  ASSERT_TRUE(record.resolution);
  EXPECT_EQ(record.resolution->how, "retried");
}

TEST_F(WaitingRoom, ARetryThatReturnsAFailureIsAFailure) {  // R2-2, I5
  world.on_every([](const Message&, const RunContext&) { return failed("", "temporary"); });
  world.publish("task-1");
  build();
  drain();
  world.clock.advance(1min);
  drain();
  EXPECT_EQ(world.only_record({Status::waiting}).counters.failure, 2U);
}

TEST_F(WaitingRoom, ACrashDuringARetryReturnsItAndRunsItAlone) {  // R2-4, I7
  int runs = 0;
  world.on_every(
      [&](const Message&, const RunContext&) { return ++runs == 1 ? failed("E", "busy") : ok(); });
  world.publish("task-1");
  build();
  drain();
  world.clock.advance(1min);
  const auto taken = must(waiting->receive({1, 30s, {}}, world.clock.now()));
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_FALSE(taken[0].interrupted);
  must(waiting->start(std::vector{taken[0].lease}, world.clock.now()));  // ... and dies
  world.clock.advance(1min);
  build();
  drain();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(office->stats().suspects, 1U);
  EXPECT_EQ(world.only_record({Status::resolved}).counters.attempt, 3U);
}

TEST_F(WaitingRoom, GivesBackWhatItDidNotRun) {
  world.on_every([](const Message&, const RunContext&) { return failed("E", "busy"); });
  world.publish("task-1");
  build();
  drain();
  world.clock.advance(1min);
  const auto taken = must(waiting->receive({1, 30s, {}}, world.clock.now()));
  const Counters before = world.only_record({Status::waiting}).counters;
  must(waiting->start(std::vector{taken.at(0).lease}, world.clock.now()));
  must(
      waiting->settle(std::vector{Settlement{taken[0].lease, ReleasedUnrun{}}}, world.clock.now()));
  const Counters after = world.only_record({Status::waiting}).counters;
  EXPECT_EQ(after.attempt, before.attempt);
  EXPECT_EQ(after.fetch, before.fetch - 1);
  EXPECT_EQ(must(waiting->receive({1, 30s, {}}, world.clock.now())).size(), 1U) << "due at once";
}

TEST_F(WaitingRoom, AStopGivesTheStartOfARetryBack) {  // I8
  Gate gate;
  std::atomic<int> runs{0};
  world.on_every([&](const Message&, const RunContext& context) {
    if (++runs == 1) return failed("E", "busy");
    gate.pass_or_stop(context.stop);
    return failed("HandlerStopped", "told to stop");
  });
  world.publish("task-1");
  build();
  source->drain();
  const DeadLetter before = world.only_record({Status::waiting});
  world.clock.advance(1min);
  {
    Running running(*office);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    EXPECT_EQ(world.only_record({Status::waiting}).counters.attempt, 2U) << "marked";
    EXPECT_TRUE(running.stop(0ms).clean());
  }
  const DeadLetter after = world.only_record({Status::waiting});
  EXPECT_EQ(after.counters, before.counters);
  EXPECT_EQ(world.attempts_of(after).size(), 1U);
}

TEST_F(WaitingRoom, AStaleLeaseSettlesNothing) {  // R5
  world.on_every([](const Message&, const RunContext&) { return failed("E", "busy"); });
  world.publish("task-1");
  build();
  drain();
  world.clock.advance(1min);
  const auto slow = must(waiting->receive({1, 30s, {}}, world.clock.now()));
  world.clock.advance(1min);
  const auto quick = must(waiting->receive({1, 30s, {}}, world.clock.now()));
  ASSERT_EQ(quick.size(), 1U);
  const auto answer = must(
      waiting->settle(std::vector{Settlement{slow.at(0).lease, Completed{}}}, world.clock.now()));
  EXPECT_EQ(answer.at(0).settled, Settled::lease_lost);
  EXPECT_EQ(must(waiting->start(std::vector{slow[0].lease}, world.clock.now())),
            std::vector<bool>{false});
}

TEST_F(WaitingRoom, ADeadLetterWhoseRetryIsDueRunsWithItsNewestVersion) {
  std::string seen;
  world.on_every([&](const Message& message, const RunContext&) {
    if (message.payload == "typo") return failed("E", "forbidden");
    seen = *message.payload;
    return ok();
  });
  world.publish("task-1", "typo");
  build();
  drain();
  DeadLetter record = world.only_record();
  const std::vector<Change> edit{
      AddVersion{record.id, record.version, {}, "corrected", noon, "ann", "typo"}};
  must(world.office.apply(edit));
  Transition due;
  due.id = record.id;
  due.to = Status::pending;
  due.next_retry_at = world.clock.now();
  must(world.office.apply(std::vector<Change>{due}));
  drain();
  EXPECT_EQ(seen, "corrected");
  EXPECT_EQ(must(world.office.get(record.id)).record.status, Status::resolved);
}

TEST(EngineInFewLines, RunsSourcesAndTheirWaitingMessages) {
  ManualClock clock{noon};
  MemoryOffice office;
  MemoryBroker orders{named("orders")};
  Engine engine(office, &clock);
  int runs = 0;
  HandleOptions options;
  options.source = "orders";
  options.profile = "workflow+safe";
  must(engine.handle(
      orders,
      [&](const Message&) {
        if (++runs == 1) throw std::runtime_error("connection reset");
      },
      options));
  auto message = std::make_shared<Message>();
  message->id = "m";
  must(orders.publish(std::vector{Publication{message, {}, {}, {}}}, clock.now()));
  engine.drain();
  EXPECT_EQ(runs, 1);
  clock.advance(10min);
  engine.drain();
  EXPECT_EQ(runs, 2);
}

TEST(EngineInFewLines, RefusesAnUnknownProfileWithTheNearestName) {
  MemoryOffice office;
  MemoryBroker orders;
  Engine engine(office);
  HandleOptions options;
  options.profile = "servicebus";
  const auto refused = engine.handle(orders, [](const Message&) {}, options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("service-bus"), std::string::npos);
}

TEST(EngineInFewLines, RefusesToLetMessagesWaitWhereNobodyLooksForThem) {
  MemoryOffice office;
  MemoryBroker orders{named("orders")};
  Engine engine(office);
  HandleOptions options;
  options.profile = "workflow+safe";
  const auto refused = engine.handle(orders, [](const Message&) {}, options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("Set `source`"), std::string::npos);
  EXPECT_TRUE(engine.stats().empty());
}

TEST(EngineInFewLines, StopsEverySource) {
  MemoryOffice office;
  MemoryBroker one{named("one")};
  MemoryBroker two{named("two")};
  Engine engine(office);
  std::atomic<int> runs{0};
  for (Broker* source : {static_cast<Broker*>(&one), static_cast<Broker*>(&two)}) {
    must(engine.handle(*source, [&](const Message&) { ++runs; }));
  }
  auto message = std::make_shared<Message>();
  SystemClock clock;
  must(one.publish(std::vector{Publication{message, {}, {}, {}}}, clock.now()));
  must(two.publish(std::vector{Publication{message, {}, {}, {}}}, clock.now()));
  std::jthread thread([&](std::stop_token stop) { engine.run(stop); });
  EXPECT_TRUE(eventually([&] { return runs == 2; }));
  EXPECT_TRUE(engine.stop(10s).clean());
}

}  // namespace
}  // namespace dlo::testing
