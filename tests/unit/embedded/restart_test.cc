// What a restart finds must be what was there, whatever happened at the same time.
#include <condition_variable>
#include <future>
#include <gtest/gtest.h>
#include <mutex>
#include <string_view>
#include <thread>

#include "support/eventually.h"
#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/waited.h"

namespace dlo::testing {
namespace {

/// While it stands, a sync of the disk does not come back.
class Barrier {
 public:
  explicit Barrier(Shop& shop) : shop_(shop) {
    shop_.disk->set_fault(
        [this](FaultFileSystem::Op op, const std::string&) -> std::optional<Code> {
          if (op == FaultFileSystem::Op::sync) gate_.wait();
          return std::nullopt;
        });
  }
  /// What is appended from here on waits behind somebody's sync.
  void open() {
    open_.set_value();
    shop_.disk->set_fault({});
  }

 private:
  Shop& shop_;
  std::promise<void> open_;
  std::shared_future<void> gate_ = open_.get_future().share();
};

/// Somebody publishes and waits for the disk while `act` is carried out.
template <typename F>
void while_publishing(Shop& shop, F act, const std::string& key = "") {
  Barrier barrier(shop);
  const auto sequence = [&] { return shop.queues->journal_stats().next_sequence; };
  auto before = sequence();
  auto publishing =
      std::async(std::launch::async, [&] { shop.publish("in flight", noon, 100, key); });
  ASSERT_TRUE(eventually([&] { return sequence() > before; }));
  before = sequence();
  auto acting = std::async(std::launch::async, act);
  ASSERT_TRUE(eventually([&] { return sequence() > before; }));
  barrier.open();
  publishing.get();
  acting.get();
}

TEST(Restart, APurgeSparesWhatWasBeingPublishedBeforeAndAfterIt) {
  Shop shop;
  shop.open();
  shop.publish("purged");
  while_publishing(shop, [&] { must(shop.queue->purge()); });
  EXPECT_EQ(must(shop.queue->stats(noon)).ready, 1U);
  shop.open();
  EXPECT_EQ(shop.take_ids(5), std::vector<std::string>{"in flight"});
}

TEST(Restart, AMoveLeavesWhatWasBeingPublishedBeforeAndAfterIt) {
  Shop shop;
  shop.open();
  shop.publish("moved");
  SourceOptions options;
  options.source = "other";
  auto other = must(shop.queues->declare(options));
  while_publishing(shop, [&] { must(shop.queue->move_to(*other)); });
  EXPECT_EQ(must(shop.queue->stats(noon)).ready, 1U);
  other.reset();
  shop.open();
  EXPECT_EQ(shop.take_ids(5), std::vector<std::string>{"in flight"});
  other = must(shop.queues->find("other"));
  EXPECT_EQ(must(other->stats(noon)).ready, 1U);
}

TEST(Restart, WhatWasMovedInStandsBeforeWhatWasBeingPublishedThere) {
  Shop shop;
  shop.open();
  SourceOptions options;
  options.source = "other";
  auto other = must(shop.queues->declare(options));
  shop.publish("moved", noon, 100, "k");
  ASSERT_EQ(must(shop.queue->move_to(*other)), 1U);
  while_publishing(shop, [&] { must(other->move_to(*shop.queue)); }, "k");
  const auto first = shop.take(5);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first.front().message->id, "moved");
  other.reset();
  shop.open(noon + 1s);
  for (const std::string expected : {"moved", "in flight"}) {
    const auto next = shop.take(5, noon + 1s);
    ASSERT_EQ(next.size(), 1U) << expected;
    EXPECT_EQ(next.front().message->id, expected);
    shop.end(next.front(), Completed{}, noon + 1s);
  }
  EXPECT_TRUE(shop.take(5, noon + 1s).empty());
}

TEST(Restart, AFirstSegmentThatWasNeverFinishedIsMadeAgain) {
  Shop shop;
  {
    auto file = must(shop.disk->open("000000000001.seg", OpenMode::create));
    must(file->write_at(0, std::string(4096, '\0')));
  }
  shop.open();
  shop.publish("m-1");
  shop.open();
  EXPECT_EQ(shop.take_ids(5), std::vector<std::string>{"m-1"});
}

TEST(Restart, ASegmentMissingInTheMiddleIsAnError) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 40; ++i) shop.publish("m-" + std::to_string(i), noon, 4000);
  shop.shut();
  must(shop.disk->remove("000000000003.seg"));
  const auto error = shop.try_open();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::corrupt);
  EXPECT_NE(error->detail.find("000000000003.seg is missing"), std::string::npos) << error->detail;
}

