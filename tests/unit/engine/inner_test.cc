// Tries inside one attempt (step 4): they never move the outer counters.

#include "world.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

struct Inner : ::testing::Test {
  World world;
  Profile profile = must(find_profile("booking"));  // three failures and it dies
  std::vector<Counters> seen;
  int good_from = 1'000;

  void build(std::uint32_t retries, PolicyKind kind = PolicyKind::immediate, Millis base = {}) {
    profile.inner.retries = retries;
    profile.inner.policy.kind = kind;
    profile.inner.policy.base = base;
    world.rules = rules_of(profile);
    world.on_every([this](const Message& message, const RunContext& context) {
      seen.push_back(context.counters);
      const bool good = static_cast<int>(seen.size()) >= good_from;
      return good ? ok() : failed("E", message.id == "m" ? "busy" : message.id);
    });
  }
};

TEST_F(Inner, AGoodTryEndsTheAttemptWellAndTheOuterCountSeesNothing) {  // S1-17
  good_from = 3;
  build(3);
  world.publish("m");
  auto processor = world.processor();
  processor->drain();
  ASSERT_EQ(seen.size(), 3U);
  for (const Counters& counters : seen) {
    EXPECT_EQ(counters.attempt, 1U);
    EXPECT_EQ(counters.failure, 0U);
  }
  EXPECT_EQ(processor->stats().started, 1U);
  EXPECT_EQ(processor->stats().succeeded, 1U);
  EXPECT_EQ(processor->stats().retried, 0U);
}

TEST_F(Inner, AnAttemptWhoseTriesAreUsedUpIsOneFailure) {
  build(4);
  world.publish("m");
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(seen.size(), 15U) << "three attempts of five tries";
  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.counters.attempt, 3U);
  EXPECT_EQ(record.counters.failure, 3U);
  EXPECT_EQ(world.attempts_of(record).size(), 3U);
}

TEST_F(Inner, OnlyTheNamedCategoriesAreTriedAgain) {
  profile.rules = {Rule{
      .name = "busy", .match = MatchKind::substring, .values = {"busy"}, .category = "network"}};
  profile.categories["network"] = {};
  profile.inner.retry_on = {"network"};
  build(2);
  world.publish("other");
  world.processor()->drain();
  EXPECT_EQ(seen.size(), 3U) << "three attempts of one try";
  seen.clear();
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(seen.size(), 9U) << "three attempts of three tries";
}

TEST_F(Inner, APolicyThatNeverRetriesLeavesOneTry) {
  build(4, PolicyKind::never);
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(seen.size(), 3U) << "three attempts of one try";
}

TEST_F(Inner, WhoAsksForMorePatienceThanItHasIsLeftInPeace) {
  build(4);
  world.on_every([&](const Message&, const RunContext& context) {
    seen.push_back(context.counters);
    Outcome outcome = failed("E", "busy");
    outcome.failure.retry_after = 30s;
    return outcome;
  });
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(seen.size(), 1U) << "the next try is the next attempt's, in 30 s";
}

TEST_F(Inner, WaitsBetweenTriesAsItsPolicySays) {
  good_from = 3;
  build(2, PolicyKind::fixed, 10s);
  world.publish("m");
  auto processor = world.processor();
  Running running(*processor);
  EXPECT_TRUE(eventually(world.clock, 1s, [&] { return processor->stats().succeeded == 1; }));
  EXPECT_GE(world.clock.now() - noon, 20s);
  EXPECT_EQ(processor->stats().started, 1U);
}

TEST_F(Inner, TheTimeoutIsThatOfTheWholeAttempt) {
  build(100, PolicyKind::fixed, 10s);
  world.options.handler_timeout = 25s;
  world.publish("m");
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return processor->stats().dead == 1; }));
  EXPECT_EQ(processor->stats().timeouts, 3U);
  EXPECT_EQ(world.only_record().failure.type, "HandlerTimeout");
}

TEST_F(Inner, HoldsForACallToo) {
  good_from = 3;
  build(3);
  auto processor = world.processor();
  const Processed answer =
      must(processor->process_one(std::make_shared<Message>(Message{.id = "m"})));
  EXPECT_EQ(answer.decision.verdict, Verdict(Complete{}));
  EXPECT_EQ(seen.size(), 3U);
}

}  // namespace
}  // namespace dlo::testing
