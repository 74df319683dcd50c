// A disk that is full for a while: what could not be done is done once there is room.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <optional>

#include "support/eventually.h"
#include "unit/embedded/shop.h"

namespace dlo::testing {
namespace {

using Op = FaultFileSystem::Op;

std::size_t segments_on(FaultFileSystem& disk) {
  const auto names = must(disk.list());
  return static_cast<std::size_t>(std::count_if(names.begin(), names.end(), [](const auto& name) {
    return name.starts_with("0") && name.ends_with(".seg");
  }));
}

TEST(ACheckpointThatFoundNoRoom, IsTriedAgainThoughNobodyWritesAndLeavesNothingBehind) {
  Shop shop;
  shop.settings.housekeeping = true;
  shop.settings.housekeeping_again = 5ms;
  shop.open();
  for (int i = 0; i < 120; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  std::atomic<int> failures = 0;
  std::atomic<bool> full = true;
  shop.disk->set_fault([&](Op op, const std::string& name) {
    const bool fails = full && op == Op::write && name.starts_with("checkpoint");
    failures += fails;
    return fails ? std::optional(Code::disk_full) : std::nullopt;
  });
  for (const auto& each : shop.take(120)) shop.end(each, Completed{});
  const auto before = segments_on(*shop.disk);
  EXPECT_GT(before, 5U);
  ASSERT_TRUE(eventually([&] { return failures >= 3; }));
  EXPECT_TRUE(eventually([&] {  // between two attempts it is not there
    const auto names = must(shop.disk->list());
    return std::find(names.begin(), names.end(), "checkpoint.new") == names.end();
  }));
  EXPECT_NE(shop.queues->health().trouble, "");
  full = false;
  EXPECT_TRUE(eventually([&] { return segments_on(*shop.disk) < 4; }));
  EXPECT_TRUE(eventually([&] { return shop.queues->health().trouble.empty(); }));
}

// Each of them writes a record of its own: what is left of one segment is not enough for them all.
TEST(AFullDisk, IsEmptiedByConsumersThatTakeOneMessageAtATime) {
  Shop shop;
  shop.settings.housekeeping = true;
  shop.settings.housekeeping_again = 5ms;
  shop.settings.journal.segment_size = 1U << 20U;
  shop.settings.journal.prepare_ahead = true;  // whose failure publishers are told
  shop.open();
  shop.disk->set_room((8U << 20U) + (700U << 10U));
  int taken = 0;
  for (bool full = false; !full; taken += !full) {
    ASSERT_LT(taken, 20'000);
    Publication publication;
    publication.message = std::make_shared<Message>(
        Message{.id = std::to_string(taken), .payload = std::string(1000, '.')});
    const auto answer = shop.queue->publish({&publication, 1}, noon);
    full = !answer;
    if (full) {
      EXPECT_EQ(answer.error().code, Code::disk_full);
    }
  }
  EXPECT_GT(taken, 5'000);
  int done = 0;
  for (; done < taken; ++done) {
    std::optional<Result<std::vector<Delivery>>> got;
    const bool came = eventually([&] {
      got = shop.queue->receive({1, 30s, 0ms}, noon);
      return got->has_value();
    });
    ASSERT_TRUE(came) << done << " of " << taken << ": " << got->error().detail;
    ASSERT_EQ((*got)->size(), 1U);
    const Settlement settlement{(*got)->front().lease, Completed{}};
    ASSERT_TRUE(eventually([&] { return shop.queue->settle({&settlement, 1}, noon).has_value(); }))
        << done << " of " << taken;
  }
  EXPECT_TRUE(eventually([&] { return segments_on(*shop.disk) < 5; }));
  shop.publish("there is room again");
}

// Less is gone than housekeeping would come for by itself, and it is all that is missing.
TEST(AFullDisk, RefusesNobodyForRoomThatOnlyHasToBeTidied) {
  Shop shop;
  shop.settings.housekeeping = true;
  shop.settings.journal.segment_size = 1U << 20U;
  shop.settings.journal.prepare_ahead = true;
  shop.open();
  shop.disk->set_room((2U << 20U) + (700U << 10U));
  for (int i = 0; i < 1'600; ++i) shop.publish("gone", noon, 1000);
  for (const auto& each : shop.take(1'600)) shop.end(each, Completed{});
  EXPECT_EQ(segments_on(*shop.disk), 2U) << "nothing is tidied yet, or this shows nothing";
  for (int i = 0; i < 800; ++i) shop.publish("here", noon, 1000);
  EXPECT_EQ(must(shop.queue->stats(noon)).ready, 800U);
}

}  // namespace
}  // namespace dlo::testing
