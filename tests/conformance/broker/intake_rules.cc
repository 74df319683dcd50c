// Publishing: all or none, positions, dedupe, limits, expiry; and items nobody can read.
#include <set>

#include "conformance/broker/broker_suite.h"

namespace dlo::testing {
namespace {

Publication with_dedupe(const std::string& id, const std::string& dedupe_id) {
  Publication publication;
  Message made;
  made.id = id;
  publication.message = std::make_shared<const Message>(made);
  publication.dedupe_id = dedupe_id;
  return publication;
}

TEST_P(BrokerSuite, ABatchIsPublishedInItsOrder) {
  std::vector<Publication> batch;
  for (int i = 0; i < 100; ++i) batch.push_back(with_dedupe("m-" + std::to_string(i), ""));
  EXPECT_EQ(must(broker().publish(batch, noon)).size(), 100U);
  const auto got = ids(take(100));
  ASSERT_EQ(got.size(), 100U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(got[static_cast<std::size_t>(i)], "m-" + std::to_string(i));
  }
  EXPECT_TRUE(must(broker().publish({}, noon)).empty());
}

TEST_P(BrokerSuite, ABatchWithABadOneIsRefusedWhole) {
  const std::vector<Publication> batch = {with_dedupe("m-1", "d-1"), Publication{},
                                          with_dedupe("m-3", "d-3")};
  const auto refused = broker().publish(batch, noon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().detail.find("publication 1 of 3"), std::string::npos);
  EXPECT_EQ(stats().published, 0U);
  EXPECT_TRUE(take(10).empty());
}

TEST_P(BrokerSuite, PositionsAreStableAndGrow) {  // R3
  NEEDS(stable_positions);
  std::vector<Position> answered;
  for (int i = 0; i < 5; ++i) {
    const auto answer = publish("same id, same body");
    ASSERT_TRUE(answer.position);
    answered.push_back(*answer.position);
    if (i > 0) {
      EXPECT_EQ(answered[1].partition, answered[0].partition);
      EXPECT_GT(answer.position->offset, answered[answered.size() - 2].offset);
    }
  }
  for (int round = 0; round < 2; ++round) {
    auto got = take(5, noon + 1h * round, 1h);
    ASSERT_EQ(got.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(got[i].message->position, answered[i]);
  }
}

TEST_P(BrokerSuite, AMessageSentAgainStandsInANewPlace) {  // a replay keeps no old position
  NEEDS(stable_positions);
  const auto first = publish("m-1");
  const auto dead = take_one();
  settle(dead, DeadLettered{});
  const auto second = publish(*dead.message, noon + 1h);
  EXPECT_NE(second.position, first.position);
  EXPECT_EQ(take_one(noon + 1h).message->position, second.position);
}

TEST_P(BrokerSuite, ADuplicateWithinTheWindowIsAcceptedAndDropped) {
  NEEDS(dedupe);
  auto options = orders();
  options.dedupe_window = 10min;
  open(options);
  const auto first = publish(with_dedupe("first", "d-1"), noon);
  EXPECT_FALSE(first.duplicate);
  const auto second = publish(with_dedupe("second", "d-1"), noon + 10min - 1ms);
  EXPECT_TRUE(second.duplicate);
  if (can().stable_positions) {
    EXPECT_EQ(second.position, first.position);
  }
  EXPECT_FALSE(publish(with_dedupe("another", "d-2"), noon + 1min).duplicate);
  EXPECT_EQ(stats(noon + 1min).published, 2U);
  const auto got = ids(take(10, noon + 1min));
  EXPECT_EQ((std::multiset<std::string>{got.begin(), got.end()}),
            (std::multiset<std::string>{"first", "another"}));
}

TEST_P(BrokerSuite, TheDedupeWindowEnds) {
  NEEDS(dedupe);
  auto options = orders();
  options.dedupe_window = 10min;
  open(options);
  publish(with_dedupe("first", "d-1"), noon);
  EXPECT_FALSE(publish(with_dedupe("second", "d-1"), noon + 10min).duplicate);
  EXPECT_TRUE(publish(with_dedupe("third", "d-1"), noon + 15min).duplicate);
}

TEST_P(BrokerSuite, TheDedupeWindowIsTimeThatPassesHoweverTheClockIsSet) {
  NEEDS(dedupe);
  for (const Millis jump : {Millis{1h}, Millis{24h * 365}, Millis{-1h}}) {
    SCOPED_TRACE(jump.count());
    auto options = orders();
    options.dedupe_window = 10min;
    open(options);
    const auto at = [&](Millis passed) { return Instant{noon + jump + passed, noon + passed}; };
    publish(with_dedupe("first", "d-1"), noon);
    EXPECT_TRUE(publish(with_dedupe("second", "d-1"), at(1s)).duplicate);
    EXPECT_TRUE(publish(with_dedupe("third", "d-1"), at(10min - 1ms)).duplicate);
    EXPECT_FALSE(publish(with_dedupe("fourth", "d-1"), at(10min)).duplicate);
  }
}

TEST_P(BrokerSuite, WhatWasDedupedMayBeLongDone) {
  NEEDS(dedupe);
  auto options = orders();
  options.dedupe_window = 10min;
  open(options);
  publish(with_dedupe("first", "d-1"), noon);
  settle(take_one(), Completed{});
  EXPECT_TRUE(publish(with_dedupe("again", "d-1"), noon + 1min).duplicate);
  EXPECT_TRUE(take(1, noon + 1min).empty());
}

TEST_P(BrokerSuite, ABatchMayHoldItsOwnDuplicate) {
  NEEDS(dedupe);
  auto options = orders();
  options.dedupe_window = 10min;
  open(options);
  const std::vector<Publication> batch = {with_dedupe("one", "d"), with_dedupe("two", "d"),
                                          with_dedupe("three", "")};
  const auto answers = must(broker().publish(batch, noon));
  EXPECT_FALSE(answers.at(0).duplicate);
  EXPECT_TRUE(answers.at(1).duplicate);
  EXPECT_FALSE(answers.at(2).duplicate);
  EXPECT_EQ(stats().ready, 2U);
}

TEST_P(BrokerSuite, WithoutAnIdOrAWindowNothingIsADuplicate) {
  NEEDS(dedupe);
  auto options = orders();
  options.dedupe_window = 10min;
  open(options);
  publish(with_dedupe("a", ""));
  EXPECT_FALSE(publish(with_dedupe("a", "")).duplicate);
  open();
  publish(with_dedupe("a", "d"));
  EXPECT_FALSE(publish(with_dedupe("a", "d")).duplicate);
  EXPECT_EQ(stats().ready, 2U);
}

TEST_P(BrokerSuite, AFullSourceRefusesAndDropsNothing) {
  NEEDS(limits);
  auto options = orders();
  options.max_messages = 3;
  options.dedupe_window = 10min;
  open(options);
  publish("m-1");
  publish("m-2");
  const std::vector<Publication> two = {with_dedupe("m-3", "d-3"), with_dedupe("m-4", "d-4")};
  const auto refused = broker().publish(two, noon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::full);
  EXPECT_NE(refused.error().detail.find("max_messages"), std::string::npos);
  EXPECT_EQ(stats().published, 2U);

  // Leased ones still take room; settling makes some. The refused batch was not remembered.
  const auto held = take_one();
  EXPECT_FALSE(broker().publish(two, noon));
  settle(held, Completed{});
  const auto accepted = must(broker().publish(two, noon));
  EXPECT_FALSE(accepted.at(0).duplicate);
  EXPECT_FALSE(accepted.at(1).duplicate);
  EXPECT_EQ(stats().ready, 3U);
}

TEST_P(BrokerSuite, WhatComesBackNeedsNoRoom) {
  NEEDS(limits);
  auto options = orders();
  options.max_messages = 1;
  open(options);
  publish("m-1");
  const auto held = take_one();
  settle(held, failed(held, noon, 0ms));
  EXPECT_EQ(stats().ready, 1U);
  EXPECT_EQ(take(1).size(), 1U);
}

TEST_P(BrokerSuite, BytesAreLimitedToo) {
  NEEDS(limits);
  auto options = orders();
  options.max_bytes = 10'000;
  open(options);
  auto big = message("m-1");
  big.payload = std::string(6'000, 'x');
  publish(big);
  EXPECT_GE(stats().bytes, 6'000U);
  Publication second;
  second.message = std::make_shared<const Message>(big);
  const auto refused = broker().publish({&second, 1}, noon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::full);
  settle(take_one(), Completed{});
  EXPECT_EQ(stats().bytes, 0U);
  EXPECT_TRUE(broker().publish({&second, 1}, noon).has_value());
}

TEST_P(BrokerSuite, ABatchThatCanNeverFitIsTheCallersMistake) {
  NEEDS(limits);
  auto options = orders();
  options.max_messages = 2;
  open(options);
  const std::vector<Publication> three = {with_dedupe("a", ""), with_dedupe("b", ""),
                                          with_dedupe("c", "")};
  const auto refused = broker().publish(three, noon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_EQ(stats().published, 0U);
}

TEST_P(BrokerSuite, AnExpiredMessageIsHandedOutAsExpired) {  // R8: nothing is dropped by default
  NEEDS(expiry);
  auto made = message("m-1");
  made.expires_at = noon + 10s;
  publish(made);
  auto delivery = take_one(noon + 10s - 1ms, 1s);
  EXPECT_FALSE(delivery.expired);
  EXPECT_EQ(delivery.message->expires_at, noon + 10s);
  settle(delivery, ReleasedUnrun{}, noon + 10s - 1ms);
  delivery = take_one(noon + 10s);
  EXPECT_TRUE(delivery.expired);
  settle(delivery, DeadLettered{}, noon + 10s);
  EXPECT_EQ(stats(noon + 10s).dead_lettered, 1U);
  EXPECT_EQ(stats(noon + 10s).expired, 0U);
}

TEST_P(BrokerSuite, AnExpiredMessageIsDroppedAndCountedWhereThatIsAskedFor) {  // R8
  NEEDS(expiry);
  auto options = orders();
  options.drop_expired = true;
  open(options);
  for (const char* id : {"old", "older"}) {
    auto made = message(id);
    made.expires_at = noon + 10s;
    publish(made);
  }
  publish("ageless");
  EXPECT_EQ(ids(take(10, noon + 10s)), (Ids{"ageless"}));
  EXPECT_EQ(stats(noon + 10s).expired, 2U);
  EXPECT_EQ(stats(noon + 10s).ready, 0U);
}

TEST_P(BrokerSuite, ADroppedHeadLetsItsKeyGoOn) {
  NEEDS(expiry);
  NEEDS(key_order);
  auto options = orders();
  options.drop_expired = true;
  open(options);
  auto old = message("old", "k");
  old.expires_at = noon + 10s;
  publish(old);
  publish("young", noon, "k");
  EXPECT_EQ(ids(take(10, noon + 10s)), (Ids{"young"}));
}

TEST_P(BrokerSuite, ADelayEndsWhenItsMessageExpires) {
  NEEDS(expiry);
  NEEDS(delays);
  auto made = message("m-1");
  made.expires_at = noon + 10s;
  publish(made, noon, 1h);
  EXPECT_TRUE(take(1, noon + 10s - 1ms).empty());
  EXPECT_TRUE(take_one(noon + 10s).expired);
}

std::vector<Delivery> take_expired(Broker& from, Instant now) {
  ReceiveRequest request;
  request.limit = 10;
  request.expired_only = true;
  return must(from.receive(request, now));
}

TEST_P(BrokerSuite, WhatIsToBeDroppedLeavesThoughNobodyReceives) {  // R8
  NEEDS(expiry);
  NEEDS(admin);
  auto options = orders();
  options.drop_expired = true;
  open(options);
  publish("first");
  for (const char* key : {"", "a", "b", "b"}) {
    auto made = message("old", key);
    made.expires_at = noon + 10s;
    publish(made);
  }
  must(admin().pause());
  EXPECT_EQ(stats(noon + 10s - 1ms).expired, 0U);
  const auto after = stats(noon + 10s);
  EXPECT_EQ(after.expired, 4U);
  EXPECT_EQ(after.ready, 1U);
  EXPECT_EQ(after.held, 0U);
  must(admin().resume());
  EXPECT_EQ(ids(take(10, noon + 10s)), (Ids{"first"}));
}

TEST_P(BrokerSuite, AFullSourceMakesRoomOfWhatIsToBeDropped) {
  NEEDS(expiry);
  NEEDS(limits);
  auto options = orders();
  options.ttl = 10s;
  options.max_messages = 3;
  options.drop_expired = true;
  open(options);
  for (const char* id : {"a", "b", "c"}) publish(id);
  // One with a state, as whoever failed has it.
  const auto tried = take_one(noon, 1min);
  settle(tried, failed(tried, noon, 0ms));
  Publication next;
  next.message = std::make_shared<const Message>(message("next"));
  const auto refused = broker().publish({&next, 1}, noon + 10s - 1ms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::full);
  ASSERT_TRUE(broker().publish({&next, 1}, noon + 10s));
  EXPECT_EQ(stats(noon + 10s).expired, 3U);
  EXPECT_EQ(ids(take(10, noon + 10s)), (Ids{"next"}));
}

TEST_P(BrokerSuite, WhatHasExpiredIsFetchedPastWhoeverIsAheadOfIt) {
  NEEDS(expiry);
  NEEDS(admin);
  publish("first");
  for (const char* id : {"old", "older"}) {
    auto made = message(id);
    made.expires_at = noon + 10s;
    publish(made);
    publish("beside " + made.id);
  }
  must(admin().pause());
  EXPECT_TRUE(take_expired(broker(), noon + 10s - 1ms).empty());
  const auto expired = take_expired(broker(), noon + 10s);
  ASSERT_EQ(ids(expired), (Ids{"old", "older"}));
  EXPECT_TRUE(expired[0].expired && expired[1].expired);
  EXPECT_TRUE(take_expired(broker(), noon + 10s).empty());
  settle(expired[0], DeadLettered{}, noon + 10s);
  settle(expired[1], ReleasedUnrun{}, noon + 10s);
  EXPECT_EQ(ids(take_expired(broker(), noon + 10s)), (Ids{"older"}));
  EXPECT_EQ(stats(noon + 10s).dead_lettered, 1U);
  must(admin().resume());
  EXPECT_EQ(ids(take(10, noon + 10s)), (Ids{"first", "beside old", "beside older"}));
}

TEST_P(BrokerSuite, ASourcesTtlIsForThoseWithoutTheirOwn) {  // S0-55
  NEEDS(expiry);
  auto options = orders();
  options.ttl = 5s;
  open(options);
  publish("by the source");
  auto own = message("its own");
  own.expires_at = noon + 1h;
  publish(own);
  const auto got = take(2, noon + 5s);
  ASSERT_EQ(ids(got), (Ids{"by the source", "its own"}));
  EXPECT_TRUE(got[0].expired);
  EXPECT_EQ(got[0].message->expires_at, noon + 5s);
  EXPECT_FALSE(got[1].expired);
}

TEST_P(BrokerSuite, AnUndecodableItemIsDeliveredAsBytesAndCounted) {  // I3, R3-7a, R1-3, SQL-09
  NEEDS(undecodable);
  const std::string bytes("{\"amount\": tw\0\xff", 15);
  put_undecodable(bytes);
  const auto got = take_one();
  ASSERT_NE(got.undecodable, nullptr);
  EXPECT_FALSE(got.undecodable->text.empty());
  EXPECT_EQ(got.message->payload, bytes);
  EXPECT_EQ(got.message->source, "orders");
  EXPECT_EQ(got.counters.fetch, 1U);
  settle(got, Abandoned{true, noon, "cannot read it"});
  const auto again = take_one();
  EXPECT_EQ(again.counters.fetch, 2U);
  EXPECT_NE(again.undecodable, nullptr);
  EXPECT_EQ(again.last_error, "cannot read it");
}

TEST_P(BrokerSuite, UndecodableItemsBlockNobody) {  // I3, R3-7a
  NEEDS(undecodable);
  for (int i = 0; i < 50; ++i) put_undecodable("?", noon);
  publish("good", noon + 1ms);
  for (const auto& bad : take(50, noon + 1ms)) {
    EXPECT_NE(bad.undecodable, nullptr);
    settle(bad, Abandoned{true, noon, ""}, noon + 1ms);
  }
  std::set<std::string> seen;
  for (const auto& id : ids(take(50, noon + 2ms))) seen.insert(id);
  EXPECT_TRUE(seen.contains("good"));
}

}  // namespace
}  // namespace dlo::testing
