#include "unit/jobs/replaying.h"

#include "dlo/core/identity.h"
#include "dlo/jobs/job_runner.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

TEST_F(ReplayTest, SendsEachBackToItsSourceAndPresumesThoseCuredThatDoNotReturn) {
  die(0, 3);
  const Job job = plan_replay();
  must(go(job));
  ASSERT_EQ(arrived_.size(), 3U);
  EXPECT_EQ(arrived_[0].dedupe_id, "payments");  // the target, here
  EXPECT_EQ(lineage_of(arrived_[0].message->headers), (Lineage{id_of(0), 1}));
  EXPECT_EQ(arrived_[0].counters.replay, 1U);
  EXPECT_EQ(arrived_[0].counters.attempt, 0U);
  EXPECT_EQ(status_of(0), Status::replayed);
  const auto waiting = must(go(job));
  EXPECT_FALSE(waiting.over);
  EXPECT_EQ(waiting.not_before, noon + 1s);  // looks again
  const auto over = must(go(job, 100, noon + 60s));
  EXPECT_TRUE(over.over);
  EXPECT_EQ(over.progress.counts.presumed, 3U);
  const auto record = must(office_.get(id_of(1))).record;
  EXPECT_EQ(*record.resolution, (Resolution{noon + 60s, "", "republished", "fixed in 1.4"}));
}

TEST_F(ReplayTest, WhatDiesAgainIsReturnedAndOpenAndTheOthersAreNot) {
  die(0, 3);
  const Job job = plan_replay();
  must(go(job));
  come_back(1, 2);
  const auto over = must(go(job, 100, noon + 60s));
  EXPECT_EQ(over.progress.counts.returned, 1U);
  EXPECT_EQ(over.progress.counts.presumed, 2U);
  EXPECT_EQ(status_of(1), Status::pending);
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"presumed", 2}, {"returned", 1}}));
}

TEST_F(ReplayTest, TheNewestVersionGoesWithoutTheHeadersThatAreToStay) {
  die(0, 1);
  const auto before = must(office_.get(id_of(0))).record;
  const Change edit =
      AddVersion{id_of(0),
                 before.version,
                 {{"tenant", "acme", HeaderType::text}, {"X-Debug", "1", HeaderType::text}},
                 "mended",
                 noon,
                 "ana",
                 "wrong amount"};
  must(office_.apply({&edit, 1}));
  ReplaySpec spec;
  spec.target = "orders";
  spec.strip = {"x-debug"};
  must(go(plan_replay(spec)));
  ASSERT_EQ(arrived_.size(), 1U);
  EXPECT_EQ(arrived_[0].dedupe_id, "orders");
  EXPECT_EQ(arrived_[0].message->source, "orders");
  EXPECT_EQ(arrived_[0].message->payload, "mended");
  EXPECT_NE(find_header(arrived_[0].message->headers, "tenant"), nullptr);
  EXPECT_EQ(find_header(arrived_[0].message->headers, "X-Debug"), nullptr);
}

TEST_F(ReplayTest, HeadersThatAreSetTakeThePlaceOfThoseThereWere) {
  die(0, 1);
  AddVersion version;
  version.id = id_of(0);
  version.expected_version = must(office_.get(id_of(0))).record.version;
  version.headers = {{"Tenant", "a"}, {"x", "y"}};
  const Change change = version;
  must(office_.apply({&change, 1}));
  ReplaySpec spec;
  spec.set_headers = {{"tenant", "b"}};
  const Job job = plan_replay(spec);
  EXPECT_EQ(must(book_.get(job.id)).spec.replay->set_headers, spec.set_headers);
  must(go(job));
  ASSERT_EQ(arrived_.size(), 1U);
  const Headers& sent = arrived_[0].message->headers;
  ASSERT_GE(sent.size(), 2U);
  EXPECT_EQ(sent[0], (Header{"x", "y"}));
  EXPECT_EQ(sent[1], (Header{"tenant", "b"}));
}

TEST_F(ReplayTest, ARecipeMakesAVersionAndThatIsSent) {
  die(0, 2);
  JobSpec spec;
  spec.replay = ReplaySpec{};
  spec.query = "source:payments";
  spec.recipe = R"([{"set_header":"tenant","value":"b"}])";
  const Job job = plan(spec);
  fails_after_sending_ = true;
  EXPECT_FALSE(go(job)) << "cut off after sending";
  fails_after_sending_ = false;
  must(go(job));
  ASSERT_EQ(arrived_.size(), 2U) << "the same ids, dropped by the target";
  EXPECT_EQ(find_header(arrived_[0].message->headers, "tenant")->value, "b");
  const auto detail = must(office_.get(id_of(0)));
  ASSERT_EQ(detail.versions.size(), 2U) << "one version, however often it was sent";
  EXPECT_EQ(detail.versions.back().by, "ana");
  EXPECT_EQ(status_of(0), Status::replayed);
}

