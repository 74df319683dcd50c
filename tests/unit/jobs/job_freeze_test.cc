#include "dlo/jobs/job_freeze.h"

#include "unit/jobs/replaying.h"

namespace dlo {
namespace {

using Named = std::map<std::string, int>;

class FreezeTest : public ReplayTest {
 protected:
  void tag(std::size_t i) {
    const auto record = must(office_.get(id_of(i))).record;
    Transition transition;
    transition.id = id_of(i);
    transition.to = record.status;
    transition.now = noon;
    transition.tags = std::vector<std::string>{"vip"};
    const Change change = transition;
    must(office_.apply({&change, 1}));
  }
  Job plan_some(std::uint64_t limit, const std::string& query = "source:payments") {
    JobSpec spec;
    spec.act = Act::archive;
    spec.query = query;
    spec.limit = limit;
    return plan(spec);
  }
  void replay_all(const Job& job, std::size_t most) {
    for (int i = 0; i < 100; ++i) {
      if (must(go(job, most)).over) return;
    }
    ADD_FAILURE() << "the job does not end";
  }
};

TEST_F(FreezeTest, WhatChangedBetweenThePlanAndItsTurnIsSaidToHaveChanged) {
  die(0, 5);
  JobSpec spec;
  spec.act = Act::archive;
  spec.query = "status:pending";
  const Job job = plan(spec);
  EXPECT_EQ(outcomes(job), (Named{{"planned", 5}}));
  tag(1);                     // matches as before
  move(3, Status::resolved);  // does not match any more
  die(10, 2);                 // was not there
  finish(job, 2);
  EXPECT_EQ(counts(job), (JobCounts{3, 2, 0}));
  EXPECT_EQ(outcomes(job), (Named{{"ok", 3}, {"changed", 2}}));
  EXPECT_EQ(status_of(1), Status::pending);
}

TEST_F(FreezeTest, WhatIsGoneByThenIsSaidToHaveChanged) {
  die(0, 3);
  const Job job = plan_all(Act::archive);
  move(1, Status::discarding);
  move(1, Status::discarded);
  const Change gone = Remove{id_of(1)};
  must(office_.apply({&gone, 1}));
  finish(job, 10);
  EXPECT_EQ(outcomes(job), (Named{{"ok", 2}, {"changed", 1}}));
}

TEST_F(FreezeTest, WhatChangedCanBeSelectedAgain) {
  die(0, 4);
  const Job job = plan_all(Act::archive);
  tag(2);
  must(book_.change(job.id, JobVerb::start, "ana", noon));
  finish(job, 10);
  must(book_.end(job.id, JobState::done, "", noon));
  JobSpec spec;
  spec.act = Act::archive;
  spec.from_job = job.id;
  spec.outcome = "failed";
  const Job again = must(book_.plan(spec, "j2", "ana", noon));
  EXPECT_EQ(must(book_.preview(again)).count, 1U);
  finish(again, 10);
  EXPECT_EQ(status_of(2), Status::archived);
}

TEST_F(FreezeTest, ALimitLetsNobodyInForOneThatChanged) {
  die(0, 20);
  const Job job = plan_some(7);
  tag(4);
  EXPECT_EQ(must(book_.preview(job)).count, 6U);
  finish(job, 5);
  EXPECT_EQ(counts(job), (JobCounts{6, 1, 0}));
  EXPECT_EQ(status_of(6), Status::archived);
  EXPECT_EQ(status_of(7), Status::pending);
}

TEST_F(FreezeTest, ALimitThatNothingIsBeyondIsNone) {
  die(0, 7);
  const Job job = plan_some(7);
  tag(6);
  finish(job, 3);
  EXPECT_EQ(counts(job), (JobCounts{6, 1, 0}));
}

TEST_F(FreezeTest, ALimitOnWhatAnotherJobDidHoldsToo) {
  die(0, 6);
  for (std::size_t i = 0; i < 6; ++i) move(i, Status::resolved);
  const Job refused = plan_all(Act::retry);  // what is resolved cannot be retried
  must(book_.change(refused.id, JobVerb::start, "ana", noon));
  finish(refused, 10);
  must(book_.end(refused.id, JobState::done, "", noon));
  JobSpec spec;
  spec.act = Act::archive;
  spec.from_job = refused.id;
  spec.outcome = "failed";
  spec.limit = 3;
  const Job job = must(book_.plan(spec, "j2", "ana", noon));
  tag(0);
  finish(job, 2);
  EXPECT_EQ(counts(job), (JobCounts{2, 1, 0}));
  EXPECT_EQ(status_of(3), Status::resolved);
}

TEST_F(FreezeTest, AReplayAddsUpToWhatWasPlanned) {
  die(0, 12);
  JobSpec spec = plan_replay_spec();
  spec.replay->watch = Millis{0};
  spec.limit = 9;
  const Job job = plan(spec);
  tag(0);
  tag(8);
  replay_all(job, 4);
  EXPECT_EQ(counts(job).ok, 7U);
  EXPECT_EQ(counts(job).changed, 2U);
  EXPECT_EQ(outcomes(job), (Named{{"presumed", 7}, {"changed", 2}}));
  EXPECT_EQ(status_of(9), Status::pending);
}

TEST_F(FreezeTest, AReplayInOrderOfKeysAddsUpToo) {
  die(0, 3, "payments", "ana");
  die(3, 3, "payments", "bo");
  JobSpec spec = plan_replay_spec();
  spec.replay->watch = Millis{0};
  spec.by_key = true;
  spec.limit = 4;
  const Job job = plan(spec);
  tag(3);
  replay_all(job, 10);
  EXPECT_EQ(arrived_ids(), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(counts(job).changed, 1U);
}

TEST_F(FreezeTest, MoreThanAPlanWritesDownIsWrittenDownBeforeTheFirstIsTouched) {
  constexpr std::size_t many = most_planned_at_once + 1'500;
  die(0, many);
  const Job job = plan_all(Act::archive);
  EXPECT_EQ(must(book_.progress(job.id)).planned, most_planned_at_once);
  int steps = 0;
  while (must(book_.progress(job.id)).freezing) {
    must(step(office_, job, must(book_.progress(job.id)), 200, noon));
    ++steps;
  }
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(must(book_.progress(job.id)).planned, many);
  EXPECT_EQ(counts(job).total(), 0U);
  tag(0);
  tag(many - 1);
  finish(job, 5'000);
  EXPECT_EQ(counts(job), (JobCounts{many - 2, 2, 0}));
}

TEST_F(FreezeTest, WhatACancelledJobDidNotReachIsStillPlanned) {
  die(0, 6);
  const Job job = plan_all(Act::archive);
  must(step(office_, job, must(book_.progress(job.id)), 2, noon));
  must(book_.change(job.id, JobVerb::cancel, "ana", noon));
  EXPECT_EQ(outcomes(job), (Named{{"ok", 2}, {"planned", 4}}));
  JobSpec rest;
  rest.act = Act::archive;
  rest.from_job = job.id;
  rest.outcome = "planned";
  EXPECT_EQ(must(book_.preview(must(book_.plan(rest, "j2", "ana", noon)))).count, 4U);
}

TEST_F(FreezeTest, AJobOfAnOlderVersionGoesOnWithoutItsSetWrittenDown) {
  die(0, 6);
  const Job job = plan_some(4);
  std::vector<Change> older{JobCheckpoint{job.id, to_json(JobProgress{}), {}}};
  for (std::size_t i = 0; i < 4; ++i) {
    older.emplace_back(
        PutDocument{job_item_kind(job.id), to_string(id_of(i)), std::nullopt, std::nullopt});
  }
  must(office_.apply(older));
  finish(job, 3);
  EXPECT_EQ(outcomes(job), (Named{{"ok", 4}}));
}

}  // namespace
}  // namespace dlo
