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

}  // namespace
}  // namespace dlo::testing
