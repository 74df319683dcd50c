// How deaths reach the office while others run: together, without a barrier, within bounds.

#include "faults.h"
#include "gate.h"
#include "world.h"

#include "dlo/engine/item.h"
#include "dlo/engine/marks.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

/// What one list of changes held.
struct Written {
  std::size_t records = 0;
  std::size_t settled = 0;
  bool operator==(const Written&) const = default;
};

struct Recording : ::testing::Test {
  World world;
  std::mutex mutex;
  std::vector<Written> lists;
  std::function<void()> before_writing = [] {};
  FlakyOffice office{world.office, [this](std::span<const Change> changes) {
                       note(changes);
                       before_writing();
                       return std::optional<Error>();
                     }};

  Recording() {
    world.kept_in = &office;
    world.on_every([](const Message& message, const RunContext&) {
      return message.id.starts_with("poison") ? failed("E", "forbidden") : ok();
    });
  }
  void note(std::span<const Change> changes) {
    Written written;
    for (const Change& change : changes) {
      written.records += std::holds_alternative<Append>(change) ? 1 : 0;
      written.settled += std::holds_alternative<SourceSettled>(change) ? 1 : 0;
    }
    const std::lock_guard lock(mutex);
    lists.push_back(written);
  }
  std::vector<Written> written() {
    const std::lock_guard lock(mutex);
    return lists;
  }
  DeadLetter record_of(const MessagePtr& message) {
    return must(world.office.get(identify(*message))).record;
  }
};

TEST_F(Recording, AMarkIsTakenOffWithTheNextRecordAndCostsNoListOfItsOwn) {  // R3
  auto processor = world.processor();
  Running running(*processor);
  const MessagePtr first = world.publish("poison-1");
  ASSERT_TRUE(eventually([&] { return processor->stats().dead == 1; }));
  EXPECT_TRUE(record_of(first).source_unsettled) << "time stands still: nobody is in a hurry";
  const MessagePtr second = world.publish("poison-2");
  ASSERT_TRUE(eventually([&] { return processor->stats().dead == 2; }));
  EXPECT_FALSE(record_of(first).source_unsettled);
  EXPECT_TRUE(record_of(second).source_unsettled);
  EXPECT_EQ(written(), (std::vector<Written>{{1, 0}, {1, 1}}));
}

TEST_F(Recording, AMarkGoesByItselfWhenNothingElseDies) {
  auto processor = world.processor();
  Running running(*processor);
  const MessagePtr message = world.publish("poison");
  ASSERT_TRUE(eventually([&] { return processor->stats().dead == 1; }));
  EXPECT_TRUE(eventually(world.clock, 20ms, [&] { return !record_of(message).source_unsettled; }));
}

TEST_F(Recording, AMarkIsGoneAfterAStop) {
  auto processor = world.processor();
  const MessagePtr message = world.publish("poison");
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return processor->stats().dead == 1; }));
  EXPECT_TRUE(running.stop(1s).clean());
  EXPECT_FALSE(record_of(message).source_unsettled);
}

TEST_F(Recording, ARecordTouchedBeforeItsMarkWentKeepsWhatPeopleDidAndHoldsUpNobody) {
  auto processor = world.processor();
  Running running(*processor);
  const MessagePtr first = world.publish("poison-1");
  ASSERT_TRUE(eventually([&] { return processor->stats().dead == 1; }));
  Transition archive;
  archive.id = record_of(first).id;
  archive.to = Status::archived;
  archive.now = world.clock.now();
  must(world.office.apply(std::vector<Change>{archive}));

  world.publish("poison-2");
  ASSERT_TRUE(eventually([&] { return processor->stats().dead == 2; }));
  EXPECT_EQ(processor->stats().unrecordable, 0U);
  EXPECT_EQ(written().size(), 2U) << "nothing had to be written twice";
  EXPECT_FALSE(record_of(first).source_unsettled);
  EXPECT_EQ(record_of(first).status, Status::archived);
  EXPECT_EQ(record_of(first).version, 2U);
}

TEST_F(Recording, WhatDiesWhileAListIsWrittenSharesTheNext) {
  Gate gate;
  std::atomic<int> writes{0};
  before_writing = [&] {
    if (++writes == 1) gate.pass();
  };
  auto processor = world.processor();
  world.publish("poison");
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  for (int i = 0; i < 200; ++i) world.publish("poison");
  ASSERT_TRUE(eventually([&] { return processor->stats().started == 201; }));
  gate.open();
  ASSERT_TRUE(eventually([&] { return processor->stats().dead == 201; }));
  EXPECT_LE(written().size(), 3U) << "one, and the others together";
}

