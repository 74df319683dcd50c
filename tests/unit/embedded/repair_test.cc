// A damaged directory of queues: refused with what to do, set right without losing more than the
// damage took, and never in silence.
#include "dlo/broker/embedded/repair.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <set>

#include "unit/embedded/shop.h"

namespace dlo::testing {
namespace {

using Ids = std::set<std::string>;

std::unique_ptr<FaultFileSystem> copy(FaultFileSystem& from) {
  auto to = std::make_unique<FaultFileSystem>();
  for (const std::string& name : must(from.list())) {
    must(must(to->open(name, OpenMode::create))->write_at(0, from.bytes(name)));
  }
  return to;
}

/// Every kind of record is written at least once. Who waits in the end: see `alive`.
void live_a_life(Shop& shop) {
  shop.open();
  SourceOptions other = Shop::jobs();
  other.source = "other";
  auto second = must(shop.queues->declare(other, true));
  for (int i = 0; i < 6; ++i) shop.publish("m-" + std::to_string(i), noon, 5);
  for (int i = 0; i < 3; ++i) shop.publish("k-" + std::to_string(i), noon, 5, "k");
  auto got = shop.take(7);  // m-0 to m-5 and k-0
  must(shop.queue->start(std::vector{got[0].lease, got[1].lease}, noon));
  shop.end(got[0], Completed{});
  shop.end(got[1], Shop::failed(got[1], noon, 1h));
  shop.end(got[2], ReleasedUnrun{});
  shop.end(got[3], DeadLettered{});
  shop.end(got[6], DeadLettered{.hold_key = true});
  must(shop.queue->free_key("k"));
  must(shop.queue->pause());
  must(shop.queue->resume());
  Publication publication;  // dies and is redriven in the other queue
  auto message = std::make_shared<Message>();
  message->id = "x";
  publication.message = message;
  must(second->publish({&publication, 1}, noon));
  const auto dying = must(second->receive({1, 30s, 0ms}, noon));
  const Settlement death{dying[0].lease, DeadLettered{}};
  must(second->settle({&death, 1}, noon));
  must(second->redrive());
  must(second->move_to(*shop.queue));
  must(second->publish({&publication, 1}, noon));
  must(second->purge());
}
const Ids alive = {"m-1", "m-2", "m-4", "m-5", "k-1", "k-2", "x"};

struct Outcome {
  Ids here;
  Ids repeats;
  std::size_t undecodable = 0;
};

/// Everything that can be had out of all queues.
Outcome take_all(FaultFileSystem& disk) {
  auto queues = must(EmbeddedQueues::open(disk, noon + 2h, Shop::small_segments()));
  Outcome out;
  for (const std::string& name : queues->names()) {
    auto queue = must(queues->find(name));
    must(queue->resume());
    while (true) {
      const auto got = must(queue->receive({100, 30s, 0ms}, noon + 2h));
      if (got.empty()) break;
      for (const Delivery& each : got) {
        out.undecodable += each.undecodable != nullptr;
        if (!each.undecodable) out.here.insert(each.message->id);
        if (each.may_be_repeat) out.repeats.insert(each.message->id);
        const Settlement done{each.lease, Completed{}};
        must(queue->settle({&done, 1}, noon + 2h));
      }
    }
  }
  must(queues->close());
  return out;
}

/// Whoever waited is there, or reported; whoever is there though done, may be a repeat.
std::string account(const QueueRepair& repair, const Outcome& outcome, const Ids& waited) {
  std::size_t missing = 0;
  for (const std::string& id : waited) missing += !outcome.here.contains(id);
  auto told = repair.lost.size() + repair.unknown_records + outcome.undecodable;
  for (const auto& each : repair.queues) told += each.dead;  // a lost redrive leaves them there
  if (missing > told) return std::to_string(missing) + " are gone, told: " + std::to_string(told);
  for (const std::string& id : outcome.here) {
    if (!waited.contains(id) && !outcome.repeats.contains(id)) return id + " is back unmarked";
  }
  return {};
}

/// Every byte in `make soak`, every seventh otherwise.
std::size_t step() {
  return std::getenv("DLO_SOAK") == nullptr ? 7 : 1;
}

/// Flips a bit of each byte in turn; answers how often the directory was refused.
std::size_t flip_each_byte(Shop& shop, const std::string& suffix, const Ids& waited) {
  std::size_t refused = 0;
  for (const std::string& name : must(shop.disk->list())) {
    if (!name.ends_with(suffix)) continue;
    const auto end =
        std::min(shop.disk->bytes(name).find_last_not_of('\0') + 40, shop.disk->bytes(name).size());
    // A block of slots is long and mostly empty: a sample is enough.
    for (std::size_t at = 0; at < end; at += at < 3000 ? step() : 97) {
      const auto disk = copy(*shop.disk);
      disk->bytes(name)[at] ^= static_cast<char>(1 << (at % 8));
      const std::string where = name + " at byte " + std::to_string(at);
      const auto looked = copy(*disk);
      const auto opened = EmbeddedQueues::open(*looked, noon + 2h, Shop::small_segments());
      if (opened) continue;
      ++refused;
      const auto& error = opened.error();
      EXPECT_TRUE(error.code == Code::corrupt || error.code == Code::refused) << where;
      EXPECT_NE(error.detail.find(name), std::string::npos) << where << ": " << error.detail;
      const auto plan = must(repair_queues(*disk, noon, false));
      const auto repair = must(repair_queues(*disk, noon, true));
      EXPECT_FALSE(repair.damages.empty()) << where;
      EXPECT_EQ(plan.lost.size(), repair.lost.size()) << where;
      EXPECT_GE(repair.set_aside.size(), 2U) << where;  // the bytes and the report
      const auto wrong = account(repair, take_all(*copy(*disk)), waited);
      EXPECT_TRUE(wrong.empty()) << where << ": " << wrong << "\n" << describe(repair, true);
      EXPECT_TRUE(must(repair_queues(*disk, noon, false)).damages.empty()) << where;
      const auto check = must(check_queues(*disk));
      EXPECT_TRUE(check.damages.empty()) << where << ": " << check.damages.front().what;
      if (::testing::Test::HasFailure()) return refused;
    }
  }
  return refused;
}

TEST(Repair, SavesTheRestWhicheverByteOfAJournalIsFlipped) {
  Shop shop;
  live_a_life(shop);
  shop.shut();
  EXPECT_GT(flip_each_byte(shop, ".seg", alive), 1000U / step());
}

TEST(Repair, SavesTheRestWhicheverByteOfACheckpointIsFlipped) {
  Shop shop;
  live_a_life(shop);
  shop.close();
  EXPECT_GT(flip_each_byte(shop, "checkpoint", alive), 300U / step());
}

TEST(Repair, SavesTheRestWhicheverByteAfterATidyingIsFlipped) {
  Shop shop;
  live_a_life(shop);
  must(shop.queues->tidy());
  auto waiting = alive;
  for (const auto& each : shop.take(2)) {
    shop.end(each, Completed{});
    waiting.erase(each.message->id);
  }
  for (const std::string id : {"late", "later"}) {
    shop.publish(id);
    waiting.insert(id);
  }
  shop.shut();
  EXPECT_GT(flip_each_byte(shop, ".seg", waiting), 300U / step());
}

TEST(Repair, LosesOnlyTheMessageWhoseBytesAreDamagedAndNamesIt) {
  Shop shop;
  shop.open();
  std::vector<Publication> batch(3);
  for (int i = 0; i < 3; ++i) {
    auto message = std::make_shared<Message>();
    message->id = "m-" + std::to_string(i);
    message->payload = "body of " + message->id;
    batch[static_cast<std::size_t>(i)].message = message;
  }
  must(shop.queue->publish(batch, noon));
  shop.publish("later");
  shop.shut();
  const std::string name = must(shop.disk->list()).front();
  auto& bytes = shop.disk->bytes(name);
  bytes[bytes.find("body of m-1")] ^= 1;
  const auto error = shop.try_open();
  ASSERT_TRUE(error);
  for (const char* part : {name.c_str(), " at byte ", "records 3 to 5", "dlo queue repair"}) {
    EXPECT_NE(error->detail.find(part), std::string::npos) << error->detail;
  }
  const auto repair = must(repair_queues(*shop.disk, noon, true));
  ASSERT_EQ(repair.lost.size(), 1U);
  EXPECT_EQ(repair.lost[0].id, "m-1");
  EXPECT_EQ(repair.lost[0].queue, "jobs");
  EXPECT_EQ(repair.doubtful_count, 0U);
  EXPECT_EQ(repair.unknown_records, 0U);
  shop.open();
  EXPECT_EQ(shop.take_ids(10), (std::vector<std::string>{"m-0", "m-2", "later"}));
  // What was set aside is what was there.
  bool found = false;
  for (const std::string& each : must(shop.disk->list())) {
    found = found || (each.starts_with("quarantine-0") &&
                      shop.disk->bytes(each).find("ody of m-1") != std::string::npos);
  }
  EXPECT_TRUE(found);
}

TEST(Repair, DeliversAgainWhatMayHaveBeenCompleted) {
  Shop shop;
  shop.open();
  shop.publish("done");
  shop.publish("named later");
  const auto got = shop.take(2);
  const auto size = [&] {
    const std::string name = must(shop.disk->list()).front();
    return shop.disk->bytes(name).find_last_not_of('\0') + 1;
  };
  const auto from = size();
  shop.end(got[0], Completed{});
  const auto to = size();
  shop.end(got[1], Shop::failed(got[1], noon, 0ms));
  shop.shut();
  const std::string name = must(shop.disk->list()).front();
  ASSERT_GT(to, from);
  std::size_t doubts = 0;
  for (auto at = from + 15; at < to; ++at) {  // the completion and its group
    const auto disk = copy(*shop.disk);
    disk->bytes(name)[at] ^= 1;
    const auto repair = must(repair_queues(*disk, noon, true));
    const auto outcome = take_all(*disk);
    if (repair.doubtful_count == 0) {  // the record itself is whole
      EXPECT_EQ(outcome.here, (Ids{"named later"})) << at;
      continue;
    }
    ++doubts;
    ASSERT_EQ(repair.doubtful_count, 1U) << at << describe(repair, true);
    EXPECT_EQ(repair.doubtful[0].id, "done");  // of the other a later record tells
    EXPECT_EQ(outcome.here, (Ids{"done", "named later"})) << at;
    EXPECT_TRUE(outcome.repeats.contains("done")) << at;
  }
  EXPECT_GE(doubts, 10U);
}

std::string& only_segment(Shop& shop) {
  return shop.disk->bytes(must(shop.disk->list()).front());
}
/// A byte of the last record, but not its type: that could be told from its checksum.
std::size_t last_byte(Shop& shop) {
  return only_segment(shop).find_last_not_of('\0') - 2;
}

TEST(Repair, MarksAsARepeatWhatLeftNoTraceOfBeingHandedOut) {
  Shop shop;
  shop.open();
  shop.publish("done");
  const auto got = shop.take(1);
  const auto claim = last_byte(shop);
  shop.end(got[0], Completed{});
  const auto completion = last_byte(shop);
  must(shop.queue->pause());  // something intact behind it
  must(shop.queue->resume());
  shop.shut();
  only_segment(shop)[claim] ^= 1;
  only_segment(shop)[completion] ^= 1;
  const auto repair = must(repair_queues(*shop.disk, noon, true));
  EXPECT_EQ(repair.doubtful_count, 1U) << describe(repair, true);
  shop.open();
  const auto again = shop.take(1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_TRUE(again[0].may_be_repeat);
}

TEST(Repair, PurgesNobodyWhoMayHaveBeenLeasedThen) {
  Shop shop;
  shop.open();
  shop.publish("leased");
  const auto got = shop.take(1);
  const auto claim = last_byte(shop);
  shop.publish("purged");
  must(shop.queue->purge());
  shop.end(got[0], ReleasedUnrun{});
  shop.shut();
  only_segment(shop)[claim] ^= 1;
  must(repair_queues(*shop.disk, noon, true));
  shop.open();
  EXPECT_EQ(shop.take_ids(10), (std::vector<std::string>{"leased"}));
}

TEST(Repair, GoesOnWithoutAMissingSegmentOrCheckpoint) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 100; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  shop.shut();
  const auto names = must(shop.disk->list());
  must(shop.disk->remove(names[names.size() / 2]));
  ASSERT_TRUE(shop.try_open());
  const auto repair = must(repair_queues(*shop.disk, noon, true));
  EXPECT_GT(repair.unknown_records, 5U);
  shop.open();
  const auto left = must(shop.queue->stats(noon)).ready;
  EXPECT_EQ(left, 100 - repair.unknown_records);
  for (const auto& each : shop.take(50)) shop.end(each, Completed{});
  must(shop.queues->tidy());
  shop.shut();
  must(shop.disk->remove("checkpoint"));
  ASSERT_TRUE(shop.try_open());
  must(repair_queues(*shop.disk, noon, true));
  EXPECT_GE(take_all(*shop.disk).here.size(), left - 50);
}

/// Something happens to a few files: flips, sectors of zeros, a missing end, a missing file.
void ruin(FaultFileSystem& disk, std::mt19937& random) {
  for (auto times = 1 + random() % 4; times > 0; --times) {
    const auto names = must(disk.list());
    if (names.empty()) return;
    const std::string& name = names[random() % names.size()];
    std::string& bytes = disk.bytes(name);
    const auto end = std::min(bytes.find_last_not_of('\0') + 1, bytes.size());
    const auto at = end == 0 ? 0 : random() % end;
    switch (random() % 8) {
      case 0:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    std::min<std::size_t>(512, bytes.size() - at), '\0');
        break;
      case 1:
        bytes.resize(at);
        break;
      case 2:
        must(disk.remove(name));
        break;
      default:
        if (at < bytes.size()) bytes[at] ^= static_cast<char>(1 << (random() % 8));
    }
  }
}

TEST(ARuinedSegment, IsKeptAndRepaired) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 100; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  must(shop.queues->tidy());
  for (int i = 0; i < 20; ++i) shop.publish("n-" + std::to_string(i), noon, 1000);
  shop.shut();
  std::vector<std::string> segments;
  for (const std::string& name : must(shop.disk->list())) {
    if (name.ends_with(".seg")) segments.push_back(name);
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    SCOPED_TRACE(segments[i]);
    const auto disk = copy(*shop.disk);
    for (char& byte : disk->bytes(segments[i])) byte = static_cast<char>(byte + 1);
    const auto ruin = disk->bytes(segments[i]);
    const auto opened = EmbeddedQueues::open(*disk, noon, Shop::small_segments());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::corrupt);
    EXPECT_EQ(disk->bytes(segments[i]), ruin) << "it is all that is left";
    const auto repair = must(repair_queues(*disk, noon, true));
    const auto outcome = take_all(*disk);
    EXPECT_GT(outcome.here.size(), 80U) << describe(repair, true);
    // How many lay in the last one nobody knows.
    const bool last = i + 1 == segments.size();
    const auto told =
        outcome.here.size() + repair.lost.size() + repair.unknown_records + outcome.undecodable;
    EXPECT_GE(told, last ? outcome.here.size() + 1 : 120U) << describe(repair, true);
  }
}

