#include "unit/jobs/replaying.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

class KeyOrderTest : public ReplayTest {
 protected:
  /// a0 a1 b2 a3 and one without a key.
  void two_keys() {
    die(0, 2, "payments", "a");
    die(2, 1, "payments", "b");
    die(3, 1, "payments", "a");
    die(4, 2);
  }
  Job plan_by_key(ReplaySpec replay = {}) {
    JobSpec spec;
    spec.replay = std::move(replay);
    spec.query = "source:payments";
    spec.by_key = true;
    return plan(spec);
  }
  /// The target's workers say that it worked.
  void cure(std::size_t i) { move(i, Status::resolved); }
  using Ids = std::vector<std::string>;
};

TEST_F(KeyOrderTest, NoneOfAKeyIsSentBeforeTheOneBeforeItIsCured) {
  two_keys();
  const Job job = plan_by_key();
  must(go(job));
  EXPECT_EQ(arrived_ids(), Ids{"0"}) << "1 is of the same key";
  must(go(job));
  EXPECT_EQ(arrived_ids(), Ids{"0"}) << "nobody knows yet what becomes of it";
  cure(0);
  must(go(job));  // looks
  must(go(job));
  EXPECT_EQ(arrived_ids(), (Ids{"0", "1", "2"})) << "another key goes along";
  cure(1);
  must(go(job));
  must(go(job));
  EXPECT_EQ(arrived_ids().size(), 3U) << "the wave is not over";
  cure(2);
  must(go(job));
  must(go(job));
  EXPECT_EQ(arrived_ids(), (Ids{"0", "1", "2", "3", "4", "5"})) << "those without a key need none";
  EXPECT_TRUE(must(go(job, 100, noon + 60s)).over);
  EXPECT_EQ(counts(job).total(), 6U);
}

TEST_F(KeyOrderTest, WhatStandsBehindOneThatCameBackIsNotSent) {
  two_keys();
  const Job job = plan_by_key();
  must(go(job));
  come_back(0, 2);
  for (int i = 0; i < 4; ++i) must(go(job, 100, noon + Millis{60'000 * i}));
  EXPECT_EQ(arrived_ids(), (Ids{"0", "2", "4", "5"}));
  EXPECT_EQ(counts(job).behind, 2U);
  EXPECT_EQ(outcomes(job)["behind"], 2);
  EXPECT_EQ(status_of(1), Status::pending);
  EXPECT_EQ(status_of(3), Status::pending);
}

TEST_F(KeyOrderTest, WhatStandsBehindOneThatMayNotBeSentIsNotSent) {
  two_keys();
  move(0, Status::quarantined);
  const Job job = plan_by_key();
  for (int i = 0; i < 4; ++i) must(go(job, 100, noon + Millis{60'000 * i}));
  EXPECT_EQ(arrived_ids(), (Ids{"2", "4", "5"}));
  EXPECT_EQ(counts(job).refused, 1U);
  EXPECT_EQ(counts(job).behind, 2U);
}

TEST_F(KeyOrderTest, AClosedOneHoldsUpNobody) {
  two_keys();
  move(0, Status::resolved);
  const Job job = plan_by_key();
  for (int i = 0; i < 6; ++i) must(go(job, 100, noon + Millis{60'000 * i}));
  EXPECT_EQ(arrived_ids(), (Ids{"1", "2", "3", "4", "5"}));
}

TEST_F(KeyOrderTest, KeysOfDifferentSourcesAreDifferentUnlessAllGoToOneQueue) {
  die(0, 1, "payments", "a");
  die(1, 1, "orders", "a");
  JobSpec spec;
  spec.replay = ReplaySpec{};
  spec.query = "status:open";
  spec.by_key = true;
  must(go(must(book_.draw_up(spec, "j8", "ana", noon))));
  EXPECT_EQ(arrived_ids().size(), 2U);
  arrived_.clear();
  die(2, 1, "payments", "b");
  die(3, 1, "orders", "b");
  spec.query = "key:b";
  spec.replay->target = "all";
  must(go(must(book_.draw_up(spec, "j9", "ana", noon))));
  EXPECT_EQ(arrived_ids(), Ids{"2"});
}

TEST_F(KeyOrderTest, ManyKeysThatAreHeldUpStopTheJob) {
  die(0, 1);
  const Job job = plan_by_key();
  JobProgress progress;
  for (int i = 0; i <= 500; ++i) progress.held.push_back(std::to_string(i));
  const auto stepped = must(replay_step(office_, targets(), job, progress, 100, noon));
  EXPECT_TRUE(stepped.over);
  EXPECT_NE(stepped.stopped.find("500 keys"), std::string::npos) << stepped.stopped;
  EXPECT_TRUE(arrived_.empty());
}

TEST_F(KeyOrderTest, OnlyAReplayHasAnOrderOfKeys) {
  JobSpec spec;
  spec.query = "source:payments";
  spec.by_key = true;
  EXPECT_EQ(book_.plan(spec, "j", "ana", noon).error().code, Code::invalid_argument);
  spec.replay = ReplaySpec{};
  EXPECT_TRUE(must(book_.plan(spec, "j", "ana", noon)).spec.by_key);
  EXPECT_TRUE(must(book_.get("j")).spec.by_key) << "also when it goes on after a kill";
}

TEST_F(KeyOrderTest, NotMoreAreAwaitedThanWasAskedFor) {
  die(0, 7);
  ReplaySpec spec;
  spec.concurrency = 3;
  const Job job = plan_replay(spec);
  must(go(job));
  EXPECT_EQ(arrived_.size(), 3U);
  must(go(job));
  EXPECT_EQ(arrived_.size(), 3U);
  cure(1);
  must(go(job));  // looks
  must(go(job));
  EXPECT_EQ(arrived_.size(), 4U) << "one was cured, one more may go";
  must(go(job, 100, noon + 2min));
  must(go(job, 100, noon + 2min));
  EXPECT_EQ(arrived_.size(), 7U);
  must(go(job, 100, noon + 4min));
  must(go(job, 100, noon + 4min));
  EXPECT_TRUE(must(go(job, 100, noon + 4min)).over);
  EXPECT_EQ(counts(job).presumed, 6U);
  EXPECT_TRUE(must(book_.progress(job.id)).awaiting.empty());
}

TEST_F(KeyOrderTest, APlanNamesFollowersAndHeadersThatStay) {
  two_keys();
  const auto before = must(office_.get(id_of(2))).record;
  const Change edit = AddVersion{
      id_of(2), before.version, {{"X-Death", "1"}, {"tenant", "a"}}, "mended", noon, "ana", "why"};
  must(office_.apply({&edit, 1}));
  ReplaySpec spec;
  spec.strip = {"x-death", "x-other"};
  spec.set_headers = {{"via", "office"}};
  const JobPreview preview = must(book_.preview(plan_by_key(spec)));
  EXPECT_EQ(preview.keys, 2U);
  EXPECT_EQ(preview.followers, 2U);
  ASSERT_EQ(preview.longest.size(), 1U);
  EXPECT_EQ(preview.longest[0], (std::pair<std::string, std::uint64_t>{"a", 2}));
  EXPECT_EQ(preview.strip, (std::map<std::string, std::uint64_t>{{"x-death", 1}, {"x-other", 0}}));
  EXPECT_EQ(preview.set_headers, std::vector<std::string>{"via"});
}

}  // namespace
}  // namespace dlo
