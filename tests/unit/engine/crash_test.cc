// A crash between any two steps, then a second engine on the same source and office (I4, I6, R2,
// R5): the books balance by distinct id, no record is doubled.

#include <set>

#include "faults.h"
#include "world.h"

#include "dlo/engine/office_source.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

/// Counts calls to source and office; from call number `at` on everything fails, as for a process
/// that is dead. With `after` the fatal call itself still takes effect, but nobody hears of it.
struct Death {
  int at = 0;
  bool after = false;
  int calls = 0;
  Chaos chaos() {
    return [this](const char* /*call*/) -> std::optional<Fault> {
      if (++calls < at) return std::nullopt;
      return Fault{down("test.dead"), calls == at && after};
    };
  }
};

/// Source and waiting room of one engine.
struct Life {
  OfficeSource waiting;
  Processor from_source;
  Processor from_office;
  Life(World& world, Broker& source, Office& office)
      : waiting(office, "orders"),
        from_source({source, office, world.rules, world.handlers, world.clock}, world.options),
        from_office({waiting,
                     office,
                     world.rules,
                     world.handlers,
                     world.clock,
                     {},
                     nullptr,
                     nullptr,
                     &waiting},
                    world.options) {}
  void live(ManualClock& clock, int rounds, Millis step) {
    for (int i = 0; i < rounds; ++i) {
      from_source.drain();
      from_office.drain();
      clock.advance(step);
    }
  }
};

class CrashBetweenSteps : public ::testing::TestWithParam<const char*> {
 protected:
  /// Answers how many calls the first engine made.
  int crash_and_recover(int at, bool after) {
    World world;
    world.rules = rules_of(GetParam());
    std::map<std::string, int> finished;
    world.on_every([&](const Message& message, const RunContext&) {
      if (message.id.starts_with("poison")) return failed("JsonException", "forbidden");
      if (message.id.starts_with("unlucky")) return failed("E", "network down");
      ++finished[message.id];
      return ok();
    });
    const std::vector<std::string> ids = {"good-1", "poison-1", "unlucky-1", "good-2", "poison-2"};
    for (const auto& id : ids) world.publish(id);

    Death death{at, after};
    FlakyBroker dying_source(world.broker, death.chaos());
    FlakyOffice dying_office(world.office, death.chaos());
    Life(world, dying_source, dying_office).live(world.clock, 4, 3min);

    must(world.broker.end_all_leases(world.clock.now()));
    Life(world, world.broker, world.office).live(world.clock, 40, 1h);

    std::multiset<std::string> dead;
    for (const auto& record : world.records()) dead.insert(record.message->id);
    EXPECT_EQ(dead, (std::multiset<std::string>{"poison-1", "poison-2", "unlucky-1"}));
    EXPECT_GE(finished["good-1"], 1);
    EXPECT_GE(finished["good-2"], 1);
    const auto stats = world.source_stats();
    EXPECT_EQ(stats.ready + stats.delayed + stats.leased + stats.held, 0U);
    EXPECT_TRUE(world.records({Status::waiting, Status::retrying}).empty());
    return death.calls;
  }
};

TEST_P(CrashBetweenSteps, NothingIsLostAndNoRecordIsDoubled) {
  const int calls = crash_and_recover(1'000'000, false);
  ASSERT_GT(calls, 10);
  for (int at = 1; at <= calls; ++at) {
    for (const bool after : {false, true}) {
      SCOPED_TRACE("dead at call " + std::to_string(at) + (after ? ", its effect kept" : ""));
      crash_and_recover(at, after);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, CrashBetweenSteps,
                         ::testing::Values("standard", "service-bus", "booking+safe", "workflow",
                                           "workflow+safe", "kafka", "kafka+safe"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase_if(name, [](char c) { return c == '-' || c == '+'; });
                           return name;
                         });

}  // namespace
}  // namespace dlo::testing
