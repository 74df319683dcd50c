// When office or source fail: nothing is settled that is not durable (I1, R20), nothing is silent.

#include <ostream>
#include <string_view>

#include "faults.h"
#include "world.h"

namespace dlo {

inline void PrintTo(StoreFailure value, std::ostream* out) {
  *out << name_of(value);
}

}  // namespace dlo

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

struct StoreDown : ::testing::Test {
  World world;
  std::atomic<bool> office_down{false};
  std::atomic<int> applies{0};
  FlakyOffice office{world.office, [this](const char* call) -> std::optional<Fault> {
                       if (std::string_view(call) == "apply") ++applies;
                       if (office_down) return Fault{down("test.office")};
                       return std::nullopt;
                     }};
  StoreDown() { world.kept_in = &office; }
};

TEST_F(StoreDown, ADeathThatCannotBeWrittenStaysAtItsSource) {  // I1, R4-3, R1-4
  world.on_every([](const Message&, const RunContext&) { return failed("E", "forbidden"); });
  world.publish("poison");
  office_down = true;
  auto processor = world.processor();
  processor->drain();

  EXPECT_EQ(world.source_stats().leased, 1U);
  EXPECT_EQ(world.source_stats().dead_lettered, 0U);
  EXPECT_TRUE(world.records().empty());

  office_down = false;
  processor->drain();
  EXPECT_EQ(world.source_stats().dead_lettered, 1U);
  EXPECT_EQ(world.only_record().reason, "NonRetryableError");
  EXPECT_EQ(processor->stats().dead, 1U);
}

TEST_F(StoreDown, IntakeStopsAndSaysWhyAndGoesOnByItself) {  // R20
  std::atomic<int> runs{0};
  world.on_every([&](const Message& message, const RunContext&) {
    ++runs;
    return message.id == "poison" ? failed("E", "forbidden") : ok();
  });
  world.options.receive_limit = 4;
  world.publish("poison");
  office_down = true;
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return !processor->stats().intake_stopped_because.empty(); }));
  EXPECT_NE(processor->stats().intake_stopped_because.find("network cable"), std::string::npos);

  world.publish_many(20);
  const int before = applies;
  ASSERT_TRUE(eventually(world.clock, 50ms, [&] { return applies > before + 2; }));
  EXPECT_LE(processor->stats().received, 1U + 4U) << "at most the poll that was under way";

  office_down = false;
  ASSERT_TRUE(eventually(world.clock, 100ms, [&] {
    const ProcessorStats stats = processor->stats();
    return stats.succeeded == 20 && stats.dead == 1 && stats.intake_stopped_because.empty();
  }));
}

TEST_F(StoreDown, GoodMessagesInFlightAreStillSettled) {
  world.options.prefetch = 100;
  world.on_every([](const Message& message, const RunContext&) {
    return message.id == "m0" ? failed("E", "forbidden") : ok();
  });
  world.publish_many(10);
  office_down = true;
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(processor->stats().succeeded, 9U);
  EXPECT_EQ(processor->stats().in_flight, 1U);
}

TEST_F(StoreDown, ARepeatIsNotRunWhileTheOfficeCannotBeAsked) {  // R2
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    return ok();
  });
  world.publish("again");
  // Somebody fetched it and let the lease run out.
  must(world.broker.receive({1, 1s, {}}, world.clock.now()));
  world.clock.advance(2s);
  office_down = true;
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(runs, 0);
  EXPECT_NE(processor->stats().intake_stopped_because.find("cannot be read"), std::string::npos);

  office_down = false;
  world.clock.advance(1s);
  processor->drain();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(processor->stats().intake_stopped_because, "");
}

TEST_F(StoreDown, ALostAnswerFromTheOfficeDoublesNothing) {  // I4
  bool lose = true;
  FlakyOffice forgetful(world.office, [&](const char* call) -> std::optional<Fault> {
    if (std::string_view(call) != "apply" || !lose) return std::nullopt;
    lose = false;
    return Fault{{Code::timed_out, "test.office", "no answer"}, true};
  });
  world.kept_in = &forgetful;
  world.on_every([](const Message&, const RunContext&) { return failed("E", "forbidden"); });
  world.publish("poison");
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(world.source_stats().dead_lettered, 0U);
  processor->drain();
  EXPECT_EQ(world.source_stats().dead_lettered, 1U);
  EXPECT_EQ(world.only_record().occurrence, 1U);
}

