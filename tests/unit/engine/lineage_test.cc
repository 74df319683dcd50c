// Messages made of a message that was replayed carry its headers, and are messages of their own.

#include "faults.h"
#include "world.h"

#include "dlo/engine/replay_witness.h"
#include "dlo/engine/writer.h"

namespace dlo::testing {
namespace {

struct AReplayedOrder : ::testing::Test {
  MemoryOffice office;
  AppendingWriter writer{office};
  Message order = [] {
    Message message;
    message.id = "order-1";
    message.source = "orders";
    message.payload = "{}";
    return message;
  }();

  /// Dead, and sent back once.
  void SetUp() override {
    DeadLetter record;
    record.id = identify(order);
    record.message = std::make_shared<const Message>(order);
    record.died_at = noon;
    const std::vector<Change> died{Append{std::make_shared<const DeadLetter>(record), {}}};
    must(office.apply(died));
    for (const Status to : {Status::replaying, Status::replayed}) {
      Transition sent;
      sent.id = record.id;
      sent.to = to;
      sent.now = noon;
      if (to == Status::replaying) sent.lease_for = std::chrono::minutes{1};
      sent.counters = Counters{};
      sent.counters->replay = 1;
      const std::vector<Change> change{sent};
      must(office.apply(change));
    }
  }
  Delivery arriving(Message message, std::string source) {
    message.source = std::move(source);
    stamp_lineage(message.headers, {identify(order), 1});
    Delivery delivery;
    delivery.message = std::make_shared<const Message>(std::move(message));
    return delivery;
  }
  DeadLetter named(const Delivery& delivery) {
    DeadLetter record;
    record.message = delivery.message;
    record.counters.replay = 1;  // comes with what was sent
    record.died_at = noon;
    must(writer.name(delivery, record));
    return record;
  }
};

TEST_F(AReplayedOrder, ThatDiesAgainIsAnotherOccurrenceOfItself) {  // R3
  const DeadLetter record = named(arriving(order, "orders"));
  EXPECT_EQ(record.id, identify(order));
  EXPECT_EQ(record.occurrence, 2U);
}

TEST_F(AReplayedOrder, ThatWasEditedIsKnownByEveryPayloadItEverHadAndByNoOther) {
  AddVersion edit;
  edit.id = identify(order);
  edit.expected_version = must(office.get(edit.id)).record.version;
  edit.payload = "{\"fixed\":1}";
  edit.at = noon;
  edit.by = "ann";
  const std::vector<Change> changes{edit};
  must(office.apply(changes));
  Message sent = order;
  sent.payload = edit.payload;
  EXPECT_EQ(named(arriving(sent, "orders")).id, identify(order));
  EXPECT_EQ(named(arriving(sent, "orders")).occurrence, 2U);
  EXPECT_EQ(named(arriving(order, "orders")).occurrence, 2U) << "sent before it was edited";
  sent.payload = "{\"forged\":1}";
  EXPECT_NE(named(arriving(sent, "orders")).id, identify(order));
}

TEST_F(AReplayedOrder, LeavesWhatWasMadeOfItARecordOfItsOwn) {
  Message derived = order;
  derived.id = "mail-1";
  derived.payload = "{\"to\":\"ann\"}";
  const DeadLetter record = named(arriving(derived, "mails"));
  EXPECT_NE(record.id, identify(order));
  EXPECT_EQ(record.occurrence, 1U);
}

TEST_F(AReplayedOrder, ThatDiedElsewhereHidesNoOtherCopy) {
  const DeadLetter first = named(arriving(order, "mails"));
  const std::vector<Change> died{Append{std::make_shared<const DeadLetter>(first), {}}};
  must(office.apply(died));
  EXPECT_EQ(must(office.get(identify(order))).record.occurrence, 2U);
  EXPECT_FALSE(must(writer.find_repeat(arriving(order, "bills"))).has_value());
  EXPECT_NE(named(arriving(order, "bills")).id, identify(order));
  EXPECT_TRUE(must(writer.find_repeat(arriving(order, "mails"))).has_value()) << "a late repeat";
}

TEST_F(AReplayedOrder, IsNotCuredByWhatWasMadeOfIt) {  // R24
  Message derived = order;
  derived.id = "mail-1";
  const MessagePtr done[] = {arriving(derived, "mails").message};
  witness_replays(office, done, noon);
  EXPECT_EQ(must(office.get(identify(order))).record.status, Status::replayed);
  const MessagePtr itself[] = {arriving(order, "orders").message};
  witness_replays(office, itself, noon);
  EXPECT_EQ(must(office.get(identify(order))).record.status, Status::resolved);
}

TEST_F(AReplayedOrder, IsVerifiedAlsoIfItsSenderWritesAtTheSameMoment) {  // R24
  int conflicts = 0;
  FlakyOffice busy(office, [&](std::span<const Change>) -> std::optional<Error> {
    if (++conflicts > 2) return std::nullopt;
    return Error{Code::conflict, "test", "version 4 was expected and 5 is there"};
  });
  const std::vector<MessagePtr> completed{arriving(order, "orders").message};
  witness_replays(busy, completed, noon);
  EXPECT_EQ(must(office.get(identify(order))).record.status, Status::resolved);
}

}  // namespace
}  // namespace dlo::testing
