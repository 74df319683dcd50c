#include "dlo/access/scope.h"

#include <gtest/gtest.h>

#include "dlo/access/token_bucket.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

TEST(Scope, AnEmptyOneAllowsEverything) {
  EXPECT_TRUE(allows_source({}, "payments"));
  EXPECT_TRUE(allows_action({}, "queues.purge"));
}

TEST(Scope, AllowsItsSourcesByNameAndItsActionsByNameOrGroup) {
  const Scope scope{{"payments", "orders"}, {"read", "queues.*"}};
  EXPECT_TRUE(allows_source(scope, "orders"));
  EXPECT_FALSE(allows_source(scope, "order"));
  EXPECT_FALSE(allows_source(scope, ""));
  EXPECT_TRUE(allows_action(scope, "read"));
  EXPECT_TRUE(allows_action(scope, "queues.send"));
  EXPECT_FALSE(allows_action(scope, "queuesx.send"));
  EXPECT_FALSE(allows_action(scope, "dead-letters.resolve"));
}

TEST(Scope, NamesThatNothingHasAreRefusedWithTheNearest) {
  const std::vector<std::string> known = {"read", "queues.send", "queues.receive"};
  EXPECT_TRUE(check_actions({{}, {"read", "queues.*"}}, known));
  const auto wrong = check_actions({{}, {"queues.sned"}}, known);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().detail.find("did you mean \"queues.send\"?"), std::string::npos);
  EXPECT_FALSE(check_actions({{}, {"queue.*"}}, known));
  EXPECT_FALSE(check({{""}, {}}));
  EXPECT_FALSE(check({{}, {std::string(201, 'x')}}));
}

TEST(Scope, IsWithinAnotherOnlyIfThatAllowsAllItAllows) {
  const Scope own{{"payments", "orders"}, {"read", "queues.*"}};
  for (const Scope& fine : {own, Scope{{"orders"}, {"queues.send"}}}) {
    EXPECT_TRUE(check_within(fine, own));
  }
  for (const Scope& more :
       {Scope{}, Scope{{"orders"}, {}}, Scope{{}, {"read"}}, Scope{{"orders", "x"}, {"read"}},
        Scope{{"orders"}, {"read", "jobs.plan"}}}) {
    const auto refused = check_within(more, own);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::refused);
  }
  EXPECT_TRUE(check_within({{"any"}, {"queues.purge"}}, {}));
  EXPECT_FALSE(check_within({{}, {"queues.*"}}, {{}, {"queues.send"}})) << "a group of one member";
}

TEST(TokenBucket, AllowsASecondsWorthAtOnceAndThenItsRate) {
  TokenBucket bucket;
  TimePoint now{1'000s};
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(bucket.take(4, now)) << i;
  const auto wait = bucket.take(4, now);
  ASSERT_TRUE(wait);
  EXPECT_GE(*wait, 250ms);
  EXPECT_LE(*wait, 252ms);
  EXPECT_FALSE(bucket.take(4, now + *wait));
  EXPECT_TRUE(bucket.take(4, now + *wait));
}

TEST(TokenBucket, NeverHoldsMoreThanASecondsWorth) {
  TokenBucket bucket;
  EXPECT_FALSE(bucket.take(2, TimePoint{0s}));
  const TimePoint later{3'600s};
  EXPECT_FALSE(bucket.take(2, later));
  EXPECT_FALSE(bucket.take(2, later));
  EXPECT_TRUE(bucket.take(2, later));
}

TEST(TokenBucket, AClockThatGoesBackGivesNothing) {
  TokenBucket bucket;
  EXPECT_FALSE(bucket.take(1, TimePoint{100s}));
  EXPECT_TRUE(bucket.take(1, TimePoint{50s}));
  EXPECT_FALSE(bucket.take(1, TimePoint{52s}));
}

}  // namespace
}  // namespace dlo
