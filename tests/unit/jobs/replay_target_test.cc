#include "dlo/jobs/replay_target.h"

#include <stdexcept>

#include "support/eventually.h"
#include "unit/jobs/replaying.h"

#include "dlo/jobs/job_runner.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

/// Executors that are functions: `good`, `bad` and whatever a test adds.
class ReplayTargetTest : public ReplayTest {
 protected:
  void SetUp() override {
    ReplayTest::SetUp();
    table_ = std::make_shared<HandlerTable>();
    add("good", [](const Message&) { return Outcome{}; });
    add("bad", [](const Message&) -> Outcome {
      throw std::runtime_error("no such account, password=hunter2");
    });
  }
  template <typename F>
  void add(const std::string& name, F does, std::optional<BreakerPolicy> breaker = {}) {
    HandlerOptions options;
    options.breaker = breaker;
    table_->set(name,
                std::make_shared<FunctionHandler>(
                    [this, does](const Message& message, const RunContext& context) {
                      ran_.push_back(message.id);
                      sources_.push_back(message.source);
                      context_ = context;
                      return does(message);
                    }),
                options);
  }
  Job plan_to(const std::string& target, ReplaySpec spec = {}) {
    spec.target = target;
    return plan_replay(spec);
  }
  Stepped go_on(const Job& job, TimePoint now = noon) {
    Stepped stepped = must(go(job, 100, now));
    for (int i = 0; i < 50 && !stepped.over && !stepped.not_before; ++i) {
      stepped = must(go(job, 100, now));
    }
    return stepped;
  }

  std::vector<std::string> ran_;
  std::vector<std::string> sources_;
  RunContext context_;
};

TEST_F(ReplayTargetTest, WhatAnExecutorDoesWellIsResolvedAndVerifiedAtOnce) {
  die(0, 3);
  const Job job = plan_to("exec:good");
  const Stepped over = go_on(job);
  EXPECT_TRUE(over.over);
  EXPECT_EQ(ran_.size(), 3U);
  EXPECT_EQ(sources_.front(), "payments");  // it is still a message of its source
  EXPECT_EQ(over.progress.counts.verified, 3U);
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"verified", 3}}));
  const auto detail = must(office_.get(id_of(1)));
  EXPECT_EQ(detail.record.status, Status::resolved);
  EXPECT_EQ(*detail.record.resolution, (Resolution{noon, "", "replayed", "fixed in 1.4"}));
  EXPECT_EQ(detail.record.counters.replay, 1U);
  EXPECT_EQ(context_.timeout, 500ms);
  EXPECT_EQ(context_.counters.attempt, 1U);  // it starts anew
  EXPECT_EQ(sent_, 0U);                      // no queue has seen it
}

TEST_F(ReplayTargetTest, WhatFailsThereStaysDeadWithTheErrorRecorded) {
  die(0, 2);
  const Job job = plan_to("exec:bad");
  const Stepped over = go_on(job);
  EXPECT_TRUE(over.over);
  EXPECT_EQ(over.progress.counts.returned, 2U);
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"returned", 2}}));
  const auto detail = must(office_.get(id_of(0)));
  EXPECT_EQ(detail.record.status, Status::pending);
  EXPECT_FALSE(detail.record.resolution);
  ASSERT_FALSE(detail.attempts.empty());
  EXPECT_NE(detail.attempts.back().error_text.find("no such account"), std::string::npos);
  EXPECT_EQ(detail.attempts.back().error_text.find("hunter2"), std::string::npos);
  EXPECT_NE(detail.record.failure.text.find("no such account"), std::string::npos);
  EXPECT_EQ(detail.attempts.back().node, "bad");
}

TEST_F(ReplayTargetTest, TheAttemptTellsHowLongItTook) {
  ManualClock clock(noon);
  add("timed", [&](const Message& message) {
    clock.advance(message.id == "0" ? 7ms : 2s);
    return Outcome{};
  });
  die(0, 2);
  const Job job = plan_to("exec:timed");
  must(book_.change(job.id, JobVerb::start, "ana", noon));
  const JobRunner runner(office_, book_, clock, with_executors());
  ASSERT_TRUE(testing::eventually([&] { return must(book_.get(job.id)).state == JobState::done; }));
  std::vector<Millis> took;
  for (std::size_t i = 0; i < 2; ++i) {
    took.push_back(must(office_.get(id_of(i))).attempts.at(0).took);
  }
  EXPECT_EQ(took, (std::vector<Millis>{7ms, 2s}));
}

TEST_F(ReplayTargetTest, ACanaryThatFailsThereStopsTheRest) {
  die(0, 8);
  ReplaySpec spec;
  spec.canary = 2;
  const Stepped over = go_on(plan_to("exec:bad", spec));
  EXPECT_TRUE(over.over);
  EXPECT_NE(over.stopped, "");
  EXPECT_LE(ran_.size(), 2U);
  EXPECT_EQ(status_of(7), Status::pending);
}

TEST_F(ReplayTargetTest, AnExecutorThatNobodyNamedIsRefusedWithThoseThereAre) {
  die(0, 1);
  const auto refused = go(plan_to("exec:goood"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("did you mean \"good\""), std::string::npos)
      << refused.error().detail;
  EXPECT_EQ(status_of(0), Status::pending);
  EXPECT_EQ(must(office_.get(id_of(0))).record.counters.replay, 0U);
  EXPECT_FALSE(find_executor(nullptr, "exec:good", 1s));  // there are none at all
}

TEST_F(ReplayTargetTest, AnOpenCircuitCostsNothingAndIsWaitedFor) {  // R21
  BreakerPolicy brittle;
  brittle.consecutive = 1;
  add("down", [](const Message&) -> Outcome { throw std::runtime_error("refused"); }, brittle);
  die(0, 3);
  const Job job = plan_to("exec:down");
  const Stepped waits = go_on(job);
  EXPECT_FALSE(waits.over);
  ASSERT_TRUE(waits.not_before);
  EXPECT_GT(*waits.not_before, noon);
  EXPECT_EQ(ran_.size(), 1U);
  EXPECT_EQ(waits.progress.counts.returned, 1U);
}

TEST_F(ReplayTargetTest, WhoeverIsStoppedRunsTheSameAgainAndCountsItOnce) {  // I8
  bool stopping = true;
  add("slow", [&](const Message&) {
    if (stopping) stop_.request_stop();
    Outcome outcome;
    if (stopping) outcome.kind = OutcomeKind::failed;
    return outcome;
  });
  die(0, 1);
  const Job job = plan_to("exec:slow");
  must(go(job));
  EXPECT_EQ(status_of(0), Status::replaying);
  stopping = false;
  stop_ = std::stop_source();
  const Stepped over = go_on(job, noon + 1s);
  EXPECT_TRUE(over.over);
  EXPECT_EQ(ran_.size(), 2U);
  EXPECT_EQ(over.progress.counts.verified, 1U);
  EXPECT_EQ(must(office_.get(id_of(0))).record.counters.replay, 1U);
}

}  // namespace
}  // namespace dlo
