#include <atomic>
#include <thread>

#include "unit/durable/durable_test.h"

namespace dlo::testing {
namespace {

TEST_F(DurableTest, TheFifthCountedAbandonPoisons) {  // S3-5, S3-20, S3-21, S3-27
  send(orchestration, "i-1");
  for (int n = 1; n <= 4; ++n) {
    EXPECT_EQ(abandon(orchestration, fetch_one(orchestration)), AbandonResult{Released{}}) << n;
  }
  EXPECT_EQ(abandon(orchestration, fetch_one(orchestration)), AbandonResult{Poisoned{5}});
  EXPECT_TRUE(fetch(orchestration).empty());
}

TEST_F(DurableTest, ThePoisonRecordKnowsThatItsSourceIsSettled) {  // R3
  send(orchestration, "i-1");
  abandon(orchestration, fetch_one(orchestration), {.force_poison = true});
  Query unsettled;
  unsettled.source_unsettled = true;
  EXPECT_TRUE(must(office_->list(unsettled)).rows.empty());
  EXPECT_EQ(must(office_->list({})).rows.size(), 1U);
}

TEST_F(DurableTest, APoisonedOrchestrationFailsItsInstanceAndTellsTheParent) {  // S3-28, D17
  send(orchestration, "child", "parent");
  abandon(orchestration, fetch_one(orchestration),
          {.force_poison = true, .error_message = "bad history"});
  ASSERT_EQ(hooks_.told.size(), 2U);
  EXPECT_EQ(hooks_.told[0].what, "orchestration failed");
  EXPECT_EQ(hooks_.told[1].what, "parent told");
  EXPECT_EQ(hooks_.told[1].owner.parent, "parent");
  EXPECT_EQ(hooks_.told[0].poison.last_error, "bad history");
  EXPECT_EQ(hooks_.told[0].poison.max_abandons, 5U);
  EXPECT_FALSE(hooks_.told[0].poison.activity);
}

TEST_F(DurableTest, APoisonedActivityIsAcknowledgedAsAFailureCarryingThePoisonValue) {  // S3-29
  send(activity, "i-1");
  for (int n = 1; n <= 5; ++n) abandon(activity, fetch_one(activity));
  ASSERT_EQ(hooks_.told.size(), 1U);
  EXPECT_EQ(hooks_.told[0].what, "activity failed");
  const Poison expected{5, 5, "boom", Activity{"ChargeCard", 42}};  // S3-10, S3-11
  EXPECT_EQ(hooks_.told[0].poison, expected);
  EXPECT_EQ(name_of(category_of(expected)), "poison");  // S3-12
  EXPECT_FALSE(is_retryable(category_of(expected)));    // S3-13
  EXPECT_EQ(must(workers_->stats(now_)).completed + must(workers_->stats(now_)).dead_lettered, 1U);
}

TEST_F(DurableTest, ForcedPoisonWithoutIncrementAnswersTheCurrentCount) {  // S3-23
  send(activity, "i-1");
  abandon(activity, fetch_one(activity));
  abandon(activity, fetch_one(activity));
  EXPECT_EQ(abandon(activity, fetch_one(activity), {.force_poison = true}),
            AbandonResult{Poisoned{2}});
}

TEST_F(DurableTest, AnAbandonThatDoesNotCountNeverPoisons) {  // S3-22, S3-26
  send(orchestration, "i-1");
  for (int n = 0; n < 50; ++n) {
    EXPECT_EQ(abandon(orchestration, fetch_one(orchestration), {}), AbandonResult{Released{}});
  }
}

TEST_F(DurableTest, TheLimitOfTheCallBeatsTheProfile) {  // S3-25
  send(activity, "i-1");
  EXPECT_EQ(
      abandon(activity, fetch_one(activity), {.increment_count = true, .max_abandon_count = 2}),
      AbandonResult{Released{}});
  EXPECT_EQ(
      abandon(activity, fetch_one(activity), {.increment_count = true, .max_abandon_count = 2}),
      AbandonResult{Poisoned{2}});
  ASSERT_EQ(hooks_.told.size(), 1U);
  EXPECT_EQ(hooks_.told[0].poison.max_abandons, 2U);
}

TEST_F(DurableTest, ADelayHidesAnItemOfEitherKind) {  // S3-18, S3-19
  for (const PoisonKind kind : {orchestration, activity}) {
    now_ = noon;
    send(kind, "i-1");
    abandon(kind, fetch_one(kind), {.increment_count = true, .delay = 10s});
    now_ = noon + 10s - Millis{1};
    EXPECT_TRUE(fetch(kind).empty());
    now_ = noon + 10s;
    EXPECT_EQ(fetch(kind).size(), 1U);
  }
}

TEST_F(DurableTest, AnItemThatExpiredInABufferIsNotCounted) {  // S3-30
  send(activity, "i-1");
  const auto token = fetch(activity).front().lease;
  must(runtime_->return_unprocessed(activity, token, now_));
  const auto again = fetch(activity);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].counters.fetch, 1U);
  EXPECT_EQ(again[0].counters.abandon, 0U);
  EXPECT_EQ(again[0].last_error, "");
}

