#include "unit/jobs/replaying.h"

namespace dlo {
namespace {

/// Dead letters of several sources, not all of which still have a queue.
class ReplayTargetsTest : public ReplayTest {
 protected:
  Job plan_of_all() {
    JobSpec spec;
    spec.replay = ReplaySpec{};
    spec.query = "status:open";
    return plan(spec);
  }
};

TEST_F(ReplayTargetsTest, ATargetThatIsNotThereHoldsUpNoOther) {
  die(0, 3, "accounts");
  die(3, 3, "gone");
  die(6, 3, "zebras");
  const Job job = plan_of_all();
  must(go(job));
  EXPECT_EQ(arrived_ids(), (std::vector<std::string>{"0", "1", "2", "6", "7", "8"}));
  EXPECT_EQ(status_of(0), Status::replayed) << "what was sent is never a pending dead letter";
  EXPECT_EQ(status_of(3), Status::pending);
  EXPECT_EQ(status_of(6), Status::replayed);
  EXPECT_EQ(must(office_.get(id_of(3))).record.counters.replay, 0U);
  EXPECT_EQ(counts(job).ok, 6U);
  EXPECT_EQ(counts(job).refused, 3U);
  EXPECT_EQ(must(book_.progress(job.id)).unreachable,
            (std::vector<Unreachable>{{"gone", "there is no queue gone", 3}}));
  EXPECT_TRUE(must(go(job, 100, noon + std::chrono::minutes{1})).over);
}

TEST_F(ReplayTargetsTest, AJobKeepsTheRedirectsItWasPlannedWith) {
  die(0, 2, "accounts");
  die(2, 1, "zebras");
  JobSpec spec;
  spec.replay = ReplaySpec{};
  spec.replay->redirects = {{"acc*", "", "accounts-v2"}, {"*", "Paid", "paid"}};
  spec.query = "status:open";
  plan(spec);
  const Job job = must(book_.get("j1"));  // as one who goes on after a kill reads it
  EXPECT_EQ(job.spec, spec);
  EXPECT_EQ(must(book_.preview(job)).targets,
            (std::map<Direction, std::uint64_t>{{{"accounts-v2", 0}, 2}, {{"zebras"}, 1}}));
  must(go(job));
  ASSERT_EQ(arrived_.size(), 3U);
  EXPECT_EQ(arrived_[0].dedupe_id, "accounts-v2");  // the target, as the test notes it
  EXPECT_EQ(arrived_[0].message->source, "accounts-v2");
  EXPECT_EQ(arrived_[2].dedupe_id, "zebras");
}

TEST_F(ReplayTargetsTest, ATargetThatGoesWhileItIsSentToGivesBackItsOwnAndNoOthers) {
  die(0, 2, "accounts");
  die(2, 2, "leaving");
  move(3, Status::exhausted);
  vanishes_ = "leaving";
  const Job job = plan_of_all();
  must(go(job));
  EXPECT_EQ(status_of(0), Status::replayed);
  EXPECT_EQ(status_of(2), Status::pending);
  EXPECT_EQ(status_of(3), Status::exhausted) << "back to what it was";
  EXPECT_EQ(must(office_.get(id_of(2))).record.counters.replay, 0U);
  EXPECT_EQ(counts(job).ok, 2U);
  EXPECT_EQ(counts(job).refused, 2U);
  EXPECT_TRUE(must(book_.progress(job.id)).sending.empty());
}

TEST_F(ReplayTargetsTest, AFullTargetIsTriedAgainAndTheOthersAreWrittenDown) {
  die(0, 2, "accounts");
  die(2, 2, "small");
  full_ = "small";
  const Job job = plan_of_all();
  EXPECT_EQ(go(job).error().code, Code::full);
  EXPECT_EQ(status_of(0), Status::replayed);
  EXPECT_EQ(status_of(2), Status::replaying);
  full_.clear();
  must(go(job));
  EXPECT_EQ(sent_, 4U) << "what was written down is not sent again";
  EXPECT_EQ(status_of(2), Status::replayed);
}

}  // namespace
}  // namespace dlo
