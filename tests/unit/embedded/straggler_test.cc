// One old message never pins gigabytes: segments go when they are empty, and nearly empty ones are
// emptied.
#include <gtest/gtest.h>

#include "unit/embedded/shop.h"

namespace dlo::testing {
namespace {

using Ids = std::vector<std::string>;

/// 400 messages of 1 KB over many segments; all but four are completed.
Ids leave_a_few(Shop& shop) {
  Ids left;
  for (int i = 0; i < 400; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  for (const auto& each : shop.take(1000)) {
    const bool stays = each.message->id.ends_with("50") || !each.message->id.starts_with("m-");
    if (stays) left.push_back(each.message->id);
    shop.end(each, stays ? Ending(ReleasedUnrun{}) : Ending(Completed{}));
  }
  return left;
}

TEST(Stragglers, EmptySegmentsAreFreed) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 200; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  const auto full = shop.queues->journal_stats().live_bytes;
  for (const auto& each : shop.take(200)) shop.end(each, Completed{});
  must(shop.queues->tidy());
  EXPECT_GT(full, 200'000U);
  EXPECT_LE(shop.queues->journal_stats().live_bytes, 2U * (16U << 10U));
}

TEST(Stragglers, AreMovedSoThatTheirSegmentsCanGo) {
  Shop shop;
  shop.open();
  const auto left = leave_a_few(shop);
  ASSERT_EQ(left.size(), 4U);
  must(shop.queues->tidy());
  EXPECT_LE(shop.queues->journal_stats().live_bytes, 5U * (16U << 10U));
  EXPECT_EQ(shop.take_ids(10), left);
}

TEST(Stragglers, KeepTheirPositionAndTheirContentAndSurviveARestart) {
  Shop shop;
  shop.open();
  const auto first = shop.publish("first", noon, 700);
  leave_a_few(shop);
  must(shop.queues->tidy());
  for (const bool clean : {true, false}) {
    if (clean) shop.close();
    shop.open(noon + 1min);
    const auto got = shop.take(10, noon + 1min);
    ASSERT_EQ(got.size(), 5U);
    EXPECT_EQ(got[0].message->id, "first");
    EXPECT_EQ(got[0].message->position, first.position);
    EXPECT_EQ(got[0].message->payload, "first" + std::string(700, '.'));
    for (const auto& each : got) shop.end(each, ReleasedUnrun{}, noon + 1min);
  }
}

TEST(Stragglers, ThatFailedBeforeKeepTheirStateWhenTheyMove) {
  Shop shop;
  shop.open();
  shop.publish("failing", noon, 500);
  const auto failing = shop.take(1).front();
  shop.end(failing, Shop::failed(failing, noon, 1h));
  for (int round = 0; round < 3; ++round) {
    leave_a_few(shop);
    must(shop.queues->tidy());
    for (const auto& each : shop.take(10)) shop.end(each, Completed{});
    must(shop.queues->tidy());
    shop.open(noon);
  }
  EXPECT_LE(shop.queues->journal_stats().live_bytes, 7U * (16U << 10U));
  const auto got = shop.take(10, noon + 1h);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].counters.failure, 1U);
  EXPECT_EQ(got[0].last_error, "no luck with failing");
  EXPECT_EQ(got[0].message->payload, "failing" + std::string(500, '.'));
  shop.end(got[0], Completed{}, noon + 1h);
  EXPECT_EQ(must(shop.queue->stats(noon + 1h)).bytes, 0U);
}

TEST(Stragglers, StayWhereTheyAreWhileSomebodyHasThem) {
  Shop shop;
  shop.open();
  shop.publish("held", noon, 500);
  const auto held = shop.take(1).front();
  for (int i = 0; i < 100; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  for (const auto& each : shop.take(100)) shop.end(each, Completed{});
  must(shop.queues->tidy());
  shop.end(held, Shop::failed(held, noon, 1s));
  shop.open(noon + 1s);
  const auto got = shop.take(10, noon + 1s);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].message->payload, "held" + std::string(500, '.'));
}

}  // namespace
}  // namespace dlo::testing
