// Bodies and attempts lie on shelves: a shelf goes as a whole, and never one that a record needs.
#include "dlo/store/postgres/shelves.h"

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "unit/postgres/support.h"

#include "dlo/store/postgres/schema.h"
#include "dlo/store/postgres/seat.h"

namespace dlo::testing {
namespace {

using postgres::ShelfKeeper;
using postgres::ShelfRules;
using postgres::ShelfWork;

/// Every shelf is left as soon as something lies on it, and cleared at once.
ShelfRules hasty() {
  ShelfRules rules;
  rules.written_for = Millis{0};
  rules.least = 1;
  rules.cleared_after = Millis{0};
  return rules;
}

/// Nothing is ever cleared.
ShelfRules patient() {
  ShelfRules rules = hasty();
  rules.cleared_after = std::chrono::hours{24};
  return rules;
}

class PostgresShelves : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>());
    const std::string settings = postgres::session_settings(schema_->name());
    keeper_ = std::make_unique<postgres::Connection>(schema_->address(), settings);
    keeper_->run("SELECT pg_advisory_lock(" + lock() + ")");
    office_ = schema_->open();
  }

  /// While it is held the office's own upkeep passes.
  [[nodiscard]] std::string lock() const {
    return std::to_string(postgres::advisory_lock("dlo keeps the shelves of " + schema_->name()));
  }
  ShelfWork keep(const ShelfRules& rules) {
    return ShelfKeeper(*keeper_, schema_->name(), rules).keep();
  }
  std::int64_t ask(const std::string& sql) {
    auto person = schema_->person();
    return person.ask(sql).front().number(0);
  }
  std::int64_t shelves() { return ask("SELECT count(*) FROM shelves"); }
  std::int64_t parts() {
    return ask(
        "SELECT count(*) FROM pg_inherits WHERE inhparent IN ('bodies'::regclass, "
        "'attempts'::regclass, 'payload_words'::regclass)");
  }
  void die(std::uint64_t n) {
    Append append = std::get<Append>(a_death(n));
    append.attempts.resize(2);
    must(office_->apply(std::vector<Change>{append}));
  }
  void move(std::uint64_t n, Status to) {
    Transition transition;
    transition.id = id_of(n);
    transition.to = to;
    must(office_->apply(std::vector<Change>{transition}));
  }
  void remove(std::uint64_t n) {
    move(n, Status::discarding);
    move(n, Status::discarded);
    must(office_->apply(std::vector<Change>{Remove{id_of(n)}}));
  }
  std::int64_t bodies_of(std::int64_t number) {
    return ask("SELECT count(*) FROM bodies WHERE number = " + std::to_string(number));
  }
  void wait_for_index() {
    EXPECT_TRUE(eventually([&] { return must(office_->aggregate({})).unindexed_payloads == 0; }));
  }

  std::unique_ptr<OwnSchema> schema_;
  std::unique_ptr<postgres::Connection> keeper_;
  std::unique_ptr<PostgresOffice> office_;
};

TEST_F(PostgresShelves, ADayWithFewRecordsIsNoReasonForAShelf) {
  die(1);
  const ShelfWork work = keep({});
  EXPECT_EQ(work.left, 0);
  ShelfRules rules = hasty();
  rules.least = 2;
  EXPECT_EQ(keep(rules).left, 0);
  rules.least = 1;
  EXPECT_EQ(keep(rules).left, 1);
}

TEST_F(PostgresShelves, ThereIsAlwaysOneAheadAndRecordsGoToTheNewest) {
  die(1);
  EXPECT_EQ(shelves(), 2);
  EXPECT_EQ(keep(hasty()).left, 1);
  die(2);
  EXPECT_EQ(must(office_->get(id_of(2))).record.number, 10'000'001);
  EXPECT_EQ(keep(hasty()).made, 1);
  EXPECT_EQ(must(office_->get(id_of(1))).attempts.size(), 2U);
  EXPECT_EQ(must(office_->get(id_of(2))).attempts.size(), 2U);
  EXPECT_EQ(must(office_->list({})).rows.size(), 2U);
}

