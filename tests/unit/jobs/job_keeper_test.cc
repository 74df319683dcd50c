#include "dlo/jobs/job_keeper.h"

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "unit/jobs/fixture.h"

#include "dlo/jobs/job_index.h"
#include "dlo/jobs/job_runner.h"
#include "dlo/store/passing_office.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;

class JobKeeperTest : public JobsTest {
 protected:
  /// A job that did everything and ended at `now`.
  Job done(const std::string& id, TimePoint now) {
    JobSpec spec;
    spec.query = "source:payments";
    spec.act = Act::tag;
    spec.tags = {id};
    const Job planned = must(book_.plan(spec, id, "ana", now));
    must(book_.change(id, JobVerb::start, "ana", now));
    while (!must(step(office_, planned, must(book_.progress(id)), 400, now)).over) {
    }
    return must(book_.end(id, JobState::done, "", now));
  }
  std::size_t sweep(TimePoint now) { return must(forget_jobs(office_, days{30}, now)); }
  bool is_there(const std::string& id) { return book_.get(id).has_value(); }
  std::size_t kept(const std::string& kind) {
    return must(office_.extras().ledger->documents(kind, "", 100'000)).size();
  }
};

TEST_F(JobKeeperTest, AJobThatEndedIsRemovedWithItsItemsWhenItWasKeptLongEnough) {
  die(0, 3);
  done("j1", noon);
  done("j2", noon + days{1});
  EXPECT_EQ(sweep(noon + days{30} - 1ms), 0U);
  EXPECT_EQ(kept(job_item_kind("j1")), 3U);
  EXPECT_GT(sweep(noon + days{30}), 0U);
  EXPECT_FALSE(is_there("j1"));
  EXPECT_EQ(kept(job_item_kind("j1")), 0U);
  EXPECT_EQ(kept(std::string(job_cursor_kind)), 1U);
  EXPECT_TRUE(is_there("j2"));
  EXPECT_EQ(kept(job_item_kind("j2")), 3U);
  EXPECT_EQ(must(book_.list({})).jobs.size(), 1U);
  EXPECT_EQ(kept(newest_kind), 1U);
  EXPECT_EQ(sweep(noon + days{30}), 0U);
}

TEST_F(JobKeeperTest, ItsReportStaysInTheTrail) {
  die(0, 2);
  done("j1", noon);
  sweep(noon + days{31});
  const auto last = must(office_.extras().ledger->audit(0, 100)).back().act;
  EXPECT_EQ(last.actor, "office");
  EXPECT_EQ(last.act, job_removal_act);
  EXPECT_EQ(last.subject, "job j1");
  EXPECT_NE(last.detail.find(R"("report":{"ok":2,)"), std::string::npos) << last.detail;
  EXPECT_NE(last.detail.find("source:payments"), std::string::npos) << last.detail;
}

TEST_F(JobKeeperTest, WhatRunsOrIsPausedStaysAndWhatWasNeverStartedGoes) {
  for (const char* id : {"planned", "running", "paused", "cancelled"}) {
    JobSpec spec;
    spec.query = "source:payments";
    must(book_.plan(spec, id, "ana", noon));
  }
  must(book_.change("running", JobVerb::start, "ana", noon));
  must(book_.change("paused", JobVerb::start, "ana", noon));
  must(book_.change("paused", JobVerb::pause, "ana", noon));
  must(book_.change("cancelled", JobVerb::cancel, "ana", noon + days{5}));
  while (sweep(noon + days{30}) > 0) {
  }
  EXPECT_FALSE(is_there("planned"));
  EXPECT_TRUE(is_there("running"));
  EXPECT_TRUE(is_there("paused"));
  EXPECT_TRUE(is_there("cancelled")) << "it is kept from its end on";
  while (sweep(noon + days{35}) > 0) {
  }
  EXPECT_FALSE(is_there("cancelled"));
  EXPECT_TRUE(is_there("running"));
}

TEST_F(JobKeeperTest, ManyItemsGoInSlicesAndNoneIsLeft) {
  die(0, 6'200);
  done("j1", noon);
  sweep(noon + days{30});
  EXPECT_FALSE(is_there("j1")) << "nobody reads a job of which half is gone";
  const std::size_t left = kept(job_item_kind("j1"));
  EXPECT_GT(left, 0U) << "one slice is bounded";
  EXPECT_LT(left, 6'200U);
  int sweeps = 0;
  while (sweep(noon + days{30}) > 0) ASSERT_LT(++sweeps, 10);
  EXPECT_EQ(kept(job_item_kind("j1")), 0U);
}

TEST_F(JobKeeperTest, JobsOfAnOlderOfficeAreFoundOnce) {
  done("old", noon);
  JobSpec spec;
  spec.query = "source:payments";
  must(book_.plan(spec, "under-way", "ana", noon));
  must(book_.change("under-way", JobVerb::start, "ana", noon));
  for (const char* kind :
       {running_kind, forget_kind, newest_kind, "keeper"}) {  // as such a version left it
    for (const Document& each : must(office_.extras().ledger->documents(kind, "", 100))) {
      const Change gone = PutDocument{kind, each.key, std::nullopt, std::nullopt};
      must(office_.apply({&gone, 1}));
    }
  }
  EXPECT_TRUE(must(book_.running()).empty());
  EXPECT_EQ(must(book_.list({})).jobs.size(), 2U) << "whoever asks first puts them in order";
  must(adopt_older_jobs(office_));
  ASSERT_EQ(must(book_.running()).size(), 1U);
  EXPECT_EQ(must(book_.running()).front().id, "under-way");
  EXPECT_GT(sweep(noon + days{30}), 0U);
  EXPECT_FALSE(is_there("old"));
}

TEST_F(JobKeeperTest, ARunnerKeepsThemAsLongAsItWasTold) {
  die(0, 1);
  done("j1", noon);
  JobRunner::Options options;
  options.keep_jobs = days{30};
  const ManualClock clock(noon + days{30});
  const JobRunner runner(office_, book_, clock, {}, options);
  EXPECT_TRUE(testing::eventually([&] { return !is_there("j1"); }));
}

/// Counts how often the documents of jobs are read.
class CountingOffice final : public PassingOffice, private Ledger {
 public:
  using PassingOffice::PassingOffice;
  OfficeExtras extras() noexcept override { return {this, nullptr}; }
  std::size_t jobs_read = 0;

 private:
  Ledger& ledger() { return *inner().extras().ledger; }
  Result<std::optional<Document>> document(const std::string& kind,
                                           const std::string& key) override {
    jobs_read += kind == job_kind ? 1 : 0;
    return ledger().document(kind, key);
  }
  Result<std::vector<Document>> documents(const std::string& kind, const std::string& after,
                                          std::size_t limit) override {
    auto found = ledger().documents(kind, after, limit);
    if (found && kind == job_kind) jobs_read += found->size();
    return found;
  }
  Result<std::vector<AuditEntry>> audit(std::uint64_t after, std::size_t limit) override {
    return ledger().audit(after, limit);
  }
};

TEST_F(JobKeeperTest, ATurnReadsNothingOfJobsThatEnded) {
  for (int i = 0; i < 300; ++i) done("ended-" + std::to_string(i), noon);
  JobSpec spec;
  spec.query = "source:payments";
  spec.rate = 1;
  must(book_.plan(spec, "j1", "ana", noon));
  must(book_.change("j1", JobVerb::start, "ana", noon));
  die(0, 100);
  CountingOffice counting(office_);
  JobBook book(counting);
  ManualClock clock(noon);
  JobRunner runner(counting, book, clock, {});
  runner.stop();
  runner.turn();
  counting.jobs_read = 0;
  clock.advance_to(noon + 5s);
  runner.turn();
  EXPECT_LE(counting.jobs_read, 2U);
}

}  // namespace
}  // namespace dlo
