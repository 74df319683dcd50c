// Words of payloads come behind the writers' backs, and whoever searches does not notice.
#include "dlo/store/postgres/payload_index.h"

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "unit/postgres/support.h"

#include "dlo/core/time.h"
#include "dlo/store/postgres/seat.h"
#include "dlo/store/rules.h"

namespace dlo::testing {
namespace {

class PostgresPayloadIndex : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>());
    office_ = schema_->open();
  }
  void open(const PostgresOptions& options) {
    office_.reset();
    office_ = must(PostgresOffice::open(schema_->address(), options));
  }
  /// Until its end nobody follows.
  [[nodiscard]] std::unique_ptr<postgres::Connection> hold_index() const {
    auto holder = std::make_unique<postgres::Connection>(schema_->address(), "");
    const std::int64_t lock = postgres::advisory_lock("dlo indexes " + schema_->name());
    holder->run("SELECT pg_advisory_lock(" + std::to_string(lock) + ")");
    return holder;
  }
  void append(std::uint64_t n, const std::string& payload, std::uint32_t occurrence = 1) {
    DeadLetter record = *std::get<Append>(a_death(n)).record;
    auto message = std::make_shared<Message>(*record.message);
    message->payload = payload;
    record.message = message;
    record.occurrence = occurrence;
    must(office_->apply(std::vector<Change>{Append{std::make_shared<DeadLetter>(record), {}}}));
  }
  [[nodiscard]] std::uint64_t lag() const {
    return must(office_->aggregate({.tallies = false})).unindexed_payloads;
  }
  [[nodiscard]] bool catches_up() const {
    return eventually([this] { return lag() == 0; });
  }
  [[nodiscard]] std::size_t found(const std::string& words) const {
    Query query;
    query.payload_words = words;
    return must(office_->list(query)).rows.size();
  }
  /// What the index itself holds, whatever the office may judge.
  [[nodiscard]] std::int64_t indexed() const {
    return schema_->person().ask("SELECT count(*) FROM payload_words").front().number(0);
  }

  std::unique_ptr<OwnSchema> schema_;
  std::unique_ptr<PostgresOffice> office_;
};

TEST_F(PostgresPayloadIndex, ItsLagIsToldAndCostsNoRecord) {
  const auto holder = hold_index();
  append(1, "red apple");
  append(2, "green apple");
  EXPECT_EQ(lag(), 2U);
  EXPECT_EQ(found("apple"), 2U);
  EXPECT_EQ(found("red apple"), 1U);
  EXPECT_EQ(indexed(), 0);
}

TEST_F(PostgresPayloadIndex, GoesOnWhereItStopped) {
  append(1, "red apple");
  EXPECT_TRUE(catches_up());
  auto holder = hold_index();
  append(2, "green apple");
  office_.reset();
  EXPECT_EQ(indexed(), 1);
  holder.reset();
  office_ = schema_->open();
  EXPECT_TRUE(catches_up());
  EXPECT_EQ(indexed(), 2);
  EXPECT_EQ(found("apple"), 2U);
}

TEST_F(PostgresPayloadIndex, TakesTheWordsOfTheLastDeathAndFindsThemBefore) {
  append(1, "red apple");
  EXPECT_TRUE(catches_up());
  auto holder = hold_index();
  append(1, "yellow pear", 2);
  EXPECT_EQ(lag(), 1U);
  EXPECT_EQ(found("pear"), 1U);
  EXPECT_EQ(found("apple"), 0U);
  holder.reset();
  EXPECT_TRUE(catches_up());
  EXPECT_EQ(found("pear"), 1U);
  EXPECT_EQ(found("apple"), 0U);
  EXPECT_EQ(indexed(), 1);
}

TEST_F(PostgresPayloadIndex, LeavesOutSourcesThatAskedForIt) {
  PostgresOptions options = schema_->options();
  options.unsearched_payloads = {"orders"};
  open(options);
  append(1, "secret apple");
  EXPECT_TRUE(catches_up());
  EXPECT_EQ(indexed(), 0);
  EXPECT_EQ(found("apple"), 0U);
}

TEST_F(PostgresPayloadIndex, LooksAtTheFirst64KilobytesOnly) {
  append(1, std::string(searched_text_limit - 6, ' ') + "apple " + "pear");
  EXPECT_TRUE(catches_up());
  EXPECT_EQ(found("apple"), 1U);
  EXPECT_EQ(found("pear"), 0U);
}

TEST_F(PostgresPayloadIndex, ManyAreFollowedInSeveralSteps) {
  const auto holder = hold_index();
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 600; ++n) changes.push_back(a_death(n));
  must(office_->apply(changes));
  EXPECT_EQ(lag(), 600U);
  auto db = postgres::Connection(schema_->address(), postgres::session_settings(schema_->name()));
  postgres::PayloadIndex other(db, schema_->name());
  EXPECT_EQ(other.follow(), postgres::PayloadIndex::Step::taken);
  holder->run("SELECT pg_advisory_unlock_all()");
  EXPECT_TRUE(catches_up());
  EXPECT_EQ(indexed(), 600);
  EXPECT_EQ(other.follow(), postgres::PayloadIndex::Step::caught_up);
}

}  // namespace
}  // namespace dlo::testing
