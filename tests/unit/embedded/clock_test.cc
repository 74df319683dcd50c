// A wall clock that somebody sets: what waits for a time waits for as long as before.
#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <thread>

#include "support/eventually.h"
#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/holdings.h"
#include "dlo/broker/embedded/queue_check.h"
#include "dlo/broker/embedded/repair.h"
#include "dlo/broker/embedded/replay.h"

namespace dlo::testing {
namespace {

void publish(Shop& shop, const std::string& id, Millis delay, Instant now) {
  Publication later;
  later.message = std::make_shared<const Message>(Message{.id = id});
  later.delay = delay;
  must(shop.queue->publish({&later, 1}, now));
}

std::vector<std::string> take(Shop& shop, Instant now) {
  std::vector<std::string> ids;
  for (const auto& each : must(shop.queue->receive({9, 24h, 0ms}, now))) {
    ids.push_back(each.message->id);
  }
  return ids;
}

using Ids = std::vector<std::string>;

TEST(AClockThatWasSet, IsRememberedByTheNextLife) {
  for (const Millis jump : {Millis{1h}, Millis{24h * 365}, Millis{-30min}, Millis{-24h * 365}}) {
    for (const std::string how : {"killed at once", "killed", "closed", "saved, then killed"}) {
      SCOPED_TRACE(how + " after " + std::to_string(jump.count()));
      const auto at = [&](Millis passed) { return Instant{noon + jump + passed, noon + passed}; };
      Shop shop;
      shop.open();
      publish(shop, "before", 1h, noon);
      EXPECT_EQ(must(shop.queue->stats(at(1s))).delayed, 1U);
      if (how.starts_with("saved")) must(shop.queues->tidy());
      const bool more = how != "killed at once";  // which would bring along what is not yet written
      if (more) publish(shop, "after", 2h - 1s, at(1s));
      if (how == "closed") shop.close();
      shop.open(at(2s).wall);
      EXPECT_EQ(take(shop, at(1h - 1ms)), Ids{});
      EXPECT_EQ(take(shop, at(1h)), Ids{"before"});
      shop.open(at(1h).wall);  // once more: what was said of the clock still holds
      EXPECT_EQ(take(shop, at(1h)), Ids{"before"});
      EXPECT_EQ(take(shop, at(2h - 1ms)), Ids{});
      EXPECT_EQ(take(shop, at(2h)), more ? Ids{"after"} : Ids{});
      shop.shut();
      EXPECT_TRUE(must(check_queues(*shop.disk)).damages.empty());
    }
  }
}

TEST(AClockThatWasSet, MovesWhatIsWrittenAndNotYetThere) {
  for (const Millis jump : {Millis{2h}, Millis{-2h}}) {
    embedded::Holdings holdings;
    holdings.declare({0, false, Shop::jobs()});
    holdings.begin_work(noon);
    std::vector<embedded::Lease*> nobody;
    holdings.advance(noon, nobody);
    embedded::PublishTail tail;
    tail.slot = holdings.take_slot(false);
    tail.now = noon;
    tail.due = noon + 1h;
    holdings.put(tail, {{1, 64}, 1}, 10, 0);
    const auto at = [&](Millis passed) { return Instant{noon + jump + passed, noon + passed}; };
    holdings.advance(at(1s), nobody);
    holdings.arrive(tail.slot, noon);
    const auto place = [&] { return holdings.slots()[tail.slot].place; };
    EXPECT_EQ(place(), embedded::Place::delayed);
    holdings.advance(at(1h - 1ms), nobody);
    EXPECT_EQ(place(), embedded::Place::delayed);
    holdings.advance(at(1h), nobody);
    EXPECT_EQ(place(), embedded::Place::ready);
  }
}

// The clock was wrong when the queues were opened, and put right while they ran.
TEST(AClockThatWasSet, BackWhileNothingRanHoldsNothingForEver) {
  Shop shop;
  shop.open();
  publish(shop, "delayed", 1h, noon);
  const auto wrong = noon - 24h * 3650;
  shop.open(wrong);
  EXPECT_EQ(take(shop, wrong), Ids{});
  const auto right = [&](Millis passed) { return Instant{noon + passed, wrong + passed}; };
  EXPECT_EQ(take(shop, right(1h - 1ms)), Ids{});
  EXPECT_EQ(take(shop, right(1h)), Ids{"delayed"});
}

TEST(AClockThatWasSet, NeitherEndsNorProlongsADedupeWindow) {
  for (const Millis jump : {Millis{2h}, Millis{24h * 365}, Millis{-30min}, Millis{-24h * 365}}) {
    for (const bool reopened : {false, true}) {
      SCOPED_TRACE(std::to_string(jump.count()) + (reopened ? " and reopened" : ""));
      const auto at = [&](Millis passed) { return Instant{noon + jump + passed, noon + passed}; };
      auto options = Shop::jobs();
      options.dedupe_window = 1h;
      Shop shop;
      shop.open();
      shop.queue = must(shop.queues->declare(options));
      const auto is_repeat = [&](Instant now) {
        Publication one;
        one.message = std::make_shared<const Message>(Message{.id = "m"});
        one.dedupe_id = "once";
        return must(shop.queue->publish({&one, 1}, now)).front().duplicate;
      };
      EXPECT_FALSE(is_repeat(noon));
      EXPECT_TRUE(is_repeat(at(1s)));
      if (reopened) {
        publish(shop, "other", 0ms, at(1s));  // what is said of the clock is written with it
        shop.open(at(2s).wall);
        shop.queue = must(shop.queues->declare(options));
      }
      EXPECT_TRUE(is_repeat(at(1h - 1ms)));
      EXPECT_FALSE(is_repeat(at(1h))) << "the window is over, and begins anew";
      EXPECT_TRUE(is_repeat(at(2h - 1ms)));
    }
  }
}

// A message was published while the clock was ahead, and moved when that had been put right.
TEST(AClockThatWasSet, IsNotKnownByWhenAMovedMessageWasPublished) {
  embedded::PublishTail tail;
  tail.slot = 0;
  tail.now = tail.due = noon + 1h;
  char bytes[embedded::longest_tail];
  const std::string_view record(bytes, embedded::encode(tail, bytes));
  const auto entry = [&](embedded::RecordType type, std::uint32_t sequence) {
    return Entry{sequence, static_cast<std::uint8_t>(type), record, {1, 64 * sequence}};
  };
  embedded::Holdings holdings;
  holdings.declare({0, false, Shop::jobs()});
  embedded::Replay replay(holdings);
  must(replay.apply(entry(embedded::RecordType::published, 1)));
  holdings.clock_was_set(-1h);
  const auto before = holdings.latest();
  must(replay.apply(entry(embedded::RecordType::relocated, 2)));
  EXPECT_EQ(holdings.latest(), before);
}

TEST(AClockThatWasSet, WasNotSetByTenThousandYears) {
  for (const Millis by : {Millis{24h}, Millis{-24h}, Millis{24h * 3'652'500}, Millis::min()}) {
    std::string bytes;
    embedded::ByteWriter(bytes).u64(static_cast<std::uint64_t>(by.count()));
    embedded::Holdings holdings;
    embedded::Replay replay(holdings);
    const auto type = static_cast<std::uint8_t>(embedded::RecordType::clock_set);
    const bool possible = by <= 24h && by >= -24h;
    EXPECT_EQ(replay.apply({1, type, bytes, {}}).has_value(), possible);
    EXPECT_EQ(holdings.clock_set_by(), possible ? by : 0ms);
    EXPECT_FALSE(replay.apply({2, type, bytes.substr(1), {}}));
  }
}

TEST(AClockThatWasSet, EndsTheDelaysOfManyWhoHaveExpiredASliceAtATime) {
  Shop shop;
  shop.open();
  std::vector<Publication> list(10'000);
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto message = std::make_shared<Message>();
    if (i % 100 == 0) message->expires_at = noon + 50min;
    list[i].message = std::move(message);
    list[i].delay = 40min;
  }
  must(shop.queue->publish(list, noon));
  const Instant set{noon + 1h, noon + 1s};
  EXPECT_EQ(must(shop.queue->stats(set)).ready, 0U) << "this looked at a part of them";
  EXPECT_EQ(must(shop.queue->stats(set)).delayed, list.size());
  for (int i = 0; i < 10; ++i) (void)must(shop.queue->stats(set));
  EXPECT_EQ(must(shop.queue->stats(set)).ready, list.size() / 100);
  const auto got = must(shop.queue->receive({1000, 1h, 0ms}, set));
  ASSERT_EQ(got.size(), list.size() / 100);
  for (const auto& each : got) EXPECT_TRUE(each.expired);
}

bool is_noted(Shop& shop) {
  bool noted = false;
  must(dump_queues(*shop.disk,
                   [&](const DumpedRecord& each) { noted = noted || each.type == "clock set"; }));
  return noted;
}

TEST(AClockThatWasSet, IsWithTheKernelBeforeALongPollThatSawItFirstWaits) {
  Shop shop;
  shop.open();
  publish(shop, "before", 1h, noon);
  auto poll = std::async(std::launch::async, [&] {
    return shop.queue->receive({1, 30s, 10min}, {noon + 5h, noon + 1s});
  });
  EXPECT_TRUE(eventually([&] { return is_noted(shop); }, 10s)) << "a kill would forget it";
  shop.queue->close();
  EXPECT_FALSE(poll.get());
}

// On a full disk: neither the record nor the checkpoint could be written.
TEST(AClockThatWasSet, IsWrittenDownThoughItCouldNotBeAtFirst) {
  for (const bool second_jump : {false, true}) {
    Shop shop;
    shop.open();
    publish(shop, "before", 1h, noon);
    std::atomic<bool> full = true;
    shop.disk->set_fault([&](FaultFileSystem::Op op, const std::string& name) {
      const bool more = op != FaultFileSystem::Op::sync && name != "000000000001.seg";
      return full && more ? std::optional(Code::full) : std::nullopt;
    });
    bool paused = false;
    for (int i = 0; i < 10'000 && (paused ? shop.queue->resume() : shop.queue->pause()); ++i) {
      paused = !paused;
    }
    const Millis jump = second_jump ? 6h : 5h;
    const auto at = [&](Millis passed) { return Instant{noon + jump + passed, noon + passed}; };
    EXPECT_EQ(must(shop.queue->stats({noon + 5h, noon})).delayed, 1U);
    ASSERT_FALSE(shop.queues->tidy()) << "the checkpoint was written";
    full = false;
    EXPECT_FALSE(is_noted(shop));
    EXPECT_EQ(must(shop.queue->stats(at(1s))).delayed, 1U);
    must(shop.queue->resume());
    publish(shop, "after", 2h - 1s, at(1s));
    shop.open(at(2s).wall);
    EXPECT_EQ(take(shop, at(1h - 1ms)), Ids{});
    EXPECT_EQ(take(shop, at(1h)), Ids{"before"});
    EXPECT_EQ(take(shop, at(2h - 1ms)), Ids{});
    EXPECT_EQ(take(shop, at(2h)), Ids{"after"});
  }
}

TEST(AClockThatWasSet, WhileAPublisherMakesRoomShortensNoDelay) {
  auto options = Shop::jobs();
  options.ttl = 10s;
  options.drop_expired = true;
  options.max_messages = 1;
  Shop shop(options);
  shop.open();
  shop.publish("old", noon);
  // Whenever the publisher waits for the kernel, another sees that the clock was set.
  const auto publisher = std::this_thread::get_id();
  std::vector<std::future<Result<SourceStats>>> others;
  shop.disk->set_fault([&](FaultFileSystem::Op op, const std::string&) -> std::optional<Code> {
    const bool here = op == FaultFileSystem::Op::write && std::this_thread::get_id() == publisher;
    if (!here || others.size() == 5) return std::nullopt;
    const auto next = shop.queues->journal_stats().next_sequence;
    others.push_back(
        std::async(std::launch::async, [&] { return shop.queue->stats({noon + 5h, noon + 11s}); }));
    (void)eventually([&] { return shop.queues->journal_stats().next_sequence > next; }, 1s);
    return std::nullopt;
  });
  Publication delayed;
  delayed.message =
      std::make_shared<const Message>(Message{.id = "delayed", .expires_at = noon + 24h});
  delayed.delay = 1h;
  must(shop.queue->publish({&delayed, 1}, noon + 10s));
  shop.disk->set_fault({});
  EXPECT_FALSE(others.empty());
  for (auto& each : others) must(each.get());
  const auto at = [&](Millis passed) { return Instant{noon + 5h + passed, noon + 11s + passed}; };
  EXPECT_EQ(take(shop, at(1h - 1s - 1ms)), Ids{});
  EXPECT_EQ(take(shop, at(1h - 1s)), Ids{"delayed"});
}

TEST(AClockThatWasSet, IsToldByDumpAndByRepairIfThatWasLost) {
  Shop shop;
  shop.open();
  publish(shop, "before", 1h, noon);
  const Instant set{noon + 1h, noon + 1s};
  EXPECT_EQ(must(shop.queue->stats(set)).delayed, 1U);
  publish(shop, "after", 1h, set);
  publish(shop, "at last", 1h, set);  // by now the others are known to be synced
  shop.shut();
  std::uint64_t offset = 0;
  must(dump_queues(*shop.disk, [&](const DumpedRecord& record) {
    if (record.type == "clock set") offset = record.offset;
  }));
  ASSERT_GT(offset, 0U);
  shop.disk->bytes("000000000001.seg")[offset + 9] ^= 1;
  ASSERT_TRUE(shop.try_open(noon + 1h));
  const auto repair = must(repair_queues(*shop.disk, noon + 1h, true));
  EXPECT_EQ(repair.doubtful_count, 0U);
  const std::string told = describe(repair, true);
  EXPECT_NE(told.find("somebody set the clock"), std::string::npos) << told;
}

// It read the clock, waited for a lock or for room, and others called meanwhile.
TEST(ALateCaller, IsNoClockThatWentBack) {
  embedded::Holdings holdings;
  holdings.declare({0, false, Shop::jobs()});
  holdings.begin_work(noon);
  std::vector<embedded::Lease*> nobody;
  embedded::PublishTail tail;
  tail.slot = holdings.take_slot(false);
  tail.now = tail.due = noon;
  holdings.advance(noon, nobody);
  holdings.put(tail, {{1, 64}, 1}, 10, 0);
  holdings.arrive(tail.slot, noon);
  const auto since = holdings.slots()[tail.slot].time();
  const Instant latest = noon + 70s;
  for (const Millis late : {Millis{2s}, Millis{30s}, Millis{60s}}) {
    holdings.advance(latest, nobody);
    holdings.advance(noon + 70s - late, nobody);
    EXPECT_EQ(holdings.slots()[tail.slot].time(), since) << late.count();
    EXPECT_EQ(holdings.latest_instant(), latest) << late.count();
  }
}

TEST(ALateCaller, MakesNobodyOlder) {
  auto options = Shop::jobs();
  options.ageing = 10s;
  Shop shop(options);
  shop.open();
  const auto send = [&](const std::string& id, Priority priority, TimePoint now) {
    Publication one;
    one.message = std::make_shared<const Message>(Message{.id = id, .priority = priority});
    must(shop.queue->publish({&one, 1}, now));
  };
  send("low", Priority::low, noon);
  (void)must(shop.queue->stats(noon + 20s));
  (void)must(shop.queue->stats(noon + 4s));  // and so 16 seconds late
  send("high", Priority::high, noon + 5s);
  // Five seconds older, and twenty would be needed.
  EXPECT_EQ(shop.take_ids(2, noon + 20s), (Ids{"high", "low"}));
}

}  // namespace
}  // namespace dlo::testing
