// Numbers, pause, purge, peek; and what a restart leaves.
#include "conformance/broker/broker_suite.h"

namespace dlo::testing {
namespace {

TEST_P(BrokerSuite, StatsEqualARecount) {
  NEEDS(key_order);
  NEEDS(delays);
  EXPECT_EQ(stats().oldest, std::nullopt);
  for (int i = 0; i < 6; ++i) publish("m-" + std::to_string(i), noon + Millis{i});
  publish("k-1", noon + 10ms, "k");
  publish("k-2", noon + 10ms, "k");
  publish("k-3", noon + 10ms, "k");
  publish(message("delayed"), noon + 10ms, 1h);
  const auto got = take(5, noon + 1s);
  ASSERT_EQ(ids(got), (Ids{"m-0", "m-1", "m-2", "m-3", "m-4"}));
  settle(got[0], Completed{}, noon + 1s);
  settle(got[1], DeadLettered{}, noon + 1s);
  settle(got[2], failed(got[2], noon + 1s, 1h), noon + 1s);
  settle(got[3], ReleasedUnrun{}, noon + 1s);

  auto now = stats(noon + 1s);
  EXPECT_EQ(now.ready, 3U);    // m-5, m-3, k-1
  EXPECT_EQ(now.delayed, 2U);  // delayed, m-2
  EXPECT_EQ(now.leased, 1U);   // m-4
  EXPECT_EQ(now.held, 2U);     // k-2, k-3
  EXPECT_EQ(now.published, 10U);
  EXPECT_EQ(now.completed, 1U);
  EXPECT_EQ(now.dead_lettered, 1U);
  EXPECT_EQ(now.oldest, noon + 2ms);
  EXPECT_GT(now.bytes, 0U);
  EXPECT_FALSE(now.paused);

  now = stats(noon + 2h);
  EXPECT_EQ(now.ready, 6U);
  EXPECT_EQ(now.delayed + now.leased, 0U);
}

TEST_P(BrokerSuite, RatesAreOfTheLastTenSeconds) {
  NEEDS(rates);
  for (int second = 0; second < 5; ++second) {
    for (int i = 0; i < 4; ++i) {
      publish("m-" + std::to_string(second * 4 + i), noon + Millis{second * 1000});
    }
  }
  for (const auto& each : take(10, noon + 5s)) settle(each, Completed{}, noon + 5s);
  auto now = stats(noon + 6s);
  EXPECT_DOUBLE_EQ(now.in_per_second, 2.0);  // 20 in ten seconds
  EXPECT_DOUBLE_EQ(now.out_per_second, 1.0);
  now = stats(noon + 12s);
  EXPECT_DOUBLE_EQ(now.in_per_second, 1.2);  // those of the seconds 2, 3 and 4
  now = stats(noon + 1h);
  EXPECT_DOUBLE_EQ(now.in_per_second, 0.0);
  EXPECT_DOUBLE_EQ(now.out_per_second, 0.0);
}

TEST_P(BrokerSuite, RatesAreOfTheTimeThatPassesHoweverTheClockIsSet) {
  NEEDS(rates);
  for (const Millis jump : {Millis{1h}, Millis{-1h}, Millis{0}}) {
    SCOPED_TRACE(jump.count());
    open();
    const auto at = [&](Millis passed) { return Instant{noon + jump + passed, noon + passed}; };
    for (int i = 0; i < 10; ++i) publish("m-" + std::to_string(i), noon);
    for (const auto& each : take(5, noon)) settle(each, Completed{}, noon);
    for (int i = 10; i < 20; ++i) publish("m-" + std::to_string(i), at(3s));
    EXPECT_DOUBLE_EQ(stats(at(6s)).in_per_second, 2.0);
    EXPECT_DOUBLE_EQ(stats(at(6s)).out_per_second, 0.5);
    EXPECT_DOUBLE_EQ(stats(at(12s)).in_per_second, 1.0);
    EXPECT_DOUBLE_EQ(stats(at(20s)).in_per_second, 0.0);
  }
}

TEST_P(BrokerSuite, RatesAreRightWhileTheClockIsSlowedDown) {
  NEEDS(rates);
  Millis passed{0};
  const auto now = [&] { return Instant{noon + passed / 2, noon + passed}; };
  for (; passed < 20s; passed += 500ms) publish("m", now());
  EXPECT_DOUBLE_EQ(stats(now()).in_per_second, 2.0);
}

TEST_P(BrokerSuite, APausedSourceHandsOutNothingAndLosesNothing) {
  NEEDS(admin);
  publish("m-1");
  const auto held = take_one(noon, 1h);
  must(admin().pause());
  EXPECT_TRUE(stats().paused);
  publish("m-2");
  EXPECT_TRUE(take(10).empty());
  EXPECT_TRUE(must(broker().receive({10, 30s, 20ms}, noon)).empty());
  EXPECT_TRUE(start(held.lease));
  EXPECT_TRUE(renew(held.lease, noon, 1h));
  settle(held, Completed{});
  must(admin().resume());
  EXPECT_FALSE(stats().paused);
  EXPECT_EQ(ids(take(10)), (Ids{"m-2"}));
}

TEST_P(BrokerSuite, APurgeRemovesWhatNobodyHasLeased) {
  NEEDS(admin);
  NEEDS(delays);
  NEEDS(key_order);
  publish("leased", noon, "k");
  const auto held = take_one(noon, 1h);
  publish("behind it", noon, "k");
  publish("ready");
  publish(message("delayed"), noon, 1h);
  publish("head of another key", noon, "j");
  publish("behind that", noon, "j");
  EXPECT_EQ(must(admin().purge()), 5U);
  EXPECT_EQ(must(admin().purge()), 0U);
  const auto left = stats();
  EXPECT_EQ(left.purged, 5U);
  EXPECT_EQ(left.leased, 1U);
  EXPECT_EQ(left.ready + left.delayed + left.held, 0U);
  EXPECT_TRUE(take(10, noon + 30min).empty());

  publish("new in j", noon, "j");
  publish("new in k", noon, "k");
  EXPECT_EQ(ids(take(10, noon + 30min, 1h)), (Ids{"new in j"}));
  settle(held, Completed{}, noon + 30min);
  EXPECT_EQ(ids(take(10, noon + 30min)), (Ids{"new in k"}));
}

TEST_P(BrokerSuite, APeekShowsTheOldestAndChangesNothing) {
  NEEDS(admin);
  NEEDS(delays);
  publish("leased");
  take_one(noon, 1h);
  publish(message("delayed"), noon, 1h);
  publish("k-1", noon, "k");
  publish("k-2", noon, "k");
  const auto peeked = [&](std::size_t limit) {
    Ids out;
    for (const auto& each : must(admin().peek(limit))) out.push_back(each->id);
    return out;
  };
  EXPECT_EQ(peeked(0), Ids{});
  EXPECT_EQ(peeked(2), (Ids{"delayed", "k-1"}));
  EXPECT_EQ(peeked(1'000'000'000), (Ids{"delayed", "k-1", "k-2"}));
  EXPECT_EQ(take_one().counters.fetch, 1U);
}

TEST_P(BrokerSuite, ARestartKeepsWhatWaits) {  // I6, R2-3
  NEEDS(restart);
  NEEDS(delays);
  for (const auto how : {Restart::clean, Restart::crash}) {
    open();
    publish("ready");
    publish(message("delayed"), noon, 1h);
    auto done = take_one();
    settle(done, Completed{});
    publish("failing", noon + 1s);
    const auto failing = take_one(noon + 1s);
    settle(failing, failed(failing, noon + 1s, 10s, "no luck"), noon + 1s);
    restart(how, noon + 2s);
    EXPECT_TRUE(take(10, noon + 2s).empty());
    const auto got = take(10, noon + 11s);
    ASSERT_EQ(ids(got), (Ids{"failing"}));
    EXPECT_EQ(got[0].counters.failure, 1U);
    EXPECT_EQ(got[0].last_error, "no luck");
    EXPECT_EQ(ids(take(10, noon + 1h, 1h)), (Ids{"failing", "delayed"}));
  }
}

TEST_P(BrokerSuite, ARestartEndsLeasesAndTellsTheStartedFromTheRest) {  // R1, R5, R7, I8
  NEEDS(restart);
  NEEDS(start_marks);
  for (const auto how : {Restart::clean, Restart::crash}) {
    open();
    publish("started");
    publish("only claimed", noon + 1ms);
    const auto got = take(2, noon + 1ms, 1h);
    ASSERT_EQ(ids(got), (Ids{"started", "only claimed"}));
    start(got[0].lease, noon + 1s);
    restart(how, noon + 2s);
    EXPECT_EQ(end(got[0].lease, Completed{}, noon + 3s).settled, Settled::lease_lost);
    EXPECT_EQ(end(got[1].lease, Completed{}, noon + 3s).settled, Settled::lease_lost);

    const auto again = take(2, noon + 3s);
    ASSERT_EQ(ids(again), (Ids{"started", "only claimed"}));
    EXPECT_TRUE(again[0].interrupted);
    EXPECT_EQ(again[0].counters, (Counters{.fetch = 2, .attempt = 1, .total = 1}));
    EXPECT_EQ(again[0].first_attempt_at, noon + 1s);
    EXPECT_TRUE(again[0].may_be_repeat);
    EXPECT_FALSE(again[1].interrupted);
    EXPECT_EQ(again[1].counters, (Counters{.fetch = 1}));
    EXPECT_TRUE(again[1].may_be_repeat);
  }
}

TEST_P(BrokerSuite, ARestartKeepsHoldsAndTheDedupeWindow) {
  NEEDS(restart);
  NEEDS(key_order);
  NEEDS(dedupe);
  NEEDS(admin);
  for (const auto how : {Restart::clean, Restart::crash}) {
    auto options = orders();
    options.dedupe_window = 10min;
    open(options);
    publish("dies", noon, "k");
    settle(take_one(), DeadLettered{.hold_key = true});
    Publication once;
    once.message = std::make_shared<const Message>(message("follower", "k"));
    once.dedupe_id = "d";
    const auto before = publish(once);
    restart(how, noon + 1s);
    EXPECT_TRUE(publish(once, noon + 2s).duplicate);
    EXPECT_TRUE(take(1, noon + 2s).empty());
    must(admin().free_key("k"));
    EXPECT_EQ(take(1, noon + 2s).size(), 1U);
    if (can().stable_positions) {
      const auto after = publish("new", noon + 2s);
      EXPECT_GT(after.position->offset, before.position->offset);
    }
  }
}

}  // namespace
}  // namespace dlo::testing
