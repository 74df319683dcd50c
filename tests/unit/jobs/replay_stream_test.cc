// A replay that nothing slows down: while one slice is sent, the next is taken.
#include <atomic>
#include <chrono>
#include <thread>

#include "support/eventually.h"
#include "unit/jobs/replaying.h"

#include "dlo/jobs/job_runner.h"
#include "dlo/store/passing_office.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t slice = 1'000;

/// Cut off after so many writes, as by a kill: nothing later is written.
class CutOff final : public PassingOffice {
 public:
  CutOff(Office& inner, int writes) : PassingOffice(inner), left_(writes) {}
  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (left_-- > 0) return PassingOffice::apply(changes);
    return Error{Code::unavailable, "test", "cut off"};
  }

 private:
  std::atomic<int> left_;
};

class StreamTest : public ReplayTest {
 protected:
  ReplayTargets ticking() {
    ReplayTargets all = targets();
    all.ticks = [this] { return std::chrono::nanoseconds(ticks_.load()); };
    all.send = [this, send = all.send](const std::string& target, std::span<const Publication> sent,
                                       TimePoint now) {
      ++sends_;
      if (while_sending_) while_sending_(sends_);
      return send(target, sent, now);
    };
    return all;
  }
  Result<Stepped> stream(const Job& job, Millis go_on_for = 250ms) {
    return stream(office_, job, go_on_for);
  }
  Result<Stepped> stream(Office& office, const Job& job, Millis go_on_for = 250ms) {
    return replay_step(office, ticking(), job, must(book_.progress(job.id)), 100, noon,
                       stop_.get_token(), go_on_for);
  }
  std::size_t taken(const Job& job) { return must(book_.progress(job.id)).sending.size(); }

  std::atomic<std::int64_t> ticks_{0};
  std::atomic<int> sends_{0};
  std::size_t next_ = 0;
  std::function<void(int)> while_sending_;
};