TEST_F(Recording, WhatIsDurableIsSettledWhileTheRestIsStillToBeWritten) {
  Gate first;
  Gate third;
  std::atomic<int> writes{0};
  before_writing = [&] {
    const int write = ++writes;
    if (write == 1) first.pass();
    if (write == 3) third.pass();
  };
  auto processor = world.processor();
  world.publish("poison");
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return first.waiting() == 1; }));
  for (int i = 0; i < 5'000; ++i) world.publish("poison");
  ASSERT_TRUE(eventually([&] { return processor->stats().started == 5'001; }));
  first.open();
  ASSERT_TRUE(eventually([&] { return third.waiting() == 1; }));
  EXPECT_TRUE(eventually([&] { return processor->stats().dead > 1; }));
  EXPECT_LT(processor->stats().in_flight, 5'000U) << "there is room for others again";
  third.open();
  EXPECT_TRUE(eventually([&] { return processor->stats().dead == 5'001; }));
}

TEST_F(Recording, GoodMessagesAreSettledWhileRecordsAreBeingWritten) {  // no batch barrier
  Gate gate;
  before_writing = [&] { gate.pass(); };
  auto processor = world.processor();
  for (int i = 0; i < 100; ++i) world.publish(i % 10 == 0 ? "poison" : "good");
  Running running(*processor);
  EXPECT_TRUE(eventually([&] { return processor->stats().succeeded == 90; }));
  EXPECT_EQ(processor->stats().dead, 0U);
  gate.open();
  EXPECT_TRUE(eventually([&] { return processor->stats().dead == 10; }));
}

TEST_F(Recording, PoisonThatCannotBeWrittenFastEnoughWaitsAtItsSource) {
  Gate gate;
  before_writing = [&] { gate.pass(); };
  world.options.max_in_flight = 64;
  auto processor = world.processor();
  for (int i = 0; i < 1'000; ++i) world.publish("poison");
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return processor->stats().in_flight == 64; }));
  EXPECT_EQ(processor->stats().received, 64U);
  EXPECT_EQ(world.source_stats().ready, 936U) << "still there, for anybody";
  gate.open();
  ASSERT_TRUE(eventually([&] { return processor->stats().dead == 1'000; }));
  EXPECT_EQ(world.records().size(), 1'000U) << "nothing dropped";
  EXPECT_EQ(processor->stats().in_flight, 0U);
}

TEST_F(Recording, ASourceThatHandsOutFewDoesNotWaitForAListThatCannotGrow) {
  world.options.max_in_flight = 4;
  auto processor = world.processor();
  constexpr std::uint64_t many = 8'000;  // lists of four, each waited for, would take 40 s
  for (std::uint64_t i = 0; i < many; ++i) world.publish("poison");
  Running running(*processor);
  EXPECT_TRUE(eventually([&] { return processor->stats().dead == many; }));
}

TEST(Room, IsThereAgainOnlyWhenAnEighthIsFreeSoThatFetchingStaysInBatches) {
  Bell bell;
  ItemPool pool(16, 1U << 20U, bell);
  std::vector<Delivery> deliveries(16);
  for (Delivery& delivery : deliveries) delivery.message = std::make_shared<Message>();
  std::vector<Item*> items;
  pool.adopt(std::move(deliveries), noon, items);
  EXPECT_EQ(pool.room().items, 0U);
  pool.finish(std::vector<Item*>{items[0]});
  EXPECT_EQ(pool.room().items, 0U) << "one is not worth a call";
  pool.finish(std::vector<Item*>{items[1]});
  EXPECT_EQ(pool.room().items, 2U);
}

TEST(Room, IsLeftInASmallPoolAsSoonAsOneIsGone) {
  Bell bell;
  ItemPool pool(2, 1U << 20U, bell);
  std::vector<Delivery> deliveries(2);
  for (Delivery& delivery : deliveries) delivery.message = std::make_shared<Message>();
  std::vector<Item*> items;
  pool.adopt(std::move(deliveries), noon, items);
  EXPECT_EQ(pool.room().items, 0U);
  pool.finish(std::vector<Item*>{items[0]});
  EXPECT_EQ(pool.room().items, 1U);
}

TEST(MarksOwed, AreOwedStillWhenTheListTheyWereInIsLost) {
  Marks marks;
  marks.settled({RecordId{{1, 2}}, 1});
  marks.settled({RecordId{{1, 3}}, 1});
  std::vector<Change> changes;
  marks.put(1, changes);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(std::get<SourceSettled>(changes[0]).id, (RecordId{{1, 2}})) << "oldest first";
  marks.not_written();
  EXPECT_EQ(marks.size(), 2U);
  changes.clear();
  marks.put(10, changes);
  EXPECT_EQ(changes.size(), 2U);
  marks.done();
  EXPECT_EQ(marks.size(), 0U);
}

TEST(Recorded, AMessageOfTheNextProcessIsNoRepeatOfTheFirstOnes) {  // R3
  MemoryOffice office;
  for (int life = 0; life < 2; ++life) {
    MemoryBroker source(named("orders"));  // counts its messages from 0, as the one before did
    World world;
    world.source = &source;
    world.kept_in = &office;
    world.on_every([](const Message&, const RunContext&) { return failed("E", "bad request"); });
    auto message = std::make_shared<Message>();
    message->id = "m";
    message->payload = "of life " + std::to_string(life);
    must(source.publish(std::vector<Publication>{{message, {}, {}, {}}}, world.clock.now()));
    world.processor()->drain();
  }
  EXPECT_EQ(must(office.list({})).rows.size(), 2U);
}

TEST(Recorded, NothingWhoseLeaseEndedWhileItRan) {  // R5
  World world;
  world.options.lease_for = 10s;
  world.on_every([&](const Message&, const RunContext&) {
    world.clock.advance(11s);
    must(world.broker.receive({1, 1h, {}}, world.clock.now()));  // somebody else has it now
    return failed("E", "bad request");
  });
  world.publish("m");
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(processor->stats().lost, 1U);
  EXPECT_TRUE(world.records().empty());
}

}  // namespace
}  // namespace dlo::testing
