// Delays, a clock that jumps, and long polls.
#include <algorithm>
#include <future>
#include <random>
#include <thread>

#include "conformance/broker/broker_suite.h"

namespace dlo::testing {
namespace {

TEST_P(BrokerSuite, DelaysAreExactToTheMillisecond) {
  NEEDS(delays);
  for (const Millis delay : {Millis{1}, Millis{2}, Millis{63}, Millis{64}, Millis{65}, Millis{999},
                             Millis{4095}, Millis{4096}, Millis{4097}, Millis{60'000}, Millis{1h},
                             Millis{24h}, Millis{24h * 30}, Millis{24h * 3650}}) {
    SCOPED_TRACE(delay.count());
    for (const auto from : {noon, noon + 37ms}) {
      open();
      publish(message("m-1"), from, delay);
      EXPECT_TRUE(take(1, from).empty());
      EXPECT_TRUE(take(1, from + delay - 1ms).empty());
      EXPECT_EQ(take(1, from + delay).size(), 1U);
    }
  }
}

TEST_P(BrokerSuite, ADelayWithoutEndNeverEnds) {
  NEEDS(delays);
  publish(message("never"), noon, Millis::max());
  publish(message("at once"), noon, Millis::min());
  EXPECT_EQ(ids(take(2)), (Ids{"at once"}));
  EXPECT_TRUE(take(2, noon + 24h * 36500, Millis::max()).size() <= 1);
  EXPECT_EQ(stats(noon + 24h * 36500).delayed, 1U);
}

TEST_P(BrokerSuite, ManyDelaysEndEachAtItsOwnMoment) {
  NEEDS(delays);
  std::mt19937 random(11);
  std::vector<std::pair<Millis, std::string>> due;
  for (int i = 0; i < 500; ++i) {
    const Millis delay{1 + static_cast<int>(random() % 20'000)};
    const auto id = "m-" + std::to_string(i);
    due.emplace_back(delay, id);
    publish(message(id), noon, delay);
  }
  std::sort(due.begin(), due.end());
  std::size_t next = 0;
  for (auto now = noon; next < due.size(); now += Millis{1 + static_cast<int>(random() % 200)}) {
    Ids expected;
    for (; next < due.size() && noon + due[next].first <= now; ++next) {
      expected.push_back(due[next].second);
    }
    auto got = ids(take(1000, now, 24h));
    std::sort(expected.begin(), expected.end());
    std::sort(got.begin(), got.end());
    ASSERT_EQ(got, expected) << "at noon + " << (now - noon).count() << " ms";
  }
}

// The next four: SQL-06. Here the wall clock and the time that passes are one.
TEST_P(BrokerSuite, WhatWasReadyStaysReadyWhenTheClockJumpsBack) {
  NEEDS(delays);
  publish("at once");
  publish(message("delayed"), noon, 10s);
  EXPECT_EQ(stats(noon + 10s).ready, 2U);
  EXPECT_EQ(stats(noon - 1h).ready, 2U);
  EXPECT_EQ(take(2, noon - 1h).size(), 2U);
}

TEST_P(BrokerSuite, AClockThatJumpsBackFreesNothingEarly) {
  NEEDS(delays);
  publish("leased");
  const auto held = take_one(noon, 30s);
  publish(message("delayed"), noon, 40s);
  EXPECT_EQ(stats(noon + 5s).leased, 1U);
  for (const auto now : {noon - 1h, noon - 1h + 30s, noon - 1h + 41s, noon + 30s - 1ms}) {
    EXPECT_TRUE(take(2, now).empty()) << (now - noon).count();
    EXPECT_TRUE(start(held.lease, now));
  }
  EXPECT_EQ(ids(take(2, noon + 30s, 1h)), (Ids{"leased"}));
  EXPECT_TRUE(take(2, noon + 40s - 1ms).empty());
  EXPECT_EQ(ids(take(2, noon + 40s)), (Ids{"delayed"}));
}

TEST_P(BrokerSuite, AfterAJumpBackNewDeadlinesFollowTheNewClock) {
  NEEDS(delays);
  publish("before");
  EXPECT_EQ(stats(noon).ready, 1U);
  const auto past = noon - 1h;
  publish(message("delayed"), past, 5s);
  const auto held = take_one(past, 10s);
  EXPECT_EQ(held.leased_until, past + 10s);
  EXPECT_TRUE(take(1, past + 5s - 1ms).empty());
  EXPECT_EQ(ids(take(1, past + 5s, 1min)), (Ids{"delayed"}));
  EXPECT_TRUE(take(1, past + 10s - 1ms).empty());
  EXPECT_EQ(ids(take(1, past + 10s)), (Ids{"before"}));
}

TEST_P(BrokerSuite, AClockThatJumpsAheadAndBackLeavesNothingHidden) {
  publish("m-1");
  const auto first = take_one(noon, 30s);
  const auto second = take_one(noon + 24h, 30s);
  EXPECT_EQ(end(first.lease, Completed{}, noon + 1s).settled, Settled::lease_lost);
  EXPECT_TRUE(take(1, noon + 1s).empty());
  settle(second, failed(second, noon + 2s, 0ms), noon + 2s);
  EXPECT_EQ(take(1, noon + 2s).size(), 1U);
}

// Delays and leases are time that passes: who sets the wall clock, however far, passes none. Expiry
// is a moment of that clock.
TEST_P(BrokerSuite, AClockThatIsSetForwardEndsNeitherDelaysNorLeases) {
  NEEDS(delays);
  publish("leased");
  const auto held = take_one(noon, 30s);
  publish(message("delayed"), noon, 10min);
  auto dying = message("dying");
  dying.expires_at = noon + 20min;
  publish(dying, noon, 15min);
  EXPECT_EQ(stats(noon).delayed, 2U);  // also where they first have to come from elsewhere
  const Instant set{noon + 1h, noon + 1s};
  EXPECT_EQ(stats(set).leased, 1U);
  const auto due = take(3, set, 1h);
  EXPECT_EQ(ids(due), (Ids{"dying"}));
  EXPECT_EQ(due.at(0).expired, can().expiry);
  EXPECT_TRUE(start(held.lease, {noon + 1h + 29s - 1ms, noon + 30s - 1ms}));
  EXPECT_TRUE(take(3, {noon + 1h + 29s - 1ms, noon + 30s - 1ms}).empty());
  EXPECT_EQ(ids(take(3, {noon + 1h + 29s, noon + 30s}, 1h)), (Ids{"leased"}));
  EXPECT_TRUE(take(3, {noon + 1h + 10min - 1s - 1ms, noon + 10min - 1ms}).empty());
  EXPECT_EQ(ids(take(3, {noon + 1h + 10min - 1s, noon + 10min})), (Ids{"delayed"}));
}

TEST_P(BrokerSuite, ADelayLastsAsLongAsItWasAskedForHoweverTheClockIsSet) {
  NEEDS(delays);
  for (const Millis jump : {Millis{1h}, Millis{24h * 365}, Millis{-30min}, Millis{0}}) {
    SCOPED_TRACE(jump.count());
    open();
    publish("retried");
    const auto tried = take_one(noon);
    settle(tried, failed(tried, noon, 2h));
    publish(message("delayed"), noon, 1h);
    EXPECT_EQ(stats(noon).delayed, 2U);
    const auto at = [&](Millis passed) { return Instant{noon + jump + passed, noon + passed}; };
    EXPECT_EQ(stats(at(10s)).delayed, 2U);
    publish(message("afterwards"), at(10s), 90min - 10s);
    EXPECT_TRUE(take(3, at(1h - 1ms)).empty());
    EXPECT_EQ(ids(take(3, at(1h), 24h)), (Ids{"delayed"}));
    EXPECT_TRUE(take(3, at(90min - 1ms)).empty());
    EXPECT_EQ(ids(take(3, at(90min), 24h)), (Ids{"afterwards"}));
    EXPECT_TRUE(take(3, at(2h - 1ms)).empty());
    EXPECT_EQ(ids(take(3, at(2h))), (Ids{"retried"}));
  }
}

TEST_P(BrokerSuite, AClockThatIsSetForwardAndBackEndsNoDelayThoughTheMessageCanExpire) {
  NEEDS(delays);
  auto mortal = message("mortal");
  mortal.expires_at = noon + 70min;
  publish(mortal, noon, 60min);
  EXPECT_EQ(stats(noon).delayed, 1U);
  EXPECT_EQ(stats({noon + 1h, noon + 1s}).delayed, 1U);
  EXPECT_EQ(stats({noon + 2s, noon + 2s}).delayed, 1U);
  EXPECT_TRUE(take(1, noon + 60min - 1ms).empty());
  const auto got = take(1, noon + 60min);
  ASSERT_EQ(ids(got), (Ids{"mortal"}));
  EXPECT_FALSE(got[0].expired);
}

// As a clock does that was set back and may not show a moment twice.
TEST_P(BrokerSuite, ADelayIsExactToASecondWhileTheClockIsSlowedDown) {
  NEEDS(delays);
  publish(message("delayed"), noon, 30s);
  EXPECT_EQ(stats(noon).delayed, 1U);
  Millis passed{0};
  while (passed < 60s && take(1, {noon + passed / 2, noon + passed}).empty()) passed += 100ms;
  EXPECT_GE(passed, 29s);
  EXPECT_LE(passed, 32s);
}

TEST_P(BrokerSuite, ALeaseLastsAsLongAsItWasPromisedHoweverTheClockIsSet) {
  for (const Millis jump : {Millis{1h}, Millis{24h * 365}, Millis{-30min}, Millis{0}}) {
    SCOPED_TRACE(jump.count());
    open();
    for (const auto* id : {"settled", "renewed", "left"}) publish(id);
    const auto before = take(3, noon, 30s);
    const auto at = [&](Millis passed) { return Instant{noon + jump + passed, noon + passed}; };
    EXPECT_EQ(before.at(0).leased_until, noon + 30s);
    settle(before[0], Completed{}, at(29s));
    EXPECT_TRUE(renew(before[1].lease, at(29s), 30s));
    const auto again = take(3, at(30s), 10s);
    ASSERT_EQ(ids(again), (Ids{"left"}));
    EXPECT_EQ(again[0].leased_until, noon + jump + 40s);
    EXPECT_EQ(end(before[2].lease, Completed{}, at(31s)).settled, Settled::lease_lost);
    EXPECT_TRUE(take(3, at(40s - 1ms)).empty());
    EXPECT_EQ(ids(take(3, at(40s), 1h)), (Ids{"left"}));
    EXPECT_TRUE(take(3, at(59s - 1ms)).empty());
    EXPECT_EQ(ids(take(3, at(59s))), (Ids{"renewed"}));
  }
}

TEST_P(BrokerSuite, SmallDisagreementsBetweenCallersMoveNoDeadline) {
  NEEDS(delays);
  EXPECT_EQ(stats(noon + 5ms).ready, 0U);  // one caller is a little ahead
  publish(message("m-1"), noon, 3ms);      // of another
  EXPECT_TRUE(take(1, noon + 2ms).empty());
  EXPECT_EQ(take(1, noon + 3ms).size(), 1U);
}

// Long polls: only `wait` is real time. A minute stands for ever, an answer must come long before.
class Stopwatch {
 public:
  [[nodiscard]] Millis elapsed() const {
    return std::chrono::duration_cast<Millis>(std::chrono::steady_clock::now() - began_);
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

TEST_P(BrokerSuite, ALongPollAnswersAtOnceIfSomethingIsThere) {
  publish("m-1");
  const Stopwatch watch;
  EXPECT_EQ(must(broker().receive({10, 30s, 60s}, noon)).size(), 1U);
  EXPECT_LT(watch.elapsed(), 20s);
}

TEST_P(BrokerSuite, ALongPollEndsEmptyWhenItsWaitIsOver) {
  const Stopwatch watch;
  EXPECT_TRUE(must(broker().receive({1, 30s, 40ms}, noon)).empty());
  EXPECT_GE(watch.elapsed(), 40ms);
  EXPECT_LT(watch.elapsed(), 20s);
}

TEST_P(BrokerSuite, ALongPollReturnsWhenSomethingIsPublished) {
  broker();
  const Stopwatch watch;
  auto polled = std::async(std::launch::async,
                           [this] { return must(broker().receive({5, 30s, 60s}, noon)); });
  EXPECT_EQ(polled.wait_for(20ms), std::future_status::timeout);
  publish("m-1");
  EXPECT_EQ(ids(polled.get()), (Ids{"m-1"}));
  EXPECT_LT(watch.elapsed(), 20s);
}

TEST_P(BrokerSuite, ALongPollReturnsWhenADelayEnds) {
  NEEDS(delays);
  publish(message("m-1"), noon, 40ms);
  const Stopwatch watch;
  const auto got = must(broker().receive({5, 30s, 60s}, noon));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_GE(watch.elapsed(), 40ms);
  EXPECT_LT(watch.elapsed(), 20s);
  EXPECT_GE(got[0].leased_until, noon + 40ms + 30s);  // decided as of now + what it waited
}

TEST_P(BrokerSuite, ALongPollSeesADelayThatIsPublishedWhileItWaits) {
  NEEDS(delays);
  broker();
  const Stopwatch watch;
  auto polled = std::async(std::launch::async,
                           [this] { return must(broker().receive({5, 30s, 60s}, noon)); });
  EXPECT_EQ(polled.wait_for(20ms), std::future_status::timeout);
  publish(message("m-1"), noon, 50ms);
  EXPECT_EQ(ids(polled.get()), (Ids{"m-1"}));
  EXPECT_GE(watch.elapsed(), 50ms);
  EXPECT_LT(watch.elapsed(), 20s);
}

TEST_P(BrokerSuite, ALongPollReturnsWhenALeaseEnds) {
  publish("m-1");
  take_one(noon, 40ms);
  const Stopwatch watch;
  EXPECT_EQ(must(broker().receive({5, 30s, 60s}, noon)).size(), 1U);
  EXPECT_GE(watch.elapsed(), 40ms);
  EXPECT_LT(watch.elapsed(), 20s);
}

TEST_P(BrokerSuite, ALongPollReturnsWhenALeaseEndsAlsoIfTheClockWasSet) {
  publish("m-1");
  take_one(noon, 40ms);
  const Stopwatch watch;
  const Instant set{noon + 1h, noon};
  EXPECT_EQ(must(broker().receive({5, 30s, 60s}, set)).size(), 1U);
  EXPECT_GE(watch.elapsed(), 40ms);
  EXPECT_LT(watch.elapsed(), 20s);
}

TEST_P(BrokerSuite, ALongPollReturnsWhenAnEndingFreesTheNextOfAKey) {
  NEEDS(key_order);
  publish("head", noon, "k");
  publish("next", noon, "k");
  const auto head = take_one(noon, 1h);
  const Stopwatch watch;
  auto polled = std::async(std::launch::async,
                           [this] { return must(broker().receive({5, 30s, 60s}, noon)); });
  EXPECT_EQ(polled.wait_for(20ms), std::future_status::timeout);
  settle(head, Completed{});
  EXPECT_EQ(ids(polled.get()), (Ids{"next"}));
  EXPECT_LT(watch.elapsed(), 20s);
}

TEST_P(BrokerSuite, EveryWaitingReceiverGetsItsMessage) {
  broker();
  const Stopwatch watch;
  std::vector<std::future<std::vector<Delivery>>> polls;
  for (int i = 0; i < 6; ++i) {
    polls.push_back(std::async(std::launch::async,
                               [this] { return must(broker().receive({1, 30s, 60s}, noon)); }));
  }
  for (int i = 0; i < 6; ++i) publish("m-" + std::to_string(i));
  Ids got;
  for (auto& poll : polls) {
    for (auto& id : ids(poll.get())) got.push_back(id);
  }
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (Ids{"m-0", "m-1", "m-2", "m-3", "m-4", "m-5"}));
  EXPECT_LT(watch.elapsed(), 20s);
}

TEST_P(BrokerSuite, CloseWakesThoseWhoWait) {
  broker();
  const Stopwatch watch;
  auto polled =
      std::async(std::launch::async, [this] { return broker().receive({5, 30s, 60s}, noon); });
  EXPECT_EQ(polled.wait_for(20ms), std::future_status::timeout);
  broker().close();
  const auto answer = polled.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unavailable);
  EXPECT_LT(watch.elapsed(), 20s);
}

TEST_P(BrokerSuite, AClosedSourceAnswersUnavailable) {
  publish("m-1");
  const auto held = take_one();
  broker().close();
  broker().close();
  const Settlement settlement{held.lease, Completed{}};
  Publication publication;
  publication.message = held.message;
  const auto unavailable = [](const auto& answer) {
    return !answer && answer.error().code == Code::unavailable;
  };
  EXPECT_TRUE(unavailable(broker().receive({1, 30s, 0ms}, noon)));
  EXPECT_TRUE(unavailable(broker().receive({1, 30s, 10ms}, noon)));
  EXPECT_TRUE(unavailable(broker().start({&held.lease, 1}, noon)));
  EXPECT_TRUE(unavailable(broker().renew({&held.lease, 1}, noon, 1s)));
  EXPECT_TRUE(unavailable(broker().settle({&settlement, 1}, noon)));
  EXPECT_TRUE(unavailable(broker().publish({&publication, 1}, noon)));
  EXPECT_TRUE(unavailable(broker().stats(noon)));
}

}  // namespace
}  // namespace dlo::testing
