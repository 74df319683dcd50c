// How lists are written and found: many records in one statement, and by indexes that hold the
// beginning of a value.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "unit/postgres/support.h"

#include "dlo/store/postgres/lister.h"

namespace dlo::testing {
namespace {

class PostgresLists : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>());
    office_ = schema_->open();
  }
  [[nodiscard]] std::vector<std::uint64_t> found(const Query& query) const {
    std::vector<std::uint64_t> numbers;
    for (const auto& row : must(office_->list(query)).rows) numbers.push_back(row.id.low);
    return numbers;
  }
  /// How many records a list looks at.
  [[nodiscard]] std::int64_t looks_of(const Query& query) const {
    postgres::Connection db(schema_->address(), postgres::session_settings(schema_->name()));
    const auto looked = [&] {
      db.run("SELECT pg_stat_force_next_flush()");
      return db
          .ask(
              "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_user_tables WHERE relid = "
              "'records'::regclass")
          .front()
          .number(0);
    };
    const std::int64_t before = looked();
    (void)postgres::Lister(db, query).list();
    return looked() - before;
  }
  std::unique_ptr<OwnSchema> schema_;
  std::unique_ptr<PostgresOffice> office_;
};

Change with_payload(Change change, std::optional<std::string> payload) {
  auto& append = std::get<Append>(change);
  auto message = std::make_shared<Message>(*append.record->message);
  message->payload = std::move(payload);
  auto record = std::make_shared<DeadLetter>(*append.record);
  record->message = std::move(message);
  append.record = std::move(record);
  return change;
}

TEST_F(PostgresLists, ValuesThatBeginAlikeAreToldApartHoweverLongTheyAre) {
  std::uint64_t n = 0;
  for (const std::size_t length : {127U, 128U, 129U, 300U}) {
    must(office_->apply({{a_death(++n, std::string(length, 'x'))}}));
  }
  n = 0;
  for (const std::size_t length : {127U, 128U, 129U, 300U}) {
    Query query;
    query.source = std::string(length, 'x');
    EXPECT_EQ(found(query), std::vector<std::uint64_t>{++n}) << length;
  }
}

TEST_F(PostgresLists, ManyLargeRecordsAreWrittenAsTheyAre) {
  std::vector<Change> changes;
  std::vector<std::optional<std::string>> payloads;
  for (std::uint64_t n = 0; n < 40; ++n) {
    std::optional<std::string> payload(std::string(n * 10'000, static_cast<char>(n)));
    if (n % 7 == 3) payload.reset();
    changes.push_back(with_payload(a_death(n), payload));
    std::get<Append>(changes.back()).attempts.resize(n % 5);
    payloads.push_back(std::move(payload));
  }
  must(office_->apply(changes));
  for (std::uint64_t n = 0; n < changes.size(); ++n) {
    const auto detail = must(office_->get(id_of(n)));
    EXPECT_EQ(detail.record.message->payload, payloads[n]) << n;
    EXPECT_EQ(detail.attempts.size(), n % 5) << n;
  }
}

TEST_F(PostgresLists, AWordThatOnePayloadHasIsNotLookedForInAllRecords) {
  constexpr std::uint64_t records = 1'500;
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= records; ++n) {
    changes.push_back(with_payload(a_death(n), n == 5 ? "needle" : "hay"));
  }
  must(office_->apply(changes));
  ASSERT_TRUE(eventually(
      [&] { return must(office_->aggregate({.tallies = false})).unindexed_payloads == 0; }));
  schema_->person().run("ANALYZE records; ANALYZE payload_words");
  Query query;
  query.payload_words = "needle";
  EXPECT_EQ(found(query), std::vector<std::uint64_t>{5});
  EXPECT_LT(looks_of(query), 500) << "some are judged one by one before the index is asked";
}

}  // namespace
}  // namespace dlo::testing
