// One old message never pins gigabytes: segments go when they are empty, and nearly empty ones are
// emptied.
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/queue_check.h"

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

// What ends a message is small, so nothing is written that would make tidying due.
TEST(Stragglers, AQueueThatIsEmptiedOrPurgedGivesItsDiskBackByItself) {
  for (const bool purged : {false, true}) {
    Shop shop;
    shop.settings.housekeeping = true;
    shop.settings.checkpoint_every = 1U << 30U;
    shop.open();
    for (int i = 0; i < 200; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
    ASSERT_GT(shop.queues->journal_stats().live_bytes, 200'000U);
    if (purged) must(shop.queue->purge());
    if (!purged) {
      for (const auto& each : shop.take(200)) shop.end(each, Completed{});
    }
    EXPECT_TRUE(eventually([&] {
      return shop.queues->journal_stats().live_bytes <= 4U * (16U << 10U);
    })) << (purged ? "purged" : "completed");
  }
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

/// For much later.
void publish_delayed(Shop& shop, const std::string& id, std::size_t size = 10) {
  auto message = std::make_shared<Message>();
  message->id = id;
  message->payload = std::string(size, '.');
  Publication publication;
  publication.message = std::move(message);
  publication.delay = 10h;
  must(shop.queue->publish({&publication, 1}, noon));
}

TEST(Stragglers, AreMovedHoweverManyTheyAreBesideLargeMessagesThatAreGone) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 60; ++i) {
    shop.publish("large-" + std::to_string(i), noon, 4000);
    publish_delayed(shop, "small-" + std::to_string(i));
    shop.end(shop.take(1).front(), Completed{});
  }
  EXPECT_GT(shop.queues->journal_stats().live_bytes, 15U * (16U << 10U));
  must(shop.queues->tidy());
  EXPECT_LE(shop.queues->journal_stats().live_bytes, 3U * (16U << 10U));
  EXPECT_EQ(shop.take(100, noon + 10h).size(), 60U);
}

TEST(Stragglers, AreMovedOutOfSegmentsThatHoldOnlyWhatWasDoneToOthers) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 10; ++i) {
    publish_delayed(shop, "small-" + std::to_string(i));
    shop.publish("busy", noon, 10);
    for (int j = 0; j < 100; ++j) shop.end(shop.take(1).front(), ReleasedUnrun{});
    shop.end(shop.take(1).front(), Completed{});
  }
  EXPECT_GT(shop.queues->journal_stats().live_bytes, 8U * (16U << 10U));
  must(shop.queues->tidy());
  EXPECT_LE(shop.queues->journal_stats().live_bytes, 3U * (16U << 10U));
  EXPECT_EQ(shop.take(100, noon + 10h).size(), 10U);
}

TEST(Stragglers, StayIfItIsTheirErrorsThatFillASegment) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 60; ++i) shop.publish("m-" + std::to_string(i), noon, 10);
  for (const auto& each : shop.take(60)) {
    Failed failed = Shop::failed(each, noon, 10h);
    failed.error.append(2000, '!');
    shop.end(each, failed);
  }
  must(shop.queues->tidy());
  const auto before = shop.queues->journal_stats().bytes_written;
  must(shop.queues->tidy());
  EXPECT_LT(shop.queues->journal_stats().bytes_written - before, 1000U);
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

/// Long jobs, begun one by one beside others that are done: some for the first time, some again.
std::vector<Delivery> begin_long_jobs(Shop& shop) {
  std::vector<Delivery> held;
  for (int i = 0; i < 20; ++i) {
    shop.publish("long-" + std::to_string(i), noon, 100);
    held.push_back(shop.take(1).front());
    if (i % 2 == 1) {
      shop.end(held.back(), Shop::failed(held.back(), noon, 0s));
      held.back() = shop.take(1).front();
    }
    must(shop.queue->start({&held.back().lease, 1}, noon));
    for (int j = 0; j < 20; ++j) shop.publish("short", noon, 1000);
    for (const auto& each : shop.take(20)) shop.end(each, Completed{});
  }
  return held;
}

TEST(Stragglers, AreMovedAlsoWhileSomebodyHasThem) {
  Shop shop;
  shop.open();
  const auto held = begin_long_jobs(shop);
  EXPECT_GT(shop.queues->journal_stats().live_bytes, 20U * (16U << 10U));
  must(shop.queues->tidy());
  EXPECT_LE(shop.queues->journal_stats().live_bytes, 4U * (16U << 10U));
  EXPECT_EQ(must(shop.queue->stats(noon)).leased, 20U);
  // They end as if nothing had happened.
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (i % 4 < 2) shop.end(held[i], Completed{});
    if (i % 4 >= 2) shop.end(held[i], Shop::failed(held[i], noon, 1s));
  }
  shop.open(noon + 1s);
  const auto got = shop.take(100, noon + 1s);
  ASSERT_EQ(got.size(), 10U);
  for (const auto& each : got) {
    EXPECT_EQ(each.message->payload, each.message->id + std::string(100, '.'));
    EXPECT_EQ(each.counters.attempt, each.counters.failure);
    shop.end(each, Completed{}, noon + 1s);
  }
  EXPECT_EQ(must(shop.queue->stats(noon + 1s)).bytes, 0U);
  must(shop.queues->tidy());
  EXPECT_LE(shop.queues->journal_stats().live_bytes, 2U * (16U << 10U));
}

TEST(Stragglers, ThatMovedInSomebodysHandsWereInterruptedIfHeDies) {
  for (const bool checkpointed : {false, true}) {
    Shop shop;
    shop.open();
    const auto held = begin_long_jobs(shop);
    must(shop.queues->tidy());
    if (checkpointed) must(shop.queues->tidy());
    shop.shut();
    EXPECT_TRUE(must(check_queues(*shop.disk)).damages.empty());
    shop.open(noon + 1min);
    const auto got = shop.take(100, noon + 1min);
    ASSERT_EQ(got.size(), 20U);
    for (const auto& each : got) {
      EXPECT_TRUE(each.interrupted && each.may_be_repeat) << each.message->id;
      EXPECT_EQ(each.message->payload, each.message->id + std::string(100, '.'));
      EXPECT_EQ(each.counters.attempt, each.counters.failure + 1);
    }
  }
}

}  // namespace
}  // namespace dlo::testing
