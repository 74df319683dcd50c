// The last segment of a process that was killed, of which nothing is left that could be read. It is
// no file that was made ready and never used: what was acknowledged lay in it.
#include <gtest/gtest.h>

#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/queue_check.h"
#include "dlo/broker/embedded/repair.h"

namespace dlo::testing {
namespace {

/// Three messages, and nobody closes anything.
std::uint64_t live_and_die(Shop& shop) {
  shop.open();
  std::uint64_t last = 0;
  for (const char* id : {"a", "b", "c"}) {
    Publication one;
    one.message = std::make_shared<const Message>(Message{.id = id, .payload = id});
    const auto answers = must(shop.queue->publish({&one, 1}, noon));
    last = static_cast<std::uint64_t>(answers.front().position.value().offset);
  }
  shop.shut();
  return last;
}

std::string last_segment(Shop& shop) {
  std::string last;
  for (const std::string& name : must(shop.disk->list())) {
    if (name.ends_with(".seg") && !name.starts_with("spare")) last = name;
  }
  return last;
}

class ALastSegment : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Queues, ALastSegment, ::testing::Bool(), [](const auto& each) {
  return each.param ? "WithACheckpoint" : "WithoutACheckpoint";
});

TEST_P(ALastSegment, OfWhichNothingIsLeftIsNotTakenForAnEmptyOne) {
  Shop shop;
  if (GetParam()) {
    shop.open();
    shop.publish("before");
    shop.close();
  }
  const auto position = live_and_die(shop);
  const std::string name = last_segment(shop);
  std::string& bytes = shop.disk->bytes(name);
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 4096); ++i) {
    bytes[i] = static_cast<char>(bytes[i] ^ 0x55);  // a block that somebody else wrote
  }
  const std::string ruin = bytes;

  const auto refused = shop.try_open();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::corrupt);
  EXPECT_NE(refused->detail.find(name), std::string::npos) << refused->detail;
  EXPECT_EQ(shop.disk->bytes(name), ruin) << "it is all that is left";
  EXPECT_FALSE(must(check_queues(*shop.disk)).damages.empty());

  const auto repaired = must(repair_queues(*shop.disk, noon, true));
  EXPECT_GE(repaired.unknown_records, 1U) << describe(repaired, true);
  EXPECT_TRUE(must(repair_queues(*shop.disk, noon, true)).damages.empty());
  shop.open();
  EXPECT_EQ(shop.take_ids(9),
            GetParam() ? std::vector<std::string>{"before"} : std::vector<std::string>{});
  Publication one;
  one.message = std::make_shared<const Message>(Message{.id = "new"});
  const auto answers = must(shop.queue->publish({&one, 1}, noon));
  const auto given = static_cast<std::uint64_t>(answers.front().position.value().offset);
  EXPECT_GT(given, position) << "a number that somebody has is not given again";
  shop.close();
  EXPECT_TRUE(must(check_queues(*shop.disk)).damages.empty());
}

}  // namespace
}  // namespace dlo::testing
