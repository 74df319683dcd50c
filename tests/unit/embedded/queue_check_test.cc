// A directory of queues looked at from outside: what is whole is said to be, what is not is found.
#include "dlo/broker/embedded/queue_check.h"

#include <gtest/gtest.h>
#include <map>

#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/repair.h"

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
    const std::size_t step = name == "checkpoint" ? 1 : 9;  // bits; each byte has one at least
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit += step) {
      char& byte = bytes[bit / 8];
      const char before = byte;
      byte = static_cast<char>(before ^ (1 << (bit % 8)));
      const auto check = check_queues(*shop.disk);
      const bool noticed = !check || !check->damages.empty();
      byte = before;
      ASSERT_TRUE(noticed) << name << " at byte " << bit / 8 << ", bit " << bit % 8;
      ++flipped;
    }
  }
  EXPECT_GT(flipped, 1000U);
}

TEST(QueueCheck, NoticesWhatIsAppendedToAnyFile) {
  Shop shop;
  fill(shop, 5);
  shop.close();
  for (const std::string& name : must(shop.disk->list())) {
    for (const std::size_t more : {1U, 64U, 5000U}) {
      std::string& bytes = shop.disk->bytes(name);
      const std::string before = bytes;
      bytes.append(more, '?');
      const auto check = must(check_queues(*shop.disk));
      EXPECT_EQ(check.damages.size(), 1U) << name << " and " << more << " bytes";
      EXPECT_EQ(check.verified, 7U);
      shop.disk->bytes(name) = before;
    }
  }
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

using States = std::map<std::string, std::string>;

/// By id, as the last record of each says.
States dumped_states(Shop& shop) {
  States states;
  must(dump_queues(*shop.disk, [&](const DumpedRecord& record) {
    if (record.message) states[record.message->id] = record.queue + " " + record.state;
    EXPECT_EQ(record.message == nullptr, record.state.empty()) << record.type;
  }));
  return states;
}

TEST(QueueDump, SaysOfEveryMessageWhatBecameOfIt) {
  for (const bool clean : {true, false}) {
    Shop shop;
    fill(shop, 20);  // m-0 is completed, m-1 waits an hour, m-2 is leased
    for (const auto& each : shop.take(1)) shop.end(each, DeadLettered{});
    SourceOptions other = Shop::jobs();
    other.source = "other";
    auto target = must(shop.queues->declare(other, false));
    shop.publish("x", noon, 20, "other");
    EXPECT_GT(must(shop.queue->move_to(*target)), 0U);
    shop.publish("purged", noon);
    EXPECT_EQ(must(shop.queue->purge()), 1U);
    shop.publish("late", noon);
    const auto late = shop.take(1);
    ASSERT_EQ(late.size(), 1U);
    shop.end(late[0], Shop::failed(late[0], noon, 1h));
    shop.publish("last", noon);
    target.reset();
    if (clean) {
      shop.close();
    } else {
      shop.shut();
    }
    const States states = dumped_states(shop);
    EXPECT_EQ(states.at("m-0"), "jobs completed");
    EXPECT_EQ(states.at("m-1"), "other delayed");
    EXPECT_EQ(states.at("m-2"), "jobs leased");
    EXPECT_EQ(states.at("m-3"), "jobs dead_lettered");
    EXPECT_EQ(states.at("m-4"), "other ready");
    EXPECT_EQ(states.at("late"), "jobs delayed");
    EXPECT_EQ(states.at("last"), "jobs ready");
    EXPECT_TRUE(states.at("purged") == "jobs gone" || states.at("purged") == "jobs purged")
        << states.at("purged");
  }
}

TEST(QueueDump, AfterTidyingAMessageIsThereOnceAndEveryOtherIsDoneWith) {
  Shop shop;
  shop.open();
  for (int i = 0; i < 100; ++i) shop.publish("m-" + std::to_string(i), noon, 1000);
  for (const auto& each : shop.take(90)) shop.end(each, Completed{});
  must(shop.queues->tidy());
  shop.shut();
  std::map<std::string, int> there;
  must(dump_queues(*shop.disk, [&](const DumpedRecord& record) {
    if (record.there) ++there[record.message->id];
  }));
  EXPECT_EQ(there.size(), 10U);
  for (const auto& [id, times] : there) EXPECT_EQ(times, 1) << id;
}

TEST(QueueDump, WhereSomethingIsMissingNobodyIsSaidToBeDoneWithoutProof) {
  Shop shop;
  fill(shop, 300);
  shop.close();
  const std::string name = must(shop.disk->list()).front();
  shop.disk->bytes(name)[shop.disk->bytes(name).find("m-3")] ^= 1;
  const States states = [&] {
    States found;
    (void)dump_queues(*shop.disk, [&](const DumpedRecord& record) {
      if (record.message) found[record.message->id] = record.state;
    });
    return found;
  }();
  EXPECT_EQ(states.at("m-0"), "completed");
  EXPECT_EQ(states.at("m-4"), "unknown");
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

TEST(ASegmentThatWasCutShort, IsAnErrorAndRepaired) {
  for (const std::size_t left : {10U, 64U, 200U}) {
    SCOPED_TRACE(left);
    Shop shop;
    shop.open();
    for (const char* id : {"a", "b", "c"}) shop.publish(id);
    const auto before = shop.publish("d").position->offset;
    shop.close();
    shop.disk->bytes("000000000001.seg").resize(left);
    const auto refused = shop.try_open();
    ASSERT_TRUE(refused) << "though most of it is gone";
    EXPECT_EQ(refused->code, Code::corrupt);
    EXPECT_NE(refused->detail.find("000000000001.seg"), std::string::npos) << refused->detail;
    EXPECT_FALSE(must(check_queues(*shop.disk)).damages.empty());
    const auto repair = must(repair_queues(*shop.disk, noon, true));
    EXPECT_GE(repair.damaged.size(), 2U) << describe(repair, true);
    shop.open();
    EXPECT_EQ(shop.take(9).size(), 4U) << "the broken ones, as undecodable";
    EXPECT_GT(shop.publish("e").position->offset, before) << "its number was given before";
    shop.close();
    shop.open();
    EXPECT_EQ(shop.take(9).size(), 5U);
  }
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

TEST(QueueCheck, TellsATornFirstWriteAfterACleanStopFromDamage) {
  for (const bool cut : {false, true}) {
    Shop shop;
    fill(shop, 20);
    shop.close();
    shop.open();
    shop.publish("torn");
    shop.shut();
    const std::string name = "000000000002.seg";
    const std::string before = shop.disk->bytes(name);
    const auto end = before.find_last_not_of('\0');
    for (std::size_t left = 64; left < end; left += 4) {
      SCOPED_TRACE(std::to_string(left) + (cut ? " bytes left" : " bytes, then zeros"));
      std::string& bytes = shop.disk->bytes(name) = before.substr(0, left);
      if (!cut) bytes.resize(before.size());
      const auto check = must(check_queues(*shop.disk));
      EXPECT_TRUE(check.damages.empty()) << check.damages.front().what;
      EXPECT_FALSE(check.clean) << "it was started since";
      EXPECT_EQ(check.verified, 7U);
    }
    shop.disk->bytes(name) = before.substr(0, 120) + std::string(before.size() - 120, '\0');
    EXPECT_GT(must(check_queues(*shop.disk)).unfinished, 0U);
    EXPECT_FALSE(shop.try_open()) << "nobody was told of it";
  }
}

TEST(QueueDump, FindsWhatIsWholeBehindDamageInItsGroup) {
  Shop shop;
  shop.open();
  std::vector<Publication> batch(20);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i].message = std::make_shared<const Message>(
        Message{.id = "b-" + std::to_string(i), .payload = std::string(100, '.')});
  }
  must(shop.queue->publish(batch, noon));
  for (const auto& each : shop.take(2)) shop.end(each, Completed{});
  const auto third = shop.take(1);
  shop.end(third.at(0), Shop::failed(third[0], noon, 1h));
  shop.close();
  std::string& bytes = shop.disk->bytes("000000000001.seg");
  const auto at = bytes.find("b-5");
  bytes.replace(at - 60, 200, 200, '?');  // the lengths that lead on are among it
  for (const bool repaired : {false, true}) {
    if (repaired) must(repair_queues(*shop.disk, noon, true));
    std::map<std::string, int> there;
    std::map<std::string, std::string> states;
    must(dump_queues(*shop.disk, [&](const DumpedRecord& record) {
      if (!record.message) return;
      states[record.message->id] = record.state;
      if (record.there) ++there[record.message->id];
    }));
    const auto check = must(check_queues(*shop.disk));
    EXPECT_GT(check.verified, 10U);
    std::size_t listed = 0;
    for (const auto& [id, times] : there) {
      EXPECT_EQ(times, 1) << id;
      listed += id != "b-0" && id != "b-1";
    }
    EXPECT_EQ(listed, check.verified);
    EXPECT_EQ(states["b-19"], repaired ? "ready" : "unknown");
    EXPECT_EQ(states["b-0"], "completed");
  }
}

// Nothing but the journal knows of them, and the length that leads to them is damaged.
TEST(QueueDump, FindsWhatWasPublishedAfterTheLastCheckpointBehindDamageInItsGroup) {
  for (const bool last : {false, true}) {  // it is the last group, and will be cut off
    SCOPED_TRACE(last);
    Shop shop;
    shop.open();
    shop.publish("first");
    must(shop.queues->tidy());
    std::vector<Publication> batch(20);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i].message = std::make_shared<const Message>(
          Message{.id = "b-" + std::to_string(i), .payload = std::string(100, '.')});
    }
    must(shop.queue->publish(batch, noon));
    for (int i = 0; !last && i < 2; ++i) shop.publish("later");
    shop.shut();
    std::string& bytes = shop.disk->bytes("000000000001.seg");
    const auto at = bytes.find("b-5");
    bytes.replace(at - 60, 200, 200, '?');
    std::map<std::string, std::string> states;
    must(dump_queues(*shop.disk, [&](const DumpedRecord& record) {
      if (!record.message) return;
      EXPECT_TRUE(record.there) << record.message->id;
      EXPECT_EQ(record.in_damage, !last && record.message->id.starts_with("b-"))
          << record.message->id;
      states[record.message->id] = record.state;
    }));
    for (const char* id : {"b-0", "b-3", "b-7", "b-19"}) {
      EXPECT_EQ(states[id], last ? "unfinished" : "unknown") << id;
    }
    EXPECT_FALSE(states.contains("b-5"));
    if (last) continue;
    const auto repair = must(repair_queues(*shop.disk, noon, true));
    EXPECT_LE(repair.unknown_records + repair.lost.size(), 3U) << describe(repair, true);
    shop.open();
    EXPECT_EQ(shop.take(99).size() + repair.unknown_records + repair.lost.size(), 23U);
  }
}

// Neither is it damage, nor are the files that would lie between one by one worth a line.
TEST(QueueCheck, DoesNotMissWhatWouldLieBelowAFileThatStrayedIn) {
  Shop shop;
  fill(shop, 20);
  shop.close();
  const std::string stray = "999999999999.seg";
  auto file = must(shop.disk->open(stray, OpenMode::create));
  EXPECT_TRUE(must(check_queues(*shop.disk)).damages.empty());
  EXPECT_TRUE(must(repair_queues(*shop.disk, noon, false)).damages.empty());
  must(file->write_at(0, "not empty"));
  const auto check = must(check_queues(*shop.disk));
  ASSERT_EQ(check.damages.size(), 1U);
  EXPECT_NE(check.damages[0].what.find("999999999998.seg"), std::string::npos)
      << check.damages[0].what;
  EXPECT_EQ(must(repair_queues(*shop.disk, noon, false)).damages.size(), 1U);
  must(shop.disk->remove(stray));
  shop.open();
  EXPECT_EQ(shop.take(99).size(), 5U);
}

}  // namespace
}  // namespace dlo::testing
