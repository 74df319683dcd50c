// Messages that nobody receives grow old all the same.
#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <utility>

#include "support/eventually.h"
#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/queue_check.h"

namespace dlo::testing {
namespace {

using Ids = std::vector<std::string>;

SourceOptions short_lived(bool drops) {
  auto options = Shop::jobs();
  options.ttl = 10s;
  options.drop_expired = drops;
  return options;
}

std::vector<Delivery> take_expired(Shop& shop, Instant now, std::size_t limit = 100) {
  ReceiveRequest request;
  request.limit = limit;
  request.expired_only = true;
  return must(shop.queue->receive(request, now));
}

TEST(Expiry, IsKnownAfterEveryKindOfRestart) {
  for (const bool drops : {true, false}) {
    for (const bool clean : {true, false}) {
      SCOPED_TRACE(std::string(drops ? "dropped" : "kept") + (clean ? ", clean" : ", crash"));
      Shop shop(short_lived(drops));
      shop.open();
      shop.publish("old");
      shop.publish("failed");
      const auto both = shop.take(2);
      shop.end(both[0], ReleasedUnrun{});
      shop.end(both[1], Shop::failed(both[1], noon, 0ms));
      shop.publish("young", noon + 5s);
      if (clean) shop.close();
      shop.open(noon + 6s);
      EXPECT_EQ(take_expired(shop, noon + 9s).size(), 0U);
      const auto expired = take_expired(shop, noon + 10s);
      EXPECT_EQ(expired.size(), drops ? 0U : 2U);
      EXPECT_EQ(must(shop.queue->stats(noon + 10s)).expired, drops ? 2U : 0U);
      EXPECT_EQ(must(shop.queue->stats(noon + 10s)).ready, 1U);
      shop.shut();
      EXPECT_TRUE(must(check_queues(*shop.disk)).damages.empty());
    }
  }
}

TEST(Expiry, FindsTheFewAmongVeryManyASliceAtATime) {
  Shop shop;
  shop.open();
  std::vector<Publication> list(20'000);
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto message = std::make_shared<Message>();
    message->id = std::to_string(i);
    if (i % 1000 == 999) message->expires_at = noon + 10s + Millis{i};
    list[i].message = std::move(message);
  }
  must(shop.queue->publish(list, noon));
  const auto take_all = [&](TimePoint now) {  // as many calls as it takes
    std::size_t count = 0;
    for (auto some = take_expired(shop, now, 4); !some.empty(); some = take_expired(shop, now, 4)) {
      EXPECT_LE(some.size(), 4U);
      count += some.size();
    }
    return count;
  };
  EXPECT_EQ(take_all(noon + 10s), 0U);
  EXPECT_EQ(take_all(noon + 21s), 11U);
  EXPECT_EQ(must(shop.queue->stats(noon + 21s)).ready, 20'000U - 11U);
  // Whoever has to look at twenty thousand does so now and then.
  EXPECT_EQ(take_all(noon + 22s), 1U);
  EXPECT_EQ(take_all(noon + 30s), 8U);
  EXPECT_EQ(take_all(noon + 40s), 0U);
}

TEST(Expiry, OfAQueueNobodyUsesIsSeenWhenHousekeepingComesBy) {
  Shop shop(short_lived(true));
  shop.open();
  for (int i = 0; i < 100; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  SourceOptions other;
  other.source = "other";
  const auto beside = must(shop.queues->declare(other));
  must(beside->stats(noon + 10s));
  must(shop.queues->tidy());
  EXPECT_LE(shop.queues->journal_stats().live_bytes, 3U * (16U << 10U));
  EXPECT_EQ(must(shop.queue->stats(noon + 10s)).expired, 100U);
}

TEST(Expiry, OfADamagedMessageIsNotGuessed) {
  Shop shop(short_lived(true));
  shop.open();
  shop.publish("damaged");
  shop.publish("whole");
  const std::string name = must(shop.disk->list()).front();
  shop.disk->bytes(name)[shop.disk->bytes(name).find("damaged")] ^= 1;
  std::uint64_t written = 0;
  for (int i = 0; i < 3; ++i) {
    const auto stats = must(shop.queue->stats(noon + 10s));
    EXPECT_EQ(stats.expired, 1U);
    EXPECT_EQ(stats.ready, 1U);
    const auto before = std::exchange(written, shop.queues->journal_stats().bytes_written);
    if (i > 0) {
      EXPECT_EQ(written, before) << "it is looked at again and again";
    }
  }
  const auto got = shop.take(10, noon + 10s);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_NE(got[0].undecodable, nullptr);
}

TEST(Expiry, OfAFullQueueIsSeenUnderManyPublishersAtOnce) {
  auto options = short_lived(true);
  options.max_messages = 50;
  Shop shop(options);
  shop.open();
  for (int i = 0; i < 50; ++i) shop.publish("old", noon);
  std::vector<std::future<int>> senders;
  for (int i = 0; i < 4; ++i) {
    senders.push_back(std::async(std::launch::async, [&] {
      int taken = 0;
      for (int j = 0; j < 25; ++j) {
        Publication publication;
        publication.message = std::make_shared<Message>();
        taken += shop.queue->publish({&publication, 1}, noon + 10s).has_value();
      }
      return taken;
    }));
  }
  int taken = 0;
  for (auto& each : senders) taken += each.get();
  EXPECT_EQ(taken, 50);
  const auto stats = must(shop.queue->stats(noon + 10s));
  EXPECT_EQ(stats.expired, 50U);
  EXPECT_EQ(stats.ready, 50U);
}

// Who is refused is refused at once; who is not waits for the other.
TEST(Expiry, OfAFullQueueIsSeenWhileAnotherPublisherIsAboutToDropIt) {
  auto options = short_lived(true);
  options.max_messages = 2;
  Shop shop(options);
  shop.open();
  for (const char* id : {"old", "older"}) shop.publish(id, noon);
  const auto publish = [&] {
    Publication publication;
    publication.message = std::make_shared<Message>();
    return shop.queue->publish({&publication, 1}, noon + 10s).has_value();
  };
  std::atomic<bool> armed = true;
  std::future<bool> other;
  shop.disk->set_fault([&](FaultFileSystem::Op op, const std::string&) -> std::optional<Code> {
    if (op != FaultFileSystem::Op::write || !armed.exchange(false)) return std::nullopt;
    other = std::async(std::launch::async, publish);
    (void)other.wait_for(200ms);
    return std::nullopt;
  });
  EXPECT_TRUE(publish());
  EXPECT_TRUE(other.get()) << "the two that have expired were not yet gone";
  EXPECT_EQ(must(shop.queue->stats(noon + 10s)).expired, 2U);
}

// After a look at very many the next one waits for a while; a full queue does not.
TEST(Expiry, OfAFullQueueIsSeenAtOnceHoweverManyAreInIt) {
  auto options = Shop::jobs();
  options.drop_expired = true;
  options.max_messages = 35'000;
  Shop shop(options);
  shop.open();
  const auto publish = [&](std::size_t count, std::optional<TimePoint> expires_at, TimePoint now) {
    auto message = std::make_shared<Message>();
    message->expires_at = expires_at;
    std::vector<Publication> list(count);
    for (auto& each : list) each.message = message;
    return shop.queue->publish(list, now).has_value();
  };
  ASSERT_TRUE(publish(5000, noon + 10s, noon));
  ASSERT_TRUE(publish(30'000, noon + 11s, noon));
  EXPECT_FALSE(publish(1, {}, noon + 9s));
  EXPECT_TRUE(publish(5000, {}, noon + 10s + 950ms)) << "some have expired";
  EXPECT_FALSE(publish(1, {}, noon + 10s + 960ms));
  EXPECT_TRUE(publish(1, {}, noon + 11s)) << "the others have";
}

TEST(TheOldestMessage, IsAsOldAsTheNextIfItIsDamaged) {
  Shop shop;
  shop.open();
  shop.publish("damaged", noon);
  shop.publish("whole", noon + 1s);
  const std::string name = must(shop.disk->list()).front();
  shop.disk->bytes(name)[shop.disk->bytes(name).find("damaged")] ^= 1;
  EXPECT_EQ(must(shop.queue->stats(noon + 2s)).oldest, noon + 1s);
  EXPECT_EQ(must(shop.queue->stats(noon + 2s)).oldest, noon + 1s);
}

// Housekeeping cannot finish its checkpoint: publishers wait for it, each a little, and none for
// ever. (Depot::wait_for_housekeeping)
TEST(Housekeeping, ThatIsBehindIsWaitedForALittle) {
  Shop shop;
  shop.settings.housekeeping = true;
  shop.settings.checkpoint_every = 64U << 10U;
  shop.open();
  std::promise<void> reached;
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future().share();
  std::atomic<bool> stuck = false;
  shop.disk->set_fault([&](FaultFileSystem::Op op, const std::string& name) -> std::optional<Code> {
    const bool here = op == FaultFileSystem::Op::sync && name.starts_with("checkpoint");
    if (here && !stuck.exchange(true)) {
      reached.set_value();
      may_go_on.wait();
    }
    return std::nullopt;
  });
  const auto sending_takes = [&] {
    const auto began = std::chrono::steady_clock::now();
    shop.publish("m", noon, 10'000);
    return std::chrono::steady_clock::now() - began;
  };
  for (int i = 0; i < 100 && !stuck; ++i) sending_takes();
  ASSERT_EQ(reached.get_future().wait_for(30s), std::future_status::ready);
  bool waited = false;
  for (int i = 0; i < 100 && !waited; ++i) waited = sending_takes() >= 100ms;
  EXPECT_TRUE(waited);
  go_on.set_value();
  bool quick = false;
  for (int i = 0; i < 100 && !quick; ++i) quick = sending_takes() < 50ms;
  EXPECT_TRUE(quick);
  shop.disk->set_fault({});
}

// Its delay is cut at its expiry, which another caller has seen and this one has not.
TEST(Expiry, IsSeenByWhoReadTheClockBeforeTheOneWhoEndedTheDelay) {
  for (const Millis late : {Millis{1}, Millis{5}, Millis{3s}}) {
    for (const bool drops : {true, false}) {
      SCOPED_TRACE(std::to_string(late.count()) + (drops ? ", dropped" : ", kept"));
      Shop shop(short_lived(drops));
      shop.open();
      SourceOptions other;
      other.source = "other";
      const auto beside = must(shop.queues->declare(other));
      Publication delayed;
      delayed.message = std::make_shared<const Message>(Message{.id = "delayed"});
      delayed.delay = 1h;
      must(shop.queue->publish({&delayed, 1}, noon));
      must(beside->stats(noon + 10s));
      const auto got = shop.take(1, noon + 10s - late);
      ASSERT_EQ(got.size(), drops ? 0U : 1U) << "an hour early, and alive";
      for (const auto& each : got) EXPECT_TRUE(each.expired);
    }
  }
}

}  // namespace
}  // namespace dlo::testing
