#include "dlo/jobs/discard_keeper.h"

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "unit/jobs/fixture.h"

#include "dlo/jobs/former.h"
#include "dlo/jobs/job_runner.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;

class DiscardKeeperTest : public JobsTest {
 protected:
  void run(Act act, const std::string& job, TimePoint now, const std::string& query = "") {
    JobSpec spec;
    spec.act = act;
    spec.query = query.empty() ? "source:payments" : query;
    const Job planned = must(book_.plan(spec, job, "ana", now));
    must(step(office_, planned, {}, 1'000, now));
  }
  std::size_t sweep(TimePoint now) { return must(sweep_discarded(office_, days{7}, now)); }
  bool is_there(std::size_t i) { return office_.get(id_of(i)).has_value(); }
  std::size_t waiting() {
    return must(office_.extras().ledger->documents(discard_kind, "", 10'000)).size();
  }
};

TEST_F(DiscardKeeperTest, WhatWasDiscardedIsRemovedWhenItsGraceIsOverAndNotBefore) {
  die(0, 3);
  run(Act::discard, "j1", noon);
  EXPECT_EQ(sweep(noon + days{7} - 1ms), 0U);
  EXPECT_TRUE(is_there(0));
  EXPECT_EQ(sweep(noon + days{7}), 3U);
  EXPECT_FALSE(is_there(0));
  EXPECT_EQ(sweep(noon + days{8}), 0U);
  EXPECT_EQ(waiting(), 0U) << "nothing is left of it";
}

TEST_F(DiscardKeeperTest, TheTrailNamesWhatWasRemoved) {
  die(0, 2);
  run(Act::discard, "j1", noon);
  sweep(noon + days{7});
  const auto last = must(office_.extras().ledger->audit(0, 100)).back().act;
  EXPECT_EQ(last.actor, "office");
  EXPECT_EQ(last.act, removal_act);
  EXPECT_EQ(last.subject, "2 dead letters");
  EXPECT_NE(last.detail.find(to_string(id_of(1))), std::string::npos) << last.detail;
  EXPECT_NE(last.detail.find("payments"), std::string::npos) << last.detail;
}

TEST_F(DiscardKeeperTest, WhatWasRestoredStaysForEver) {
  die(0, 2);
  run(Act::discard, "j1", noon);
  run(Act::restore, "j2", noon + days{6}, "id:" + to_string(id_of(0)));
  EXPECT_EQ(sweep(noon + days{30}), 1U);
  EXPECT_EQ(status_of(0), Status::pending);
  EXPECT_FALSE(is_there(1));
}

TEST_F(DiscardKeeperTest, WhatIsDiscardedOnceMoreHasItsGraceOnceMore) {
  die(0, 1);
  run(Act::discard, "j1", noon);
  run(Act::restore, "j2", noon + days{1});
  run(Act::discard, "j3", noon + days{2});
  EXPECT_EQ(sweep(noon + days{7}), 0U) << "the first discard was taken back";
  EXPECT_TRUE(is_there(0));
  EXPECT_EQ(sweep(noon + days{9}), 1U);
}

TEST_F(DiscardKeeperTest, OtherWaysToEndAreNotRemoved) {
  die(0, 2);
  run(Act::archive, "j1", noon, "id:" + to_string(id_of(0)));
  run(Act::resolve, "j2", noon, "id:" + to_string(id_of(1)));
  EXPECT_EQ(sweep(noon + days{400}), 0U);
  EXPECT_EQ(status_of(0), Status::archived);
}

TEST_F(DiscardKeeperTest, WhatWasDiscardedBeforeAnybodyNotedWhenHasItsGraceFromNowOn) {
  die(0, 250);
  for (std::size_t i = 0; i < 250; ++i) move(i, Status::discarding);
  EXPECT_EQ(sweep(noon), 0U);
  EXPECT_EQ(waiting(), 250U);
  EXPECT_EQ(sweep(noon + days{7} - 1ms), 0U);
  run(Act::restore, "j1", noon + days{1}, "id:" + to_string(id_of(0)));
  EXPECT_EQ(status_of(0), Status::pending);
  EXPECT_EQ(sweep(noon + days{7}), 249U);
}

TEST_F(DiscardKeeperTest, OlderDiscardsAreLookedForOnceInTheLifeOfAnOffice) {
  EXPECT_EQ(sweep(noon), 0U);
  die(0, 1);
  move(0, Status::discarding);
  EXPECT_EQ(sweep(noon + days{1}), 0U);
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(DiscardKeeperTest, ManyAreRemovedInRounds) {
  die(0, 250);
  run(Act::discard, "j1", noon);
  EXPECT_EQ(sweep(noon + days{7}), 250U);
}

TEST_F(DiscardKeeperTest, ARunnerWithAGraceRemovesAndOneWithoutDoesNot) {
  die(0, 1);
  run(Act::discard, "j1", noon);
  const ManualClock clock(noon + days{7});
  {
    JobSpec nothing;
    nothing.query = "source:nobody";
    must(book_.plan(nothing, "j9", "ana", noon));
    must(book_.change("j9", JobVerb::start, "ana", noon));
    const JobRunner idle(office_, book_, clock, {});  // keeps house before it works on jobs
    EXPECT_TRUE(testing::eventually([&] { return must(book_.get("j9")).ended_at.has_value(); }));
  }
  EXPECT_TRUE(is_there(0));
  JobRunner::Options options;
  options.discard_grace = days{7};
  const JobRunner runner(office_, book_, clock, {}, options);
  EXPECT_TRUE(testing::eventually([&] { return !is_there(0); }));
}

}  // namespace
}  // namespace dlo
