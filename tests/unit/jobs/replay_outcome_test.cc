#include "unit/jobs/replaying.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

/// What is known of those that were sent, and what is not (R24).
class ReplayOutcomeTest : public ReplayTest {
 protected:
  void resolve(std::size_t i, const std::string& how) {
    Transition transition;
    transition.id = id_of(i);
    transition.to = Status::resolved;
    transition.now = noon;
    transition.resolution = Resolution{noon, "ana", how, ""};
    const Change change = transition;
    must(office_.apply({&change, 1}));
  }
};

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

}  // namespace
}  // namespace dlo
