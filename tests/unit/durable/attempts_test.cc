// What a poisoned item's record tells of its executions, and what is none.
#include <algorithm>

#include "unit/durable/durable_test.h"

#include "dlo/store/passing_office.h"

namespace dlo::testing {
namespace {

struct Attempts : DurableTest {
  RecordDetail only_record(PoisonKind kind) {
    const auto items = must(runtime_->list_poison(kind));
    if (items.size() != 1) throw std::runtime_error("not one poisoned item");
    return must(office_->get(items[0].record));
  }
  static std::vector<std::uint32_t> numbers(const RecordDetail& record) {
    std::vector<std::uint32_t> numbers;
    for (const Attempt& attempt : record.attempts) numbers.push_back(attempt.number);
    std::ranges::sort(numbers);
    return numbers;
  }
};

TEST_F(Attempts, EveryAbandonedExecutionHasItsRow) {
  for (const char* profile : {"durable", "durable+safe", "durable-fetch", "durable-fetch+safe"}) {
    SCOPED_TRACE(profile);
    use(profile);
    send(activity, "i-1");
    std::vector<std::uint32_t> executions;
    for (auto got = fetch(activity); !got.empty(); got = fetch(activity)) {
      executions.push_back(static_cast<std::uint32_t>(executions.size() + 1));
      must(runtime_->start(activity, got[0].lease, now_));
      now_ += 1s;
      abandon(
          activity, got[0].lease,
          {.increment_count = true, .error_message = "error " + std::to_string(executions.size())});
    }
    const RecordDetail found = only_record(activity);
    EXPECT_EQ(found.record.counters.total, executions.size());
    ASSERT_EQ(numbers(found), executions);
    for (const Attempt& attempt : found.attempts) {
      EXPECT_EQ(attempt.error_text, "error " + std::to_string(attempt.number));
      EXPECT_EQ(attempt.took, 1s);
      EXPECT_EQ(attempt.node, "node-1");
    }
  }
}

TEST_F(Attempts, WhatWasNeverProcessedLeavesNoRow) {  // is_execution
  struct Row {
    const char* name;
    AbandonOptions last;
    std::uint32_t executions;
  };
  for (const Row& row : {Row{"uncounted, at a limit reached before", {.max_abandon_count = 1}, 1},
                         Row{"forced", {.force_poison = true}, 2},
                         Row{"counted", {.increment_count = true, .max_abandon_count = 2}, 2}}) {
    SCOPED_TRACE(row.name);
    use("durable+safe");
    send(activity, "i-1");
    abandon(activity, fetch_one(activity));
    abandon(activity, fetch_one(activity), row.last);
    const RecordDetail found = only_record(activity);
    EXPECT_EQ(found.record.counters.total, row.executions);
    EXPECT_EQ(found.attempts.size(), row.executions);
    EXPECT_EQ(found.record.failure.text, "boom");
  }
}

TEST_F(Attempts, AnItemThatIsAbandonedUnstartedHasNone) {
  send(activity, "i-1");
  for (int n = 1; n <= 5; ++n) abandon(activity, fetch(activity).front().lease);
  const RecordDetail found = only_record(activity);
  EXPECT_EQ(found.record.counters.abandon, 5U);
  EXPECT_EQ(found.record.counters.total, 0U);
  EXPECT_TRUE(found.attempts.empty());
}

TEST_F(Attempts, ASecondStartMarkIsNoSecondExecution) {
  send(activity, "i-1");
  const LeaseToken token = fetch_one(activity);
  must(runtime_->start(activity, token, now_));
  abandon(activity, token, {.force_poison = true});
  EXPECT_EQ(only_record(activity).record.counters.total, 1U);
}

TEST_F(Attempts, ARunThatWasCutOffIsTold) {
  send(activity, "i-1");
  fetch_one(activity);
  now_ += 31s;
  abandon(activity, fetch_one(activity), {.force_poison = true});
  const RecordDetail found = only_record(activity);
  ASSERT_EQ(found.attempts.size(), 2U);
  EXPECT_EQ(found.attempts[1].outcome, OutcomeKind::crashed);
  EXPECT_EQ(found.attempts[0].outcome, OutcomeKind::failed);
}

TEST_F(Attempts, EveryRunThatWasCutOffHasItsRow) {
  for (const char* profile : {"durable", "durable+safe", "durable-fetch", "durable-fetch+safe"}) {
    for (const std::string pattern : {"l", "alall", "all"}) {
      SCOPED_TRACE(profile + (" " + pattern));
      use(profile);
      send(activity, "i-1");
      std::vector<std::uint32_t> executions;
      for (auto got = fetch(activity); !got.empty(); got = fetch(activity)) {
        const char end = pattern[executions.size() % pattern.size()];
        executions.push_back(static_cast<std::uint32_t>(executions.size() + 1));
        must(runtime_->start(activity, got[0].lease, now_));
        if (end == 'a') abandon(activity, got[0].lease);
        now_ += 31s;
      }
      const RecordDetail found = only_record(activity);
      EXPECT_EQ(found.record.counters.total, executions.size());
      EXPECT_EQ(numbers(found), executions);
    }
  }
}

TEST_F(Attempts, ALimitOfTheCallIsTheNumberOfExecutions) {  // S3-25
  for (const char* profile : {"durable", "durable+safe", "durable-fetch", "durable-fetch+safe"}) {
    for (const bool starts : {true, false}) {
      for (const std::uint32_t limit : {1U, 5U, 10U, 12U}) {
        SCOPED_TRACE(profile + (" " + std::to_string(limit)) + (starts ? " started" : ""));
        use(profile);
        send(activity, "i-1");
        std::uint32_t executions = 0;
        AbandonResult last;
        for (auto got = fetch(activity); !got.empty(); got = fetch(activity)) {
          ++executions;
          if (starts) must(runtime_->start(activity, got[0].lease, now_));
          last = abandon(activity, got[0].lease,
                         {.increment_count = true, .max_abandon_count = limit});
        }
        EXPECT_EQ(executions, limit);
        EXPECT_EQ(last, AbandonResult{Poisoned{limit}});
        EXPECT_EQ(only_record(activity).record.limit, limit);
      }
    }
  }
}

TEST_F(Attempts, ALimitOfTheCallOutlivesLostLeases) {
  for (const char* profile : {"durable", "durable+safe", "durable-fetch", "durable-fetch+safe"}) {
    SCOPED_TRACE(profile);
    use(profile);
    send(activity, "i-1");
    std::uint32_t executions = 0;
    for (auto got = fetch(activity); !got.empty(); got = fetch(activity)) {
      ++executions;
      must(runtime_->start(activity, got[0].lease, now_));
      const bool lost = executions == 6 || executions == 12;
      if (!lost) {
        abandon(activity, got[0].lease, {.increment_count = true, .max_abandon_count = 15});
      }
      now_ += 31s;
    }
    EXPECT_EQ(executions, profile == std::string("durable") ? 17U : 15U) << "crashes count, or not";
    EXPECT_EQ(only_record(activity).record.limit, 15U);
    EXPECT_EQ(hooks_.told.back().poison.max_abandons, 15U);
  }
}

TEST_F(Attempts, CountersDoNotFallByAnAbandonAfterLostLeases) {
  use("durable+safe");
  send(activity, "i-1");
  for (int lost = 0; lost < 2; ++lost) {
    fetch_one(activity);
    now_ += 31s;
  }
  abandon(activity, fetch_one(activity));
  const Counters shown = fetch(activity).front().counters;
  EXPECT_EQ(shown.failure, 2U);
  EXPECT_EQ(shown.abandon, 3U);
}

TEST_F(Attempts, ALimitIsForgottenByTheNextAbandonWithoutOne) {
  use("durable-fetch");
  send(activity, "i-1");
  abandon(activity, fetch(activity).front().lease,
          {.increment_count = true, .max_abandon_count = 30});
  int executions = 1;
  for (auto got = fetch(activity); !got.empty(); got = fetch(activity)) {
    ++executions;
    abandon(activity, got[0].lease, {.increment_count = true});
  }
  EXPECT_EQ(executions, 10);
}

TEST_F(Attempts, AnEmptyMessageHidesNoEarlierOne) {  // I9
  send(activity, "i-1");
  abandon(activity, fetch_one(activity));
  abandon(activity, fetch_one(activity), {.force_poison = true, .error_message = ""});
  EXPECT_EQ(only_record(activity).record.failure.text, "boom");
}

/// An office that cannot be asked, or cannot take anything.
class SilentOffice final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;
  Result<RecordDetail> get(const RecordId& id) override {
    if (down) return Error{Code::unavailable, "test", "the office is down"};
    return inner().get(id);
  }
  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (full) return Error{Code::disk_full, "test", "the disk is full"};
    return inner().apply(changes);
  }
  bool down = false;
  bool full = false;
};