TEST_F(PostgresShelves, AShelfWithoutRecordsIsDroppedAndNotBefore) {
  die(1);
  die(2);
  keep(patient());
  die(3);
  remove(1);
  EXPECT_EQ(keep(patient()).dropped, 0) << "record 2 is still open";
  EXPECT_EQ(bodies_of(1), 1);
  EXPECT_TRUE(office_->get(id_of(2)).has_value());
  move(2, Status::resolved);
  EXPECT_EQ(keep(patient()).dropped, 0) << "and, resolved, can still be looked at";
  EXPECT_TRUE(office_->get(id_of(2)).has_value());
  move(2, Status::pending);
  remove(2);
  const std::int64_t before = parts();
  EXPECT_EQ(keep(patient()).dropped, 1);
  EXPECT_EQ(parts(), before - 3);
  EXPECT_EQ(bodies_of(1), 0);
  EXPECT_EQ(bodies_of(2), 0);
  EXPECT_EQ(must(office_->get(id_of(3))).attempts.size(), 2U);
}

TEST_F(PostgresShelves, TheShelfThatIsWrittenToIsNeverDropped) {
  die(1);
  remove(1);
  EXPECT_EQ(keep({}).dropped, 0);
  die(2);
  EXPECT_TRUE(office_->get(id_of(2)).has_value());
}

TEST_F(PostgresShelves, WhatASingleRecordLeftIsClearedAfterItsTime) {
  die(1);
  die(2);
  wait_for_index();
  remove(1);
  EXPECT_EQ(office_->get(id_of(1)).error().code, Code::not_found);
  EXPECT_EQ(keep({}).cleared, 0);
  EXPECT_EQ(bodies_of(1), 1) << "not yet";
  EXPECT_EQ(keep(hasty()).cleared, 1);
  EXPECT_EQ(bodies_of(1), 0);
  EXPECT_EQ(ask("SELECT count(*) FROM attempts"), 2);
  EXPECT_EQ(ask("SELECT count(*) FROM payload_words"), 1);
  EXPECT_EQ(ask("SELECT sum(gone)::bigint FROM shelves"), 0);
  EXPECT_EQ(must(office_->get(id_of(2))).attempts.size(), 2U);
}

TEST_F(PostgresShelves, ARecordThatDiesAgainKeepsItsShelf) {
  die(1);
  keep(patient());
  move(1, Status::resolved);
  DeadLetter again = must(office_->get(id_of(1))).record;
  auto message = std::make_shared<Message>(*again.message);
  message->payload = "pears";
  again.message = message;
  again.occurrence = 2;
  again.status = Status::pending;
  must(office_->apply(std::vector<Change>{Append{std::make_shared<DeadLetter>(again), {}}}));
  EXPECT_EQ(keep(patient()).dropped, 0);
  EXPECT_EQ(must(office_->get(id_of(1))).record.message->payload, "pears");
}

TEST_F(PostgresShelves, WhatFindsNoShelfLiesBesideThemUntilOneIsMade) {
  schema_->person().run("UPDATE office SET number = 50000000");
  die(1);
  EXPECT_EQ(ask("SELECT count(*) FROM bodies_rest"), 1);
  EXPECT_EQ(must(office_->get(id_of(1))).attempts.size(), 2U);
  EXPECT_EQ(keep({}).made, 1);
  die(2);
  EXPECT_EQ(ask("SELECT count(*) FROM bodies_rest"), 1);
  EXPECT_EQ(must(office_->list({})).rows.size(), 2U);
  remove(1);
  EXPECT_EQ(ask("SELECT count(*) FROM bodies_rest"), 0);
  EXPECT_EQ(ask("SELECT count(*) FROM attempts_rest"), 0);
  EXPECT_TRUE(office_->get(id_of(2)).has_value());
}

