#include "dlo/jobs/retention_keeper.h"

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "unit/jobs/fixture.h"

#include "dlo/jobs/former.h"
#include "dlo/jobs/job_runner.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;

class RetentionKeeperTest : public JobsTest {
 protected:
  void exhaust(std::size_t i, const std::string& profile, TimePoint failed_at,
               Status status = Status::exhausted) {
    auto message = std::make_shared<Message>();
    message->source = "workflows";
    message->id = std::to_string(i);
    auto record = std::make_shared<DeadLetter>();
    record->id = id_of(i);
    record->message = message;
    record->profile = profile;
    record->status = status;
    record->first_failed_at = failed_at;
    record->last_failed_at = record->died_at = failed_at + 7min;
    const Change change = Append{record, {}};
    must(office_.apply({&change, 1}));
  }
  std::size_t sweep(TimePoint now) { return must(archive_old(office_, {}, now)); }
};

TEST_F(RetentionKeeperTest, WhatFailedMoreThanAWeekAgoAndIsExhaustedIsArchived) {  // S2-45
  exhaust(0, "workflow", noon);
  EXPECT_EQ(sweep(noon + days{7}), 0U);
  EXPECT_EQ(status_of(0), Status::exhausted);
  EXPECT_EQ(sweep(noon + days{7} + 1ms), 1U);
  EXPECT_EQ(status_of(0), Status::archived);
  EXPECT_EQ(must(office_.aggregate({})).lifetime.archived, 1U) << "counted (S2-25)";
  EXPECT_EQ(sweep(noon + days{8}), 0U) << "once";
}

TEST_F(RetentionKeeperTest, TheSafeProfileCountsTheWeekFromWhenItWasExhausted) {  // S2-45
  const TimePoint exhausted = noon + 7min;
  exhaust(0, "workflow+safe", noon);
  EXPECT_EQ(sweep(noon + days{7} + 1ms), 0U);
  EXPECT_EQ(sweep(exhausted + days{7}), 0U);
  EXPECT_EQ(status_of(0), Status::exhausted);
  EXPECT_EQ(sweep(exhausted + days{7} + 1ms), 1U);
  EXPECT_EQ(status_of(0), Status::archived);
}

TEST_F(RetentionKeeperTest, WhatIsStillRetriedOrHasNoSuchRuleStays) {  // S2-45
  exhaust(0, "workflow", noon, Status::pending);
  exhaust(1, "service-bus", noon);
  exhaust(2, "no such profile", noon);
  EXPECT_EQ(sweep(noon + days{400}), 0U);
}

TEST_F(RetentionKeeperTest, AStopIsHeardBetweenTwoPages) {
  for (std::size_t i = 0; i < 450; ++i) exhaust(i, "workflow", noon);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(must(archive_old(office_, {}, noon + days{8}, stop.get_token())), 200U);
  EXPECT_EQ(sweep(noon + days{8}), 250U) << "the rest the next time";
}

TEST_F(RetentionKeeperTest, MoreThanOnePageIsArchivedAndTheTrailNamesEach) {
  for (std::size_t i = 0; i < 450; ++i) exhaust(i, "workflow", noon);
  exhaust(450, "workflow", noon + days{5});
  EXPECT_EQ(sweep(noon + days{8}), 450U);
  EXPECT_EQ(status_of(450), Status::exhausted);
  const auto last = must(office_.extras().ledger->audit(0, 100)).back().act;
  EXPECT_EQ(last.actor, "office");
  EXPECT_EQ(last.act, retention_act);
  EXPECT_EQ(last.subject, "50 dead letters");
  EXPECT_NE(last.detail.find(to_string(id_of(449))), std::string::npos) << last.detail;
}

TEST_F(RetentionKeeperTest, ARestoreKnowsTheWayBack) {
  exhaust(0, "workflow", noon);
  sweep(noon + days{8});
  EXPECT_EQ(must(former_of(office_, id_of(0), Status::archived)).status, Status::exhausted);
}

TEST_F(RetentionKeeperTest, ARestartForgetsNothingOfTheWeek) {
  exhaust(0, "workflow+safe", noon);
  ManualClock clock{noon + 7min + days{7}};
  {
    JobRunner runner(office_, book_, clock, {});
    runner.stop();
  }
  EXPECT_EQ(status_of(0), Status::exhausted);
  clock.advance(1ms);
  JobRunner restarted(office_, book_, clock, {});
  EXPECT_TRUE(testing::eventually([&] { return status_of(0) == Status::archived; }));
}

TEST_F(RetentionKeeperTest, TheRunnerLooksAtTheStartAndThenEveryHour) {
  ManualClock clock{noon + days{7}};
  exhaust(0, "workflow", noon - 1ms);
  exhaust(1, "workflow", noon + 30min);
  JobRunner runner(office_, book_, clock, {});
  EXPECT_TRUE(testing::eventually([&] { return status_of(0) == Status::archived; }));
  EXPECT_EQ(status_of(1), Status::exhausted);
  clock.advance(1h);
  EXPECT_TRUE(testing::eventually([&] { return status_of(1) == Status::archived; }));
}

}  // namespace
}  // namespace dlo
