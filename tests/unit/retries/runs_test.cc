// What a run leaves behind: its token, its row, what it costs, what is said of it.

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <vector>

#include "retry_room.h"

#include "dlo/core/inquiry.h"
#include "dlo/retries/task_book.h"

namespace dlo::testing {
namespace {

class Runs : public RetryRoom {
 protected:
  void move(const RecordId& id, Status to) {
    Transition moved;
    moved.id = id;
    moved.to = to;
    moved.now = clock.now();
    const Change change = moved;
    must(office().apply({&change, 1}));
  }
  std::vector<Attempt> attempts(const RecordId& id) { return must(office().get(id)).attempts; }
};
INSTANTIATE_TEST_SUITE_P(Offices, Runs, ::testing::Values("memory", "sqlite"),
                         [](const auto& office) { return std::string(office.param); });

TEST_P(Runs, ALaterRunOfATaskHasALargerFence) {  // issue 5: so that an executor can refuse
  std::vector<std::string> fences;
  on("llamaindex", [&](const Message&, const RunContext& context) {
    fences.push_back(to_string(context.fence));
    return fails("timeout");
  });
  const RecordId id = report("wf_1", "timeout", ask("linear", 9));
  for (int n = 0; n < 3; ++n) {
    pass(1h);
    restart();
  }
  EXPECT_EQ(fences.size(), 8U);
  EXPECT_TRUE(std::ranges::is_sorted(fences)) << "as text, too";
  EXPECT_EQ(std::set(fences.begin(), fences.end()).size(), fences.size());
  EXPECT_EQ(record(id).counters.retry, 8U);
}

TEST_P(Runs, ARunWhoseTaskWasArchivedMeanwhileIsAmongItsAttempts) {  // issue 5, I9
  RecordId id;
  bool well = false;
  on("llamaindex", [&](const Message&, const RunContext&) {
    move(id, Status::archived);
    return well ? works() : fails("the disk is on fire");
  });
  for (const bool works_now : {true, false}) {
    well = works_now;
    id = report(well ? "wf_1" : "wf_2", "timeout", ask("immediate", 3));
    processor().drain();
    EXPECT_EQ(status(id), Status::archived);
    const auto rows = attempts(id);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows.front().number, record(id).counters.total);
    EXPECT_EQ(rows.front().outcome, well ? OutcomeKind::ok : OutcomeKind::failed);
    EXPECT_EQ(rows.front().error_text, well ? "" : "the disk is on fire");
  }
}

TEST_P(Runs, OneThatIsRestoredWasNotCutOff) {
  RecordId id;
  int runs = 0;
  on("llamaindex", [&](const Message&, const RunContext&) {
    if (++runs == 1) move(id, Status::archived);
    return fails("timeout");
  });
  id = report("wf_1", "timeout", ask("immediate", 3));
  processor().drain();
  move(id, Status::pending);
  retry_by_hand(id);
  processor().drain();
  ASSERT_GE(runs, 2);
  for (const Attempt& each : attempts(id)) EXPECT_NE(each.outcome, OutcomeKind::crashed);
}

TEST_P(Runs, AProbeThatReachesNobodyCostsItsTaskNothing) {  // S2-2, R21: open burns no attempts
  int runs = 0;
  bool well = false;
  on(
      "prefect",
      [&](const Message&, const RunContext&) {
        ++runs;
        if (well) return works();
        Outcome refused = fails("connection refused");
        refused.failure.code = "connection_refused";
        return refused;
      },
      guarded_by(2, 10min));
  std::vector<RecordId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(report("wf_" + std::to_string(i), "timeout", {}, R"({"adapter": "prefect"})"));
  }
  pass(12h);
  EXPECT_GT(runs, 50) << "it was asked all the time";
  std::uint32_t retries = 0;
  for (const RecordId& id : ids) {
    EXPECT_EQ(status(id), Status::pending);
    EXPECT_EQ(attempts(id).size(), record(id).counters.total);
    retries += record(id).counters.retry;
  }
  EXPECT_EQ(retries, 2U) << "those that opened the circuit";
  well = true;
  pass(1h);
  for (const RecordId& id : ids) EXPECT_EQ(status(id), Status::resolved);
}

TEST_P(Runs, AProbeThatIsAnsweredCountsForTheTaskMayBeWhy) {  // I7: nothing is tried for ever
  on(
      "prefect",
      [&](const Message&, const RunContext&) {
        Outcome broken = fails("temporarily broken");
        broken.failure.status = 503;
        return broken;
      },
      guarded_by(2, 10min));
  const RecordId id = report("wf_1", "timeout", ask("immediate", 5), R"({"adapter": "prefect"})");
  pass(3h);
  EXPECT_EQ(status(id), Status::exhausted);
}

TEST_P(Runs, TheReasonOfATaskFollowsItsCategory) {
  std::string error = "rate limit exceeded";
  on("llamaindex", [&](const Message&, const RunContext&) { return fails(error); });
  const RecordId id = report("wf_1", "connection lost");
  EXPECT_EQ(record(id).reason, "network");
  pass(1min);
  EXPECT_EQ(record(id).category, "transient");
  EXPECT_EQ(record(id).reason, "transient");
  pass(1h);
  EXPECT_EQ(record(id).reason, "exhausted");
}