TEST(Restart, WhatWasReadyIsReadyThoughTheClockWasSetBack) {
  for (const bool clean : {true, false}) {
    Shop shop;
    shop.open(noon);
    shop.publish("ready", noon);
    Publication later;
    later.message = std::make_shared<const Message>(Message{.id = "delayed"});
    later.delay = 1h;
    must(shop.queue->publish({&later, 1}, noon));
    if (clean) shop.close();
    shop.open(noon - 24h);
    const auto stats = must(shop.queue->stats(noon - 24h));
    EXPECT_EQ(stats.ready, 1U);
    EXPECT_EQ(stats.delayed, 1U);
    EXPECT_EQ(shop.take_ids(5, noon - 24h + 1h - 1ms), (std::vector<std::string>{"ready"}));
    EXPECT_EQ(shop.take_ids(1, noon - 24h + 1h).size(), 1U);
  }
}

// Those who were retried stand where they stood, and all the others where they were published: the
// oldest of all must not make strays of everybody behind it.
TEST(Restart, EverybodyStandsInLineByWhenItBecameReady) {
  const auto id = [](int number) { return std::to_string(number); };
  for (const char* how : {"running", "closed", "killed"}) {
    Shop shop;
    shop.open(noon);
    for (int i = 0; i < 3; ++i) shop.publish(id(i), noon + i * 1s);
    const auto taken = shop.take(3, noon + 2s);
    ASSERT_EQ(taken.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      shop.end(taken[i], Shop::failed(taken[i], noon + 2s, i == 0 ? 5500ms : 2500ms), noon + 2s);
    }
    for (int i = 3; i < 10; ++i) shop.publish(id(i), noon + i * 1s);
    if (how == std::string_view("closed")) shop.close();
    if (how != std::string_view("running")) shop.open(noon + 20s);
    const std::vector<std::string> expected = {"3", "4", "1", "2", "5", "6", "7", "0", "8", "9"};
    EXPECT_EQ(shop.take_ids(20, noon + 20s), expected) << how;
  }
}

TEST(AWaitingReceiver, LosesNoTimeHoweverOftenItLooks) {
  const std::chrono::steady_clock::time_point began{1h};
  auto seen = began;
  Millis total{0};
  for (int look = 1; look <= 1000; ++look) {
    const auto so_far = embedded::waited(seen, began + look * 300us);
    EXPECT_LE(so_far.elapsed, 1ms);
    total += so_far.elapsed;
    seen = so_far.until;
  }
  EXPECT_EQ(total, 300ms);
}

TEST(AWaitingReceiver, FollowsTheClockThatWasSetForwardMeanwhile) {
  Shop shop;
  shop.open();
  auto waiting = std::async(std::launch::async,
                            [&] { return must(shop.queue->receive({1, 30s, 60s}, noon)); });
  EXPECT_EQ(waiting.wait_for(50ms), std::future_status::timeout);
  shop.publish("m-1", noon + 1h);
  const auto got = waiting.get();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_GE(got[0].leased_until, noon + 1h + 30s);
  EXPECT_TRUE(shop.take_ids(1, noon + 1h + 1s).empty());
}

TEST(Stragglers, AreNotMovedWhereNothingIsGained) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 3000; ++i) shop.publish("", noon, 4);
  must(shop.queues->tidy());
  const auto before = shop.queues->journal_stats().bytes_written;
  must(shop.queues->tidy());
  EXPECT_LT(shop.queues->journal_stats().bytes_written - before, 1000U);
}

// Issue: whoever was killed in the middle of a replay sends again what was in flight, and the queue
// drops it. That he comes back the next day must not make two of it.
TEST(Restart, AReplayThatIsSentAgainDaysLaterIsStillARepeat) {
  auto options = Shop::jobs();
  options.dedupe_window = 10min;
  Shop shop(options);
  shop.open();
  const std::string replay = "a replay";
  const auto is_repeat = [&](const std::string& id, TimePoint now) {
    Publication one;
    one.message = std::make_shared<const Message>(Message{.id = "m"});
    one.dedupe_id = id;
    one.replay = id == replay;
    return must(shop.queue->publish({&one, 1}, now)).front().duplicate;
  };
  EXPECT_FALSE(is_repeat(replay, noon));
  EXPECT_FALSE(is_repeat("daily report", noon));
  const TimePoint back = noon + 48h;
  shop.open(back);
  EXPECT_TRUE(is_repeat(replay, back + 1s));
  EXPECT_FALSE(is_repeat("daily report", back + 1s)) << "a sender's id is over after its window";
  EXPECT_TRUE(is_repeat(replay, back + 10min - 1ms));
  EXPECT_FALSE(is_repeat(replay, back + 10min));
}

}  // namespace
}  // namespace dlo::testing
