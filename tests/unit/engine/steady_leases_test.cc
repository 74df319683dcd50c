// Leases in the office, and a wall clock that is set forward.

#include "dlo/engine/steady_leases.h"

#include "world.h"

#include "dlo/engine/office_source.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

struct SteadyLeasesTest : ::testing::Test {
  World world;
  SteadyLeases office{world.office, world.clock};

  SteadyLeasesTest() {
    world.kept_in = &office;
    world.options.lease_for = 30s;
    world.rules = rules_of("workflow");
  }
  /// Fails once and waits in the office from then on, for a minute.
  void one_waits() {
    world.on_every([](const Message&, const RunContext&) { return failed("E", "busy"); });
    world.publish("task-1");
    world.processor()->drain();
    ASSERT_EQ(world.only_record({Status::waiting}).next_retry_at, noon + 1min);
    world.clock.advance(1min);
  }
  std::vector<Claim> claim() { return must(office.claim(10, world.clock.now(), 30s, "orders")); }
};

TEST_F(SteadyLeasesTest, ALeaseLastsAsLongAsItWasPromisedHoweverTheClockIsSet) {
  one_waits();
  const auto mine = claim();
  ASSERT_EQ(mine.size(), 1U);
  for (int jumps = 0; jumps < 3; ++jumps) {
    world.clock.set_forward(1h);
    world.clock.advance(9s);
    EXPECT_TRUE(claim().empty()) << jumps;
  }
  EXPECT_EQ(must(office.renew({{mine[0].lease}}, world.clock.now(), 30s)), std::vector{true});
  world.clock.set_forward(24h);
  world.clock.advance(30s - 1ms);
  EXPECT_TRUE(claim().empty());
  world.clock.advance(1ms);
  EXPECT_EQ(claim().size(), 1U);
}

TEST_F(SteadyLeasesTest, ALeaseThatWasOverBeforeIsNotBroughtBack) {
  one_waits();
  const auto mine = claim();
  ASSERT_EQ(mine.size(), 1U);
  world.clock.advance(30s);
  world.clock.set_forward(1h);
  EXPECT_EQ(must(office.renew({{mine[0].lease}}, world.clock.now(), 30s)), std::vector{false});
  EXPECT_EQ(claim().size(), 1U);
}

TEST_F(SteadyLeasesTest, ATransitionUnderALeaseIsNotRefusedForAClockThatWasSet) {
  one_waits();
  const auto mine = claim();
  ASSERT_EQ(mine.size(), 1U);
  Transition mark;
  mark.id = mine[0].record.id;
  mark.lease = mine[0].lease;
  mark.lease_for = 60s;  // carried on for longer
  mark.to = Status::waiting;
  mark.now = world.clock.now();
  const Change begun = mark;
  must(office.apply({&begun, 1}));
  world.clock.set_forward(1h);
  world.clock.advance(59s);
  Transition end = mark;
  end.lease_for.reset();
  end.to = Status::resolved;
  end.now = world.clock.now();
  end.resolution = Resolution{end.now, "engine", "retried", ""};
  const Change ended = end;
  EXPECT_TRUE(office.apply({&ended, 1}));
}

TEST_F(SteadyLeasesTest, WhatRunsFromTheOfficeIsNotRunTwice) {
  one_waits();
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    world.clock.set_forward(1h);
    EXPECT_TRUE(claim().empty());
    return ok();
  });
  OfficeSource source(office, "orders");
  Processor processor({source, office, world.rules, world.handlers, world.clock, world.validators,
                       world.events, world.listener, &source},
                      world.options);
  processor.drain();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(processor.stats().lost, 0U);
  EXPECT_EQ(world.only_record({Status::resolved}).counters.attempt, 2U);
}

}  // namespace
}  // namespace dlo::testing
