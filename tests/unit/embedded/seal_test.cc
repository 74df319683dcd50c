// What a repair makes of damage that took nothing, and of damage that hides what it took.
#include <gtest/gtest.h>

#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/queue_check.h"
#include "dlo/broker/embedded/repair.h"

namespace dlo::testing {
namespace {

std::unique_ptr<FaultFileSystem> copy(FaultFileSystem& from) {
  auto to = std::make_unique<FaultFileSystem>();
  for (const std::string& name : must(from.list())) {
    must(must(to->open(name, OpenMode::create))->write_at(0, from.bytes(name)));
  }
  return to;
}

std::string last_segment(FaultFileSystem& disk) {
  std::string last;
  for (const std::string& each : must(disk.list())) {
    if (each.ends_with(".seg") && each < "1") last = each;
  }
  return last;
}

/// Three wait, one of them delayed; stopped cleanly, and if asked for once more, with nothing new.
void fill_and_close(Shop& shop, bool twice) {
  shop.open();
  for (const char* id : {"a", "b", "c", "d"}) shop.publish(id);
  const auto got = shop.take(2);
  shop.end(got[0], Completed{});
  shop.end(got[1], Shop::failed(got[1], noon, 1h));
  shop.close();
  if (!twice) return;
  shop.open();
  shop.close();
}

void expect_nothing_lost(const QueueRepair& repair, const std::string& where) {
  ASSERT_FALSE(repair.damages.empty()) << where;
  ASSERT_EQ(repair.doubtful_count, 0U) << where << ": " << describe(repair, true);
  ASSERT_EQ(repair.unknown_records, 0U) << where << ": " << describe(repair, true);
  ASSERT_TRUE(repair.lost.empty() && repair.damaged.empty()) << where;
  ASSERT_TRUE(repair.notes.empty()) << where << ": " << describe(repair, true);
}

TEST(Repair, OfADamagedSealDoubtsNoMessageWhicheverBitItIs) {
  for (const bool twice : {false, true}) {
    Shop shop;
    fill_and_close(shop, twice);
    const std::string last = last_segment(*shop.disk);
    std::string& bytes = shop.disk->bytes(last);
    const auto second = bytes.size() - 64;
    const auto first = bytes.rfind("DLOG", second - 1);
    ASSERT_EQ(bytes.substr(second, 4), "DLOG");
    for (std::size_t bit = first * 8; bit < bytes.size() * 8; ++bit) {
      const std::string where = last + " bit " + std::to_string(bit - first * 8);
      const auto mask = static_cast<char>(1U << (bit % 8));
      bytes[bit / 8] ^= mask;
      expect_nothing_lost(must(repair_queues(*shop.disk, noon, false)), where);
      if (bit % 104 == 0) {
        const auto disk = copy(*shop.disk);
        expect_nothing_lost(must(repair_queues(*disk, noon, true)), where);
        const auto queues = must(EmbeddedQueues::open(*disk, noon, Shop::small_segments()));
        EXPECT_EQ(must(must(queues->find("jobs"))->stats(noon)).ready, 2U) << where;
        EXPECT_EQ(must(must(queues->find("jobs"))->stats(noon)).delayed, 1U) << where;
      }
      bytes[bit / 8] ^= mask;
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Repair, KnowsAFirstSealThoughNothingIsLeftOfIt) {
  for (const bool twice : {false, true}) {
    Shop shop;
    fill_and_close(shop, twice);
    std::string& bytes = shop.disk->bytes(last_segment(*shop.disk));
    const auto second = bytes.size() - 64;
    const auto first = bytes.rfind("DLOG", second - 1);
    for (std::size_t at = first; at < second; ++at) bytes[at] = 'x';
    expect_nothing_lost(must(repair_queues(*shop.disk, noon, true)), twice ? "twice" : "once");
  }
}

// What stands before a second seal is not a first one because it is there: its bytes would have
// another checksum.
TEST(Repair, TakesNoMessageForASeal) {
  Shop shop;
  fill_and_close(shop, false);
  std::string& bytes = shop.disk->bytes(last_segment(*shop.disk));
  const auto second = bytes.size() - 64;
  const auto first = bytes.rfind("DLOG", second - 1);
  bytes[bytes.rfind("DLOG", first - 1) + 50] ^= 1;  // the group before
  bytes[first + 50] ^= 1;
  const auto repair = must(repair_queues(*shop.disk, noon, true));
  EXPECT_GT(repair.unknown_records + repair.lost.size() + repair.doubtful_count, 0U);
}

// The byte that says what a record is may be among the damaged: a publication must not pass for
// something that would not be missed.
TEST(Repair, BelievesNoTypeThatMayBeDamagedItself) {
  for (const int type : {4, 255, 13, 16, 2}) {
    SCOPED_TRACE(type);
    Shop shop;
    shop.open();
    std::vector<Publication> list(3);
    for (auto& each : list) {
      each.message = std::make_shared<const Message>(
          Message{.id = "m-" + std::to_string(&each - list.data()), .payload = "payload"});
    }
    must(shop.queue->publish(list, noon));
    shop.publish("later");
    shop.publish("last");
    shop.shut();
    std::size_t record = 0;
    must(dump_queues(*shop.disk, [&](const DumpedRecord& each) {
      if (each.message && each.message->id == "m-0") record = each.offset;
    }));
    ASSERT_GT(record, 0U);
    std::string& bytes = shop.disk->bytes("000000000001.seg");
    bytes[record + 8] = static_cast<char>(type);
    bytes[bytes.find("m-0")] ^= 1;
    ASSERT_TRUE(shop.try_open());
    const auto repair = must(repair_queues(*shop.disk, noon, true));
    EXPECT_EQ(repair.unknown_records + repair.lost.size(), 1U) << describe(repair, true);
    shop.open();
    EXPECT_EQ(shop.take(9).size(), 4U);
  }
}

}  // namespace
}  // namespace dlo::testing
