#include <gtest/gtest.h>

#include "unit/jobs/replaying.h"

#include "dlo/store/passing_office.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

/// Counts what is read one by one.
class Counting final : public PassingOffice, private Ledger {
 public:
  using PassingOffice::PassingOffice;
  Result<RecordDetail> get(const RecordId& id) override {
    ++reads;
    ++records;
    return PassingOffice::get(id);
  }
  OfficeExtras extras() noexcept override { return {this, nullptr}; }
  std::size_t reads = 0;
  std::size_t records = 0;  // of them

 private:
  Ledger& ledger() { return *inner().extras().ledger; }
  Result<std::optional<Document>> document(const std::string& kind,
                                           const std::string& key) override {
    ++reads;
    return ledger().document(kind, key);
  }
  Result<std::vector<Document>> documents(const std::string& kind, const std::string& after,
                                          std::size_t limit) override {
    auto found = ledger().documents(kind, after, limit);
    if (found) reads += found->size();
    return found;
  }
  Result<std::vector<AuditEntry>> audit(std::uint64_t after, std::size_t limit) override {
    return ledger().audit(after, limit);
  }
};

class ReplayWatchTest : public ReplayTest {
 protected:
  Job sent(std::size_t count, std::uint64_t canary) {
    die(0, count + 1);
    ReplaySpec replay;
    replay.canary = canary;
    replay.success_percent = 50;
    const Job job = plan_replay(replay);
    while (counts(job).ok < count) must(go(job, 200));
    return job;
  }
  Stepped look(const Job& job, TimePoint now) {
    return must(replay_step(counting_, targets(), job, must(book_.progress(job.id)), 200, now));
  }
  Counting counting_{office_};
};

TEST_F(ReplayWatchTest, AWaveThatWaitsCostsWhatChangesNotWhatWasSent) {
  const Job job = sent(1'200, 1'200);
  look(job, noon + 1s);  // passes over its own changes, once
  counting_.reads = 0;
  look(job, noon + 2s);
  EXPECT_LE(counting_.reads, 2U) << "nothing happened";
  come_back(7, 2);
  counting_.reads = 0;
  look(job, noon + 3s);
  EXPECT_EQ(counts(job).returned, 1U);
  EXPECT_LE(counting_.reads, 5U);
  EXPECT_EQ(outcomes(job)["returned"], 1);
}

TEST_F(ReplayWatchTest, WhatAPersonDealtWithIsSeenBeforeTimeIsUp) {
  const Job job = sent(20, 20);
  move(3, Status::archived);
  look(job, noon + 1s);
  EXPECT_EQ(counts(job).taken_over, 1U);
}

TEST_F(ReplayWatchTest, OutcomesArePresumedInSlicesSoThatOthersHaveTheirTurn) {
  constexpr std::size_t many = 6'200;
  const Job job = sent(many, many);
  const TimePoint due = noon + 60s;
  const Stepped first = look(job, due);
  EXPECT_FALSE(first.over);
  EXPECT_FALSE(first.not_before) << "it goes on at once";
  const auto presumed = counts(job).presumed;
  EXPECT_GT(presumed, 0U);
  EXPECT_LT(presumed, many);
  counting_.reads = 0;
  look(job, due);
  EXPECT_EQ(counts(job).presumed, many) << "nothing is left out";
  EXPECT_LT(counting_.reads, 2 * (many - presumed) + 600) << "it went on where it was";
  EXPECT_TRUE(must(book_.progress(job.id)).settled_up_to.empty()) << "for the next wave";
}

TEST_F(ReplayWatchTest, OfManyThoseThatAreNotBackArePresumedWithoutReadingThem) {
  constexpr std::size_t many = 10'600;
  const Job job = sent(many, many);
  come_back(7, 2);
  move(10'003, Status::archived);
  resolve(12, std::string(how_replayed));
  const TimePoint due = noon + 60s;
  counting_.records = 0;
  for (int i = 0; i < 20 && counts(job).awaited() > 0; ++i) look(job, due);
  EXPECT_EQ(counts(job).awaited(), 0U);
  EXPECT_EQ(counts(job).presumed, many - 3);
  EXPECT_EQ(counts(job).returned, 1U);
  EXPECT_EQ(counts(job).verified, 1U);
  EXPECT_EQ(counts(job).taken_over, 1U);
  EXPECT_EQ(status_of(0), Status::resolved);
  EXPECT_LE(counting_.records, 10U) << "those that are something else";
}

TEST_F(ReplayWatchTest, WhatIsOfAnotherJobOrOccurrenceIsNotPresumed) {
  constexpr std::size_t many = 10'100;
  const Job job = sent(many, many);
  die(20'000, 1, "orders");
  JobSpec other = plan_replay_spec();
  other.query = "source:orders";
  const Job another = must(book_.plan(other, "j2", "ana", noon));
  must(go(another, 10));
  ASSERT_EQ(status_of(20'000), Status::replayed);
  for (int i = 0; i < 20 && counts(job).awaited() > 0; ++i) look(job, noon + 60s);
  EXPECT_EQ(counts(job).presumed, many);
  EXPECT_EQ(status_of(20'000), Status::replayed);
}

TEST_F(ReplayWatchTest, TheNextWaveIsPresumedAsWell) {
  die(0, 30);
  JobSpec spec;
  spec.query = "source:payments";
  spec.order = Order::newest_first;  // those of later waves have smaller ids
  spec.replay = ReplaySpec{};
  spec.replay->canary = 4;
  spec.replay->watch = 2s;
  const Job job = plan(spec);
  TimePoint now = noon;
  for (int i = 0; i < 50; ++i) {
    const Stepped stepped = must(go(job, 200, now));
    if (stepped.over) break;
    if (stepped.not_before) now = *stepped.not_before;
  }
  EXPECT_EQ(counts(job).presumed, 30U);
}

}  // namespace
}  // namespace dlo