TEST_F(StoreDown, OneRecordTheOfficeRefusesDoesNotStopTheOthers) {
  world.on_every([](const Message&, const RunContext&) { return failed("E", "forbidden"); });
  FlakyOffice refusing(world.office, [](std::span<const Change> changes) -> std::optional<Error> {
    for (const Change& change : changes) {
      const auto* append = std::get_if<Append>(&change);
      if (append != nullptr && append->record->message->id == "m3") {
        return Error{Code::invalid_argument, "test.office", "m3 is too odd for us"};
      }
    }
    return std::nullopt;
  });
  world.kept_in = &refusing;
  world.options.prefetch = 100;
  world.publish_many(6);
  auto processor = world.processor();
  processor->drain();

  EXPECT_EQ(world.records().size(), 5U);
  EXPECT_EQ(processor->stats().unrecordable, 1U);
  EXPECT_EQ(world.source_stats().delayed, 1U) << "still at its source, out of the way";
  EXPECT_EQ(world.source_stats().dead_lettered, 5U);
  world.clock.advance(1min);
  const auto back = must(world.broker.receive({.limit = 1}, world.clock.instant()));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].counters, (Counters{.fetch = 1, .attempt = 1, .total = 1})) << "it ran";
  EXPECT_TRUE(back[0].last_error.starts_with("not recorded: ")) << back[0].last_error;
}

TEST(SourceDown, ADurableDeathIsSettledOnceTheSourceAnswersAgain) {
  World world;
  bool source_down = false;
  FlakyBroker broker(world.broker, [&](const char* call) -> std::optional<Fault> {
    if (source_down && std::string_view(call) == "settle") return Fault{down("test.source")};
    return std::nullopt;
  });
  world.source = &broker;
  world.on_every([](const Message&, const RunContext&) { return failed("E", "forbidden"); });
  world.publish("poison");
  source_down = true;
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(world.records().size(), 1U);
  EXPECT_EQ(processor->stats().dead, 0U) << "counted when it is done, not before";
  source_down = false;
  processor->drain();
  EXPECT_EQ(processor->stats().dead, 1U);
  EXPECT_EQ(world.source_stats().dead_lettered, 1U);
}

TEST(SourceDown, AStartThatCannotBeMarkedIsNotRun) {  // R1: durable before it runs
  World world;
  bool source_down = true;
  FlakyBroker broker(world.broker, [&](const char* call) -> std::optional<Fault> {
    if (source_down && std::string_view(call) == "start") return Fault{down("test.source")};
    return std::nullopt;
  });
  world.source = &broker;
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    return ok();
  });
  world.publish("a");
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(runs, 0);
  source_down = false;
  world.clock.advance(1s);
  processor->drain();
  EXPECT_EQ(runs, 1);
}

/// Every value of the profile's `store_failure`.
class WithStoreFailure : public StoreDown, public ::testing::WithParamInterface<StoreFailure> {
 protected:
  WithStoreFailure() {
    Profile profile = must(find_profile("service-bus"));
    profile.store_failure = GetParam();
    world.rules = rules_of(profile);
    world.on_every([](const Message&, const RunContext&) { return failed("E", "forbidden"); });
    office_down = true;
  }
  MessagePtr message = std::make_shared<Message>();
};

TEST_P(WithStoreFailure, AMessageThatHasASourceStaysThere) {  // I1, R20
  world.publish("poison");
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(world.source_stats().leased, 1U);
  EXPECT_NE(processor->stats().intake_stopped_because, "");
  office_down = false;
  processor->drain();
  EXPECT_EQ(world.source_stats().dead_lettered, 1U);
  EXPECT_EQ(world.records().size(), 1U);
}

TEST_P(WithStoreFailure, WhoReportsAFailureIsToldAndNothingAppearsLater) {  // R2-10: no phantom
  auto processor = world.processor();
  const auto answer =
      processor->route_failure(message, failed("E", "forbidden").failure, RuleBook::started({}));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unavailable);
  office_down = false;
  processor->drain();
  EXPECT_TRUE(world.records().empty());
}

TEST_P(WithStoreFailure, WhoseMessageIsProcessedIsToldAndNothingAppearsLater) {
  auto processor = world.processor();
  const auto answer = processor->process_one(message);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unavailable);
  office_down = false;
  processor->drain();
  EXPECT_TRUE(world.records().empty());
}

INSTANTIATE_TEST_SUITE_P(R20, WithStoreFailure,
                         ::testing::Values(StoreFailure::keep_source, StoreFailure::reject,
                                           StoreFailure::memory_fallback),
                         [](const auto& value) { return std::string(name_of(value.param)); });

}  // namespace
}  // namespace dlo::testing
