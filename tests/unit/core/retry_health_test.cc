#include "dlo/core/retry_health.h"

#include <gtest/gtest.h>

namespace dlo::testing {
namespace {

std::string codes(const RetryNumbers& numbers) {
  std::string all;
  for (const RetryAlert& alert : alerts_of(numbers)) all += std::string(alert.code) + " ";
  return all;
}

TEST(RetryHealth, AlertsAboveEachThresholdAndNotAtIt) {  // S2-43
  EXPECT_EQ(codes({}), "");
  EXPECT_EQ(codes({.utilisation = 80.0}), "");
  EXPECT_EQ(codes({.utilisation = 80.01}), "nearly_full ");
  EXPECT_EQ(codes({.exhausted = 100}), "");
  EXPECT_EQ(codes({.exhausted = 101}), "many_exhausted ");
  EXPECT_EQ(codes({.retry_success = 1, .retry_failed = 1}), "") << "exactly half";
  EXPECT_EQ(codes({.retry_success = 1, .retry_failed = 2}), "few_succeed ");
  EXPECT_EQ(codes({.retry_failed = 1}), "few_succeed ");
  EXPECT_EQ(codes({.in_memory = 1}), "in_memory ") << "while there is any (R2-10)";
  EXPECT_EQ(codes({99.0, 500, 0, 9}), "nearly_full many_exhausted few_succeed ");
}

TEST(RetryHealth, AnAlertBeginsOnceAndEndsOnce) {  // S2-43
  const auto full = alerts_of({.utilisation = 90.0, .in_memory = 1});
  const AlertTurns first = turns_of({}, full);
  ASSERT_EQ(first.began.size(), 2U);
  EXPECT_EQ(first.began[0].code, "nearly_full");
  EXPECT_TRUE(first.ended.empty());
  const AlertTurns same = turns_of({"nearly_full", "in_memory"}, full);
  EXPECT_TRUE(same.began.empty() && same.ended.empty());
  const AlertTurns over = turns_of({"nearly_full", "in_memory"}, alerts_of({.in_memory = 5}));
  EXPECT_TRUE(over.began.empty());
  EXPECT_EQ(over.ended, (std::vector<std::string>{"nearly_full"}));
}

}  // namespace
}  // namespace dlo::testing
