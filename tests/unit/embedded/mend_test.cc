// What a repair makes of messages that were moved before something was damaged.
#include <gtest/gtest.h>

#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/repair.h"

namespace dlo::testing {
namespace {

// The second checkpoint of a tidying fails, so the places they were moved from are still there;
// then the first is damaged, and everything is read from the beginning.
TEST(Repair, LeavesAMovedMessageItsDelayAndADeadOneDead) {
  Shop shop(Shop::jobs(), true);
  shop.open();
  for (const char* id : {"late", "dead", "ready"}) shop.publish(id);
  for (int i = 0; i < 400; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  for (const auto& each : shop.take(1000)) {
    const std::string& id = each.message->id;
    if (id == "late") {
      shop.end(each, Shop::failed(each, noon, 10h));
    } else if (id == "ready") {
      shop.end(each, Shop::failed(each, noon, 0ms));
    } else {
      shop.end(each, id == "dead" ? Ending(DeadLettered{}) : Ending(Completed{}));
    }
  }
  int opened = 0;
  shop.disk->set_fault([&](FaultFileSystem::Op op, const std::string& name) -> std::optional<Code> {
    const bool here = op == FaultFileSystem::Op::open && name == "checkpoint.new";
    return here && ++opened == 2 ? std::optional(Code::unavailable) : std::nullopt;
  });
  ASSERT_FALSE(shop.queues->tidy());
  ASSERT_EQ(opened, 2) << "nothing was moved";
  shop.shut();
  shop.disk->bytes("checkpoint")[20] ^= 1;
  must(repair_queues(*shop.disk, noon, true));
  shop.open(noon + 1h);
  const auto stats = must(shop.queue->stats(noon + 1h));
  EXPECT_EQ(stats.delayed, 1U);
  EXPECT_EQ(shop.queue->dead(), 1U);
  const auto ids = shop.take_ids(1000, noon + 1h);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), "ready"), 1);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), "late"), 0);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), "dead"), 0);
  const auto later = shop.take_ids(1000, noon + 11h);
  EXPECT_EQ(std::count(later.begin(), later.end(), "late"), 1);
}

}  // namespace
}  // namespace dlo::testing
