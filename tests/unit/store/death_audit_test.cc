#include "dlo/store/death_audit.h"

#include <gtest/gtest.h>
#include <memory>

#include "dlo/core/sha256.h"

namespace dlo {
namespace {

Change death(std::uint64_t n, const std::string& source, Status status = Status::pending) {
  auto record = std::make_shared<DeadLetter>();
  record->id = RecordId{Id128{0, n}};
  record->status = status;
  auto message = std::make_shared<Message>();
  message->source = source;
  record->message = std::move(message);
  return Append{std::move(record), {}};
}

std::optional<AddAudit> toll_of(std::vector<Change> changes) {
  const std::size_t before = changes.size();
  add_death_audit(changes, "engine", TimePoint{Millis{7}});
  if (changes.size() == before) return std::nullopt;
  return std::get<AddAudit>(changes.back());
}

TEST(DeathAudit, IsOneEntryForAWholeList) {  // R25
  const auto entry = toll_of({death(1, "orders"), death(2, "orders"), death(3, "orders")});
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->actor, "engine");
  EXPECT_EQ(entry->act, "die");
  EXPECT_EQ(entry->at, TimePoint{Millis{7}});
  EXPECT_EQ(entry->subject, "3 deaths of orders");
}

TEST(DeathAudit, NamesTheOneAndCountsTheSourcesOfMany) {
  EXPECT_EQ(toll_of({death(1, "orders")})->subject, "00000000000000000000000000000001 of orders");
  EXPECT_EQ(toll_of({death(1, "orders"), death(2, "mails")})->subject, "2 deaths of 2 sources");
}

TEST(DeathAudit, HasADigestThatAnyOrderOfTheIdsGivesAndNoOtherIdDoes) {
  const auto one = toll_of({death(1, "a"), death(2, "a")});
  const auto other = toll_of({death(2, "a"), death(1, "a")});
  EXPECT_EQ(one->detail, other->detail);
  EXPECT_NE(one->detail, toll_of({death(1, "a"), death(3, "a")})->detail);
  Sha256 hash;
  hash.update("00000000000000000000000000000001");
  hash.update("00000000000000000000000000000002");
  EXPECT_EQ(one->detail, "{\"count\":2,\"ids_sha256\":\"" + to_hex(hash.finish()) + "\"}");
}

TEST(DeathAudit, SaysNothingOfThoseWhoWaitAndOfOtherChanges) {
  EXPECT_FALSE(toll_of({death(1, "a", Status::waiting)}));
  Transition resolved;
  resolved.to = Status::resolved;
  EXPECT_FALSE(toll_of({resolved}));
  EXPECT_FALSE(toll_of({}));
}

TEST(DeathAudit, KnowsWhoDiesAgainInTheOffice) {
  for (const Status status : {Status::pending, Status::exhausted, Status::quarantined}) {
    Transition again;
    again.id = RecordId{Id128{0, 9}};
    again.to = status;
    const auto entry = toll_of({again});
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->subject, "00000000000000000000000000000009");
  }
}

}  // namespace
}  // namespace dlo
