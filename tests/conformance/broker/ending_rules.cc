// What each ending does to the message and to its counts.
#include "conformance/broker/broker_suite.h"

namespace dlo::testing {
namespace {

TEST_P(BrokerSuite, ACompletedMessageIsGone) {
  publish("m-1");
  settle(take_one(), Completed{});
  EXPECT_TRUE(take(1, noon + 24h).empty());
  EXPECT_EQ(stats().completed, 1U);
}

TEST_P(BrokerSuite, ADeadLetteredMessageIsGone) {
  publish("m-1");
  settle(take_one(), DeadLettered{});
  EXPECT_TRUE(take(1, noon + 24h).empty());
  EXPECT_EQ(stats().dead_lettered, 1U);
  EXPECT_EQ(stats().completed, 0U);
}

TEST_P(BrokerSuite, AFailedMessageComesBackAtItsTimeAsTheCoreDecided) {
  NEEDS(delays);
  publish("m-1");
  const auto first = take_one();
  start(first.lease);
  Failed ending;
  ending.again_at = noon + 90s;
  ending.counters = {
      .fetch = 7, .attempt = 6, .failure = 5, .abandon = 4, .retry = 3, .replay = 2, .total = 9};
  ending.error = std::string("timed out\0 and more", 19);
  ending.delay = 88s;
  ending.trail = std::string("\0\xff", 2);
  settle(first, ending, noon + 2s);

  EXPECT_TRUE(take(1, noon + 90s - 1ms).empty());
  const auto again = take_one(noon + 90s);
  ++ending.counters.fetch;
  EXPECT_EQ(again.counters, ending.counters);
  EXPECT_EQ(again.last_error, ending.error);
  EXPECT_EQ(again.trail, ending.trail);
  EXPECT_EQ(again.previous_delay, 88s);
  EXPECT_EQ(again.message->id, "m-1");
  EXPECT_FALSE(again.interrupted);
}

TEST_P(BrokerSuite, AFailedMessageWhoseTimeHasPassedComesBackAtOnce) {
  publish("m-1");
  const auto first = take_one();
  settle(first, failed(first, noon - 1h, 0ms));
  EXPECT_EQ(take(1).size(), 1U);
}

struct AbandonRow {
  const char* name;
  bool increment;
  Counters before;  // as published
  Counters after;   // as the next delivery shows, its own claim included
};

TEST_P(BrokerSuite, AnAbandonCountsWhatItWasAskedToCount) {  // S3-20, S3-22, R3-3
  const AbandonRow rows[] = {
      {"counted", true, {}, {.fetch = 2, .abandon = 1}},
      {"not counted: the claim is given back", false, {}, {.fetch = 1}},
      {"counted on top of what was carried over",
       true,
       {.fetch = 5, .abandon = 4},
       {.fetch = 7, .abandon = 5}},
      {"not counted, carried over", false, {.fetch = 5, .abandon = 4}, {.fetch = 6, .abandon = 4}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    open();
    Publication publication;
    publication.message = std::make_shared<const Message>(message("m-1"));
    publication.counters = row.before;
    publish(publication);
    const auto answer = settle(take_one(), Abandoned{row.increment, noon, "busy"});
    EXPECT_EQ(answer.abandon_count, row.after.abandon);
    EXPECT_EQ(take_one().counters, row.after);
  }
}

TEST_P(BrokerSuite, AnAbandonThatDoesNotCountTakesBackTheStartToo) {  // I8, S3-30
  publish("m-1");
  const auto first = take_one();
  start(first.lease, noon + 1s);
  settle(first, Abandoned{false, noon + 2s, "busy"}, noon + 2s);
  const auto second = take_one(noon + 2s);
  EXPECT_EQ(second.counters, (Counters{.fetch = 1}));
  EXPECT_EQ(second.first_attempt_at, std::nullopt);
  EXPECT_FALSE(second.interrupted);
  EXPECT_EQ(second.last_error, "busy");

  start(second.lease, noon + 3s);
  settle(second, failed(second, noon + 3s, 0ms), noon + 3s);
  const auto third = take_one(noon + 3s);
  start(third.lease, noon + 4s);
  settle(third, Abandoned{false, noon + 4s, ""}, noon + 4s);
  const auto fourth = take_one(noon + 4s);
  EXPECT_EQ(fourth.counters, third.counters);
  EXPECT_EQ(fourth.first_attempt_at, noon + 3s);

  start(fourth.lease, noon + 5s);
  settle(fourth, Abandoned{true, noon + 5s, ""}, noon + 5s);
  EXPECT_EQ(take_one(noon + 5s).counters.attempt, third.counters.attempt + 1) << "counted: it ran";
}

TEST_P(BrokerSuite, AnAbandonThatCountsLeavesTheCountersItIsGiven) {  // R6: as a failure does
  publish("m-1");
  const auto first = take_one();
  start(first.lease);
  Abandoned decided{true, noon, ""};
  decided.counters = with_start(first.counters);
  decided.counters->failure = 2;  // runs that were cut off before, which the core has counted
  decided.counters->abandon = 3;
  EXPECT_EQ(settle(first, decided).abandon_count, 3U);
  const auto second = take_one();
  auto expected = *decided.counters;
  ++expected.fetch;
  EXPECT_EQ(second.counters, expected);
  start(second.lease);
  decided.increment_count = false;
  decided.counters->abandon = 9;
  EXPECT_EQ(settle(second, decided).abandon_count, 3U) << "nothing was processed";
  EXPECT_EQ(take_one().counters, expected);
}

TEST_P(BrokerSuite, AnAbandonHidesTheMessageForItsDelay) {  // S3-20: visibility delay
  NEEDS(delays);
  publish("m-1");
  settle(take_one(), Abandoned{true, noon + 5s, "busy"}, noon + 1s);
  EXPECT_TRUE(take(1, noon + 5s - 1ms).empty());
  const auto again = take_one(noon + 5s);
  EXPECT_EQ(again.previous_delay, 4s);
  EXPECT_EQ(again.last_error, "busy");
}

TEST_P(BrokerSuite, AnAbandonWithoutAnErrorKeepsTheLastOne) {  // I9, S3-24
  publish("m-1");
  const auto first = take_one();
  auto ending = failed(first, noon, 0ms, "the true error");
  ending.trail = "trail";
  settle(first, ending);
  settle(take_one(), Abandoned{true, noon, ""});
  const auto kept = take_one();
  EXPECT_EQ(kept.last_error, "the true error");
  EXPECT_EQ(kept.trail, "trail");
  settle(kept, Abandoned{true, noon, "a later one"});
  const auto replaced = take_one();
  EXPECT_EQ(replaced.last_error, "a later one");
  EXPECT_EQ(replaced.trail, "trail");
}

TEST_P(BrokerSuite, AnAbandonLeavesTheTrailItIsGiven) {  // as a failure does
  publish("m-1");
  settle(take_one(), Abandoned{true, noon, "", "first"});
  const auto first = take_one();
  EXPECT_EQ(first.trail, "first") << "also if it says nothing else";
  EXPECT_EQ(first.last_error, "");
  settle(first, Abandoned{true, noon, "busy", "first, second"});
  const auto second = take_one();
  EXPECT_EQ(second.trail, "first, second");
  EXPECT_EQ(second.last_error, "busy");
  settle(second, Abandoned{false, noon, "", ""});
  const auto third = take_one();
  EXPECT_EQ(third.trail, "first, second");
  settle(third, ReleasedUnrun{});
  EXPECT_EQ(take_one().trail, "first, second");
}

TEST_P(BrokerSuite, AReleasedMessageCostsNothing) {  // I8, R0-5
  publish("m-1");
  for (int i = 0; i < 4; ++i) {
    const auto delivery = take_one();
    EXPECT_EQ(delivery.counters, (Counters{.fetch = 1})) << "after " << i << " releases";
    settle(delivery, ReleasedUnrun{});
  }
  EXPECT_EQ(stats().ready, 1U);
}

TEST_P(BrokerSuite, AReleaseAlsoTakesBackAStartThatNeverRan) {  // I8
  publish("m-1");
  const auto first = take_one();
  start(first.lease, noon + 1s);
  settle(first, ReleasedUnrun{}, noon + 2s);
  const auto second = take_one(noon + 2s);
  EXPECT_EQ(second.counters, (Counters{.fetch = 1}));
  EXPECT_EQ(second.first_attempt_at, std::nullopt);
  EXPECT_FALSE(second.interrupted);

  start(second.lease, noon + 3s);
  settle(second, failed(second, noon + 3s, 0ms), noon + 3s);
  const auto third = take_one(noon + 3s);
  const auto before = third.counters;
  start(third.lease, noon + 4s);
  settle(third, ReleasedUnrun{}, noon + 4s);
  const auto fourth = take_one(noon + 4s);
  EXPECT_EQ(fourth.counters, before);
  EXPECT_EQ(fourth.first_attempt_at, noon + 3s);
}

TEST_P(BrokerSuite, AReleaseKeepsErrorAndDelay) {
  NEEDS(delays);
  publish("m-1");
  const auto first = take_one();
  settle(first, failed(first, noon, 4s, "broken"));
  settle(take_one(noon + 4s), ReleasedUnrun{}, noon + 4s);
  const auto again = take_one(noon + 4s);
  EXPECT_EQ(again.last_error, "broken");
  EXPECT_EQ(again.previous_delay, 4s);
  EXPECT_EQ(again.counters.failure, 1U);
}

TEST_P(BrokerSuite, CountersCarriedOverArrive) {  // R6
  Publication publication;
  publication.message = std::make_shared<const Message>(message("m-1"));
  publication.counters = {.fetch = 3, .attempt = 2, .failure = 2, .replay = 1, .total = 8};
  publish(publication);
  auto expected = publication.counters;
  ++expected.fetch;
  EXPECT_EQ(take_one().counters, expected);
}

TEST_P(BrokerSuite, CountersDoNotRunOver) {
  Publication publication;
  publication.message = std::make_shared<const Message>(message("m-1"));
  publication.counters.fetch = publication.counters.attempt = publication.counters.abandon =
      publication.counters.total = publication.counters.retry = UINT32_MAX;
  publish(publication);
  auto delivery = take_one(noon, 1s);
  EXPECT_EQ(delivery.counters, publication.counters);
  start(delivery.lease);
  delivery = take_one(noon + 1s);
  EXPECT_EQ(delivery.counters, publication.counters);
  EXPECT_EQ(settle(delivery, Abandoned{true, noon, ""}, noon + 1s).abandon_count, UINT32_MAX);
}

}  // namespace
}  // namespace dlo::testing
