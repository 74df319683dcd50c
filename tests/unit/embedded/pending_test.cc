// What is written and not yet on the disk: EagerBroker of the embedded queue.
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unit/embedded/shop.h"

namespace dlo::testing {
namespace {

using Op = FaultFileSystem::Op;

std::vector<Publication> one(const std::string& id) {
  auto message = std::make_shared<Message>();
  message->id = id;
  message->payload = "x";
  std::vector<Publication> all(1);
  all.front().message = std::move(message);
  return all;
}

std::vector<Settlement> done(const Delivery& delivery) {
  return {{delivery.lease, Completed{}}};
}

std::uint64_t syncs(Shop& shop) {
  return shop.queues->journal_stats().syncs;
}

TEST(Pending, AMessageIsHandedOutOnlyWhenItIsOnTheDisk) {
  Shop shop;
  shop.open();
  auto sent = shop.queue->publish_soon(one("a"), noon);
  EXPECT_TRUE(shop.take(10).empty());
  const auto answers = must(std::move(sent).wait());
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_TRUE(answers.front().position.has_value());
  ASSERT_EQ(shop.take(10).size(), 1U);
}

TEST(Pending, SeveralThatWaitShareOneSync) {
  Shop shop;
  shop.open();
  shop.publish("a");
  const auto taken = shop.take(1);
  ASSERT_EQ(taken.size(), 1U);
  const auto before = syncs(shop);
  auto first = shop.queue->publish_soon(one("b"), noon);
  auto second = shop.queue->publish_soon(one("c"), noon);
  auto settled = shop.queue->settle_soon(done(taken.front()), noon);
  EXPECT_EQ(syncs(shop), before) << "nobody has waited yet";
  must(std::move(first).wait());
  must(std::move(second).wait());
  EXPECT_EQ(must(std::move(settled).wait()).front().settled, Settled::done);
  EXPECT_EQ(syncs(shop), before + 1);
  EXPECT_EQ(shop.take(10).size(), 2U);
}

TEST(Pending, WhatWasWaitedForSurvivesAPowerCut) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Shop shop;
    shop.open();
    auto first = shop.queue->publish_soon(one("a"), noon);
    auto second = shop.queue->publish_soon(one("b"), noon);
    must(std::move(second).wait());
    must(std::move(first).wait());
    shop.cut_power(seed);
    shop.open();
    EXPECT_EQ(shop.take_ids(10), (std::vector<std::string>{"a", "b"})) << "seed " << seed;
  }
}

TEST(Pending, WhoeverWaitsForADiskThatFailsIsNotToldThatItIsDone) {
  Shop shop;
  shop.open();
  shop.publish("a");
  const auto taken = shop.take(1);
  auto sent = shop.queue->publish_soon(one("b"), noon);
  auto settled = shop.queue->settle_soon(done(taken.front()), noon);
  shop.disk->set_fault([](Op op, const std::string&) -> std::optional<Code> {
    if (op == Op::sync) return Code::unavailable;
    return std::nullopt;
  });
  EXPECT_EQ(std::move(sent).wait().error().code, Code::unavailable);
  EXPECT_EQ(std::move(settled).wait().error().code, Code::unavailable);
}

TEST(Pending, OneThatIsRefusedSaysSoAtOnceAndAgainWhenItIsWaitedFor) {
  Shop shop;
  shop.open();
  const auto before = syncs(shop);
  auto refused = shop.queue->publish_soon(std::vector<Publication>(1), noon);  // no message
  EXPECT_EQ(std::move(refused).wait().error().code, Code::invalid_argument);
  Delivery stranger;
  stranger.lease = LeaseToken{{1, 1}};
  auto lost = shop.queue->settle_soon(done(stranger), noon);
  EXPECT_EQ(must(std::move(lost).wait()).front().settled, Settled::lease_lost);
  EXPECT_EQ(syncs(shop), before) << "there was nothing to write";
}

TEST(Pending, AfterAFlushNobodyWaitsForTheDiskAnyMore) {
  Shop shop;
  shop.open();
  shop.publish("a");
  const auto taken = shop.take(1);
  auto sent = shop.queue->publish_soon(one("b"), noon);
  auto settled = shop.queue->settle_soon(done(taken.front()), noon);
  const auto before = syncs(shop);
  shop.queue->flush();
  EXPECT_EQ(syncs(shop), before + 1);
  EXPECT_TRUE(shop.take(10).empty()) << "nobody was told that it is there";
  EXPECT_EQ(must(std::move(sent).wait()).size(), 1U);
  EXPECT_EQ(must(std::move(settled).wait()).front().settled, Settled::done);
  EXPECT_EQ(syncs(shop), before + 1);
  shop.queue->flush();
  EXPECT_EQ(syncs(shop), before + 1) << "there is nothing to wait for";
}

TEST(Pending, AFlushThatFailsIsToldToWhoeverWaits) {
  Shop shop;
  shop.open();
  auto sent = shop.queue->publish_soon(one("a"), noon);
  shop.disk->set_fault([](Op op, const std::string&) -> std::optional<Code> {
    if (op == Op::sync) return Code::unavailable;
    return std::nullopt;
  });
  shop.queue->flush();
  EXPECT_EQ(std::move(sent).wait().error().code, Code::unavailable);
}

TEST(Pending, WhereASegmentEndsSoonOrExpiredOnesAreDroppedSomebodyMayHaveToWait) {
  Shop shop;
  shop.settings = Shop::small_segments();
  shop.open();
  EXPECT_TRUE(shop.queue->places_at_once());
  shop.publish("a", noon, 12U << 10U);
  EXPECT_FALSE(shop.queue->places_at_once()) << "the next one has to be made first";
  SourceOptions dropping = Shop::jobs();
  dropping.ttl = 1h;
  dropping.drop_expired = true;
  Shop other(dropping);
  other.open();
  EXPECT_FALSE(other.queue->places_at_once());
}

TEST(Pending, ItCanBeWaitedForWhenTheQueueIsNobodysAnyMore) {
  Shop shop;
  shop.open();
  auto sent = shop.queue->publish_soon(one("a"), noon);
  shop.queue.reset();
  EXPECT_EQ(must(std::move(sent).wait()).size(), 1U);
}

}  // namespace
}  // namespace dlo::testing