TEST_F(ReplayTest, WhatARecipeCannotRepairIsNotSent) {
  die(0, 1);
  JobSpec spec;
  spec.replay = ReplaySpec{};
  spec.query = "source:payments";
  spec.recipe = R"([{"set":"a","value":1}])";  // there is no payload
  const Job job = plan(spec);
  must(go(job));
  EXPECT_TRUE(arrived_.empty());
  EXPECT_EQ(status_of(0), Status::pending);
  EXPECT_EQ(counts(job).refused, 1U);
}

TEST_F(ReplayTest, WhoIsCutOffWhileSendingSendsTheSameAgainUnderTheSameIdsAndNothingElse) {
  die(0, 5);
  const Job job = plan_replay();
  fails_after_sending_ = true;
  EXPECT_EQ(go(job, 2).error().code, Code::unavailable);
  EXPECT_EQ(must(book_.progress(job.id)).sending.size(), 2U);
  EXPECT_EQ(status_of(0), Status::replaying);
  fails_after_sending_ = false;
  for (int i = 0; i < 4; ++i) must(go(job, 2));
  EXPECT_EQ(sent_, 7U);
  EXPECT_EQ(arrived_.size(), 5U);
  EXPECT_EQ(counts(job).ok, 5U);
}

TEST_F(ReplayTest, WhatComesBackBeforeItIsWrittenDownAsSentIsReturned) {
  die(0, 2);
  const Job job = plan_replay();
  fails_after_sending_ = true;
  EXPECT_FALSE(go(job));
  come_back(0, 2);  // quick consumers are the rule
  fails_after_sending_ = false;
  must(go(job));
  EXPECT_EQ(counts(job).ok, 2U);
  EXPECT_EQ(counts(job).returned, 1U);
  EXPECT_EQ(status_of(0), Status::pending);
  EXPECT_EQ(status_of(1), Status::replayed);
}

TEST_F(ReplayTest, ACanaryGoesFirstAndTheRestFollowsOnlyIfItStaysCured) {
  die(0, 40);
  ReplaySpec spec;
  spec.canary = 3;
  spec.watch = 10s;
  const Job job = plan_replay(spec);
  must(go(job));
  EXPECT_EQ(arrived_.size(), 3U);
  EXPECT_EQ(must(go(job)).not_before, noon + 1s);  // looks, and waits
  must(go(job, 100, noon + 10s));                  // time is up: cured
  must(go(job, 100, noon + 10s));
  EXPECT_EQ(arrived_.size(), 12U);
  must(go(job, 100, noon + 20s));
  must(go(job, 100, noon + 20s));
  EXPECT_EQ(arrived_.size(), 40U);
  EXPECT_TRUE(must(go(job, 100, noon + 30s)).over);
  EXPECT_EQ(counts(job).presumed, 40U);
}

TEST_F(ReplayTest, ACanaryThatComesBackStopsTheJobAndNothingMoreIsSent) {
  die(0, 40);
  ReplaySpec spec;
  spec.canary = 3;
  const Job job = plan_replay(spec);
  must(go(job));
  come_back(1, 2);
  must(go(job, 100, noon + 1s));  // looks
  const auto stopped = must(go(job, 100, noon + 1s));
  EXPECT_TRUE(stopped.over);
  EXPECT_NE(stopped.stopped.find("1 of 3 came back"), std::string::npos) << stopped.stopped;
  EXPECT_EQ(arrived_.size(), 3U);
  EXPECT_EQ(status_of(20), Status::pending);
}

TEST_F(ReplayTest, AMessageThatWasSentTooOftenIsQuarantinedAndStaysSo) {
  die(0, 2);
  ReplaySpec once;
  once.most_replays = 1;
  must(go(plan_replay(once)));
  come_back(0, 2);
  JobSpec spec;
  spec.replay = once;
  spec.query = "status:pending";
  const Job again = must(book_.plan(spec, "j2", "ana", noon));
  must(go(again));
  EXPECT_EQ(counts(again).looped, 1U);
  EXPECT_EQ(status_of(0), Status::quarantined);
  spec.query = "status:quarantined";
  const Job third = must(book_.plan(spec, "j3", "ana", noon));
  must(go(third));
  EXPECT_EQ(counts(third).refused, 1U);
  spec.replay->quarantined_too = true;
  spec.replay->most_replays = 5;
  const Job fourth = must(book_.plan(spec, "j4", "ana", noon));
  must(go(fourth));
  EXPECT_EQ(counts(fourth).ok, 1U);
  EXPECT_EQ(arrived_.size(), 3U);
}

