// What an embedded queue adds to a broker: settings that change, its own dead set, moves.
#include <atomic>
#include <gtest/gtest.h>
#include <mutex>

#include "support/eventually.h"
#include "unit/embedded/shop.h"

namespace dlo::testing {
namespace {

using Ids = std::vector<std::string>;

std::unique_ptr<EmbeddedQueue> declared(Shop& shop, const std::string& name,
                                        const std::function<void(SourceOptions&)>& change = {}) {
  SourceOptions options;
  options.source = name;
  if (change) change(options);
  return must(shop.queues->declare(options));
}

void publish(EmbeddedQueue& queue, const std::string& id, Priority priority, TimePoint now = noon) {
  auto message = std::make_shared<Message>();
  message->id = id;
  message->priority = priority;
  Publication publication;
  publication.message = std::move(message);
  must(queue.publish({&publication, 1}, now));
}

Ids take(EmbeddedQueue& queue, std::size_t limit, TimePoint now = noon) {
  Ids ids;
  for (const auto& each : must(queue.receive({limit, 30s, 0ms}, now))) {
    ids.push_back(each.message->id);
  }
  return ids;
}

// A million that ran out at the same moment ended in one go, and everybody else waited for it.
TEST(LeasesThatRunOutTogether, EndAFewAtATimeAndAreNobodysMeanwhile) {
  Shop shop;
  shop.open();
  std::vector<std::string> ids;
  for (int i = 0; i < 2000; ++i) {
    ids.push_back("m" + std::to_string(i));
    shop.publish(ids.back());
  }
  const auto taken = shop.take(2000);
  ASSERT_EQ(taken.size(), 2000U);
  const auto later = noon + 31s;
  const auto leased = [&] { return must(shop.queue->stats(later)).leased; };
  const auto left = leased();
  EXPECT_GT(left, 1000U);
  const Settlement late{taken.back().lease, Completed{}};
  EXPECT_EQ(must(shop.queue->settle({&late, 1}, later)).front().settled, Settled::lease_lost);
  EXPECT_FALSE(must(shop.queue->renew({&taken.back().lease, 1}, later, 30s)).front());
  int calls = 0;
  while (leased() > 0) ASSERT_LT(++calls, 20);
  EXPECT_EQ(shop.take_ids(3000, later), ids);
}

TEST(ASecondDeclaration, ChangesWhatPrioritiesAreWorthAtOnce) {
  Shop shop;
  shop.open();
  publish(*shop.queue, "normal", Priority::normal);
  publish(*shop.queue, "high", Priority::high, noon + 1s);
  auto options = Shop::jobs();
  options.ageing = 0ms;  // priorities mean nothing
  auto same = must(shop.queues->declare(options));
  EXPECT_EQ(take(*same, 2, noon + 2s), (Ids{"normal", "high"}));
}

TEST(AnOwnDeadSet, TakesNoRoomFromTheLiving) {
  auto options = Shop::jobs();
  options.max_messages = 2;
  options.max_bytes = 400;
  Shop shop(options, true);
  shop.open();
  for (int round = 0; round < 2; ++round) {  // also after it was read back
    for (int i = 0; i < 2; ++i) shop.publish("m-" + std::to_string(i), noon, 100);
    for (const auto& each : shop.take(2)) shop.end(each, DeadLettered{});
    shop.close();
    shop.open();
  }
  EXPECT_EQ(shop.queue->dead(), 4U);
  EXPECT_EQ(must(shop.queue->redrive()), 4U);  // they were here all the time
  Publication more;
  more.message = std::make_shared<Message>();
  const auto refused = shop.queue->publish({&more, 1}, noon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::full);
}

TEST(AnOwnDeadSet, HoldsAKeyIfItIsAskedTo) {
  Shop shop(Shop::jobs(), true);
  shop.open();
  for (const char* id : {"k-1", "k-2"}) shop.publish(id, noon, 10, "k");
  shop.end(shop.take(1).front(), DeadLettered{.hold_key = true});
  EXPECT_TRUE(shop.take(1).empty());
  shop.shut();  // and after it was read back
  shop.open();
  EXPECT_TRUE(shop.take(1).empty());
  EXPECT_EQ(shop.queue->dead(), 1U);
  must(shop.queue->free_key("k"));
  EXPECT_EQ(shop.take_ids(1), (Ids{"k-2"}));
}

TEST(AMove, IsRefusedWholeIfTheTargetHasNoRoom) {
  Shop shop;
  shop.open();
  auto small = declared(shop, "small", [](SourceOptions& o) { o.max_messages = 3; });
  for (int i = 0; i < 3; ++i) shop.publish("m-" + std::to_string(i));
  publish(*small, "s", Priority::normal);
  const auto refused = shop.queue->move_to(*small);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::full);
  EXPECT_NE(refused.error().detail.find("raise max_messages"), std::string::npos);
  EXPECT_EQ(must(shop.queue->stats(noon)).ready, 3U);
  EXPECT_EQ(take(*small, 1), (Ids{"s"}));
  EXPECT_EQ(take(*shop.queue, 1), (Ids{"m-0"}));
  EXPECT_EQ(must(shop.queue->move_to(*small)), 2U);  // with the leased one there are three
}

TEST(AMove, PutsWhatComesBehindWhatIsThere) {
  for (const bool crash : {false, true}) {
    Shop shop;
    shop.open();
    for (int i = 0; i < 3; ++i) shop.publish("old-" + std::to_string(i), noon);
    auto target = declared(shop, "target");
    publish(*target, "there", Priority::normal, noon + 1s);
    EXPECT_EQ(must(shop.queue->move_to(*target)), 3U);
    publish(*target, "later", Priority::normal, noon + 2s);
    if (crash) {
      target.reset();
      shop.shut();
      shop.open(noon + 2s);
      target = must(shop.queues->find("target"));
    }
    EXPECT_EQ(must(target->stats(noon + 2s)).oldest, noon + 1s);
    EXPECT_EQ(take(*target, 9, noon + 3s), (Ids{"there", "old-0", "old-1", "old-2", "later"}));
  }
}

TEST(AHandle, OfAClosedQueueIsFoundAlive) {
  Shop shop;
  shop.open();
  shop.publish("m");
  shop.queue->close();
  EXPECT_FALSE(shop.queue->stats(noon));
  auto found = must(shop.queues->find("jobs"));
  EXPECT_EQ(must(found->stats(noon)).ready, 1U);
  must(shop.queues->close());
  const auto late = shop.queues->find("jobs");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::unavailable);
}

