// R21: a circuit guards every handler; open, it pauses that intake and burns no attempt.

#include "gate.h"
#include "world.h"

#include "dlo/engine/breaker_guard.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

BreakerPolicy after_two() {
  BreakerPolicy policy;
  policy.consecutive = 2;
  policy.cool_down = 10s;
  policy.cool_down_jitter = 0;
  return policy;
}

struct Circuit : ::testing::Test {
  World world;
  std::atomic<bool> broken{true};
  std::map<std::string, int> runs;

  Circuit() {
    world.rules = rules_of("booking");
    world.on_every(
        [this](const Message& message, const RunContext& context) {
          EXPECT_LE(context.counters.attempt, 2U);
          ++runs[message.id];
          return broken ? failed("E", "connection refused") : ok();
        },
        {.name = "billing", .breaker = after_two()});
  }
  int all_runs() const {
    int sum = 0;
    for (const auto& [id, count] : runs) sum += count;
    return sum;
  }
};

TEST_F(Circuit, OnceOpenNothingIsFetchedAndNoAttemptIsBurnt) {
  world.publish_many(10);
  auto processor = world.processor();
  for (int i = 0; i < 20; ++i) {
    processor->drain();
    world.clock.advance(100ms);
  }
  EXPECT_EQ(all_runs(), 2);
  EXPECT_EQ(world.source_stats().leased, 0U);
  EXPECT_EQ(world.source_stats().ready + world.source_stats().delayed, 10U);
  EXPECT_NE(processor->stats().intake_stopped_because.find("circuit open (handler billing"),
            std::string::npos)
      << processor->stats().intake_stopped_because;
}

TEST_F(Circuit, LetsOneProbeThroughAndOpensAgainIfThatFails) {
  world.publish_many(10);
  auto processor = world.processor();
  processor->drain();
  world.clock.advance(10s);
  processor->drain();
  EXPECT_EQ(all_runs(), 3);
  processor->drain();
  EXPECT_EQ(all_runs(), 3);
}

TEST_F(Circuit, ClosesWhenAProbeSucceedsAndEverythingIsProcessed) {
  world.publish_many(10);
  auto processor = world.processor();
  processor->drain();
  broken = false;
  world.clock.advance(10s);
  for (int i = 0; i < 5; ++i) processor->drain();
  EXPECT_EQ(processor->stats().succeeded, 10U);
  EXPECT_EQ(processor->stats().intake_stopped_because, "");
  EXPECT_TRUE(world.records().empty());
  EXPECT_EQ(all_runs(), 12) << "two failures and ten good runs";
}

TEST_F(Circuit, GoesOnAtOnceWhenItHasClosed) {
  Gate gate;
  world.on_every(
      [&](const Message&, const RunContext&) {
        if (broken) return failed("E", "connection refused");
        gate.pass();
        return ok();
      },
      {.breaker = after_two()});
  world.options.max_chunk = 1;
  world.publish_many(10);
  auto processor = world.processor();
  const auto intake_stands = [&] { return !processor->stats().intake_stopped_because.empty(); };
  Running running(*processor);
  ASSERT_TRUE(eventually(intake_stands));
  broken = false;
  world.clock.advance(10s);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1 && intake_stands(); }))
      << "a probe is out";
  gate.open();
  EXPECT_TRUE(eventually([&] { return processor->stats().succeeded >= 5; }))
      << "no time passes after the probe";
  world.clock.advance(1s);  // for the few that came while it was out
  EXPECT_TRUE(eventually([&] { return processor->stats().succeeded == 10; }));
}

TEST_F(Circuit, OfOneHandlerDelaysOnlyItsOwnMessages) {
  world.handlers = {};
  int mails = 0;
  world.handlers.set("Charge", handler([](const Message&, const RunContext&) {
                       return failed("E", "connection refused");
                     }),
                     {.breaker = after_two()});
  world.handlers.set("Mail", handler([&](const Message&, const RunContext&) {
                       ++mails;
                       return ok();
                     }));
  for (int i = 0; i < 20; ++i) world.publish("m", "{}", "", i % 2 == 0 ? "Charge" : "Mail");
  auto processor = world.processor();
  for (int i = 0; i < 5; ++i) processor->drain();
  EXPECT_EQ(mails, 10);
  EXPECT_EQ(processor->stats().started, 12U) << "and two that opened it";
  EXPECT_EQ(world.source_stats().delayed + world.source_stats().ready, 10U);
  EXPECT_TRUE(world.records().empty());
}

