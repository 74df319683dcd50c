// A directory of queues looked at from outside: what is whole is said to be, what is not is found.
#include "dlo/broker/embedded/queue_check.h"

#include <gtest/gtest.h>

#include "unit/embedded/shop.h"

namespace dlo::testing {
namespace {

/// Some of everything: completed, waiting, failed, keyed, delayed.
void fill(Shop& shop, std::size_t size) {
  shop.open();
  for (int i = 0; i < 6; ++i) shop.publish("m-" + std::to_string(i), noon, size);
  shop.publish("k-1", noon, size, "k");
  shop.publish("k-2", noon, size, "k");
  const auto got = shop.take(3);
  shop.end(got[0], Completed{});
  shop.end(got[1], Shop::failed(got[1], noon, 1h));
}

TEST(QueueCheck, FindsNothingWrongWithWhatIsWhole) {
  Shop shop;
  fill(shop, 20);
  shop.close();
  const auto check = must(check_queues(*shop.disk));
  EXPECT_TRUE(check.damages.empty()) << check.damages.front().what;
  EXPECT_TRUE(check.clean);
  EXPECT_TRUE(check.checkpoint);
  ASSERT_EQ(check.queues.size(), 1U);
  EXPECT_EQ(check.queues[0].name, "jobs");
  EXPECT_EQ(check.queues[0].waiting, 7U);
  EXPECT_EQ(check.verified, 7U);
}

TEST(QueueCheck, TellsAnUncleanStopFromDamage) {
  Shop shop;
  fill(shop, 20);
  shop.shut();
  const auto check = must(check_queues(*shop.disk));
  EXPECT_TRUE(check.damages.empty()) << check.damages.front().what;
  EXPECT_FALSE(check.clean);
  EXPECT_EQ(check.verified, 7U);
}

TEST(QueueCheck, NoticesEveryFlippedBitOfASealedJournal) {
  Shop shop;
  fill(shop, 5);
  shop.close();
  std::size_t flipped = 0;
  for (const std::string& name : must(shop.disk->list())) {
    std::string& bytes = shop.disk->bytes(name);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const char before = bytes[at];
      bytes[at] = static_cast<char>(before ^ (1 << (at % 8)));
      const auto check = check_queues(*shop.disk);
      const bool noticed = !check || !check->damages.empty() || !check->clean;
      bytes[at] = before;
      ASSERT_TRUE(noticed) << name << " at byte " << at;
      ++flipped;
    }
  }
  EXPECT_GT(flipped, 1000U);
}

TEST(QueueCheck, GoesOnPastDamageAndSaysWhere) {
  Shop shop;
  fill(shop, 300);
  shop.close();
  const std::string name = must(shop.disk->list()).front();
  ASSERT_TRUE(name.ends_with(".seg")) << name;
  const auto at = shop.disk->bytes(name).find("m-3");
  shop.disk->bytes(name)[at] ^= 1;
  const auto check = must(check_queues(*shop.disk));
  ASSERT_EQ(check.damages.size(), 2U);  // a group, and the message in it
  EXPECT_EQ(check.damages[0].file, name);
  EXPECT_LT(check.damages[0].offset, at);
  EXPECT_GT(check.damages[0].offset + check.damages[0].size, at);
  EXPECT_EQ(check.queues[0].unreadable, 1U);
  EXPECT_EQ(check.verified, 6U);
}

TEST(QueueDump, ShowsEveryRecordAndTheMessagesInThem) {
  Shop shop;
  fill(shop, 20);
  shop.shut();
  std::vector<std::string> types;
  std::vector<std::string> ids;
  must(dump_queues(*shop.disk, [&](const DumpedRecord& record) {
    types.push_back(record.type);
    if (record.message) ids.push_back(record.message->id);
  }));
  EXPECT_EQ(types.front(), "born");
  EXPECT_NE(std::find(types.begin(), types.end(), "state"), types.end());
  EXPECT_EQ(ids,
            (std::vector<std::string>{"m-0", "m-1", "m-2", "m-3", "m-4", "m-5", "k-1", "k-2"}));
}

TEST(OneDamagedMessage, IsDeliveredAsUndecodableAndHarmsNobodyElse) {
  Shop shop;
  fill(shop, 300);
  shop.close();
  const std::string name = must(shop.disk->list()).front();
  auto& bytes = shop.disk->bytes(name);
  bytes[bytes.find("m-3") + 50] ^= 1;
  shop.open(noon + 1s);
  const auto got = shop.take(10, noon + 1s);
  ASSERT_EQ(got.size(), 5U);
  int damaged = 0;
  for (const auto& each : got) {
    if (!each.undecodable) continue;
    ++damaged;
    EXPECT_EQ(each.undecodable->type, "DamagedRecord");
    shop.end(each, DeadLettered{}, noon + 1s);
  }
  EXPECT_EQ(damaged, 1);
}

TEST(AMissingCheckpoint, IsAnErrorAndNeverAnEmptyQueue) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 100; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  for (const auto& each : shop.take(90)) shop.end(each, Completed{});
  must(shop.queues->tidy());
  shop.shut();
  must(shop.disk->remove("checkpoint"));
  const auto error = shop.try_open();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::corrupt);
  EXPECT_NE(error->detail.find("no checkpoint"), std::string::npos) << error->detail;
}

TEST(AMissingSegment, IsAnError) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 100; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  shop.shut();
  must(shop.disk->remove(must(shop.disk->list()).front()));
  const auto error = shop.try_open();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::corrupt);
}

}  // namespace
}  // namespace dlo::testing
