// A disk that does not give what is there, for a while: no message is taken for damaged because of
// it.
#include <gtest/gtest.h>
#include <mutex>

#include "support/eventually.h"
#include "unit/embedded/shop.h"

namespace dlo::testing {
namespace {

using Op = FaultFileSystem::Op;

/// Reads of this file fail from here on.
void fail_reads(Shop& shop, const std::string& name) {
  shop.disk->set_fault([name](Op op, const std::string& file) {
    return op == Op::read && file == name ? std::optional(Code::unavailable) : std::nullopt;
  });
}

constexpr char first_segment[] = "000000000001.seg";

TEST(AMessageTheDiskDoesNotGive, IsHandedOutLaterAndWhole) {
  Shop shop;
  shop.open();
  shop.publish("fresh");
  shop.publish("failed");
  const auto got = shop.take(2);
  shop.end(got[0], ReleasedUnrun{});
  shop.end(got[1], Shop::failed(got[1], noon, 0ms));
  fail_reads(shop, first_segment);
  const auto refused = shop.queue->receive({9, 30s, 0ms}, noon + 1ms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unavailable) << refused.error().detail;
  EXPECT_TRUE(shop.take(9, noon + 500ms).empty()) << "not at once";
  shop.disk->set_fault({});
  const auto back = shop.take(9, noon + 2s);
  ASSERT_EQ(back.size(), 2U);
  for (const auto& each : back) {
    EXPECT_EQ(each.undecodable, nullptr);
    EXPECT_EQ(each.message->payload, each.message->id + std::string(100, '.'));
    EXPECT_EQ(each.counters.failure, each.message->id == "failed" ? 1U : 0U);
    EXPECT_EQ(each.counters.fetch, each.message->id == "failed" ? 2U : 1U) << each.message->id;
    shop.end(each, Completed{}, noon + 2s);
  }
}

TEST(AMessageTheDiskDoesNotGive, StaysTheSameOverAKill) {
  Shop shop;
  shop.open();
  shop.publish("a");
  const auto first = shop.take(1).front();
  shop.end(first, Shop::failed(first, noon, 0ms));
  fail_reads(shop, first_segment);
  EXPECT_FALSE(shop.queue->receive({9, 30s, 0ms}, noon + 1ms));
  shop.open(noon + 2s);
  const auto back = shop.take(9, noon + 2s);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].undecodable, nullptr);
  EXPECT_EQ(back[0].message->id, "a");
}

TEST(AMessageTheDiskDoesNotGive, HoldsNobodyElseUpAndIsTold) {
  Shop shop;
  std::string told;
  std::mutex mutex;
  shop.settings.housekeeping = true;
  shop.settings.on_trouble = [&](const std::string& trouble) {
    const std::lock_guard lock(mutex);
    told = trouble;
  };
  shop.open();
  shop.publish("hidden");
  for (int i = 0; i < 20; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  fail_reads(shop, first_segment);
  std::size_t got = 0;
  for (int i = 0; i < 21; ++i) {
    const auto one = shop.queue->receive({1, 30s, 0ms}, noon + 1ms);
    got += one ? one->size() : 0;
  }
  EXPECT_GT(got, 3U) << "those that lie in another segment";
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return told.find("made to fail") != std::string::npos;
  }));
  const auto seen = shop.queue->peek(30);
  EXPECT_FALSE(seen) << "a list with holes would be taken for whole";
}

}  // namespace
}  // namespace dlo::testing
