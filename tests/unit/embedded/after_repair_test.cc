// A directory that was repaired: nothing in it is news any more, and what cannot be read is told.
#include <gtest/gtest.h>
#include <set>

#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/broken_list.h"
#include "dlo/broker/embedded/queue_check.h"
#include "dlo/broker/embedded/repair.h"

namespace dlo::testing {
namespace {

std::uint64_t unreadable_in(const QueueCheck& check) {
  std::uint64_t count = 0;
  for (const auto& each : check.queues) count += each.unreadable;
  return count;
}

std::string told(const QueueCheck& check) {
  return check.damages.empty() ? ""
                               : check.damages.front().file + ": " + check.damages.front().what;
}

/// Repairs, and sees that a second look finds nothing that was not told.
QueueRepair repair_for_good(Shop& shop) {
  auto repair = must(repair_queues(*shop.disk, noon, true));
  EXPECT_FALSE(repair.damages.empty());
  const auto check = must(check_queues(*shop.disk));
  EXPECT_EQ(told(check), "") << describe(repair, true);
  EXPECT_EQ(unreadable_in(check), repair.damaged.size());
  const auto again = must(repair_queues(*shop.disk, noon + 1s, true));
  EXPECT_TRUE(again.damages.empty()) << describe(again, true);
  EXPECT_TRUE(again.set_aside.empty());
  EXPECT_EQ(again.damaged.size(), repair.damaged.size());
  EXPECT_NE(describe(again, true).find("nothing to repair"), std::string::npos);
  return repair;
}

/// Everybody is handed out, the broken ones as undecodable; then nothing is left that is not whole.
void expect_to_end_well(Shop& shop, std::size_t here, std::size_t broken) {
  shop.open(noon + 2s);
  std::size_t undecodable = 0;
  const auto got = shop.take(99, noon + 2s);
  EXPECT_EQ(got.size(), here);
  for (const auto& each : got) {
    undecodable += each.undecodable != nullptr;
    shop.end(each, each.undecodable ? Ending(DeadLettered{}) : Ending(Completed{}), noon + 2s);
  }
  EXPECT_EQ(undecodable, broken);
  shop.close();
  const auto check = must(check_queues(*shop.disk));
  EXPECT_EQ(told(check), "");
  EXPECT_EQ(unreadable_in(check), 0U);
}

TEST(AfterARepair, AFileThatWasCutAnywhereIsNoNews) {
  for (const bool stopped : {true, false}) {
    Shop first;
    first.open();
    for (const char* id : {"a", "b", "c", "d"}) first.publish(id);
    must(first.queues->tidy());  // from here on a checkpoint knows of them
    if (stopped) first.close();
    first.shut();
    const std::string name = "000000000001.seg";
    const std::string whole = first.disk->bytes(name);
    const auto end = whole.find_last_not_of('\0');
    std::size_t broken = 0;
    for (std::size_t left = 0; left < end; left += 13) {
      SCOPED_TRACE(std::to_string(left) + (stopped ? " bytes left" : " bytes left, killed"));
      Shop shop;
      for (const std::string& each : must(first.disk->list())) {
        const auto& bytes = first.disk->bytes(each);
        must(must(shop.disk->open(each, OpenMode::create))
                 ->write_at(0, each == name ? whole.substr(0, left) : bytes));
      }
      if (!shop.try_open()) continue;  // no more than what a crash may leave
      shop.shut();
      const auto repair = repair_for_good(shop);
      broken = std::max(broken, repair.damaged.size());
      for (int life = 0; life < 2; ++life) {  // in which nobody takes anything
        shop.open(noon + 1s);
        shop.close();
        EXPECT_EQ(told(must(check_queues(*shop.disk))), "");
      }
      expect_to_end_well(shop, 4, repair.damaged.size());
      if (HasFailure()) return;
    }
    EXPECT_EQ(broken, 4U);
  }
}

TEST(AfterARepair, AFileThatMessagesStillNeedAndNothingElseIsNoNews) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 40; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  must(shop.queues->tidy());
  shop.close();
  // The checkpoint is far behind it: only who looks for its messages can tell.
  must(shop.disk->remove("000000000001.seg"));
  EXPECT_FALSE(must(check_queues(*shop.disk)).damages.empty());
  const auto plan = must(repair_queues(*shop.disk, noon, false));
  ASSERT_EQ(plan.damages.size(), 1U) << describe(plan, false);
  EXPECT_NE(plan.damages[0].file.find("000000000001.seg"), std::string::npos);
  const auto repair = repair_for_good(shop);
  EXPECT_GT(repair.damaged.size(), 5U);
  EXPECT_TRUE(repair.lost.empty());
  expect_to_end_well(shop, 40, repair.damaged.size());
}

// With nothing left of what came before a gap, only the checkpoint knows that there is one; slots
// that are used again behind it were freed in it.
TEST(AfterARepair, QueuesOpenHoweverManyOfTheFirstFilesAreMissing) {
  Shop first;
  first.open();
  for (int i = 0; i < 40; ++i) first.publish("m-" + std::to_string(i), noon, 1000);
  must(first.queues->tidy());
  for (const auto& each : first.take(20)) first.end(each, Completed{});
  for (int i = 0; i < 40; ++i) first.publish("n-" + std::to_string(i), noon, 1000);
  first.shut();
  std::vector<std::string> segments;
  for (const std::string& name : must(first.disk->list())) {
    if (name.ends_with(".seg")) segments.push_back(name);
  }
  ASSERT_GT(segments.size(), 4U);
  std::uint64_t unknown = 0;
  for (std::size_t gone = 1; gone <= segments.size(); ++gone) {
    SCOPED_TRACE(gone);
    Shop shop;
    for (const std::string& each : must(first.disk->list())) {
      if (each.ends_with(".seg") && each <= segments[gone - 1]) continue;
      must(must(shop.disk->open(each, OpenMode::create))->write_at(0, first.disk->bytes(each)));
    }
    if (must(check_queues(*shop.disk)).damages.empty()) continue;  // nobody needs them
    const auto repair = repair_for_good(shop);
    unknown = std::max(unknown, repair.unknown_records);
    shop.open(noon + 2s);
    shop.publish("fresh", noon + 2s);
    EXPECT_GE(shop.take(99, noon + 2s).size(), 41U) << describe(repair, true);
  }
  EXPECT_GT(unknown, 20U);
}

TEST(AfterARepair, DamageThatCameLaterIsNews) {
  Shop shop;
  shop.open();
  for (const char* id : {"a", "b", "c"}) shop.publish(id);
  shop.close();
  std::string& bytes = shop.disk->bytes("000000000001.seg");
  bytes.resize(bytes.find("c...") + 4);
  EXPECT_EQ(repair_for_good(shop).damaged.size(), 1U);
  bytes[bytes.find("a...")] ^= 1;
  EXPECT_NE(told(must(check_queues(*shop.disk))), "");
  EXPECT_FALSE(must(repair_queues(*shop.disk, noon + 5s, false)).damages.empty());
}

TEST(ABrokenList, LeavesOutWhatNobodyUnderstands) {
  FaultFileSystem disk;
  const std::vector<Address> two = {{{1, 64}, 7}, {{2, 640}, 70}};
  const auto write = [&](TimePoint at, const std::string& text) {
    must(must(disk.open(embedded::BrokenList::file_name(at), OpenMode::create))->write_at(0, text));
  };
  write(noon, embedded::BrokenList::to_text(two) + "rubbish\n3 99\n\n4 4 -\n");
  write(noon + 1s, "5 128 8");
  const auto list = must(embedded::BrokenList::read(disk));
  std::set<std::uint64_t> known;
  for (std::uint64_t sequence = 0; sequence < 200; ++sequence) {
    if (list.contains({{}, sequence})) known.insert(sequence);
  }
  EXPECT_EQ(known, (std::set<std::uint64_t>{7, 8, 70}));
}

}  // namespace
}  // namespace dlo::testing
