// Tries of one attempt, as the core decides them.
#include <gtest/gtest.h>

#include "unit/core/always_failing.h"

#include "dlo/core/decide.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::failed;
using testing::must;

RuleBook book_with(RetryPolicy policy, CustomBackoffs custom = {}) {
  Profile profile = must(find_profile("standard"));
  profile.inner.retries = 3;
  profile.inner.policy = std::move(policy);
  return must(RuleBook::build(std::move(profile), {}, std::move(custom)));
}

TEST(InnerRetry, EndsWhenItsTriesAreUsedUp) {
  const RuleBook book = book_with({.kind = PolicyKind::linear, .base = 10ms});
  EXPECT_EQ(book.try_again(failed("x"), 1, 0ms, 0), 10ms);
  EXPECT_EQ(book.try_again(failed("x"), 3, 20ms, 0), 30ms);
  EXPECT_EQ(book.try_again(failed("x"), 4, 30ms, 0), std::nullopt);
}

TEST(InnerRetry, OnlyFailuresAreTriedAgain) {
  const RuleBook book = book_with({.kind = PolicyKind::immediate});
  EXPECT_EQ(book.try_again({}, 1, 0ms, 0), std::nullopt);
  EXPECT_EQ(book.try_again({OutcomeKind::never_started, {}}, 1, 0ms, 0), std::nullopt);
}

TEST(InnerRetry, ASchedulesNameIsLookedUpAmongThoseOfTheProgram) {
  const RuleBook book = book_with({.kind = PolicyKind::custom, .custom = "mine"},
                                  {{"mine", [](std::uint64_t n) { return Millis{n * 700}; }}});
  EXPECT_EQ(book.try_again(failed("x"), 1, 0ms, 0), 700ms);
  EXPECT_EQ(book.try_again(failed("x"), 2, 700ms, 0), 1400ms);
}

TEST(InnerRetry, APolicyThatNeverRetriesLeavesOneTry) {
  EXPECT_EQ(book_with({.kind = PolicyKind::never}).try_again(failed("x"), 1, 0ms, 0), std::nullopt);
}

TEST(InnerRetry, WhoAsksForMorePatienceThanTheWaitIsNotTriedAgain) {
  const RuleBook book = book_with({.kind = PolicyKind::fixed, .base = 2s});
  Outcome outcome = failed("busy");
  outcome.failure.retry_after = 2s;
  EXPECT_EQ(book.try_again(outcome, 1, 0ms, 0), 2s);
  outcome.failure.retry_after = 3s;
  EXPECT_EQ(book.try_again(outcome, 1, 0ms, 0), std::nullopt);
}

}  // namespace
}  // namespace dlo