TEST_F(Attempts, WhatTheOfficeCannotTakeGoesBackUncounted) {
  use("durable-fetch");
  SilentOffice office(*office_);
  DurableRuntime runtime(
      {office, *orchestrators_, *workers_,
       std::make_shared<const RuleBook>(must(RuleBook::build(must(find_profile("durable-fetch"))))),
       hooks_, "node-1"});
  send(activity, "i-1");
  for (int n = 1; n <= 10; ++n) abandon(activity, fetch_one(activity));
  office.full = true;
  for (std::size_t round = 1; round <= 20; ++round) {
    EXPECT_TRUE(must(runtime.fetch(activity, 10, 30s, now_)).empty());
    EXPECT_EQ(hooks_.warnings.size(), round);
    EXPECT_EQ(must(workers_->stats(now_)).leased, 0U);
  }
  office.full = false;
  EXPECT_TRUE(must(runtime.fetch(activity, 10, 30s, now_)).empty());
  EXPECT_EQ(only_record(activity).record.counters.fetch, 11U);
}

TEST_F(Attempts, AFetchThatCannotAskTheOfficeCostsNothing) {  // GEN-02, I8
  for (const char* profile : {"durable", "durable+safe", "durable-fetch"}) {
    SCOPED_TRACE(profile);
    use(profile);
    SilentOffice silent(*office_);
    DurableRuntime runtime(
        {silent, *orchestrators_, *workers_,
         std::make_shared<const RuleBook>(must(RuleBook::build(must(find_profile(profile))))),
         hooks_, "node-1"});
    send(activity, "i-1");
    send(activity, "i-2");
    send(activity, "i-3");
    const auto first = must(runtime.fetch(activity, 2, 30s, now_));
    ASSERT_EQ(first.size(), 2U);
    for (const Delivery& each : first) {  // so that the office is asked about them
      must(runtime.start(activity, each.lease, now_));
      must(runtime.abandon(activity, each.lease, {.increment_count = true}, now_));
    }
    silent.down = true;
    for (int round = 0; round < 20; ++round) {
      const auto refused = runtime.fetch(activity, 10, 30s, now_);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::unavailable);
      EXPECT_EQ(must(workers_->stats(now_)).leased, 0U) << "nobody else could have them";
    }
    silent.down = false;
    const auto again = must(runtime.fetch(activity, 10, 30s, now_));
    ASSERT_EQ(again.size(), 3U) << "none was poisoned unrun";
    for (const Delivery& each : again) {
      const bool fresh = each.message->owner->instance == "i-3";
      EXPECT_EQ(each.counters.fetch, fresh ? 1U : 2U);
      must(runtime.complete(activity, each.lease, now_));
    }
  }
}

}  // namespace
}  // namespace dlo::testing
