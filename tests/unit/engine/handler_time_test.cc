// The time a handler may take, and a wall clock that is set.
#include <atomic>
#include <thread>

#include "gate.h"
#include "world.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

struct TimeOfAHandler : ::testing::Test {
  TimeOfAHandler() {
    world.rules = rules_of("booking");
    world.options.handler_timeout = 10s;
    world.on_every([this](const Message&, const RunContext& context) {
      gate.pass_or_stop(context.stop);
      return ok();
    });
  }
  /// So much time passes, of which everybody takes notice.
  [[nodiscard]] bool let_pass(Millis time) {
    const TimePoint until = world.clock.instant().steady + time;
    return eventually(world.clock, 1s, [&] { return world.clock.instant().steady >= until; });
  }

  World world;
  Gate gate;
};

TEST_F(TimeOfAHandler, IsNotTakenByWhoeverSetsTheWallClockForward) {
  world.publish("m");
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  world.clock.set_forward(1h);
  ASSERT_TRUE(let_pass(9s));
  EXPECT_EQ(processor->stats().timeouts, 0U);
  ASSERT_TRUE(let_pass(1s));
  EXPECT_TRUE(eventually([&] { return processor->stats().timeouts == 1; })) << "it is over in time";
  gate.open();
  EXPECT_TRUE(eventually(world.clock, 1s, [&] { return processor->stats().succeeded == 1; }));
}

TEST_F(TimeOfAHandler, IsMeasuredTheSameWayForACall) {
  auto processor = world.processor();
  const auto message = std::make_shared<Message>(Message{.id = "held", .source = "mine"});
  std::atomic<bool> over{false};
  std::jthread caller([&] {
    EXPECT_FALSE(
        std::holds_alternative<Complete>(must(processor->process_one(message)).decision.verdict));
    over = true;
  });
  EXPECT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  world.clock.set_forward(1h);
  EXPECT_TRUE(let_pass(9s));
  EXPECT_FALSE(over);
  EXPECT_TRUE(let_pass(1s));
  EXPECT_TRUE(eventually([&] { return over.load(); }));
  EXPECT_EQ(processor->stats().timeouts, 1U);
  gate.open();  // if nobody told it to stop
}

}  // namespace
}  // namespace dlo::testing
