// Who comes next: age, priority, keys; and that nobody starves.
#include <algorithm>
#include <set>

#include "conformance/broker/broker_suite.h"

namespace dlo::testing {
namespace {

TEST_P(BrokerSuite, TheOldestComesFirst) {
  for (int i = 0; i < 5; ++i) publish("m-" + std::to_string(i), noon + Millis{i});
  EXPECT_EQ(ids(take(3, noon + 1s)), (Ids{"m-0", "m-1", "m-2"}));
  EXPECT_EQ(ids(take(3, noon + 1s)), (Ids{"m-3", "m-4"}));
}

TEST_P(BrokerSuite, AHigherPriorityComesFirst) {
  NEEDS(priorities);
  const auto put = [&](const char* id, Priority priority, TimePoint at) {
    auto made = message(id);
    made.priority = priority;
    publish(made, at);
  };
  put("low", Priority::low, noon);
  put("normal", Priority::normal, noon + 1s);
  put("high", Priority::high, noon + 2s);
  put("higher still is nobody", Priority::high, noon + 3s);
  EXPECT_EQ(ids(take(4, noon + 4s)), (Ids{"high", "higher still is nobody", "normal", "low"}));
}

TEST_P(BrokerSuite, ALowPriorityWaitsLongButNotForEver) {  // I10
  NEEDS(priorities);
  auto options = orders();
  options.ageing = 10s;
  open(options);
  auto low = message("low");
  low.priority = Priority::low;
  publish(low);
  auto high = message("high");
  high.priority = Priority::high;
  auto now = noon;
  for (int second = 0; second < 60; ++second, now += 1s) {  // more high ones than can be served
    publish(high, now);
    publish(high, now);
    const auto got = take_one(now);
    settle(got, Completed{}, now);
    if (got.message->id == "low") {
      EXPECT_GE(now, noon + 10s) << "priorities mean something";
      return;
    }
  }
  FAIL() << "the low one starved";
}

TEST_P(BrokerSuite, AgeIsWorthAStepOfPriorityAfterTheAgeingTime) {
  NEEDS(priorities);
  NEEDS(exact_order);
  auto options = orders();
  options.ageing = 10s;
  for (const auto& [newer, first] : {std::pair{20s - 1ms, "high"}, {20s + 1ms, "low"}}) {
    open(options);
    auto low = message("low");
    low.priority = Priority::low;
    auto high = message("high");
    high.priority = Priority::high;
    publish(low);
    publish(high, noon + newer);
    EXPECT_EQ(take_one(noon + 1min).message->id, first);
  }
}

TEST_P(BrokerSuite, AgesSurviveAClockThatJumpsBack) {
  NEEDS(priorities);
  NEEDS(exact_order);
  auto options = orders();
  options.ageing = 10s;
  open(options);
  auto low = message("low");
  low.priority = Priority::low;
  publish(low);
  EXPECT_EQ(stats(noon + 15s).ready, 1U);
  auto high = message("high");
  high.priority = Priority::high;
  publish(high, noon - 1h + 6s);  // six seconds after the clock was set back by an hour
  EXPECT_EQ(take_one(noon - 1h + 6s).message->id, "high");
  publish(high, noon - 1h + 21s);
  EXPECT_EQ(take_one(noon - 1h + 21s).message->id, "low");
}

// I10, R1-6, R3-7c: a hundred that always come back must not keep out the one behind them.
TEST_P(BrokerSuite, ThoseThatComeBackLetTheOthersPass) {
  const std::pair<const char*, std::function<Ending(const Delivery&)>> ways[] = {
      {"failed", [](const Delivery& each) { return failed(each, noon, 0ms); }},
      {"abandoned", [](const Delivery&) { return Abandoned{true, noon, ""}; }},
      {"abandoned uncounted", [](const Delivery&) { return Abandoned{false, noon, ""}; }},
      {"released", [](const Delivery&) { return ReleasedUnrun{}; }},
  };
  for (const auto& [name, ending] : ways) {
    SCOPED_TRACE(name);
    open();
    for (int i = 0; i < 100; ++i) publish("bad", noon);
    publish("good", noon + 1ms);
    for (const auto& bad : take(100, noon + 1ms)) settle(bad, ending(bad), noon + 1ms);
    const auto second = ids(take(100, noon + 2ms));
    EXPECT_EQ(std::count(second.begin(), second.end(), "good"), 1);
  }
}

TEST_P(BrokerSuite, ThoseWhoseClaimRanOutLetTheOthersPass) {  // I10
  for (int i = 0; i < 10; ++i) publish("bad", noon);
  publish("good", noon + 1ms);
  EXPECT_EQ(take(10, noon + 1ms, 10s).size(), 10U);
  const auto second = ids(take(10, noon + 11s));
  EXPECT_EQ(std::count(second.begin(), second.end(), "good"), 1);
}

TEST_P(BrokerSuite, InterruptedOnesComeFirst) {  // R7: before new work
  publish("suspect");
  const auto held = take_one(noon, 10s);
  start(held.lease);
  auto urgent = message("urgent");
  urgent.priority = Priority::high;
  publish(urgent, noon + 1s);
  publish("older than the end of the lease", noon + 2s);
  EXPECT_EQ(take(3, noon + 10s).at(0).message->id, "suspect");
}

TEST_P(BrokerSuite, OneKeyIsHandedOutOneAfterAnother) {
  NEEDS(key_order);
  for (int i = 0; i < 3; ++i) publish("k-" + std::to_string(i), noon, "k");
  for (int i = 0; i < 3; ++i) {
    const auto got = take(10);
    ASSERT_EQ(ids(got), (Ids{"k-" + std::to_string(i)}));
    EXPECT_TRUE(take(10).empty());
    settle(got[0], Completed{});
  }
  EXPECT_EQ(stats().held, 0U);
}

TEST_P(BrokerSuite, AHeadHoldsOnlyItsOwnKey) {  // R10; every way a head can be in the way
  NEEDS(key_order);
  NEEDS(delays);
  const std::pair<const char*, std::function<void(const Delivery&)>> ways[] = {
      {"leased", [](const Delivery&) {}},
      {"waiting", [this](const Delivery& head) { settle(head, failed(head, noon, 10s)); }},
      {"abandoned with delay",
       [this](const Delivery& head) { settle(head, Abandoned{true, noon + 10s, ""}); }},
      {"dead, held", [this](const Delivery& head) { settle(head, DeadLettered{true}); }},
  };
  for (const auto& [name, put_in_the_way] : ways) {
    SCOPED_TRACE(name);
    open();
    publish("a-1", noon, "a");
    put_in_the_way(take_one(noon, 1h));
    publish("a-2", noon, "a");
    publish("b-1", noon, "b");
    publish("no key", noon);
    auto got = ids(take(10, noon + 5s));
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, (Ids{"b-1", "no key"}));
    EXPECT_EQ(stats(noon + 5s).held, 1U);
  }
}

TEST_P(BrokerSuite, AHeadThatFailedStaysAheadOfItsFollowers) {
  NEEDS(key_order);
  NEEDS(delays);
  publish("head", noon, "k");
  publish("follower", noon, "k");
  auto head = take_one();
  settle(head, failed(head, noon, 0ms));
  head = take_one();
  EXPECT_EQ(head.message->id, "head");
  settle(head, ReleasedUnrun{});
  head = take_one(noon, 10s);
  EXPECT_EQ(head.message->id, "head");
  start(head.lease);
  head = take_one(noon + 10s);  // its lease ran out
  EXPECT_EQ(head.message->id, "head");
  settle(head, failed(head, noon + 10s, 10s), noon + 10s);
  EXPECT_TRUE(take(10, noon + 19s).empty());
  head = take_one(noon + 20s);
  EXPECT_EQ(head.message->id, "head");
  settle(head, Completed{}, noon + 20s);
  EXPECT_EQ(take_one(noon + 20s).message->id, "follower");
}

TEST_P(BrokerSuite, OrderBeatsPriorityInsideAKey) {  // R10
  NEEDS(key_order);
  NEEDS(priorities);
  auto low = message("first, low", "k");
  low.priority = Priority::low;
  auto high = message("second, high", "k");
  high.priority = Priority::high;
  publish(low);
  publish(high);
  const auto got = take(2);
  ASSERT_EQ(ids(got), (Ids{"first, low"}));
  settle(got[0], Completed{});
  EXPECT_EQ(take_one().message->id, "second, high");
}

TEST_P(BrokerSuite, ADelayedHeadHoldsItsKey) {
  NEEDS(key_order);
  NEEDS(delays);
  publish(message("later", "k"), noon, 10s);
  publish("now", noon, "k");
  EXPECT_TRUE(take(10, noon + 10s - 1ms).empty());
  const auto got = take(10, noon + 10s);
  ASSERT_EQ(ids(got), (Ids{"later"}));
  settle(got[0], Completed{}, noon + 10s);
  EXPECT_EQ(take_one(noon + 10s).message->id, "now");
}

TEST_P(BrokerSuite, TheDelayOfAFollowerRunsWhileItIsHeld) {
  NEEDS(key_order);
  NEEDS(delays);
  publish("head", noon, "k");
  publish(message("follower", "k"), noon, 10s);
  settle(take_one(noon, 1h), Completed{}, noon + 4s);
  EXPECT_TRUE(take(1, noon + 10s - 1ms).empty());
  EXPECT_EQ(take(1, noon + 10s).size(), 1U);
}

TEST_P(BrokerSuite, ADeathHoldsItsKeyUntilItIsFreed) {  // R10: on_death hold
  NEEDS(key_order);
  NEEDS(admin);
  for (int i = 0; i < 3; ++i) publish("k-" + std::to_string(i), noon, "k");
  settle(take_one(), DeadLettered{.hold_key = true});
  publish("k-3", noon, "k");
  EXPECT_TRUE(take(10, noon + 24h).empty());
  EXPECT_EQ(stats().held, 3U);
  EXPECT_EQ(stats().dead_lettered, 1U);

  must(admin().free_key("some other key"));
  EXPECT_TRUE(take(10).empty());
  must(admin().free_key("k"));
  must(admin().free_key("k"));
  for (int i = 1; i <= 3; ++i) {
    const auto next = take(10, noon + 1s);
    ASSERT_EQ(ids(next), (Ids{"k-" + std::to_string(i)}));
    settle(next[0], Completed{}, noon + 1s);
  }
}

TEST_P(BrokerSuite, AHoldOutlivesAnEmptyKey) {
  NEEDS(key_order);
  NEEDS(admin);
  publish("dies", noon, "k");
  settle(take_one(), DeadLettered{.hold_key = true});
  EXPECT_EQ(stats().held, 0U);
  publish("comes later", noon + 1h, "k");
  EXPECT_TRUE(take(1, noon + 1h).empty());
  must(admin().free_key("k"));
  EXPECT_EQ(take(1, noon + 1h).size(), 1U);
}

TEST_P(BrokerSuite, ADeathWithoutHoldLetsItsKeyGoOn) {  // R10: on_death continue
  NEEDS(key_order);
  publish("dies", noon, "k");
  publish("lives", noon, "k");
  settle(take_one(), DeadLettered{.hold_key = false});
  EXPECT_EQ(take_one().message->id, "lives");
}

TEST_P(BrokerSuite, MessagesWithoutAKeyDoNotWaitForEachOther) {
  for (int i = 0; i < 3; ++i) publish("m-" + std::to_string(i));
  const auto got = take(3);
  ASSERT_EQ(got.size(), 3U);
  settle(got[0], DeadLettered{.hold_key = true});
  publish("m-3");
  EXPECT_EQ(take(3).size(), 1U);
}

TEST_P(BrokerSuite, KeysTakeTurns) {  // a long key is not served before a short one
  NEEDS(key_order);
  for (const Millis apart : {0ms, 1ms}) {  // also if everything happens in one millisecond
    open();
    for (int i = 0; i < 100; ++i) publish("a", noon, "a");
    auto now = noon + apart;
    publish("b", now, "b");
    publish("none", now);
    publish("b", now, "b");
    Ids order;
    for (int i = 0; i < 6; ++i) {
      now += apart;
      const auto got = take_one(now);
      order.push_back(got.message->id);
      now += apart;
      settle(got, Completed{}, now);
    }
    EXPECT_EQ(order, (Ids{"a", "b", "none", "a", "b", "a"}));
  }
}

TEST_P(BrokerSuite, KeysTakeTurnsAfterARestart) {
  NEEDS(key_order);
  NEEDS(restart);
  NEEDS(exact_order);
  for (const auto how : {Restart::clean, Restart::crash}) {
    open();
    for (int i = 0; i < 100; ++i) publish("a", noon, "a");
    publish("b", noon + 1ms, "b");
    settle(take_one(noon + 2ms), Completed{}, noon + 3ms);
    restart(how, noon + 4ms);
    EXPECT_EQ(ids(take(10, noon + 5ms)), (Ids{"b", "a"}));
  }
}

TEST_P(BrokerSuite, AFollowerIsReadySinceItsHeadLeft) {  // whichever way it left
  NEEDS(key_order);
  NEEDS(admin);
  const std::pair<const char*, std::function<void(const Delivery&)>> ways[] = {
      {"completed", [this](const Delivery& head) { settle(head, Completed{}, noon + 4ms); }},
      {"dead", [this](const Delivery& head) { settle(head, DeadLettered{}, noon + 4ms); }},
      {"freed",
       [this](const Delivery& head) {
         settle(head, DeadLettered{.hold_key = true}, noon + 4ms);
         must(admin().free_key("a"));
       }},
  };
  for (const auto& [name, leave] : ways) {
    SCOPED_TRACE(name);
    open();
    publish("a-1", noon, "a");
    publish("a-2", noon + 1ms, "a");
    for (int i = 0; i < 5; ++i) publish("other", noon + 2ms);
    const auto head = take_one(noon + 3ms);
    ASSERT_EQ(head.message->id, "a-1");
    leave(head);
    publish("last", noon + 5ms);
    EXPECT_EQ(ids(take(10, noon + 6ms)),
              (Ids{"other", "other", "other", "other", "other", "a-2", "last"}));
  }
}

TEST_P(BrokerSuite, WithoutKeyOrderOneKeyIsHandedOutTogether) {
  NEEDS(key_order);
  auto options = orders();
  options.keys_in_order = false;
  open(options);
  for (int i = 0; i < 3; ++i) publish("m-" + std::to_string(i), noon, "k");
  EXPECT_EQ(take(3).size(), 3U);
}

}  // namespace
}  // namespace dlo::testing