TEST(SegmentsThatAreUsedUp, StopPublishersFirstAndSayWhatToDo) {
  Shop shop;
  shop.settings.last_segment = 80;
  shop.open();
  std::optional<Error> refused;
  for (int i = 0; i < 1000 && !refused; ++i) {
    auto message = std::make_shared<Message>();
    message->payload = std::string(8000, 'x');
    Publication publication;
    publication.message = std::move(message);
    const auto answer = shop.queue->publish({&publication, 1}, noon);
    if (!answer) refused = answer.error();
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::full);
  EXPECT_NE(refused->detail.find("new directory"), std::string::npos) << refused->detail;
  const auto got = shop.take(10);
  ASSERT_FALSE(got.empty());
  for (const auto& each : got) shop.end(each, Completed{});
}

TEST(ACheckpointThatFails, IsToldOnceAndSoIsItsEnd) {
  std::mutex mutex;
  std::vector<std::string> news;
  Shop shop;
  shop.settings.housekeeping = true;
  shop.settings.checkpoint_every = 4096;
  shop.settings.on_trouble = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    news.push_back(text);
  };
  shop.open();
  const auto told = [&](std::size_t times) {
    return eventually([&] {
      shop.publish("m", noon, 1000);
      const std::lock_guard lock(mutex);
      return news.size() >= times;
    });
  };
  std::atomic<int> failures = 0;
  shop.disk->set_fault([&](FaultFileSystem::Op op, const std::string& name) {
    const bool fails = op == FaultFileSystem::Op::open && name.starts_with("checkpoint");
    failures += fails;
    return fails ? std::optional(Code::disk_full) : std::nullopt;
  });
  ASSERT_TRUE(told(1));
  ASSERT_TRUE(eventually([&] {
    shop.publish("m", noon, 1000);
    return failures > 3;
  }));
  shop.disk->set_fault({});
  ASSERT_TRUE(told(2));
  const std::lock_guard lock(mutex);
  ASSERT_EQ(news.size(), 2U);
  EXPECT_NE(news[0].find("checkpoint could not be written"), std::string::npos) << news[0];
  EXPECT_EQ(news[1], "");
}

TEST(AJournalThatFails, IsToldOnceAndHealthSaysSo) {
  std::mutex mutex;
  std::vector<std::string> news;
  Shop shop;
  shop.settings.housekeeping = true;
  shop.settings.on_trouble = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    news.push_back(text);
  };
  shop.open();
  EXPECT_TRUE(shop.queues->health().works);
  shop.disk->set_fault([](FaultFileSystem::Op op, const std::string&) {
    return op == FaultFileSystem::Op::sync ? std::optional(Code::unavailable) : std::nullopt;
  });
  Publication publication;
  publication.message = std::make_shared<Message>();
  EXPECT_FALSE(shop.queue->publish({&publication, 1}, noon));
  EXPECT_FALSE(shop.queues->health().works);
  EXPECT_NE(shop.queues->health().trouble.find("read-only"), std::string::npos);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(shop.queue->publish({&publication, 1}, noon));
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return !news.empty();
  }));
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(shop.queue->publish({&publication, 1}, noon));
  shop.disk->set_fault({});
  shop.shut();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_NE(news[0].find("read-only"), std::string::npos) << news[0];
}

TEST(ACheckpointThatFails, IsToldToWhoeverAsks) {
  Shop shop;
  shop.settings.housekeeping = true;
  shop.settings.checkpoint_every = 4096;
  shop.open();
  EXPECT_TRUE(must(shop.queue->stats(noon)).trouble.empty());
  shop.disk->set_fault([](FaultFileSystem::Op op, const std::string& name) {
    const bool fails = op == FaultFileSystem::Op::open && name.starts_with("checkpoint");
    return fails ? std::optional(Code::disk_full) : std::nullopt;
  });
  const auto end = std::chrono::steady_clock::now() + 30s;
  std::string told;
  while (told.empty() && std::chrono::steady_clock::now() < end) {
    shop.publish("m", noon, 1000);
    told = must(shop.queue->stats(noon)).trouble;
  }
  EXPECT_NE(told.find("checkpoint could not be written"), std::string::npos) << told;
  shop.disk->set_fault({});
  while (!told.empty() && std::chrono::steady_clock::now() < end) {
    shop.publish("m", noon, 1000);
    told = must(shop.queue->stats(noon)).trouble;
  }
  EXPECT_TRUE(told.empty()) << told;
}

}  // namespace
}  // namespace dlo::testing
