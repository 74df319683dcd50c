// What is done to all of a queue happens in pieces. These are more than one piece long.
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <thread>

#include "unit/embedded/shop.h"

namespace dlo::testing {
namespace {

constexpr int many = 10'000;

SourceOptions other() {
  SourceOptions options;
  options.source = "other";
  return options;
}

EmbeddedOptions large_segments() {
  auto options = Shop::small_segments();
  options.journal.segment_size = 1U << 20U;
  return options;
}

MessagePtr numbered(int number, const std::string& key = "") {
  auto message = std::make_shared<Message>();
  message->id = std::to_string(number);
  message->key = key;
  message->payload = message->id;
  return message;
}

/// `count` messages, every other one with one of seven keys, every tenth delayed.
void fill(EmbeddedQueue& queue, int count) {
  std::vector<Publication> list(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    auto& each = list[static_cast<std::size_t>(i)];
    each.message = numbered(i, i % 2 == 0 ? "key" + std::to_string(i % 7) : "");
    if (i % 10 == 1) each.delay = 1h;
  }
  must(queue.publish(list, noon));
}

std::uint64_t waiting(EmbeddedQueue& queue, TimePoint now = noon) {
  const auto stats = must(queue.stats(now));
  return stats.ready + stats.delayed + stats.held;
}

/// Takes everything and makes sure that every key comes in order.
std::size_t drain_in_order(EmbeddedQueue& queue, TimePoint now) {
  std::map<std::string, int> last;
  std::size_t count = 0;
  while (true) {
    const auto got = must(queue.receive({100, 30s, 0ms}, now));
    if (got.empty()) return count;
    std::vector<Settlement> endings;
    for (const auto& each : got) {
      endings.push_back({each.lease, Completed{}});
      if (each.message->key.empty()) continue;
      const int number = std::stoi(each.message->id);
      const auto [known, first] = last.emplace(each.message->key, number);
      EXPECT_TRUE(first || known->second < number) << each.message->key << ": " << number;
      known->second = number;
    }
    must(queue.settle(endings, now));
    count += got.size();
  }
}

TEST(AMoveOfVeryMany, TakesAllAndKeepsEveryKeyInOrderAlsoAfterARestart) {
  Shop shop;
  shop.settings = large_segments();
  shop.open();
  fill(*shop.queue, many);
  auto target = must(shop.queues->declare(other()));
  EXPECT_EQ(must(shop.queue->move_to(*target)), static_cast<std::uint64_t>(many));
  EXPECT_EQ(waiting(*shop.queue), 0U);
  EXPECT_EQ(waiting(*target), static_cast<std::uint64_t>(many));
  target.reset();
  shop.open();
  target = must(shop.queues->find("other"));
  EXPECT_EQ(waiting(*shop.queue), 0U);
  EXPECT_EQ(drain_in_order(*target, noon + 2h), static_cast<std::size_t>(many));
}

TEST(AMoveOfVeryMany, LeavesKeysWhoseHeadIsLeased) {
  Shop shop;
  shop.settings = large_segments();
  shop.open();
  fill(*shop.queue, many);
  auto target = must(shop.queues->declare(other()));
  const auto leased = shop.take(1);  // number 0, with "key0"
  ASSERT_EQ(leased.front().message->key, "key0");
  const auto held = (many / 2 + 6) / 7;  // with the head
  EXPECT_EQ(must(shop.queue->move_to(*target)), static_cast<std::uint64_t>(many - held));
  EXPECT_EQ(waiting(*shop.queue), static_cast<std::uint64_t>(held - 1));
  shop.end(leased.front(), Completed{});
  EXPECT_EQ(drain_in_order(*shop.queue, noon + 2h), static_cast<std::size_t>(held - 1));
}

TEST(AMoveOfVeryMany, ThatACrashInterruptsIsCarriedToItsEnd) {
  Shop shop;
  shop.settings = large_segments();
  shop.settings.journal.backlog_limit = 1;  // each piece waits for the sync of the one before
  shop.open();
  fill(*shop.queue, many);
  auto target = must(shop.queues->declare(other()));
  std::atomic<int> syncs = 1;  // the second piece is not acknowledged, the third not written
  shop.disk->set_fault([&](FaultFileSystem::Op op, const std::string&) {
    return op == FaultFileSystem::Op::sync && --syncs < 0 ? std::optional(Code::unavailable)
                                                          : std::nullopt;
  });
  EXPECT_FALSE(shop.queue->move_to(*target));
  target.reset();
  shop.cut_power(1);
  shop.open();
  target = must(shop.queues->find("other"));
  EXPECT_EQ(waiting(*shop.queue), 0U);
  EXPECT_EQ(drain_in_order(*target, noon + 2h), static_cast<std::size_t>(many));
}

TEST(AMoveOfVeryMany, AgreesWithItsJournalThoughOthersPublishMeanwhile) {
  Shop shop;
  shop.settings = large_segments();
  shop.open();
  fill(*shop.queue, many);
  auto target = must(shop.queues->declare(other()));
  std::atomic<int> published = 0;
  {
    std::atomic<bool> over = false;
    const auto publish = [&](EmbeddedQueue& queue) {
      for (int i = 0; !over; ++i) {
        Publication one;
        one.message = numbered(many + i, "key" + std::to_string(i % 7));
        must(queue.publish({&one, 1}, noon));
        ++published;
      }
    };
    std::jthread here([&] { publish(*shop.queue); });
    std::jthread there([&] { publish(*target); });
    std::jthread worker([&] {
      while (!over) {
        const auto got = must(target->receive({10, 30s, 0ms}, noon));
        for (const auto& each : got) {
          const Settlement done{each.lease, ReleasedUnrun{}};
          must(target->settle({&done, 1}, noon));
        }
      }
    });
    EXPECT_GE(must(shop.queue->move_to(*target)), static_cast<std::uint64_t>(many));
    // Half have no key and are held by nobody, but the worker may have ten of them.
    EXPECT_GE(must(target->move_to(*shop.queue)), static_cast<std::uint64_t>(many / 2 - 10));
    over = true;
  }
  const auto here = waiting(*shop.queue);
  const auto there = waiting(*target);
  EXPECT_EQ(here + there, static_cast<std::uint64_t>(many + published));
  target.reset();
  shop.open(noon + 1s);
  target = must(shop.queues->find("other"));
  EXPECT_EQ(waiting(*shop.queue), here);
  EXPECT_EQ(waiting(*target), there);
  const auto later = noon + 2h;
  std::size_t came = 0;
  for (auto* queue : {shop.queue.get(), target.get()}) {
    for (auto got = must(queue->receive({1000, 30s, 0ms}, later)); !got.empty();
         got = must(queue->receive({1000, 30s, 0ms}, later))) {
      std::vector<Settlement> endings;
      for (const auto& each : got) endings.push_back({each.lease, Completed{}});
      must(queue->settle(endings, later));
      came += got.size();
    }
  }
  EXPECT_EQ(came, static_cast<std::size_t>(many + published));
}

TEST(APurgeOfVeryMany, TakesAllButWhatIsLeasedAlsoThoseThatFailedBefore) {
  Shop shop;
  shop.settings = large_segments();
  shop.open();
  fill(*shop.queue, many);
  for (const auto& each : shop.take(500)) shop.end(each, Shop::failed(each, noon, 1h));
  const auto leased = shop.take(1);
  EXPECT_EQ(must(shop.queue->purge()), static_cast<std::uint64_t>(many - 1));
  EXPECT_EQ(waiting(*shop.queue), 0U);
  shop.publish("new", noon, 10, leased.front().message->key);
  shop.end(leased.front(), Completed{});
  EXPECT_EQ(shop.take_ids(9), std::vector<std::string>{"new"});
  const auto before = must(shop.queue->stats(noon));
  shop.open();
  const auto after = must(shop.queue->stats(noon));
  EXPECT_EQ(after.purged, static_cast<std::uint64_t>(many - 1));
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(shop.take_ids(9), std::vector<std::string>{"new"});
}

TEST(ARedriveOfVeryMany, SendsAllBack) {
  Shop shop(Shop::jobs(), true);
  shop.settings = large_segments();
  shop.open();
  fill(*shop.queue, many);
  const auto later = noon + 2h;
  for (auto got = shop.take(1000, later); !got.empty(); got = shop.take(1000, later)) {
    std::vector<Settlement> endings;
    for (const auto& each : got) endings.push_back({each.lease, DeadLettered{}});
    must(shop.queue->settle(endings, later));
  }
  EXPECT_EQ(must(shop.queue->redrive()), static_cast<std::uint64_t>(many));
  EXPECT_EQ(must(shop.queue->stats(later)).ready, static_cast<std::uint64_t>(many));
  shop.open(later);
  EXPECT_EQ(must(shop.queue->stats(later)).ready, static_cast<std::uint64_t>(many));
  EXPECT_EQ(shop.take(many, later).size(), static_cast<std::size_t>(many));
}

TEST(Sets, OfManyPiecesShareOneSync) {
  Shop shop(Shop::jobs(), true);
  shop.settings = large_segments();
  shop.settings.journal.segment_size = 16U << 20U;
  shop.open();
  const auto target = must(shop.queues->declare(other(), true));
  const auto syncs_of = [&](const std::function<std::uint64_t()>& act) {
    const auto before = shop.disk->syncs();
    EXPECT_EQ(act(), 3U * many);
    return shop.disk->syncs() - before;
  };
  const auto fill_without_keys = [&] {
    std::vector<Publication> list(3 * many);
    for (auto& each : list) each.message = numbered(1);
    must(shop.queue->publish(list, noon));
  };
  fill_without_keys();
  EXPECT_LE(syncs_of([&] { return must(shop.queue->move_to(*target)); }), 2U);
  EXPECT_LE(syncs_of([&] { return must(target->purge()); }), 2U);
  fill_without_keys();
  for (auto got = shop.take(many); !got.empty(); got = shop.take(many)) {
    std::vector<Settlement> endings;
    for (const auto& each : got) endings.push_back({each.lease, DeadLettered{}});
    must(shop.queue->settle(endings, noon));
  }
  EXPECT_LE(syncs_of([&] { return must(shop.queue->redrive()); }), 2U);
}

}  // namespace
}  // namespace dlo::testing
