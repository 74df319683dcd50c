#include <future>

#include "support/eventually.h"
#include "unit/jobs/replaying.h"

#include "dlo/jobs/former.h"
#include "dlo/jobs/job_runner.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

/// Whatever way a replay ends, nothing of it stays where nobody would ever deal with it.
class ReplayEndTest : public ReplayTest {
 protected:
  void start(const Job& job) { must(book_.change(job.id, JobVerb::start, "ana", noon)); }
  void cancel(const Job& job) { must(book_.change(job.id, JobVerb::cancel, "ana", noon)); }
  /// Turns of a runner, a second apart.
  void run(int turns) {
    JobRunner runner(office_, book_, clock_, targets());
    runner.stop();
    for (int i = 0; i < turns; ++i) {
      runner.turn();
      clock_.advance(1s);
    }
  }
  ManualClock clock_{noon};
};

TEST_F(ReplayEndTest, AJobThatWaitsForAFullTargetSaysSo) {
  die(0, 3);
  full_ = "payments";
  const Job job = plan_replay();
  start(job);
  run(2);
  EXPECT_EQ(must(book_.progress(job.id)).blocked, "payments is full");
  EXPECT_EQ(must(book_.get(job.id)).state, JobState::running);
  full_.clear();
  run(2);
  EXPECT_EQ(must(book_.progress(job.id)).blocked, "");
  EXPECT_EQ(counts(job).ok, 3U);
}

TEST_F(ReplayEndTest, ACancelWhileTheTargetIsFullGivesBackWhatWasNotSent) {
  die(0, 3);
  move(2, Status::exhausted);
  full_ = "payments";
  const Job job = plan_replay();
  start(job);
  run(1);
  EXPECT_EQ(status_of(0), Status::replaying);
  cancel(job);
  run(3);
  EXPECT_EQ(status_of(0), Status::pending);
  EXPECT_EQ(status_of(2), Status::exhausted);
  EXPECT_EQ(must(office_.get(id_of(0))).record.counters.replay, 0U);
  EXPECT_TRUE(must(book_.progress(job.id)).sending.empty());
  EXPECT_TRUE(must(book_.to_wind_up()).empty());
}

TEST_F(ReplayEndTest, WhatMayHaveBeenSentWhenTheJobWasCancelledIsNotGivenBack) {
  die(0, 2);
  fails_after_sending_ = true;
  const Job job = plan_replay();
  start(job);
  run(1);
  cancel(job);
  fails_after_sending_ = false;
  run(2);
  EXPECT_EQ(arrived_.size(), 2U) << "the same ids, dropped by the target";
  EXPECT_EQ(status_of(0), Status::replayed);
}

TEST_F(ReplayEndTest, TheWatchGoesOnAfterACancel) {
  die(0, 3);
  const Job job = plan_replay();
  start(job);
  run(1);
  cancel(job);
  come_back(1, 2);
  clock_.advance(60s);
  run(3);
  EXPECT_EQ(status_of(0), Status::resolved);
  EXPECT_EQ(status_of(1), Status::pending);
  EXPECT_EQ(counts(job).presumed, 2U);
  EXPECT_EQ(counts(job).returned, 1U);
  EXPECT_EQ(must(book_.get(job.id)).state, JobState::cancelled);
  EXPECT_TRUE(must(book_.to_wind_up()).empty());
}

TEST_F(ReplayEndTest, TheWatchGoesOnAfterACanaryStoppedTheJob) {
  die(0, 20);
  ReplaySpec spec;
  spec.canary = 5;
  const Job job = plan_replay(spec);
  start(job);
  run(1);
  come_back(1, 2);
  run(3);
  EXPECT_EQ(must(book_.get(job.id)).state, JobState::stopped);
  EXPECT_EQ(status_of(0), Status::replayed);
  clock_.advance(60s);
  run(3);
  EXPECT_EQ(status_of(0), Status::resolved);
  EXPECT_EQ(counts(job).awaited(), 0U);
}

TEST_F(ReplayEndTest, ARestoreDoesNotLeadBackToARequestThatNobodyWatches) {
  die(0, 1);
  must(go(plan_replay()));
  const Change noted = must(remember_status(office_, id_of(0), Status::replayed));
  must(office_.apply({&noted, 1}));
  EXPECT_EQ(must(former_of(office_, id_of(0), Status::archived)).status, Status::pending);
}

TEST_F(ReplayEndTest, ASlowExecutorHoldsUpNoOtherJob) {
  die(0, 1);
  die(1, 1, "orders");
  std::promise<void> let_go;
  std::atomic<bool> runs{false};
  table_ = std::make_shared<HandlerTable>();
  table_->set("slow", std::make_shared<FunctionHandler>([&, gate = let_go.get_future().share()](
                                                            const Message&, const RunContext&) {
                runs.store(true);
                gate.wait();
                return Outcome{};
              }));
  ReplaySpec spec;
  spec.target = "exec:slow";
  start(plan_replay(spec));
  JobSpec tags;
  tags.act = Act::tag;
  tags.query = "source:orders";
  tags.tags = {"seen"};
  const Job quick = must(book_.plan(tags, "j2", "ana", noon));
  start(quick);
  ReplayTargets all = targets();
  all.executor = [this](const std::string& name) { return find_executor(table_, name, Millis{0}); };
  all.check = [](const std::string&) { return Result<void>{}; };
  JobRunner runner(office_, book_, clock_, all);
  EXPECT_TRUE(testing::eventually([&] { return runs.load(); }));
  EXPECT_TRUE(testing::eventually([&] { return must(book_.get("j2")).state == JobState::done; }));
  EXPECT_EQ(must(book_.get("j1")).state, JobState::running);
  let_go.set_value();
  EXPECT_TRUE(testing::eventually([&] { return must(book_.get("j1")).state == JobState::done; }));
}

}  // namespace
}  // namespace dlo
