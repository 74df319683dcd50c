// What only the memory office promises; everything else is in tests/conformance/office.

#include "dlo/store/memory/memory_office.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace dlo::testing {
namespace {

Change a_waiting(std::uint64_t n) {
  auto message = std::make_shared<Message>();
  message->source = "orders";
  DeadLetter record;
  record.id = RecordId{{n, n}};
  record.message = message;
  record.status = Status::waiting;
  record.next_retry_at = noon;
  record.died_at = noon;
  return Append{std::make_shared<const DeadLetter>(record), {}};
}

LeaseToken claim_one(MemoryOffice& office) {
  must(office.apply(std::vector<Change>{a_waiting(1)}));
  return must(office.claim(1, noon, Millis{1'000}, "")).at(0).lease;
}

TEST(MemoryOffice, TokensOfAnotherOfficeAreForeign) {
  MemoryOffice one;
  MemoryOffice other;
  const LeaseToken lease = claim_one(one);
  claim_one(other);
  EXPECT_EQ(must(one.renew({{lease}}, noon, Millis{1'000})), std::vector<bool>{true});
  EXPECT_EQ(must(other.renew({{lease}}, noon, Millis{1'000})), std::vector<bool>{false});
}

TEST(MemoryOffice, TokensCarryTheEpochTheyWereGivenIn) {
  MemoryOffice office(77);
  EXPECT_EQ(claim_one(office).high, 77U);
}

TEST(MemoryOffice, SharesMessagesInsteadOfCopyingThem) {
  MemoryOffice office;
  const Change change = a_waiting(1);
  const MessagePtr message = std::get<Append>(change).record->message;
  must(office.apply({&change, 1}));
  EXPECT_EQ(must(office.get(RecordId{{1, 1}})).record.message, message);
}

TEST(MemoryOffice, ARefusedListLeavesNoTraceInTheNumbersToCome) {
  MemoryOffice office;
  EXPECT_FALSE(office.apply(std::vector<Change>{a_waiting(1), Remove{RecordId{{9, 9}}}}));
  const auto answer = must(office.apply(std::vector<Change>{a_waiting(2)})).at(0);
  EXPECT_EQ(answer.number, 1);
  EXPECT_EQ(must(office.aggregate({})).last_change, 1U);
}

TEST(MemoryOffice, LetsGoOfARecordThatWasRemoved) {
  MemoryOffice office;
  Change change = a_waiting(1);
  std::weak_ptr<const Message> message = std::get<Append>(change).record->message;
  Transition expire;
  expire.id = RecordId{{1, 1}};
  expire.to = Status::expired;
  must(office.apply(std::vector<Change>{change, expire}));
  change = Remove{};
  EXPECT_FALSE(message.expired());
  must(office.apply(std::vector<Change>{Remove{RecordId{{1, 1}}}}));
  EXPECT_TRUE(message.expired()) << "no index, undo step or lease keeps it";
}

}  // namespace
}  // namespace dlo::testing