TEST_F(PostgresShelves, AFullShelfIsFollowedByTheNext) {
  schema_->person().run("UPDATE office SET number = 9999999");
  die(1);
  die(2);
  EXPECT_EQ(ask("SELECT count(*) FROM bodies_rest"), 0);
  EXPECT_EQ(bodies_of(10'000'000) + bodies_of(10'000'001), 2);
  keep(patient());
  remove(1);
  EXPECT_EQ(keep(patient()).dropped, 1);
  EXPECT_TRUE(office_->get(id_of(2)).has_value());
}

TEST_F(PostgresShelves, WhoFindsAnotherAtItPasses) {
  die(1);
  auto other =
      postgres::Connection(schema_->address(), postgres::session_settings(schema_->name()));
  ShelfKeeper late(other, schema_->name(), hasty());
  EXPECT_EQ(late.keep().left, 0);
  keeper_->run("SELECT pg_advisory_unlock(" + lock() + ")");
  EXPECT_EQ(late.keep().left, 1);
}

TEST_F(PostgresShelves, AReaderWhoStaysIsNotWaitedFor) {
  die(1);
  keep(patient());
  remove(1);
  auto reader = schema_->person();
  reader.run("BEGIN; SELECT * FROM dead_letter_messages");
  EXPECT_EQ(keep(patient()).dropped, 0);
  reader.run("COMMIT");
  EXPECT_EQ(keep(patient()).dropped, 1);
}

TEST_F(PostgresShelves, WordsOfPayloadsAreFoundOnEveryShelfAndBeforeTheyAreIndexed) {
  die(1);
  keep(patient());
  die(2);
  Query query;
  query.payload_words = "order 2";
  EXPECT_EQ(must(office_->list(query)).rows.size(), 1U);
  wait_for_index();
  EXPECT_EQ(must(office_->list(query)).rows.size(), 1U);
  EXPECT_EQ(ask("SELECT count(*) FROM payload_words"), 2);
  EXPECT_EQ(ask("SELECT number FROM payload_progress"), 10'000'001);
}

TEST_F(PostgresShelves, NumbersThatAShelfLeftFreeAreNoLag) {
  die(1);
  wait_for_index();
  // Nobody follows from here on.
  auto other = schema_->person();
  other.run("SELECT pg_advisory_lock(" +
            std::to_string(postgres::advisory_lock("dlo indexes " + schema_->name())) + ")");
  keep(patient());
  EXPECT_EQ(must(office_->aggregate({})).unindexed_payloads, 0U);
  die(2);
  die(3);
  EXPECT_EQ(must(office_->aggregate({})).unindexed_payloads, 2U);
}

// An office as it was before there were shelves: everything is still there, words included.
TEST_F(PostgresShelves, AnOfficeOfTheThirdVersionIsPutOnShelves) {
  for (std::uint64_t n = 1; n <= 3; ++n) die(n);
  const OwnSchema old;
  make_older(old, 3, *schema_);
  old.person().run("CREATE VIEW theirs AS SELECT \"Payload\" FROM \"DeadLetterMessages\"");
  office_ = old.open();
  EXPECT_EQ(must(office_->list({})).rows.size(), 3U);
  const RecordDetail one = must(office_->get(id_of(1)));
  EXPECT_EQ(one.attempts.size(), 2U);
  EXPECT_EQ(one.record.message->payload, R"({"order":1})");
  Query query;
  query.payload_words = "order 3";
  EXPECT_EQ(must(office_->list(query)).rows.size(), 1U);
  wait_for_index();
  EXPECT_EQ(must(office_->list(query)).rows.size(), 1U);
  die(4);
  auto db = postgres::Connection(old.address(), postgres::session_settings(old.name()));
  EXPECT_TRUE(eventually([&] {
    (void)ShelfKeeper(db, old.name(), hasty()).keep();
    return db.ask("SELECT number FROM office").front().number(0) > 4;
  }));
  die(5);
  EXPECT_EQ(old.person().ask("SELECT * FROM theirs").size(), 5) << "from both shelves";
  EXPECT_EQ(must(office_->get(id_of(4))).record.number, 4);
}

}  // namespace
}  // namespace dlo::testing