TEST_F(ReplayTest, AJobWhoseOnlyTargetIsNotThereTouchesNothing) {
  die(0, 3);
  ReplaySpec spec;
  spec.target = "gone";
  const Job job = plan_replay(spec);
  const auto refused = go(job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::not_found);
  EXPECT_EQ(status_of(0), Status::pending);
  EXPECT_EQ(must(office_.get(id_of(0))).record.version, 1U);
  EXPECT_EQ(counts(job), JobCounts{});
}

TEST_F(ReplayTest, WithoutAWatchWhatIsSentIsResolvedOnceTheTargetHasIt) {
  die(0, 2);
  ReplaySpec spec;
  spec.watch = Millis{0};
  const Job job = plan_replay(spec);
  must(go(job));
  EXPECT_TRUE(must(go(job)).over);
  EXPECT_EQ(status_of(0), Status::resolved);
  EXPECT_EQ(counts(job).presumed, 2U);
}

TEST_F(ReplayTest, ARunnerStopsAJobWithTheReasonAndFailsOneThatCannotGoOn) {
  die(0, 10);
  ReplaySpec spec;
  spec.target = "gone";
  plan_replay(spec);
  must(book_.change("j1", JobVerb::start, "ana", noon));
  ManualClock clock(noon);
  JobRunner runner(office_, book_, clock, targets());
  runner.stop();
  runner.turn();
  const Job failed = must(book_.get("j1"));
  EXPECT_EQ(failed.state, JobState::failed);
  EXPECT_NE(failed.problem.find("no queue gone"), std::string::npos) << failed.problem;
}

TEST_F(ReplayTest, AJobAndItsProgressComeBackAsTheyWereWritten) {
  ReplaySpec spec{"orders", {{"a*", "T", "b"}}, 7, 80, Millis{5s}, 4, true, true, {"a", "b"}};
  spec.concurrency = 9;
  const Job job = plan_replay(spec);
  EXPECT_EQ(must(book_.get(job.id)), job);
  JobProgress progress;
  progress.counts = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  progress.unreachable = {{"gone", "not there", 3}};
  progress.listed = true;
  progress.sending = {{id_of(1), 2, {9, 9}, Status::exhausted}, {id_of(2), 1}};
  progress.awaiting = {{id_of(3), 1, {8, 8}}};
  progress.last_sent = noon;
  progress.returned_to = {{{1, 2}, 3, true}, {{4, 5}, 6, false}};
  progress.held = {"a", "b"};
  progress.after = {Cursor{noon, 7, Walk::by_death}, "item"};
  progress.seen_change = 12;
  progress.settled_up_to = "an item";
  EXPECT_EQ(must(parse_job_progress(to_json(progress))), progress);
}

TEST_F(ReplayTest, WhatWasTakenIsReadAsItWasWrittenNowAndByOlderVersions) {
  JobProgress progress;
  for (std::size_t i = 0; i < 1'000; ++i) progress.sending.push_back({id_of(i), 1, {9, 9}});
  progress.sending[7].occurrence = 12;
  progress.sending[8].was = Status::quarantined;
  const std::string text = to_json(progress);
  EXPECT_LT(text.size(), 40'000U) << "whoever asks how far a job is reads all of it";
  EXPECT_EQ(must(parse_job_progress(text)), progress);
  const std::string id = to_string(id_of(1));
  const auto older =
      must(parse_job_progress(R"({"sending":[{"id":")" + id + R"(","occurrence":3,"group":")" + id +
                              R"(","was":"exhausted"}]})"));
  EXPECT_EQ(older.sending, (std::vector<Taken>{{id_of(1), 3, {7, 1}, Status::exhausted}}));
  for (const std::string& bad : {id, id + " 1", id + " x " + id + " pending", id + " 1 " + id,
                                 id + " 1 " + id + " gone", std::string("7")}) {
    EXPECT_FALSE(parse_job_progress(R"({"taken":")" + bad + "\"}")) << bad;
  }
}

}  // namespace
}  // namespace dlo
