#include "dlo/jobs/replay_keeper.h"

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "unit/jobs/replaying.h"

#include "dlo/jobs/job_runner.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

class ReplayKeeperTest : public ReplayTest {
 protected:
  /// As somebody does who sends it and dies.
  void send_and_die(std::size_t i, Millis lease = 30s) {
    const DeadLetter record = must(office_.get(id_of(i))).record;
    Transition away;
    away.id = record.id;
    away.expected_version = record.version;
    away.to = Status::replaying;
    away.lease_for = lease;
    away.now = noon;
    away.counters = record.counters;
    ++away.counters->replay;
    const Change change = away;
    must(office_.apply({&change, 1}));
  }
  std::size_t reclaim(TimePoint now) { return must(reclaim_replaying(office_, book_, now)); }
};

TEST_F(ReplayKeeperTest, WhatNobodySendsAnyMoreIsPendingWhenItsLeaseHasRunOut) {  // I7
  die(0, 2);
  send_and_die(0);
  EXPECT_EQ(reclaim(noon), 0U);
  EXPECT_EQ(reclaim(noon + 30s - 1ms), 0U);
  EXPECT_EQ(status_of(0), Status::replaying);
  EXPECT_EQ(reclaim(noon + 30s), 1U);
  EXPECT_EQ(status_of(0), Status::pending);
  EXPECT_EQ(must(office_.get(id_of(0))).record.counters.replay, 1U) << "it may have arrived (R3)";
  const auto last = must(office_.extras().ledger->audit(0, 100)).back().act;
  EXPECT_EQ(last.actor, "office");
  EXPECT_EQ(last.act, reclaim_act);
  EXPECT_EQ(last.subject, to_string(id_of(0)));
  EXPECT_EQ(reclaim(noon + 1h), 0U) << "once";
}

TEST_F(ReplayKeeperTest, APausedJobKeepsWhatItTookAndACancelledOneGivesItBack) {
  die(0, 1);
  ReplaySpec spec;
  spec.target = "orders";
  const Job job = plan_replay(spec);
  must(book_.change(job.id, JobVerb::start, "ana", noon));
  fails_after_sending_ = true;
  EXPECT_FALSE(go(job));
  EXPECT_EQ(status_of(0), Status::replaying);
  must(book_.change(job.id, JobVerb::pause, "ana", noon));
  EXPECT_EQ(reclaim(noon + 24h), 0U) << "it goes on with it when it is resumed";
  EXPECT_EQ(status_of(0), Status::replaying);
  must(book_.change(job.id, JobVerb::cancel, "ana", noon));
  EXPECT_EQ(reclaim(noon + 24h), 0U) << "the job winds it up";
  must(book_.wound_up(job.id));
  EXPECT_EQ(reclaim(noon + 24h), 1U) << "nobody does any more";
  EXPECT_EQ(status_of(0), Status::pending);
}

TEST_F(ReplayKeeperTest, ARunnerThatIsStartedLaterTakesItBack) {
  die(0, 1);
  send_and_die(0);
  ManualClock clock{noon + 10s};
  {
    JobRunner runner(office_, book_, clock, targets());
    runner.stop();
  }
  EXPECT_EQ(status_of(0), Status::replaying);
  clock.advance(30s);
  JobRunner restarted(office_, book_, clock, targets());
  EXPECT_TRUE(testing::eventually([&] { return status_of(0) == Status::pending; }));
}

TEST_F(ReplayKeeperTest, MoreThanOnePageIsTakenBack) {
  die(0, 450);
  for (std::size_t i = 0; i < 450; ++i) send_and_die(i);
  EXPECT_EQ(reclaim(noon + 30s), 450U);
}

TEST_F(ReplayKeeperTest, WhatWasSentIsSentAgainOnlyIfSomebodySaysSo) {
  die(0, 1);
  must(go(plan_replay()));
  ASSERT_EQ(status_of(0), Status::replayed);
  JobSpec spec;
  spec.query = "status:replayed";
  spec.replay.emplace();
  const Job careful = must(book_.plan(spec, "j2", "ana", noon));
  must(go(careful));
  EXPECT_EQ(counts(careful).refused, 1U);
  EXPECT_EQ(arrived_.size(), 1U);
  spec.replay->again = true;
  const Job again = must(book_.plan(spec, "j3", "ana", noon));
  EXPECT_EQ(must(book_.get("j3")).spec, again.spec) << "it is kept with the job";
  const auto last = must(office_.extras().ledger->audit(0, 100)).back().act;
  EXPECT_NE(last.detail.find("\"again\":true"), std::string::npos) << last.detail;
  must(go(again));
  EXPECT_EQ(counts(again).ok, 1U);
  EXPECT_EQ(arrived_.size(), 2U);
  EXPECT_EQ(status_of(0), Status::replayed);
  EXPECT_EQ(must(office_.get(id_of(0))).record.counters.replay, 2U);
}

}  // namespace
}  // namespace dlo