TEST_F(DurableTest, AnItemWhoseLeaseEndedInABufferIsNotCountedEither) {  // S3-30
  use("durable+safe");
  send(activity, "i-1");
  for (int round = 0; round < 20; ++round) {
    const auto items = fetch(activity);
    ASSERT_EQ(items.size(), 1U) << round;
    EXPECT_EQ(items[0].counters.fetch, 1U);
    now_ += 60min;
    must(runtime_->return_unprocessed(activity, items[0].lease, now_));
  }
  EXPECT_TRUE(must(runtime_->list_poison(activity)).empty());
}

TEST_F(DurableTest, ALeaseThatIsRenewedCanBeSettledAfterItsFirstEnd) {  // R3-6
  send(activity, "i-1");
  const auto token = fetch_one(activity);
  const TimePoint began = now_;
  for (int i = 0; i < 10; ++i) {
    now_ += 20s;
    must(runtime_->renew(activity, token, 30s, now_));
  }
  EXPECT_GT(now_ - began, 100s);
  must(runtime_->complete(activity, token, now_));
  EXPECT_EQ(runtime_->renew(activity, token, 30s, now_).error().code, Code::lease_lost);
}

/// S3-16, S3-17, S3-37: the owner, the book and the list tell one number.
TEST_F(DurableTest, OneCountIsToldToEverybody) {
  struct Row {
    const char* profile;
    AbandonOptions last;
    std::uint32_t count;
  };
  const std::vector<Row> rows = {
      {"durable", {.increment_count = true, .force_poison = true}, 1},
      {"durable", {.force_poison = true}, 0},
      {"durable-fetch", {.force_poison = true}, 3},
  };
  for (const Row& row : rows) {
    use(row.profile);
    hooks_.told.clear();
    send(activity, "i-1");
    if (row.count == 3) {  // claims that ended by themselves
      for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(fetch(activity).size(), 1U);
        now_ += 60min;
      }
    }
    const auto result = abandon(activity, fetch_one(activity), row.last);
    EXPECT_EQ(std::get<Poisoned>(result).abandon_count, row.count) << row.profile;
    ASSERT_EQ(hooks_.told.size(), 1U);
    EXPECT_EQ(hooks_.told[0].poison.abandon_count, row.count) << row.profile;
    EXPECT_EQ(must(runtime_->list_poison(activity)).front().abandon_count, row.count);
  }
}

TEST_F(DurableTest, OthersOfTheInstanceInFlightAreUntouched) {  // S3-6, S3-50
  send(orchestration, "i-1");
  send(orchestration, "i-1");
  const auto both = fetch(orchestration);
  ASSERT_EQ(both.size(), 2U);
  abandon(orchestration, both[0].lease, {.force_poison = true});
  must(runtime_->complete(orchestration, both[1].lease, now_));
  EXPECT_EQ(must(runtime_->list_poison(orchestration, "i-1")).size(), 1U);
}

TEST_F(DurableTest, OfEightThreadsThatAbandonOneTokenOneCounts) {  // S3-50
  for (int round = 0; round < 30; ++round) {
    send(activity, "i-" + std::to_string(round));
    const LeaseToken token = fetch_one(activity);
    std::atomic<int> counted{0};
    std::atomic<int> lost{0};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
          AbandonOptions options{.increment_count = true};
          options.force_poison = t % 2 == 0;
          const auto answer = runtime_->abandon(activity, token, options, now_);
          if (answer) ++counted;
          if (!answer && answer.error().code == Code::lease_lost) ++lost;
        });
      }
    }
    EXPECT_EQ(counted, 1);
    EXPECT_EQ(lost, 7);
    for (const Delivery& rest : fetch(activity)) {
      EXPECT_EQ(rest.counters.abandon, 1U);
      must(runtime_->complete(activity, rest.lease, now_));
    }
  }
}

TEST_F(DurableTest, PoisonIsListedShownAndCountedByKindAndInstance) {  // S3-31..33, S3-37..39
  send(orchestration, "i-1");
  send(activity, "i-1");
  send(activity, "i-2");
  for (const PoisonKind kind : {orchestration, activity}) {
    for (const Delivery& item : fetch(kind)) {
      abandon(kind, item.lease, {.force_poison = true, .error_message = "broken"});
    }
  }
  send(activity, "i-3");
  const DurableStats expected{.orchestrator_queue = 0,
                              .worker_queue = 1,
                              .poison_orchestrator_count = 1,
                              .poison_worker_count = 2};
  EXPECT_EQ(must(runtime_->stats(now_)), expected);
  EXPECT_EQ(must(runtime_->list_poison(activity)).size(), 2U);
  const auto one = must(runtime_->list_poison(activity, "i-2"));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].execution_id, 3U);
  EXPECT_EQ(one[0].activity, (Activity{"ChargeCard", 42}));
  EXPECT_EQ(one[0].last_error, "broken");
  EXPECT_EQ(one[0].poisoned_at, noon);
  const auto detail = must(runtime_->get_poison(activity, one[0].poison_id));
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->work_item->payload, "input of i-2");
  EXPECT_EQ(detail->original_created_at, noon - 1min);
  EXPECT_FALSE(must(runtime_->get_poison(orchestration, one[0].poison_id)));
}

