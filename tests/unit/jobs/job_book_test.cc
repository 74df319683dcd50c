#include "dlo/jobs/job_book.h"

#include <algorithm>

#include "support/eventually.h"
#include "unit/jobs/fixture.h"

#include "dlo/jobs/job_runner.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using BookTest = JobsTest;
using RunnerTest = JobsTest;

TEST(JobStates, AreLeftByTheVerbsOfThisTable) {
  using S = JobState;
  using V = JobVerb;
  struct Row {
    S from;
    V verb;
    std::optional<S> to;
  };
  const Row rows[] = {
      {S::planned, V::start, S::running},
      {S::planned, V::pause, {}},
      {S::planned, V::resume, {}},
      {S::planned, V::cancel, S::cancelled},
      {S::running, V::start, {}},
      {S::running, V::pause, S::paused},
      {S::running, V::resume, {}},
      {S::running, V::cancel, S::cancelled},
      {S::paused, V::start, {}},
      {S::paused, V::pause, {}},
      {S::paused, V::resume, S::running},
      {S::paused, V::cancel, S::cancelled},
      {S::done, V::start, {}},
      {S::done, V::cancel, {}},
      {S::cancelled, V::resume, {}},
      {S::cancelled, V::cancel, {}},
      {S::failed, V::resume, {}},
      {S::failed, V::cancel, {}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(after_verb(row.from, row.verb), row.to) << name_of(row.from) << name_of(row.verb);
  }
}

TEST_F(BookTest, HoweverManyReplaysEndedEachOfThemIsWoundUp) {
  constexpr std::size_t many = 501;
  std::vector<Change> changes;
  for (std::size_t i = 0; i < many; ++i) {
    changes.emplace_back(
        PutDocument{"job_wind_up", job_id(noon, static_cast<std::uint32_t>(i)), "{}", {}});
  }
  must(office_.apply(changes));
  EXPECT_EQ(must(book_.to_wind_up()).size(), many);
}

TEST_F(BookTest, AJobComesBackAsItWasWritten) {
  JobSpec spec;
  spec.act = Act::discard;
  spec.query = "source:payments age:>2d";
  spec.order = Order::newest_first;
  spec.limit = 10;
  spec.rate = 5;
  spec.by = "bo";
  spec.notes = "line\nbreak";
  const Job job = plan(spec);
  EXPECT_EQ(must(book_.get("j1")), job);
  EXPECT_EQ(must(book_.list({})).jobs, std::vector<Job>{job});
  EXPECT_EQ(job.spec.query.find("age"), std::string::npos) << job.spec.query;  // absolute by now
}

TEST_F(BookTest, RefusesAQueryItCannotReadAndNumbersThatMeanNothing) {
  JobSpec spec;
  spec.query = "sorce:payments";
  EXPECT_EQ(book_.plan(spec, "j", "ana", noon).error().code, Code::invalid_argument);
  spec.query = "source:payments";
  spec.rate = 0;
  EXPECT_FALSE(book_.plan(spec, "j", "ana", noon));
  spec.rate = {};
  spec.limit = 0;
  EXPECT_FALSE(book_.plan(spec, "j", "ana", noon));
  EXPECT_TRUE(must(book_.list({})).jobs.empty());
}

TEST_F(BookTest, APreviewCountsShowsFiveAndSaysHowLongItTakes) {
  die(0, 12);
  JobSpec spec;
  spec.query = "source:payments";
  spec.rate = 4;
  const auto preview = must(book_.preview(plan(spec)));
  EXPECT_EQ(preview.count, 12U);
  EXPECT_FALSE(preview.at_least);
  ASSERT_EQ(preview.sample.size(), 5U);
  EXPECT_EQ(preview.sample.front().id, id_of(0));
  EXPECT_EQ(preview.takes, Millis{3'000});
  EXPECT_EQ(status_of(0), Status::pending);
}

TEST_F(BookTest, JobsAreListedByPagesNewestFirst) {
  JobSpec spec;
  spec.query = "source:payments";
  for (int i = 100; i < 350; ++i) {
    spec.act = i % 2 == 0 ? Act::archive : Act::resolve;
    must(book_.plan(spec, "j" + std::to_string(i), "ana", noon));
  }
  must(book_.change("j101", JobVerb::start, "ana", noon));
  std::vector<std::string> ids;
  JobFilter filter;
  filter.limit = 40;
  do {
    const JobPage page = must(book_.list(filter));
    EXPECT_LE(page.jobs.size(), 40U);
    for (const Job& job : page.jobs) ids.push_back(job.id);
    filter.before = page.next;
  } while (!filter.before.empty());
  ASSERT_EQ(ids.size(), 250U);
  EXPECT_EQ(ids.front(), "j349");
  EXPECT_TRUE(std::is_sorted(ids.rbegin(), ids.rend()));

  filter.acts = {"archive"};
  filter.limit = 500;
  EXPECT_EQ(must(book_.list(filter)).jobs.size(), 125U);
  filter.acts = {};
  filter.states = {JobState::running, JobState::paused};
  const JobPage running = must(book_.list(filter));
  ASSERT_EQ(running.jobs.size(), 1U);
  EXPECT_EQ(running.jobs.front().id, "j101");
  EXPECT_EQ(running.next, "");
}

TEST_F(BookTest, TwoWhoChangeAJobAtOnceAreToldApart) {
  const Job job = plan_all();
  must(book_.change("j1", JobVerb::start, "ana", noon));
  const auto twice = book_.change("j1", JobVerb::start, "bo", noon);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Code::conflict);
  EXPECT_NE(twice.error().detail.find("is running"), std::string::npos);
  EXPECT_EQ(book_.change("nope", JobVerb::start, "bo", noon).error().code, Code::not_found);
}

TEST_F(RunnerTest, FinishesWhatWasRunningWhenTheLastOneEnded) {
  die(0, 1'000);
  plan_all();
  must(book_.change("j1", JobVerb::start, "ana", noon));
  const ManualClock clock(noon + 1h);
  const JobRunner runner(office_, book_, clock, {});
  EXPECT_TRUE(testing::eventually([&] { return must(book_.get("j1")).state == JobState::done; }));
  EXPECT_EQ(counts(must(book_.get("j1"))), (JobCounts{1'000, 0, 0}));
  EXPECT_EQ(must(book_.get("j1")).ended_at, noon + 1h);
}

TEST_F(RunnerTest, KeepsToTheRateAndStopsWhenPausedOrCancelled) {
  die(0, 100);
  JobSpec spec;
  spec.query = "source:payments";
  spec.rate = 20;
  plan(spec);
  ManualClock clock(noon);
  JobRunner runner(office_, book_, clock, {});
  runner.stop();                           // from here on its turns are ours
  EXPECT_EQ(runner.turn(), std::nullopt);  // nothing is started
  must(book_.change("j1", JobVerb::start, "ana", noon));
  for (int i = 0; i < 4; ++i) {
    const auto next = runner.turn();
    ASSERT_TRUE(next);
    EXPECT_EQ(*next, clock.now() + 250ms);
    EXPECT_EQ(runner.turn(), next);  // too early: nothing is done
    clock.advance_to(*next);
  }
  EXPECT_EQ(counts(must(book_.get("j1"))).ok, 20U);
  must(book_.change("j1", JobVerb::pause, "ana", clock.now()));
  EXPECT_EQ(runner.turn(), std::nullopt);
  must(book_.change("j1", JobVerb::resume, "ana", clock.now()));
  EXPECT_TRUE(runner.turn());
  EXPECT_EQ(counts(must(book_.get("j1"))).ok, 25U);
  must(book_.change("j1", JobVerb::cancel, "ana", clock.now()));
  EXPECT_EQ(runner.turn(), std::nullopt);
  EXPECT_EQ(status_of(24), Status::resolved);
  EXPECT_EQ(status_of(25), Status::pending);
}

TEST_F(RunnerTest, JobsTakeTurns) {
  die(0, 500);
  die(1'000, 10, "orders");
  plan_all();
  JobSpec spec;
  spec.query = "source:orders";
  must(book_.plan(spec, "j2", "ana", noon));
  ManualClock clock(noon);
  JobRunner runner(office_, book_, clock, {});
  runner.stop();
  must(book_.change("j1", JobVerb::start, "ana", noon));
  must(book_.change("j2", JobVerb::start, "ana", noon));
  runner.turn();
  EXPECT_EQ(must(book_.get("j2")).state, JobState::done);  // the large one was there first
  EXPECT_EQ(must(book_.get("j1")).state, JobState::running);
}

}  // namespace
}  // namespace dlo
