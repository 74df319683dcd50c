// CONTRACT 3.3, cell by cell: one message that always fails, under every built-in profile.
#include <gtest/gtest.h>

#include "unit/core/always_failing.h"

#include "dlo/core/profile.h"

namespace dlo {
namespace {

using testing::book_of;
using testing::Death;
using testing::failure_saying;
using testing::live;
using testing::live_failing;

struct Row {
  std::string profile;
  std::uint32_t executions;
  bool before_running;  // dies in the pre-check of the claim after the last execution
  CounterName counter;
  std::uint32_t recorded;
  std::string reason;
  std::string description;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.profile;
}

std::string test_name(const ::testing::TestParamInfo<Row>& info) {
  std::string name = info.param.profile;
  for (char& c : name) {
    if (c == '-' || c == '+') c = '_';
  }
  return name;
}

class AlwaysFailing : public ::testing::TestWithParam<Row> {};

/// A text that every classifier retries: workflow's word for transient.
const std::string transient_text = "temporary trouble";

TEST_P(AlwaysFailing, DiesAtTheStatedMomentWithTheStatedRecord) {
  const Row& row = GetParam();
  const RuleBook book = book_of(row.profile);
  Failure failure = failure_saying(transient_text);
  failure.type = "InvalidOperationException";

  const auto death = live_failing(book, failure);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->executions, row.executions);
  EXPECT_EQ(death->before_running, row.before_running);
  EXPECT_EQ(value_of(death->counters, row.counter), row.recorded);
  EXPECT_EQ(death->counters.total, row.executions);
  EXPECT_EQ(death->as.reason, row.reason);
  EXPECT_EQ(death->as.description, row.description);
  EXPECT_TRUE(death->as.exhausted);
}

TEST_P(AlwaysFailing, ACrashLoopEndsToo) {
  const Row& row = GetParam();
  const auto death = live(book_of(row.profile), {OutcomeKind::crashed, {}});
  ASSERT_TRUE(death);
  EXPECT_GE(death->executions, 1U);
  EXPECT_LE(death->executions, row.executions);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Contract33, AlwaysFailing, ::testing::ValuesIn<Row>({
    {"standard",               5, false, CounterName::attempt, 5, "MaxAttemptsExceeded",
     "Attempt 5 of 5 failed. Last error: temporary trouble"},
    {"service-bus",            3, false, CounterName::fetch,   3, "MaxDeliveryCountExceeded",
     "Message exceeded 3 delivery attempts. Last error: temporary trouble"},
    {"service-bus+safe",       3, false, CounterName::fetch,   3, "MaxDeliveryCountExceeded",
     "Message exceeded 3 delivery attempts. Last error: temporary trouble"},
    {"booking",                3, false, CounterName::failure, 3, "MaxRequeueAttemptsExceeded",
     "Message failed after 3 attempts. Moving to DLQ."},
    {"booking+safe",           3, false, CounterName::failure, 3, "MaxRequeueAttemptsExceeded",
     "Message failed after 3 attempts. Moving to DLQ."},
    {"booking-outbox",         3, true,  CounterName::failure, 3, "MaxPublishAttemptsExceeded",
     "Event was not published in 3 attempts. Last error: temporary trouble"},
    {"booking-outbox+safe",    3, true,  CounterName::failure, 3, "MaxPublishAttemptsExceeded",
     "Event was not published in 3 attempts. Last error: temporary trouble"},
    {"booking-retry-api",      4, true,  CounterName::retry,   3, "Maximum retry attempts reached",
     "Max retries reached. Moved to DLQ for investigation."},
    {"booking-retry-api+safe", 4, true,  CounterName::retry,   3, "Maximum retry attempts reached",
     "Max retries reached. Moved to DLQ for investigation."},
    {"workflow",               4, false, CounterName::retry,   3, "exhausted",
     "Retry 3 of 3 failed. Last error: temporary trouble"},
    {"workflow+safe",          4, false, CounterName::retry,   3, "exhausted",
     "Retry 3 of 3 failed. Last error: temporary trouble"},
    {"durable",                5, false, CounterName::abandon, 5, "Poisoned",
     "poison: exceeded 5 abandons (max 5): temporary trouble"},
    {"durable+safe",           5, false, CounterName::abandon, 5, "Poisoned",
     "poison: exceeded 5 abandons (max 5): temporary trouble"},
    {"durable-fetch",         10, true,  CounterName::fetch,  11, "Poison",
     "poison: exceeded 11 attempts (max 10)"},
    {"durable-fetch+safe",    10, true,  CounterName::fetch,  11, "Poison",
     "poison: exceeded 11 attempts (max 10)"},
    {"kafka",                  4, false, CounterName::retry,   3, "InvalidOperationException",
     "temporary trouble"},
    {"kafka+safe",             4, false, CounterName::retry,   3, "InvalidOperationException",
     "temporary trouble"},
}), test_name);
// clang-format on

TEST(BuiltinProfiles, AreAllInTheTable) {
  EXPECT_EQ(builtin_profiles().size(), 17U);
}

}  // namespace
}  // namespace dlo
