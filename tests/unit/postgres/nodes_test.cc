// Several programs on one office.
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "unit/postgres/support.h"

namespace dlo::testing {
namespace {

class PostgresNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>());
    for (int i = 0; i < 3; ++i) nodes_.push_back(schema_->open());
  }
  template <typename Work>
  void on_each(const Work& work) {
    std::vector<std::jthread> crew;
    for (auto& node : nodes_) crew.emplace_back([&] { work(*node); });
  }
  std::unique_ptr<OwnSchema> schema_;
  std::vector<std::unique_ptr<PostgresOffice>> nodes_;
};

TEST_F(PostgresNodes, NodesThatOpenAnEmptySchemaAtOnceMakeOneOffice) {
  const OwnSchema fresh;
  std::atomic<int> opened{0};
  on_each([&](PostgresOffice&) {
    if (PostgresOffice::open(fresh.address(), fresh.options())) opened.fetch_add(1);
  });
  EXPECT_EQ(opened.load(), 3);
}

TEST_F(PostgresNodes, TheSameDeathFromEveryNodeIsOneRecordAndTheBooksBalance) {
  std::atomic<int> applied{0};
  on_each([&](PostgresOffice& node) {
    for (std::uint64_t n = 1; n <= 60; n += 3) {
      const auto answers = must(node.apply(std::vector<Change>{
          a_death(n), a_death(n + 1), a_death(n + 2), AddAudit{noon, "node", "die", "", ""}}));
      for (const Applied& each : answers) {
        if (each.effect == Effect::applied && each.occurrence > 0) applied.fetch_add(1);
      }
    }
  });
  EXPECT_EQ(applied.load(), 60);
  const Aggregate numbers = must(nodes_[0]->aggregate({}));
  EXPECT_EQ(numbers.lifetime.enqueued, 60U);
  ASSERT_EQ(numbers.tallies.size(), 1U);
  EXPECT_EQ(numbers.tallies[0].count, 60U);
  const auto trail = must(nodes_[1]->extras().ledger->audit(0, 1'000));
  EXPECT_EQ(trail.size(), 60U);
  EXPECT_EQ(first_broken(trail), std::nullopt);
}

TEST_F(PostgresNodes, NoRecordIsLeasedByTwoNodes) {
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 90; ++n) {
    auto record = std::make_shared<DeadLetter>(*std::get<Append>(a_death(n)).record);
    record->status = Status::waiting;
    record->next_retry_at = noon;
    changes.push_back(Append{std::move(record), {}});
  }
  must(nodes_[0]->apply(changes));
  std::mutex mutex;
  std::map<RecordId, int> claimed;
  std::set<LeaseToken> tokens;
  on_each([&](PostgresOffice& node) {
    for (;;) {
      const auto claims = must(node.claim(7, noon, Millis{30'000}, {}));
      if (claims.empty()) return;
      const std::lock_guard lock(mutex);
      for (const Claim& claim : claims) {
        ++claimed[claim.record.id];
        tokens.insert(claim.lease);
      }
    }
  });
  EXPECT_EQ(claimed.size(), 90U);
  EXPECT_EQ(tokens.size(), 90U);
  for (const auto& [id, times] : claimed) EXPECT_EQ(times, 1) << to_string(id);
}

TEST_F(PostgresNodes, ARowThatSomebodyHoldsIsPassedOverByAClaim) {
  auto record = std::make_shared<DeadLetter>(*std::get<Append>(a_death(1)).record);
  record->status = Status::waiting;
  record->next_retry_at = noon;
  must(nodes_[0]->apply(std::vector<Change>{Append{std::move(record), {}}}));
  auto person = schema_->person();
  person.run("BEGIN; SELECT 1 FROM records FOR UPDATE");
  EXPECT_TRUE(must(nodes_[1]->claim(5, noon, Millis{30'000}, {})).empty());
  person.run("ROLLBACK");
  EXPECT_EQ(must(nodes_[1]->claim(5, noon, Millis{30'000}, {})).size(), 1U);
}

}  // namespace
}  // namespace dlo::testing