TEST_F(Circuit, ARefusalForGoodIsAnAnswerAndOpensNothing) {
  world.rules = rules_of("service-bus");
  world.on_every([](const Message&, const RunContext&) { return failed("E", "forbidden"); },
                 {.breaker = after_two()});
  world.publish_many(10);
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(processor->stats().dead, 10U);
}

TEST_F(Circuit, WhoCallsProcessOneIsToldWhenToAskAgain) {
  auto processor = world.processor();
  const auto message = std::make_shared<Message>();
  for (int i = 0; i < 2; ++i) must(processor->process_one(message));
  const auto answer = processor->process_one(message);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unavailable);
  EXPECT_NE(answer.error().detail.find("circuit of handler billing is open"), std::string::npos);
  EXPECT_NE(answer.error().detail.find("2026-03-01T12:00:10"), std::string::npos)
      << answer.error().detail;
  EXPECT_EQ(all_runs(), 2);
}

TEST_F(Circuit, AProbeThatAStopInterruptsIsGivenBack) {
  Gate gate;
  std::atomic<int> held{0};
  world.on_every(
      [&](const Message&, const RunContext& context) {
        if (!broken) {
          ++held;
          gate.pass_or_stop(context.stop);
        }
        return failed("E", "connection refused");
      },
      {.breaker = after_two()});
  world.publish_many(2);
  auto processor = world.processor();
  processor->drain();
  broken = false;
  world.clock.advance(10s);
  for (int round = 1; round <= 2; ++round) {
    Running running(*processor);
    ASSERT_TRUE(eventually([&] { return held == round; })) << "the probe is free again";
    EXPECT_TRUE(running.stop(0ms).clean());
  }
}

TEST(BreakerGuard, WithoutAPolicyEverybodyPassesAndNothingMoves) {
  BreakerGuard guard(std::nullopt);
  EXPECT_FALSE(guard.exists());
  BreakerTicket ticket;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(guard.ask(noon, ticket), std::nullopt);
    EXPECT_EQ(guard.report(ticket, false, noon, 0), std::nullopt);
  }
  EXPECT_EQ(guard.gate(noon).limit, std::nullopt);
}

TEST(BreakerGuard, SaysOnceThatItMoved) {
  BreakerGuard guard(after_two());
  BreakerTicket ticket;
  EXPECT_EQ(guard.ask(noon, ticket), std::nullopt);
  EXPECT_EQ(guard.report(ticket, false, noon, 0), std::nullopt);
  EXPECT_EQ(guard.ask(noon, ticket), std::nullopt);
  EXPECT_EQ(guard.report(ticket, false, noon, 0), BreakerState::open);
  EXPECT_EQ(guard.ask(noon, ticket), noon + 10s);
  EXPECT_EQ(guard.gate(noon).limit, 0U);
  EXPECT_EQ(guard.gate(noon).ask_again, noon + 10s);
}

TEST(BreakerGuard, LookingAtTheGateTakesNoProbe) {
  BreakerGuard guard(after_two());
  BreakerTicket ticket;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(guard.ask(noon, ticket), std::nullopt);
    guard.report(ticket, false, noon, 0);
  }
  const TimePoint later = noon + 10s;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(guard.gate(later).limit, 1U);
  EXPECT_EQ(guard.ask(later, ticket), std::nullopt);
  EXPECT_EQ(guard.gate(later).limit, 0U) << "the only probe is out";
  BreakerTicket second;
  EXPECT_EQ(guard.ask(later, second), later + 1s) << "soon: the probe will report";
  guard.take_back(ticket, later);
  EXPECT_EQ(guard.ask(later, ticket), std::nullopt);
  EXPECT_EQ(guard.report(ticket, true, later, 0), BreakerState::closed);
}

}  // namespace
}  // namespace dlo::testing