TEST_P(Runs, ThePolicyAndTheLimitOfATaskFollowItsCategory) {  // S2-4, S2-10
  Profile mine = must(ProfileBook{}.find("workflow"));
  mine.name = profile = "mine";
  mine.categories["transient"].limit = 5;
  mine.categories["resource"].limit = 2;
  mine.categories["resource"].policy = must(parse_policy("fixed base=1m"));
  ProfileBook rules;
  rules.set(mine);
  shelf.use(rules);
  std::string error;
  on("llamaindex", [&](const Message&, const RunContext&) { return fails(error); });
  const RecordId id = report("wf_1", "Permission denied");
  EXPECT_EQ(record(id).policy, "never");
  const auto by_hand = [&](const std::string& met) {
    error = met;
    clock.advance(1s);
    retry_by_hand(id);
    processor().drain();
    return record(id);
  };
  const DeadLetter busy = by_hand("busy, try again later");
  EXPECT_EQ(busy.category, "transient");
  EXPECT_EQ(busy.policy, print(mine.retry));
  EXPECT_EQ(busy.limit, 5U);
  EXPECT_TRUE(busy.next_retry_at);
  EXPECT_EQ(busy.description, "a retry is owed") << "no longer what it was denied";
  EXPECT_EQ(must(explain(rules, {}, {}, {&busy, {}}, clock.now())).because.find("changed"),
            std::string::npos);
  const DeadLetter denied = by_hand("Permission denied");
  EXPECT_EQ(denied.policy, "never");
  EXPECT_EQ(denied.limit, mine.limit);
  EXPECT_FALSE(denied.next_retry_at);
  const DeadLetter full = by_hand("disk quota exceeded");
  EXPECT_EQ(full.status, Status::exhausted);
  EXPECT_EQ(full.policy, "fixed base=1m");
  EXPECT_EQ(full.limit, 2U) << "as its description says: " << full.description;
}

TEST_P(Runs, WhatATaskAskedForStaysWhateverItFailsOf) {  // S2-18
  on("llamaindex", [&](const Message&, const RunContext&) { return fails("Permission denied"); });
  const RecordId id = report("wf_1", "timeout", ask("linear", 7));
  const std::string policy = record(id).policy;
  pass(5min);
  EXPECT_EQ(record(id).category, "permission");
  EXPECT_EQ(record(id).policy, policy);
  EXPECT_EQ(record(id).limit, 7U);
}

TEST_P(Runs, ATaskIsExhaustedOnceHoweverOftenSomebodyTriesAgain) {  // S2-25
  on("llamaindex", [&](const Message&, const RunContext&) { return fails("timeout"); });
  const RecordId id = report("wf_1", "timeout", ask("immediate", 1));
  processor().drain();
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(status(id), Status::exhausted);
    clock.advance(1s);
    retry_by_hand(id);
    processor().drain();
  }
  const Lifetime counted = must(office().aggregate({})).lifetime;
  EXPECT_EQ(counted.exhausted, 1U);
  EXPECT_EQ(counted.manually_retried, 3U);
  EXPECT_EQ(counted.retry_failed, 4U);
}

class RetriedByHand : public Runs {
 protected:
  /// Somebody asks and waits, while time goes by.
  Retried retried(Millis wait) {
    processor().start();
    auto answer = std::async(std::launch::async, [&] {
      return must(TaskBook(office(), clock).retry_and_wait("wf_1", wait));
    });
    EXPECT_TRUE(eventually([&] {
      clock.advance(50ms);
      return answer.wait_for(0s) == std::future_status::ready;
    }));
    return answer.get();
  }
};
INSTANTIATE_TEST_SUITE_P(Offices, RetriedByHand, ::testing::Values("memory", "sqlite"),
                         [](const auto& office) { return std::string(office.param); });

TEST_P(RetriedByHand, WhoWaitsHearsThatItWorked) {  // S2-21
  on("llamaindex", [](const Message&, const RunContext&) { return works(); });
  report("wf_1", "permission denied");
  const Retried told = retried(1h);
  EXPECT_TRUE(told.success());
  EXPECT_EQ(told.error, "");
}

TEST_P(RetriedByHand, WhoWaitsHearsWhyItFailed) {  // S2-21
  on("llamaindex", [](const Message&, const RunContext&) { return fails("still not allowed"); });
  report("wf_1", "permission denied");
  const Retried told = retried(1h);
  EXPECT_FALSE(told.success());
  EXPECT_EQ(told.outcome, RetryOutcome::failed);
  EXPECT_EQ(told.error, "still not allowed");
}

TEST_P(RetriedByHand, NobodyWaitsLongerThanHeSaid) {
  const auto over = std::make_shared<std::atomic<bool>>(false);  // the run outlives this test
  on("llamaindex", [over](const Message&, const RunContext&) {
    EXPECT_TRUE(eventually([&] { return over->load(); }));
    return works();
  });
  report("wf_1", "permission denied");
  EXPECT_EQ(retried(2s).outcome, RetryOutcome::awaited);
  *over = true;
}

}  // namespace
}  // namespace dlo::testing
