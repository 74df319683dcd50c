// Claims, start marks, leases and their tokens.
#include <algorithm>
#include <random>

#include "conformance/broker/broker_suite.h"

namespace dlo::testing {
namespace {

TEST_P(BrokerSuite, AMessageArrivesAsItWasSent) {
  Message sent = message("m-1", "tenant-7");
  sent.event_type = "OrderPlaced";
  sent.correlation_id = "c-1";
  sent.content_type = "application/octet-stream";
  sent.payload = std::string("\0\xff\xfe{not utf-8\0", 14);
  sent.headers = {{"a", "1", HeaderType::integer},
                  {"A", std::string("\0x", 2), HeaderType::bytes},
                  {"a", "", HeaderType::null}};
  sent.enqueued_at = noon - 1h;
  sent.priority = Priority::high;
  sent.owner = Owner{"instance", 3, Activity{"charge", 9}, "parent"};
  sent.source = "where it was made";
  publish(sent);

  Message expected = sent;
  expected.source = "orders";
  const auto got = take_one();
  expected.position = got.message->position;
  EXPECT_EQ(*got.message, expected);
  EXPECT_EQ(got.leased_until, noon + 30s);
  EXPECT_FALSE(got.expired);
  EXPECT_EQ(got.undecodable, nullptr);
}

TEST_P(BrokerSuite, NoPayloadAndAnEmptyPayloadAreDifferentThings) {
  Message none = message("none");
  none.payload.reset();
  Message empty = message("empty");
  empty.payload = "";
  publish(none);
  publish(empty, noon + 1ms);
  const auto got = take(2, noon + 1ms);
  ASSERT_EQ(ids(got), (Ids{"none", "empty"}));
  EXPECT_FALSE(got[0].message->payload.has_value());
  ASSERT_TRUE(got[1].message->payload.has_value());
  EXPECT_EQ(*got[1].message->payload, "");
}

TEST_P(BrokerSuite, HugeAndAbsurdMessagesPassUnchanged) {
  Message huge = message("huge");
  huge.payload = std::string(64U << 20, '\0');
  huge.payload->back() = 'x';
  for (int i = 0; i < 5000; ++i) huge.headers.push_back({"h", std::string("\xC3", 1)});
  huge.event_type = std::string(100'000, 't');
  publish(huge);
  const auto got = take_one();
  EXPECT_TRUE(got.message->payload == huge.payload);
  EXPECT_TRUE(got.message->headers == huge.headers);
  EXPECT_TRUE(got.message->event_type == huge.event_type);
}

TEST_P(BrokerSuite, AMessageWithoutATimeCarriesThatOfItsPublication) {
  publish("m-1", noon + 5s);
  EXPECT_EQ(take_one(noon + 9s).message->enqueued_at, noon + 5s);
}

TEST_P(BrokerSuite, AnEmptySourceAnswersEmpty) {
  EXPECT_TRUE(take(10).empty());
}

TEST_P(BrokerSuite, AReceiveTakesNoMoreThanItsLimit) {
  for (int i = 0; i < 5; ++i) publish("m-" + std::to_string(i));
  EXPECT_TRUE(take(0).empty());
  EXPECT_EQ(take(2).size(), 2U);
  EXPECT_EQ(take(1'000'000'000).size(), 3U);
}

TEST_P(BrokerSuite, ALeasedMessageIsHiddenUntilItsLeaseEnds) {  // SQL-03
  publish("m-1");
  const auto first = take_one(noon, 30s);
  EXPECT_TRUE(take(1, noon).empty());
  EXPECT_TRUE(take(1, noon + 30s - 1ms).empty());
  const auto second = take_one(noon + 30s, 10s);
  EXPECT_EQ(second.message->id, "m-1");
  EXPECT_EQ(second.leased_until, noon + 40s);
  EXPECT_NE(second.lease, first.lease);
}

TEST_P(BrokerSuite, AClaimIsCountedWhenItIsMade) {  // R1, R3-1
  publish("m-1");
  const auto first = take_one();
  EXPECT_EQ(first.counters, (Counters{.fetch = 1}));
  settle(first, Abandoned{.increment_count = true, .again_at = noon, .error = ""});
  EXPECT_EQ(take_one().counters, (Counters{.fetch = 2, .abandon = 1}));
}

TEST_P(BrokerSuite, AClaimThatNeverStartedIsGivenBackWhenItsLeaseEnds) {  // R1, SQL-05, S3-30
  publish("m-1");
  take_one(noon, 10s);
  const auto again = take_one(noon + 10s);
  EXPECT_EQ(again.counters, (Counters{.fetch = 1}));
  EXPECT_FALSE(again.interrupted);
  EXPECT_EQ(again.interruptions, 0U);
  EXPECT_EQ(again.first_attempt_at, std::nullopt);
}

TEST_P(BrokerSuite, AClaimThatNeverStartedStaysCountedWhereClaimsCount) {  // durable-fetch, R3-1
  auto options = orders();
  options.claims_count = true;
  open(options);
  publish("m-1");
  take_one(noon, 10s);
  EXPECT_EQ(take_one(noon + 10s).counters, (Counters{.fetch = 2}));
}

TEST_P(BrokerSuite, AStartIsCountedOnceForEachLease) {  // R1, SQL-05
  publish("m-1");
  const auto first = take_one(noon, 10s);
  EXPECT_TRUE(start(first.lease));
  EXPECT_TRUE(start(first.lease));
  const auto second = take_one(noon + 10s, 10s);
  EXPECT_EQ(second.counters, (Counters{.fetch = 2, .attempt = 1, .total = 1}));
  EXPECT_TRUE(start(second.lease, noon + 10s));
  const auto third = take_one(noon + 20s);
  EXPECT_EQ(third.counters, (Counters{.fetch = 3, .attempt = 2, .retry = 1, .total = 2}));
}

TEST_P(BrokerSuite, AStartedMessageWhoseLeaseEndsComesBackAsInterrupted) {  // R7
  publish("m-1");
  auto delivery = take_one(noon, 10s);
  EXPECT_FALSE(delivery.interrupted);
  EXPECT_TRUE(start(delivery.lease));
  for (std::uint32_t times = 1; times <= 3; ++times) {
    delivery = take_one(noon + 10s * times, 10s);
    EXPECT_TRUE(delivery.interrupted);
    EXPECT_EQ(delivery.interruptions, times);
    EXPECT_TRUE(start(delivery.lease, noon + 10s * times));
  }
  settle(delivery, failed(delivery, noon + 35s, 0ms), noon + 35s);
  delivery = take_one(noon + 35s);
  EXPECT_FALSE(delivery.interrupted);
  EXPECT_EQ(delivery.interruptions, 0U);
}

TEST_P(BrokerSuite, OneThatWasReleasedIsStillASuspect) {  // R7
  publish("m-1");
  EXPECT_TRUE(start(take_one(noon, 10s).lease));
  settle(take_one(noon + 10s), ReleasedUnrun{}, noon + 10s);
  const auto again = take_one(noon + 10s);
  EXPECT_TRUE(again.interrupted);
  EXPECT_EQ(again.interruptions, 1U);
  EXPECT_TRUE(again.may_be_repeat);
}

TEST_P(BrokerSuite, OnlyWhatWasClaimedBeforeMayBeARepeat) {  // R2
  publish("m-1");
  const auto first = take_one(noon, 10s);
  EXPECT_FALSE(first.may_be_repeat);
  const auto expired = take_one(noon + 10s, 10s);
  EXPECT_TRUE(expired.may_be_repeat);
  settle(expired, failed(expired, noon + 10s, 0ms), noon + 10s);
  EXPECT_TRUE(take_one(noon + 10s).may_be_repeat);
}

TEST_P(BrokerSuite, TheTimeOfTheFirstAttemptIsKept) {  // D24
  publish("m-1");
  auto delivery = take_one(noon + 1s);
  EXPECT_EQ(delivery.first_attempt_at, std::nullopt);
  start(delivery.lease, noon + 2s);
  settle(delivery, failed(delivery, noon + 3s, 0ms), noon + 3s);
  delivery = take_one(noon + 4s);
  EXPECT_EQ(delivery.first_attempt_at, noon + 2s);
  start(delivery.lease, noon + 5s);
  settle(delivery, failed(delivery, noon + 6s, 0ms), noon + 6s);
  EXPECT_EQ(take_one(noon + 7s).first_attempt_at, noon + 2s);
}

TEST_P(BrokerSuite, ARenewedLeaseLastsFromItsRenewal) {
  publish("m-1");
  publish("m-2");
  const auto both = take(2, noon, 10s);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_TRUE(renew(both[0].lease, noon + 9s, 20s));
  EXPECT_EQ(ids(take(2, noon + 28s)), (Ids{both[1].message->id}));
  settle(both[0], Completed{}, noon + 28s);
}

TEST_P(BrokerSuite, ARenewalMayAlsoShortenALease) {
  publish("m-1");
  const auto held = take_one(noon, 10min);
  EXPECT_TRUE(renew(held.lease, noon, 1s));
  EXPECT_TRUE(take(1, noon + 999ms).empty());
  EXPECT_EQ(take(1, noon + 1s).size(), 1U);
}

TEST_P(BrokerSuite, AWorkerThatLostItsLeaseCannotDoAnything) {  // R5, SQL-02, GEN-13
  publish("m-1");
  const auto slow = take_one(noon, 30s);
  const auto next = take_one(noon + 30s, 30s);

  EXPECT_FALSE(start(slow.lease, noon + 31s));
  EXPECT_FALSE(renew(slow.lease, noon + 31s, 1h));
  for (const Ending& ending :
       {Ending{Completed{}}, Ending{failed(slow, noon, 0ms)}, Ending{Abandoned{true, noon, "x"}},
        Ending{ReleasedUnrun{}}, Ending{DeadLettered{true}}}) {
    EXPECT_EQ(end(slow.lease, ending, noon + 31s).settled, Settled::lease_lost);
  }
  EXPECT_EQ(stats(noon + 31s).leased, 1U);
  EXPECT_TRUE(start(next.lease, noon + 31s));
  settle(next, Completed{}, noon + 31s);
}

TEST_P(BrokerSuite, ALeaseIsOverAtItsEndEvenIfNobodyElseTookTheMessage) {
  publish("m-1");
  const auto slow = take_one(noon, 30s);
  EXPECT_EQ(end(slow.lease, Completed{}, noon + 30s).settled, Settled::lease_lost);
  EXPECT_EQ(take(1, noon + 30s).size(), 1U);
}

TEST_P(BrokerSuite, ATokenSettlesOnce) {
  publish("m-1");
  publish("m-2");
  const auto first = take_one();
  settle(first, Completed{});
  EXPECT_EQ(end(first.lease, Completed{}).settled, Settled::lease_lost);
  const auto second = take_one();  // may well use the place of the first
  EXPECT_EQ(end(first.lease, Completed{}).settled, Settled::lease_lost);
  EXPECT_FALSE(start(first.lease));
  settle(second, Completed{});
}

TEST_P(BrokerSuite, InventedTokensAreAnswersNotCrashes) {
  for (int i = 0; i < 20; ++i) publish("m-" + std::to_string(i));
  const auto live = take(10);
  std::mt19937_64 random(7);
  std::vector<LeaseToken> invented = {LeaseToken{}, LeaseToken{{0, UINT64_MAX}},
                                      LeaseToken{{UINT64_MAX, UINT64_MAX}},
                                      LeaseToken{{UINT64_MAX, 0}}};
  for (const auto& delivery : live) {
    for (int i = 0; i < 20; ++i) {
      auto token = delivery.lease;
      token.high ^= random() % 64;
      token.low ^= 1 + random() % 64;
      const bool real = std::any_of(live.begin(), live.end(),
                                    [&](const auto& each) { return each.lease == token; });
      if (!real) invented.push_back(token);
    }
  }
  for (int i = 0; i < 1000; ++i) invented.push_back(LeaseToken{{random(), random()}});
  for (const auto& token : invented) {
    EXPECT_FALSE(start(token));
    EXPECT_FALSE(renew(token, noon, 1h));
    EXPECT_EQ(end(token, DeadLettered{}).settled, Settled::lease_lost);
  }
  EXPECT_EQ(stats().leased, 10U);
  EXPECT_EQ(stats().ready, 10U);
}

TEST_P(BrokerSuite, ATokenOfAnotherSourceIsLostHere) {
  publish("m-1");
  const auto mine = take_one();
  auto options = orders();
  options.source = "payments";
  const auto other = GetParam().make_empty(options);
  Publication same;
  same.message = std::make_shared<const Message>(message("m-1"));
  must(other->broker().publish({&same, 1}, noon));
  const auto theirs = must(other->broker().receive({1, 30s, 0ms}, noon)).at(0);
  EXPECT_EQ(end(theirs.lease, Completed{}).settled, Settled::lease_lost);
  settle(mine, Completed{});
}

TEST_P(BrokerSuite, ALostTokenInABatchHarmsNobodyElse) {
  for (int i = 0; i < 3; ++i) publish("m-" + std::to_string(i));
  const auto got = take(3);
  ASSERT_EQ(got.size(), 3U);
  settle(got[1], Completed{});
  const std::vector<LeaseToken> tokens = {got[0].lease, got[1].lease, got[2].lease};
  EXPECT_EQ(must(broker().start(tokens, noon)), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(must(broker().renew(tokens, noon, 1h)), (std::vector<bool>{true, false, true}));
  const std::vector<Settlement> batch = {{got[0].lease, Completed{}},
                                         {got[1].lease, Completed{}},
                                         {got[2].lease, DeadLettered{}},
                                         {got[0].lease, Completed{}}};
  const auto answers = must(broker().settle(batch, noon));
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0].settled, Settled::done);
  EXPECT_EQ(answers[1].settled, Settled::lease_lost);
  EXPECT_EQ(answers[2].settled, Settled::done);
  EXPECT_EQ(answers[3].settled, Settled::lease_lost);
  EXPECT_EQ(stats().completed, 2U);
  EXPECT_EQ(stats().dead_lettered, 1U);
}

TEST_P(BrokerSuite, ALeaseOfNoLengthIsRefused) {
  publish("m-1");
  for (const auto length : {Millis{0}, Millis{-5}, Millis::min()}) {
    const auto refused = broker().receive({1, length, 0ms}, noon);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
  }
  const auto held = take_one();
  const auto refused = broker().renew({&held.lease, 1}, noon, 0ms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  settle(held, Completed{});
}

TEST_P(BrokerSuite, ALeaseWithoutEndNeverEnds) {
  publish("m-1");
  const auto held = take_one(noon, Millis::max());
  EXPECT_TRUE(take(1, noon + 24h * 36500).empty());
  settle(held, Completed{}, noon + 24h * 36500);
}

TEST_P(BrokerSuite, AReceiveHandsOutNoMoreBytesThanWantedButAlwaysOneMessage) {
  for (int i = 0; i < 6; ++i) {
    Message big = message("big-" + std::to_string(i));
    big.payload = std::string(1'000, 'x');
    publish(big);
  }
  ReceiveRequest request{10, 30s, 0ms};
  request.bytes = 2'500;
  EXPECT_EQ(must(broker().receive(request, noon)).size(), 3U);
  request.bytes = 0;
  EXPECT_EQ(must(broker().receive(request, noon)).size(), 1U);
  request.bytes = UINT64_MAX;
  EXPECT_EQ(must(broker().receive(request, noon)).size(), 2U);
}

}  // namespace
}  // namespace dlo::testing
