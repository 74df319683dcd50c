#include "dlo/jobs/job_step.h"

#include "unit/jobs/fixture.h"

#include "dlo/jobs/former.h"
#include "dlo/store/passing_office.h"

namespace dlo {
namespace {

using StepTest = JobsTest;

TEST_F(StepTest, AJobDoesEveryRecordOfItsSetOnceAndNoOther) {
  die(0, 25);
  die(100, 3, "orders");
  const Job job = plan_all();
  EXPECT_EQ(finish(job, 10), 3);
  for (std::size_t i = 0; i < 25; ++i) EXPECT_EQ(status_of(i), Status::resolved) << i;
  EXPECT_EQ(status_of(100), Status::pending);
  EXPECT_EQ(counts(job), (JobCounts{25, 0, 0}));
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"ok", 25}}));
}

TEST_F(StepTest, WhatArrivesOrChangesAfterThePlanIsLeftAlone) {
  die(0, 10);
  const Job job = plan_all(Act::archive);
  die(10, 5);
  move(3, Status::exhausted);
  finish(job, 4);
  EXPECT_EQ(status_of(3), Status::exhausted);
  for (std::size_t i = 10; i < 15; ++i) EXPECT_EQ(status_of(i), Status::pending) << i;
  EXPECT_EQ(counts(job).ok, 9U);
}

TEST_F(StepTest, SaysByWhomAndHowItWasResolvedAndRemembersTheWayBack) {
  die(0, 2);
  move(1, Status::exhausted);
  JobSpec spec;
  spec.query = "source:payments";
  spec.by = "bo";
  spec.how = "refunded";
  spec.notes = "ticket 12";
  finish(plan(spec), 10);
  const auto record = must(office_.get(id_of(0))).record;
  ASSERT_TRUE(record.resolution);
  EXPECT_EQ(*record.resolution, (Resolution{noon, "bo", "refunded", "ticket 12"}));
  EXPECT_EQ(must(former_of(office_, id_of(1), Status::resolved)).status, Status::exhausted);
}

TEST_F(StepTest, ARestoreGoesBackToWhatEachRecordWas) {
  die(0, 4);
  move(2, Status::exhausted);
  finish(plan_all(Act::archive), 10);
  JobSpec spec;
  spec.act = Act::restore;
  spec.query = "status:archived";
  const Job back = must(book_.plan(spec, "j2", "ana", noon));
  finish(back, 3);
  EXPECT_EQ(status_of(0), Status::pending);
  EXPECT_EQ(status_of(2), Status::exhausted);
}

TEST_F(StepTest, WhatWasEndedTwiceIsRestoredStepByStep) {
  die(0, 2);
  move(1, Status::exhausted);
  int jobs = 0;
  const auto run = [&](Act act) {
    JobSpec spec;
    spec.act = act;
    spec.query = "source:payments";
    finish(must(book_.plan(spec, "j" + std::to_string(++jobs), "ana", noon)), 10);
  };
  run(Act::resolve);
  run(Act::archive);
  run(Act::discard);
  for (const Status then : {Status::archived, Status::resolved}) {
    run(Act::restore);
    EXPECT_EQ(status_of(0), then);
    EXPECT_EQ(status_of(1), then);
  }
  run(Act::restore);
  EXPECT_EQ(status_of(0), Status::pending);
  EXPECT_EQ(status_of(1), Status::exhausted);
}

TEST_F(StepTest, TheWayBackNeverLeadsInACircle) {
  die(0, 1);
  int jobs = 0;
  const auto run = [&](Act act) {
    JobSpec spec;
    spec.act = act;
    spec.query = "source:payments";
    finish(must(book_.plan(spec, "j" + std::to_string(++jobs), "ana", noon)), 10);
  };
  for (int i = 0; i < 20; ++i) {
    run(Act::archive);
    run(Act::discard);
    run(Act::restore);
    run(Act::resolve);
  }
  for (int i = 0; i < 3; ++i) run(Act::restore);
  EXPECT_EQ(status_of(0), Status::pending);
}

TEST_F(StepTest, WhatIsNotPossibleIsRefusedAndDoesNotStopTheOthers) {
  die(0, 6);
  move(2, Status::resolved);
  const Job job = plan_all();
  finish(job, 2);
  EXPECT_EQ(counts(job), (JobCounts{5, 0, 1}));
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"ok", 5}, {"refused", 1}}));
}

/// Changes a record between the moment it is listed and the moment it is acted on.
class MeddlingOffice final : public PassingOffice {
 public:
  MeddlingOffice(Office& inner, RecordId victim) : PassingOffice(inner), victim_(victim) {}
  Result<Page> list(const Query& query) override {
    auto page = inner().list(query);
    Transition meddle;
    meddle.id = victim_;
    meddle.to = Status::exhausted;
    meddle.now = noon;
    const Change change = meddle;
    if (!std::exchange(done_, true)) must(inner().apply({&change, 1}));
    return page;
  }

 private:
  RecordId victim_;
  bool done_ = false;
};

TEST_F(StepTest, WhoeverIsQuickerWinsAndTheRestOfTheBatchIsDone) {
  die(0, 8);
  move(5, Status::resolved);  // to be refused
  const Job job = plan_all();
  MeddlingOffice meddling(office_, id_of(3));
  const auto stepped = must(step(meddling, job, {}, 10, noon));
  EXPECT_TRUE(stepped.over);
  EXPECT_EQ(status_of(3), Status::exhausted);
  EXPECT_EQ(counts(job), (JobCounts{6, 1, 1}));
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"changed", 1}, {"ok", 6}, {"refused", 1}}));
}

TEST_F(StepTest, ALimitIsNotExceeded) {
  die(0, 20);
  JobSpec spec;
  spec.query = "source:payments";
  spec.limit = 7;
  const Job job = plan(spec);
  finish(job, 5);
  EXPECT_EQ(counts(job).ok, 7U);
  EXPECT_EQ(status_of(6), Status::resolved);  // the oldest first
  EXPECT_EQ(status_of(7), Status::pending);
}

TEST_F(StepTest, GoesOnFromWhatTheOfficeHasWhoeverDidTheFirstHalf) {
  die(0, 30);
  const Job job = plan_all();
  must(step(office_, job, must(book_.progress(job.id)), 7, noon));
  JobBook another(office_);
  const Job again = must(another.get(job.id));
  finish(again, 7);
  EXPECT_EQ(counts(job), (JobCounts{30, 0, 0}));
}

TEST_F(StepTest, EveryBatchIsOneAuditEntryWithItsNumberAndADigestOfTheIds) {
  die(0, 5);
  const Job job = plan_all();
  finish(job, 3);
  std::vector<std::string> acts;
  for (const AuditEntry& each : must(office_.extras().ledger->audit(0, 100))) {
    acts.push_back(each.act.actor + " " + each.act.act + " " + each.act.subject);
  }
  EXPECT_EQ(acts, (std::vector<std::string>{"ana job.plan job j1", "ana resolve job j1",
                                            "ana resolve job j1"}));
}

}  // namespace
}  // namespace dlo