TEST(Repair, GoesOnWhateverHappenedToTheFiles) {
  const unsigned rounds = std::getenv("DLO_SOAK") == nullptr ? 150 : 3'000;
  Shop first;
  live_a_life(first);
  for (int i = 0; i < 40; ++i) first.publish("more", noon, 1000);  // several segments
  must(first.queues->tidy());
  for (const auto& each : first.take(20)) first.end(each, Completed{});
  for (int i = 0; i < 20; ++i) first.publish("more", noon, 1000);
  first.shut();
  for (unsigned seed = 1; seed <= rounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto disk = copy(*first.disk);
    ruin(*disk, random);
    (void)check_queues(*disk);  // whatever it says, it says something
    (void)dump_queues(*disk, [](const DumpedRecord&) {});
    const auto repair = repair_queues(*disk, noon, true);
    ASSERT_TRUE(repair) << repair.error().detail;
    const auto check = must(check_queues(*disk));
    ASSERT_TRUE(check.damages.empty())
        << check.damages.front().file << " at byte " << check.damages.front().offset << ": "
        << check.damages.front().what << "\n"
        << describe(*repair, true);
    ASSERT_TRUE(must(repair_queues(*disk, noon + 1s, false)).damages.empty());
    auto opened = EmbeddedQueues::open(*disk, noon + 2h, Shop::small_segments());
    ASSERT_TRUE(opened) << opened.error().detail << "\n" << describe(*repair, true);
    auto queue = must((*opened)->declare(Shop::jobs()));
    Publication fresh;
    auto message = std::make_shared<Message>();
    message->id = "fresh";
    fresh.message = message;
    must(queue->publish({&fresh, 1}, noon + 2h));
    must((*opened)->close());
    opened->reset();
    EXPECT_TRUE(take_all(*disk).here.contains("fresh"));
  }
}

TEST(Repair, FindsNothingToDoWhereNothingIsDamaged) {
  Shop shop;
  live_a_life(shop);
  shop.shut();
  const auto repair = must(repair_queues(*shop.disk, noon, true));
  EXPECT_TRUE(repair.damages.empty());
  EXPECT_TRUE(repair.set_aside.empty());
  EXPECT_NE(describe(repair, true).find("nothing to repair"), std::string::npos);
  EXPECT_EQ(take_all(*shop.disk).here, alive);
}

TEST(Repair, ChangesNothingUntilItIsToldTo) {
  Shop shop;
  live_a_life(shop);
  shop.shut();
  const std::string name = must(shop.disk->list()).front();
  shop.disk->bytes(name)[200] ^= 1;
  const auto before = copy(*shop.disk);
  const auto plan = must(repair_queues(*shop.disk, noon, false));
  EXPECT_FALSE(plan.damages.empty());
  EXPECT_EQ(must(shop.disk->list()), must(before->list()));
  for (const std::string& each : must(before->list())) {
    EXPECT_EQ(shop.disk->bytes(each), before->bytes(each));
  }
}

}  // namespace
}  // namespace dlo::testing
