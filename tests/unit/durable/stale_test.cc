// What comes too late changes nothing, and what a crash cut off is done in the end.

#include "unit/durable/durable_test.h"

#include "dlo/core/identity.h"

namespace dlo::testing {
namespace {

struct Stale : DurableTest {
  /// The token of a worker whose lease is over, and that of the one who has the item now.
  struct Two {
    LeaseToken stale;
    LeaseToken fresh;
  };
  Two two_tokens(PoisonKind kind) {
    const LeaseToken stale = fetch_one(kind);
    now_ += 31s;
    return {stale, fetch_one(kind)};
  }
};

TEST_F(Stale, ATokenPoisonsNothingAndNobodyIsTold) {  // R5
  use("durable+safe");
  send(activity, "i-1");
  const Two tokens = two_tokens(activity);
  const auto late = runtime_->abandon(activity, tokens.stale, {.force_poison = true}, now_);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::lease_lost);
  EXPECT_TRUE(must(runtime_->list_poison(activity)).empty());
  EXPECT_TRUE(hooks_.told.empty());
  must(runtime_->complete(activity, tokens.fresh, now_));
}

TEST_F(Stale, ATokenResolvesNoRecord) {
  send(activity, "i-1");
  abandon(activity, fetch_one(activity), {.force_poison = true});
  const PoisonItem item = must(runtime_->list_poison(activity)).front();
  ASSERT_TRUE(must(runtime_->retry_poison(activity, item.poison_id, now_)));
  const Two tokens = two_tokens(activity);
  EXPECT_FALSE(runtime_->complete(activity, tokens.stale, now_));
  EXPECT_EQ(must(office_->get(item.record)).record.status, Status::replayed);
  must(runtime_->complete(activity, tokens.fresh, now_));
  EXPECT_EQ(must(office_->get(item.record)).record.status, Status::resolved);
}

TEST_F(Stale, ALeaseThatIsNearlyOverIsExtendedBeforeTheOfficeIsTold) {
  send(activity, "i-1");
  const LeaseToken token = fetch_one(activity);
  now_ += 29s;
  abandon(activity, token, {.force_poison = true});
  EXPECT_EQ(must(workers_->stats(now_)).dead_lettered, 1U);
}

TEST_F(Stale, LeasesAreForgottenInTime) {
  std::vector<std::weak_ptr<const Message>> seen;
  for (int i = 0; i < 20; ++i) {
    send(activity, "i-" + std::to_string(i));
    seen.push_back(fetch(activity, 1).front().message);
    now_ += 31s;
    must(runtime_->complete(activity, fetch_one(activity), now_));
  }
  now_ += 60min;
  EXPECT_TRUE(fetch(activity).empty());
  for (const auto& message : seen) EXPECT_TRUE(message.expired());
}

TEST_F(Stale, AnOwnerWhoCouldNotBeToldIsToldWhenTheItemComesBack) {  // S3-28
  send(orchestration, "child", "parent");
  hooks_.broken = true;
  EXPECT_FALSE(
      runtime_->abandon(orchestration, fetch_one(orchestration), {.force_poison = true}, now_));
  now_ += 31s;
  EXPECT_TRUE(fetch(orchestration).empty());
  EXPECT_EQ(must(orchestrators_->stats(now_)).dead_lettered, 0U) << "not before it is told";
  hooks_.broken = false;
  now_ += 31s;
  EXPECT_TRUE(fetch(orchestration).empty());
  ASSERT_EQ(hooks_.told.size(), 2U);
  EXPECT_EQ(hooks_.told[1].what, "parent told");
  EXPECT_EQ(hooks_.told[0].poison.max_abandons, 5U);
  EXPECT_EQ(must(orchestrators_->stats(now_)).dead_lettered, 1U);
  EXPECT_EQ(must(runtime_->list_poison(orchestration)).size(), 1U);
}

TEST_F(Stale, ACrashLoopEndsUnderEveryProfile) {
  for (const char* profile : {"durable", "durable+safe", "durable-fetch"}) {
    use(profile);
    send(activity, "i-1");
    int runs = 0;
    for (; runs < 50; ++runs) {
      const auto got = fetch(activity, 1);
      if (got.empty()) break;
      must(runtime_->start(activity, got.front().lease, now_));
      now_ += 31s;
    }
    EXPECT_LE(runs, 10) << profile;
    EXPECT_EQ(must(runtime_->list_poison(activity)).size(), 1U) << profile;
  }
}

TEST_F(Stale, WhatTheProfileCondemnsIsDescribedInItsWords) {  // 3.3
  use("durable-fetch");
  send(orchestration, "i-1");
  for (int n = 1; n <= 10; ++n) abandon(orchestration, fetch_one(orchestration));
  EXPECT_TRUE(fetch(orchestration).empty());
  const auto item = must(runtime_->list_poison(orchestration)).front();
  const DeadLetter record = must(office_->get(item.record)).record;
  EXPECT_NE(record.description.find("11 attempts"), std::string::npos) << record.description;
  EXPECT_EQ(hooks_.told.front().poison.abandon_count, 11U);
}

TEST_F(Stale, ADelayBeyondTheEndOfTimeIsNotOverAtOnce) {
  send(activity, "i-1");
  abandon(activity, fetch_one(activity), {.increment_count = true, .delay = Millis::max()});
  EXPECT_TRUE(fetch(activity).empty());
}

}  // namespace
}  // namespace dlo::testing
