// Words are looked for in records one by one or by an index, whichever is quicker. Nobody who turns
// pages can tell.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/postgres/support.h"

namespace dlo::testing {
namespace {

constexpr std::uint64_t records = 1'200;

/// A word that one in so many records has.
struct Share {
  const char* word;
  std::uint64_t one_in;
};
constexpr Share shares[] = {
    {"always", 1}, {"often", 3}, {"sometimes", 40}, {"seldom", 250}, {"once", records}};

std::string words_of_record(std::uint64_t n) {
  std::string words = "gateway";
  for (const Share& share : shares) {
    if (n % share.one_in == 0) words += std::string(" ") + share.word;
  }
  return words;
}

std::vector<std::uint64_t> expected(const Share& share, bool of_one_source) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t n = records; n > 0; --n) {
    if (n % share.one_in == 0 && (!of_one_source || n % 2 == 0)) numbers.push_back(n);
  }
  return numbers;
}

class PostgresWords : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>());
    office_ = schema_->open();
    std::vector<Change> changes;
    for (std::uint64_t n = 1; n <= records; ++n) {
      Change change = a_death(n, n % 2 == 0 ? "orders" : "bills", words_of_record(n));
      auto& append = std::get<Append>(change);
      auto message = std::make_shared<Message>(*append.record->message);
      message->payload = words_of_record(n);
      auto record = std::make_shared<DeadLetter>(*append.record);
      record->message = std::move(message);
      append.record = std::move(record);
      changes.push_back(std::move(change));
    }
    must(office_->apply(changes));
  }
  [[nodiscard]] std::vector<std::uint64_t> pages(Query query) const {
    std::vector<std::uint64_t> numbers;
    query.limit = 20;
    query.time_box = std::chrono::minutes{1};
    for (;;) {
      const Page page = must(office_->list(query));
      for (const auto& row : page.rows) numbers.push_back(row.id.low);
      if (!page.next) return numbers;
      query.after = page.next;
    }
  }
  std::unique_ptr<OwnSchema> schema_;
  std::unique_ptr<PostgresOffice> office_;
};

TEST_F(PostgresWords, OfErrorsAreFoundOnEveryPageHoweverCommonTheyAre) {
  for (const Share& share : shares) {
    Query query;
    query.error_words = share.word;
    EXPECT_EQ(pages(query), expected(share, false)) << share.word;
    query.source = "orders";
    EXPECT_EQ(pages(query), expected(share, true)) << share.word << " of a source";
  }
}

TEST_F(PostgresWords, OfPayloadsAreFoundOnEveryPageHoweverCommonTheyAre) {
  for (const Share& share : shares) {
    Query query;
    query.payload_words = share.word;
    EXPECT_EQ(pages(query), expected(share, false)) << share.word;
    query.source = "orders";
    EXPECT_EQ(pages(query), expected(share, true)) << share.word << " of a source";
  }
}

}  // namespace
}  // namespace dlo::testing