TEST_F(StreamTest, AJobThatNothingSlowsDownGoesOnWithSliceAfterSlice) {
  die(0, 2'500);
  const Job job = plan_replay();
  const auto stepped = must(stream(job));
  EXPECT_EQ(stepped.progress, must(book_.progress(job.id)));
  EXPECT_EQ(sends_, 3);
  EXPECT_EQ(arrived_.size(), 2'500U);
  EXPECT_EQ(sent_, 2'500U) << "each once";
  EXPECT_EQ(counts(job).ok, 2'500U);
  EXPECT_EQ(taken(job), 0U) << "nothing is in flight between two turns";
  EXPECT_TRUE(stepped.progress.listed);
  for (const std::size_t i : {0U, 999U, 1'000U, 2'499U}) {
    EXPECT_EQ(status_of(i), Status::replayed);
    EXPECT_EQ(must(office_.get(id_of(i))).record.counters.replay, 1U);
  }
}

TEST_F(StreamTest, WhileOneSliceIsSentTheNextIsTakenAndNotMore) {
  die(0, 3'500);
  const Job job = plan_replay();
  std::atomic<bool> seen = false;
  std::atomic<std::size_t> most = 0;
  while_sending_ = [&](int nth) {
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (nth == 1 && !seen && std::chrono::steady_clock::now() < until) {
      seen = status_of(slice) == Status::replaying;
      std::this_thread::yield();
    }
    EXPECT_EQ(status_of(static_cast<std::size_t>(nth - 1) * slice), Status::replaying)
        << "before it is sent";
    most = std::max(most.load(), taken(job));
  };
  must(stream(job));
  EXPECT_TRUE(seen);
  EXPECT_LE(most, 2 * slice);
  EXPECT_EQ(arrived_.size(), 3'500U);
}

TEST_F(StreamTest, WhoIsKilledAnywhereSendsAgainWhatWasInFlightUnderTheSameIdsAndSkipsNothing) {
  die(0, 3'500);
  const Job job = plan_replay();
  for (int writes = 0; writes < 6; ++writes) {
    CutOff office(office_, writes);
    const std::size_t before = taken(job);
    sent_ = 0;
    const std::size_t arrived = arrived_.size();
    (void)stream(office, job);
    EXPECT_LE(taken(job), 2 * slice);
    EXPECT_LE(sent_ - (arrived_.size() - arrived), std::max(before, 2 * slice));
  }
  for (int i = 0; i < 10 && !must(book_.progress(job.id)).listed; ++i) must(stream(job));
  while (taken(job) > 0) must(stream(job));
  EXPECT_EQ(arrived_.size(), 3'500U) << "repeats were dropped by their ids";
  EXPECT_EQ(counts(job).ok, 3'500U);
}

TEST_F(StreamTest, ABrokerThatGoesAwayLeavesWhatWasTakenToBeSentLater) {
  die(0, 3'500);
  const Job job = plan_replay();
  while_sending_ = [&](int nth) {
    if (nth == 2) full_ = "payments";
  };
  EXPECT_EQ(stream(job).error().code, Code::full);
  EXPECT_EQ(arrived_.size(), slice);
  EXPECT_EQ(counts(job).ok, slice);
  EXPECT_EQ(taken(job), 2 * slice) << "what was refused for now, and what was taken meanwhile";
  EXPECT_EQ(sends_, 2) << "nobody tries the next slice there";
  full_.clear();
  while (counts(job).ok < 3'500U) must(stream(job));
  EXPECT_EQ(arrived_.size(), 3'500U);
}

TEST_F(StreamTest, WhatOthersDealWithBeforeItIsWrittenDownIsSentOnce) {
  die(0, 2'500);
  const Job job = plan_replay();
  while_sending_ = [&](int nth) {
    resolve(static_cast<std::size_t>(nth - 1) * slice + 3, std::string(how_replayed));
  };
  must(stream(job));
  EXPECT_EQ(sent_, 2'500U);
  EXPECT_EQ(counts(job).ok, 2'500U);
  EXPECT_EQ(counts(job).verified, 3U);
  EXPECT_EQ(taken(job), 0U);
}

TEST_F(StreamTest, WhoChangesOneBeforeItIsTakenKeepsItAndTheRestGoes) {
  die(0, 2'500);
  const Job job = plan_replay();
  while_sending_ = [&](int nth) {
    if (nth == 1) move(2'400, Status::archived);
  };
  for (int i = 0; i < 10; ++i) must(stream(job));
  EXPECT_EQ(arrived_.size(), 2'499U);
  EXPECT_EQ(status_of(2'400), Status::archived);
  EXPECT_EQ(counts(job).total(), 2'500U);
}

TEST_F(StreamTest, ALimitHolds) {
  die(0, 2'500);
  JobSpec spec = plan_replay_spec();
  spec.limit = 1'500;
  const Job job = plan(spec);
  must(stream(job));
  must(stream(job));
  EXPECT_EQ(arrived_.size(), 1'500U);
  EXPECT_TRUE(must(book_.progress(job.id)).listed);
}

TEST_F(StreamTest, ItStopsForOthersWhenItsTimeIsUp) {
  die(0, 5'000);
  const Job job = plan_replay();
  while_sending_ = [&](int) { ticks_ += std::chrono::nanoseconds(200ms).count(); };
  const auto stepped = must(stream(job));
  EXPECT_LE(sends_, 4);
  EXPECT_FALSE(stepped.progress.listed);
  EXPECT_EQ(taken(job), 0U);
  EXPECT_EQ(counts(job).ok, arrived_.size());
}

TEST_F(StreamTest, WhoIsAskedToStopFinishesWhatIsInFlight) {
  die(0, 5'000);
  const Job job = plan_replay();
  while_sending_ = [&](int) { stop_.request_stop(); };
  must(stream(job));
  EXPECT_LE(arrived_.size(), 2 * slice);
  EXPECT_EQ(taken(job), 0U);
  EXPECT_EQ(counts(job).ok, arrived_.size());
}

TEST_F(StreamTest, WhateverSlowsAJobDownHoldsSliceBySlice) {
  const auto first_step = [&](const std::string& name, const std::function<void(JobSpec&)>& set) {
    die(next_, 500, name);
    next_ += 500;
    JobSpec spec = plan_replay_spec();
    spec.query = "source:" + name;
    set(spec);
    const Job job = must(book_.plan(spec, name, "ana", noon));
    must(stream(job));
    return counts(job).ok;
  };
  EXPECT_EQ(first_step("free", [](JobSpec&) {}), 500U);
  EXPECT_EQ(first_step("rate", [](JobSpec& spec) { spec.rate = 1'000; }), 100U);
  EXPECT_EQ(first_step("canary", [](JobSpec& spec) { spec.replay->canary = 10; }), 10U);
  EXPECT_EQ(first_step("few", [](JobSpec& spec) { spec.replay->concurrency = 7; }), 7U);
  EXPECT_EQ(first_step("key", [](JobSpec& spec) { spec.by_key = true; }), 100U);
}

TEST_F(StreamTest, ATargetThatIsGoneEndsTheJobAndNotWhatWasSent) {
  die(0, 2'500);
  ReplaySpec spec;
  spec.target = "here";
  const Job job = plan_replay(spec);
  std::atomic<bool> gone = false;
  ReplayTargets all = ticking();
  all.check = [&](const std::string&) -> Result<void> {
    if (gone) return Error{Code::not_found, "test", "no queue here"};
    return {};
  };
  while_sending_ = [&](int nth) {
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (nth == 1 && status_of(slice) != Status::replaying &&
           std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    if (nth == 2) gone = true;
  };
  const auto stepped = replay_step(office_, all, job, must(book_.progress(job.id)), 100, noon,
                                   stop_.get_token(), 250ms);
  if (!stepped) {
    EXPECT_EQ(stepped.error().code, Code::not_found);
  }
  EXPECT_EQ(counts(job).ok, arrived_.size()) << "that it was sent is written down all the same";
}

TEST_F(StreamTest, WhoIsAloneGoesOnAndHearsAtTheNextSliceThatSomebodyPausesIt) {
  die(0, 6'500);
  plan_replay();
  const ManualClock clock(noon);  // an hour never ends
  JobRunner::Options options;
  options.go_on_alone = 1h;
  JobRunner runner(office_, book_, clock, ticking(), options);
  while_sending_ = [&](int nth) {
    if (nth != 3) return;
    must(book_.change("j1", JobVerb::pause, "ana", noon));
    runner.wake();
  };
  must(book_.change("j1", JobVerb::start, "ana", noon));
  runner.wake();
  EXPECT_TRUE(testing::eventually([&] { return must(book_.get("j1")).state == JobState::paused; }));
  EXPECT_TRUE(testing::eventually([&] { return taken(must(book_.get("j1"))) == 0; }));
  runner.stop();
  EXPECT_GE(sends_, 3) << "in one turn: nobody had woken it before";
  EXPECT_LE(sends_, 4) << "what was taken before it heard of it";
  EXPECT_EQ(counts(must(book_.get("j1"))).ok, arrived_.size());
}

}  // namespace
}  // namespace dlo
