#include "unit/jobs/replaying.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

/// What is known of those that were sent, and what is not (R24).
class ReplayOutcomeTest : public ReplayTest {};

TEST_F(ReplayOutcomeTest, WhatAPersonDealsWithIsNeitherVerifiedNorPresumed) {
  die(0, 4);
  const Job job = plan_replay();
  must(go(job));
  resolve(0, "manual");
  move(1, Status::discarding);
  resolve(2, std::string(how_replayed));  // as our processor says it
  EXPECT_TRUE(must(go(job, 100, noon + 60s)).over);
  EXPECT_EQ(outcomes(job),
            (std::map<std::string, int>{{"taken_over", 2}, {"verified", 1}, {"presumed", 1}}));
  EXPECT_EQ(counts(job).taken_over, 2U);
  EXPECT_EQ(counts(job).verified, 1U);
  EXPECT_EQ(counts(job).presumed, 1U);
}

TEST_F(ReplayOutcomeTest, ARampDoesNotGoOnByWhatPeopleDidThemselves) {
  die(0, 40);
  ReplaySpec spec;
  spec.canary = 3;
  const Job job = plan_replay(spec);
  must(go(job));
  for (std::size_t i = 0; i < 3; ++i) resolve(i, "manual");
  must(go(job, 100, noon + 1s));
  must(go(job, 100, noon + 1s));
  EXPECT_EQ(arrived_.size(), 6U) << "another canary, not the next wave";
}

TEST_F(ReplayOutcomeTest, WhatAPersonResolvedBeforeItWasWrittenDownAsSentIsNotVerified) {
  die(0, 1);
  const Job job = plan_replay();
  fails_after_sending_ = true;
  EXPECT_FALSE(go(job));
  resolve(0, "manual");
  fails_after_sending_ = false;
  must(go(job));
  EXPECT_EQ(counts(job).verified, 0U);
  EXPECT_EQ(counts(job).changed, 1U);
}

TEST_F(ReplayOutcomeTest,
       WhatIsCompletedBeforeItIsWrittenThatItWasSentMakesNobodySendTheOthersAgain) {
  die(0, 3);
  const Job job = plan_replay();
  after_sending_ = [&] { resolve(1, std::string(how_replayed)); };
  must(go(job));
  EXPECT_EQ(sent_, 3U);
  EXPECT_TRUE(must(go(job, 100, noon + 60s)).over);
  EXPECT_EQ(sent_, 3U);
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"verified", 1}, {"presumed", 2}}));
}

TEST_F(ReplayOutcomeTest, AQueueTooSmallForAllAtOnceGetsThemInParts) {
  die(0, 5);
  most_at_once_ = 2;
  must(go(plan_replay()));
  EXPECT_EQ(arrived_ids(), (std::vector<std::string>{"0", "1", "2", "3", "4"}));
}

TEST_F(ReplayOutcomeTest, AMessageThatOneCannotTakeAtAllIsGivenBackAlone) {
  die(0, 1);
  most_at_once_ = 0;
  const Job job = plan_replay();
  must(go(job));
  EXPECT_EQ(counts(job).refused, 1U);
  EXPECT_EQ(status_of(0), Status::pending);
}

/// As a program reports it that knows nothing of replays.
class ReportedAgain : public ReplayOutcomeTest {
 protected:
  void report(std::size_t i) {
    auto record = std::make_shared<DeadLetter>(must(office_.get(id_of(i))).record);
    record->occurrence = 1;
    record->status = Status::pending;
    record->counters = {};
    record->resolution.reset();
    record->tags.clear();
    record->died_at = noon + std::chrono::hours{1};
    const Change change = Append{record, {}};
    must(office_.apply({&change, 1}));
  }
};

TEST_F(ReportedAgain, AndReplayedAgainItReachesItsQueueAgain) {
  die(0, 1);
  must(go(plan_replay()));
  resolve(0, std::string(how_replayed));
  report(0);
  must(go(must(book_.plan(plan_replay_spec(), "j2", "ana", noon))));
  EXPECT_EQ(arrived_.size(), 2U) << "dropped as a repeat of the first, and taken for cured";
}

TEST_F(ReportedAgain, ItsReplaysAreCountedOn) {
  die(0, 1);
  must(go(plan_replay()));
  resolve(0, std::string(how_republished));
  report(0);
  JobSpec spec = plan_replay_spec();
  spec.replay->most_replays = 1;
  const Job second = must(book_.plan(spec, "j2", "ana", noon));
  must(go(second));
  EXPECT_EQ(counts(second).looped, 1U);
  EXPECT_EQ(arrived_.size(), 1U);
}

TEST_F(ReplayOutcomeTest, ARampStopsAlsoWhenItsWavesAreOver) {
  die(0, 300);
  ReplaySpec spec;
  spec.canary = 1;
  const Job job = plan_replay(spec);
  std::size_t cured = 0;
  while (arrived_.size() < 100) {
    must(go(job, 36, noon + 1s));
    if (arrived_.size() > 64) break;
    for (; cured < arrived_.size(); ++cured) resolve(cured, std::string(how_replayed));
  }
  const std::size_t sent = arrived_.size();
  for (std::size_t i = cured; i < sent; ++i) come_back(i, 2);
  const Stepped stopped = must(go(job, 36, noon + 2s));
  EXPECT_TRUE(stopped.over);
  EXPECT_EQ(arrived_.size(), sent) << "the rest of the group was sent unseen";
}

}  // namespace
}  // namespace dlo