TEST_F(DurableTest, ARemovedItemIsGoneAndASecondRemovalSaysSo) {  // S3-34
  send(orchestration, "i-1");
  abandon(orchestration, fetch_one(orchestration), {.force_poison = true});
  const auto id = must(runtime_->list_poison(orchestration)).front().poison_id;
  EXPECT_FALSE(must(runtime_->remove_poison(activity, id, now_)));
  EXPECT_TRUE(must(runtime_->remove_poison(orchestration, id, now_)));
  EXPECT_FALSE(must(runtime_->remove_poison(orchestration, id, now_)));
  EXPECT_FALSE(must(runtime_->retry_poison(orchestration, id, now_)));
  EXPECT_TRUE(must(runtime_->list_poison(orchestration)).empty());
}

TEST_F(DurableTest, ARetriedItemComesBackWithItsCountResetAndPoisonsAgain) {  // S3-35, S3-50
  send(activity, "i-1");
  for (int n = 1; n <= 5; ++n) abandon(activity, fetch_one(activity));
  const auto first = must(runtime_->list_poison(activity)).front();
  EXPECT_TRUE(must(runtime_->retry_poison(activity, first.poison_id, now_)));
  EXPECT_TRUE(must(runtime_->list_poison(activity)).empty());
  EXPECT_FALSE(must(runtime_->retry_poison(activity, first.poison_id, now_)));
  for (int n = 1; n <= 4; ++n) {
    EXPECT_EQ(abandon(activity, fetch_one(activity)), AbandonResult{Released{}}) << n;
  }
  EXPECT_EQ(abandon(activity, fetch_one(activity)), AbandonResult{Poisoned{5}});
  const auto again = must(runtime_->list_poison(activity));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].poison_id, first.poison_id);  // one record, its second occurrence
  EXPECT_EQ(must(office_->get(again[0].record)).record.occurrence, 2U);
}

TEST_F(DurableTest, ARetriedItemThatSucceedsClosesItsRecord) {
  send(activity, "i-1");
  abandon(activity, fetch_one(activity), {.force_poison = true});
  const auto item = must(runtime_->list_poison(activity)).front();
  must(runtime_->retry_poison(activity, item.poison_id, now_));
  must(runtime_->complete(activity, fetch_one(activity), now_));
  const auto record = must(office_->get(item.record)).record;
  EXPECT_EQ(record.status, Status::resolved);
  EXPECT_EQ(record.resolution->how, "retried");
}

TEST_F(DurableTest, AnAbandonThatFailsIsAWarningAndTheLeaseRunsOut) {  // S3-28, I1
  send(orchestration, "i-1");
  hooks_.broken = true;
  const auto token = fetch_one(orchestration);
  EXPECT_FALSE(runtime_->abandon(orchestration, token, {.force_poison = true}, now_));
  EXPECT_EQ(hooks_.warnings.size(), 1U);
  EXPECT_EQ(must(orchestrators_->stats(now_)).leased, 1U);
  // The record is durable, the owner was not told: the redelivery finds it and settles.
  hooks_.broken = false;
  now_ = noon + 31s;
  EXPECT_TRUE(fetch(orchestration).empty());
  EXPECT_EQ(must(runtime_->list_poison(orchestration)).size(), 1U);
  EXPECT_EQ(must(orchestrators_->stats(now_)).leased, 0U);
}

TEST_F(DurableTest, UnderDurableACrashIsNotCountedAndUnderSafeItIs) {  // D5
  use("durable+safe");
  send(activity, "i-1");
  int runs = 0;
  for (; runs < 50; ++runs) {
    const auto got = fetch(activity);
    if (got.empty()) break;
    must(runtime_->start(activity, got.front().lease, now_));  // and never heard of again
    now_ += 31s;
  }
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(must(runtime_->list_poison(activity)).size(), 1U);
}

TEST_F(DurableTest, DurableFetchPoisonsAtTheEleventhFetch) {  // R3-1
  use("durable-fetch");
  send(orchestration, "i-1");
  int handed = 0;
  for (; handed < 50; ++handed) {
    const auto got = fetch(orchestration);
    if (got.empty()) break;
    abandon(orchestration, got.front().lease, {.increment_count = true, .error_message = "no"});
  }
  EXPECT_EQ(handed, 10);
  const auto items = must(runtime_->list_poison(orchestration));
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(must(office_->get(items[0].record)).record.counters.fetch, 11U);
  EXPECT_EQ(items[0].last_error, "no");
}

}  // namespace
}  // namespace dlo::testing
