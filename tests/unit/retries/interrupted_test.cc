// Runs that were cut off: each is counted, told of once, and does not follow its task for ever.

#include <algorithm>
#include <atomic>
#include <thread>

#include "retry_room.h"

namespace dlo::testing {
namespace {

class InterruptedRetries : public RetryRoom {
 protected:
  /// A process that claims what is due, marks the start, and dies; its lease is over afterwards.
  void die_running(std::size_t count = 1) {
    {
      OfficeSource other(office(), OfficeSource::Options{});
      const auto taken = must(other.receive({count, 30s, {}}, clock.now()));
      ASSERT_EQ(taken.size(), count);
      std::vector<LeaseToken> leases;
      for (const Delivery& one : taken) leases.push_back(one.lease);
      must(other.start(leases, clock.now()));
    }
    clock.advance(31s);
    restart();
  }
  std::vector<Attempt> attempts(const RecordId& id) {
    auto newest_first = must(office().get(id)).attempts;
    std::ranges::reverse(newest_first);
    return newest_first;
  }
  std::vector<std::uint32_t> numbers(const RecordId& id) {
    std::vector<std::uint32_t> out;
    for (const Attempt& attempt : attempts(id)) out.push_back(attempt.number);
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Offices, InterruptedRetries, ::testing::Values("memory", "sqlite"),
                         [](const auto& row) { return std::string(row.param); });

TEST_P(InterruptedRetries, AnOrdinaryFailureAfterAKillEndsTheSuspicion) {  // R7, S2-47
  for (const char* each : {"workflow", "workflow+safe"}) {
    SCOPED_TRACE(each);
    profile = each;
    on("llamaindex", [](const Message&, const RunContext&) { return fails("timeout"); });
    const RecordId id = report(std::string("killed ") + each, "timeout", ask("immediate", 9));
    die_running();
    OfficeSource source(office(), OfficeSource::Options{});
    const auto looked = must(source.receive({1, 1ms, {}}, clock.now()));
    EXPECT_TRUE(looked.at(0).interrupted);
    clock.advance(1s);
    processor().drain();
    EXPECT_EQ(processor().stats().suspects, 1U) << "the run after the kill, and none after it";
    EXPECT_EQ(status(id), Status::exhausted);
  }
}

TEST_P(InterruptedRetries, OthersRunBesideATaskThatWasOnceKilled) {  // S2-47
  std::atomic<int> inside{0};
  std::atomic<bool> go{false};
  std::atomic<bool> first{true};
  on("llamaindex", [&](const Message& task, const RunContext& context) {
    if (task.id == "killed" && first.exchange(false)) return fails("timeout");
    ++inside;
    while (!go && !context.stop.stop_requested()) std::this_thread::yield();
    return works();
  });
  const RecordId killed = report("killed", "timeout", ask("fixed base=1m", 9));
  clock.advance(1min);
  die_running();
  processor().drain();  // as a suspect; it fails in an ordinary way
  const RecordId other = report("other", "timeout", ask("fixed base=1m", 9));
  clock.advance(1min);
  processor().start();
  EXPECT_TRUE(eventually([&] { return inside.load() == 2; })) << "at the same time";
  go = true;
  EXPECT_TRUE(eventually(
      [&] { return status(killed) == Status::resolved && status(other) == Status::resolved; }));
}

TEST_P(InterruptedRetries, TheRunThatWasCutOffIsAmongTheAttempts) {  // S2-20, R2-4
  for (const char* each : {"workflow", "workflow+safe"}) {
    SCOPED_TRACE(each);
    profile = each;
    on("llamaindex", [](const Message&, const RunContext&) { return fails("timeout"); });
    const RecordId id = report(std::string("killed ") + each, "timeout", ask("fixed base=1m", 9));
    clock.advance(1min);
    die_running();
    processor().drain();
    EXPECT_EQ(numbers(id), (std::vector<std::uint32_t>{1, 2, 3}));
    EXPECT_EQ(attempts(id).size(), record(id).counters.attempt);
    EXPECT_EQ(attempts(id).at(1).outcome, OutcomeKind::crashed);
    EXPECT_EQ(attempts(id).at(1).error_text,
              "the process died, or its lease ran out, while attempt 2 was running");
    EXPECT_EQ(attempts(id).at(2).outcome, OutcomeKind::failed);
    pass(1h);
  }
}

TEST_P(InterruptedRetries, TheRunThatWasCutOffIsCountedWhileTheNextOneRuns) {  // S2-20, R2-4
  profile = "workflow+safe";  // where such a run counts
  RecordId id;
  Counters meanwhile;
  std::size_t told = 0;
  std::uint64_t failed = 0;
  on("llamaindex", [&](const Message&, const RunContext&) {
    meanwhile = record(id).counters;
    told = attempts(id).size();
    failed = must(office().aggregate({})).lifetime.retry_failed;
    return works();
  });
  id = report("killed", "timeout", ask("immediate", 9));
  die_running();
  processor().drain();
  ASSERT_EQ(status(id), Status::resolved);
  EXPECT_EQ(meanwhile.attempt, 3U);
  EXPECT_EQ(meanwhile.failure, 2U) << "the first failure, and the run that was cut off";
  EXPECT_EQ(told, 2U) << "and each of them is a row";
  EXPECT_EQ(failed, 1U) << "a retry that was killed did not work";
  EXPECT_EQ(record(id).counters, meanwhile) << "success adds nothing";
}

TEST_P(InterruptedRetries, TenKillsInARowAreTenAttemptsAndNoneIsLostOrDoubled) {  // R2-3, R2-4
  std::atomic<int> runs{0};
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return works();
  });
  const RecordId id = report("wf_1", "timeout", ask("immediate", 30));
  for (int kill = 0; kill < 10; ++kill) die_running();
  EXPECT_EQ(record(id).counters.attempt, 11U) << "the first failure and ten that were cut off";
  EXPECT_EQ(numbers(id).size(), 10U) << "the last one is still to be found out";
  processor().drain();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(status(id), Status::resolved);
  EXPECT_EQ(record(id).counters.attempt, 12U);
  const auto told = attempts(id);
  EXPECT_EQ(std::ranges::count(told, OutcomeKind::crashed, &Attempt::outcome), 10);
  EXPECT_EQ(told.back().outcome, OutcomeKind::ok);
  EXPECT_TRUE(std::ranges::is_sorted(numbers(id))) << "in order";
  EXPECT_EQ(told.size(), 12U);
}

TEST_P(InterruptedRetries, ManyKillsEndATaskUnderEitherProfile) {  // I7, R2-5
  for (const char* each : {"workflow", "workflow+safe"}) {
    SCOPED_TRACE(each);
    profile = each;
    on("llamaindex", [](const Message&, const RunContext&) { return works(); });
    const RecordId id = report(std::string("poison ") + each, "timeout", ask("immediate", 3));
    for (int kill = 0; kill < 3; ++kill) die_running();
    processor().drain();
    EXPECT_FALSE(is_open(status(id)) && record(id).next_retry_at)
        << "it ends: " << name_of(status(id));
    EXPECT_NE(status(id), Status::resolved) << "it is not run a fifth time";
    EXPECT_EQ(attempts(id).size(), record(id).counters.attempt);
  }
}

TEST_P(InterruptedRetries, ATaskIsExhaustedOnceWhetherItFailsOrIsKilled) {  // S2-25
  on("llamaindex", [](const Message&, const RunContext&) { return fails("timeout"); });
  const auto exhausted = [&] { return must(office().aggregate({})).lifetime.exhausted; };
  const RecordId id = report("wf_1", "timeout", ask("immediate", 1));
  die_running();
  processor().drain();
  ASSERT_EQ(status(id), Status::exhausted);
  EXPECT_EQ(record(id).reason, "exhausted");
  EXPECT_EQ(exhausted(), 1U);
  retry_by_hand(id);
  processor().drain();
  EXPECT_EQ(record(id).reason, "exhausted");
  EXPECT_EQ(exhausted(), 1U) << "by hand, and it failed";
  retry_by_hand(id);
  die_running();
  processor().drain();
  ASSERT_EQ(status(id), Status::exhausted);
  EXPECT_EQ(exhausted(), 1U) << "by hand, and it was killed";
}

TEST_P(InterruptedRetries, ATaskIsExhaustedOnceWhateverItsProfileCounts) {  // S2-25
  on("llamaindex", [](const Message&, const RunContext&) { return fails("timeout"); });
  const auto exhausted = [&] { return must(office().aggregate({})).lifetime.exhausted; };
  std::uint64_t tasks = 0;
  for (const char* base : {"workflow", "workflow+safe"}) {
    for (const CounterName counter :
         {CounterName::attempt, CounterName::failure, CounterName::retry, CounterName::fetch}) {
      Profile counting = with_limit(must(ProfileBook{}.find(base)), 1);
      counting.name = profile = std::string(base) + "-" + std::string(name_of(counter));
      SCOPED_TRACE(profile);
      counting.post_check->counter = counter;
      ProfileBook rules;
      rules.set(counting);
      shelf.use(rules);
      const RecordId id =
          report(profile, "timeout", {must(parse_workflow_policy("immediate")), {}});
      processor().drain();
      ASSERT_EQ(status(id), Status::exhausted);
      EXPECT_EQ(exhausted(), ++tasks);
      retry_by_hand(id);
      die_running();
      processor().drain();
      ASSERT_EQ(status(id), Status::exhausted);
      EXPECT_EQ(exhausted(), tasks) << "by hand, and it was killed";
      retry_by_hand(id);
      processor().drain();
      EXPECT_EQ(exhausted(), tasks) << "by hand, and it failed";
    }
  }
}

TEST_P(InterruptedRetries, ATaskThatEndedAtOnceIsExhaustedWhenPeopleUsedItUp) {  // S2-25
  Profile strict = must(ProfileBook{}.find("workflow"));
  strict.name = profile = "strict";
  strict.categories["network"].action = Action::terminal;
  ProfileBook rules;
  rules.set(strict);
  shelf.use(rules);
  std::string error = "timeout";
  on("llamaindex", [&](const Message&, const RunContext&) { return fails(error); });
  const auto exhausted = [&] { return must(office().aggregate({})).lifetime.exhausted; };
  const RecordId id = report("wf_1", "timeout");
  for (int n = 0; n < 2; ++n) {
    retry_by_hand(id);
    processor().drain();
    ASSERT_EQ(status(id), Status::pending);
  }
  error = "busy";
  retry_by_hand(id);
  processor().drain();
  ASSERT_EQ(status(id), Status::exhausted);
  EXPECT_EQ(exhausted(), 1U);
}

TEST_P(InterruptedRetries, ATaskIsExhaustedExactlyAtItsLimitIfItsLastRetryIsKilled) {  // R2-5
  std::atomic<int> runs{0};
  on("llamaindex", [&](const Message&, const RunContext&) {
    ++runs;
    return fails("timeout");
  });
  std::uint64_t tasks = 0;
  for (const char* each : {"workflow", "workflow+safe"}) {
    SCOPED_TRACE(each);
    profile = each;
    runs = 0;
    const RecordId id = report(std::string("killed ") + each, "timeout", ask("fixed base=1m", 3));
    for (int n = 0; n < 2; ++n) {
      clock.advance(1min);
      processor().drain();
    }
    clock.advance(1min);
    die_running();
    processor().drain();
    ASSERT_EQ(status(id), Status::exhausted);
    EXPECT_EQ(record(id).counters.retry, 3U) << "the run that was killed was the third";
    EXPECT_EQ(runs, 2) << "and nothing ran after it";
    EXPECT_EQ(must(office().aggregate({})).lifetime.exhausted, ++tasks);
  }
}

TEST_P(InterruptedRetries, ARetryThatFindsNoExecutorIsAnAttemptAndNoCrash) {  // S2-35, R7
  for (const char* each : {"workflow", "workflow+safe"}) {
    SCOPED_TRACE(each);
    profile = each;
    const RecordId id = report(std::string("lost ") + each, "timeout", ask("immediate", 4),
                               R"({"adapter": "airflow"})");
    die_running();
    processor().drain();
    EXPECT_EQ(status(id), Status::exhausted);
    const auto rows = attempts(id);
    ASSERT_EQ(rows.size(), record(id).counters.attempt);
    const auto crashes = std::ranges::count(rows, OutcomeKind::crashed, &Attempt::outcome);
    EXPECT_EQ(crashes, 1) << "the run that was killed";
    EXPECT_EQ(rows.back().category, "unregistered");
    EXPECT_EQ(rows.back().error_text, record(id).failure.text);
  }
}

TEST_P(InterruptedRetries, ATaskThatWorkedAndWasOpenedAgainIsNoSuspect) {
  on("llamaindex", [](const Message&, const RunContext&) { return works(); });
  const RecordId id = report("wf_1", "timeout");
  pass(1min);
  ASSERT_EQ(status(id), Status::resolved);
  EXPECT_EQ(attempts(id).back().outcome, OutcomeKind::ok) << "the run that worked is told of";
  retry_by_hand(id);
  OfficeSource source(office(), OfficeSource::Options{});
  EXPECT_FALSE(must(source.receive({1, 30s, {}}, clock.now())).at(0).interrupted);
}

TEST_P(InterruptedRetries, ALeaseThatEndedBeforeTheStartIsNoInterruption) {
  const RecordId id = report("wf_1", "timeout", ask("immediate", 9));
  must(office().claim(1, clock.now(), 30s, {}));  // ... and dies before it began anything
  clock.advance(31s);
  OfficeSource source(office(), OfficeSource::Options{});
  EXPECT_FALSE(must(source.receive({1, 30s, {}}, clock.now())).at(0).interrupted);
  EXPECT_EQ(attempts(id).size(), 1U);
}

// No server is needed for that: a program may embed the processor alone.
TEST_P(InterruptedRetries, AKilledRunIsPendingAfterItsLeaseThoughItsCircuitIsOpen) {  // R2-4, I7
  on("llamaindex", [](const Message&, const RunContext&) { return works(); }, guarded_by(1, 10s));
  const RecordId id = report("wf_1", "timeout", ask("immediate", 3));
  ASSERT_EQ(must(office().claim(1, clock.now(), 30s, {})).size(), 1U);
  ASSERT_EQ(status(id), Status::retrying);
  executors.table().only()->breaker.force(true, clock.now());
  processor().start();
  clock.advance(29s);
  EXPECT_EQ(status(id), Status::retrying) << "its lease lasts";
  EXPECT_TRUE(eventually([&] {
    clock.advance(1s);
    return status(id) == Status::pending;
  }));
  EXPECT_LE(clock.now(), noon + 1h);
  EXPECT_TRUE(processor().stop().clean());
}

TEST_P(InterruptedRetries, AKilledRunIsPendingAfterItsLeaseThoughRetriesRunOnlyHourly) {
  interval = 1h;
  restart();
  on("llamaindex", [](const Message&, const RunContext&) { return works(); });
  const RecordId id = report("wf_1", "timeout", ask("immediate", 3));
  ASSERT_EQ(must(office().claim(1, clock.now(), 30s, {})).size(), 1U);
  restart();
  processor().start();
  EXPECT_TRUE(eventually([&] {
    clock.advance(1s);
    return status(id) != Status::retrying;
  }));
  EXPECT_LE(clock.now(), noon + 50min) << "before they run";
}

}  // namespace
}  // namespace dlo::testing
