// What a repair makes of messages that were moved before something was damaged.
#include <algorithm>
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

/// Publishes "late", due in ten hours, fresh or tried once, and "ready", among much that is then
/// done.
void let_one_wait(Shop& shop, bool tried) {
  Publication late;
  late.message = std::make_shared<const Message>(Message{.id = "late"});
  late.delay = tried ? Millis{0} : Millis{10h};
  must(shop.queue->publish({&late, 1}, noon));
  shop.publish("ready");
  for (int i = 0; i < 400; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  for (const auto& each : shop.take(1000)) {
    if (each.message->id == "late") {
      shop.end(each, Shop::failed(each, noon, 10h));
    } else if (each.message->id == "ready") {
      shop.end(each, ReleasedUnrun{});
    } else {
      shop.end(each, Completed{});
    }
  }
}

bool has(const std::vector<Delivery>& got, const std::string& id) {
  return std::any_of(got.begin(), got.end(),
                     [&](const Delivery& each) { return each.message->id == id; });
}

// It was moved after somebody had set the clock, and of where it was before nothing, or everything,
// is left when the checkpoint is damaged.
void damage_after_a_move(Shop& shop, bool tried, bool all_left, Millis jump) {
  shop.open();
  let_one_wait(shop, tried);
  EXPECT_EQ(must(shop.queue->stats({noon + jump + 1s, noon + 1s})).delayed, 1U);
  int opened = 0;
  shop.disk->set_fault([&](FaultFileSystem::Op op, const std::string& name) {
    const bool here = op == FaultFileSystem::Op::open && name == "checkpoint.new";
    const bool fails = here && ++opened == 2 && all_left;
    return fails ? std::optional(Code::unavailable) : std::nullopt;
  });
  ASSERT_EQ(shop.queues->tidy().has_value(), !all_left);
  ASSERT_EQ(opened, 2) << "nothing was moved";
  shop.shut();
  shop.disk->bytes("checkpoint").back() ^= 1;  // the names of queues are at its beginning
}

TEST(Repair, LeavesAMovedMessageItsDelayThoughTheClockWasSet) {
  for (const Millis jump : {Millis{5h}, Millis{-24h * 3650}, Millis{0}}) {
    for (const int variant : {0, 1, 2, 3}) {
      const bool tried = variant % 2 == 0;
      const bool all_left = variant / 2 == 0;
      SCOPED_TRACE(std::to_string(jump.count()) + (tried ? ", tried" : ", fresh") +
                   (all_left ? ", all is left" : ""));
      const auto at = [&](Millis passed) { return Instant{noon + jump + passed, noon + passed}; };
      Shop shop;
      damage_after_a_move(shop, tried, all_left, jump);
      must(repair_queues(*shop.disk, at(2s).wall, true));
      shop.open(at(2s).wall);
      const auto take = [&](Instant now) {
        return must(shop.queue->receive({1000, 24h, 0ms}, now));
      };
      const auto first = take(at(2s));
      EXPECT_TRUE(has(first, "ready"));
      EXPECT_FALSE(has(first, "late"));
      EXPECT_FALSE(has(take(at(10h - 1ms)), "late"));
      EXPECT_TRUE(has(take(at(10h)), "late"));
    }
  }
}

}  // namespace
}  // namespace dlo::testing
