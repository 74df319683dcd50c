#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "unit/core/always_failing.h"

#include "dlo/core/decide.h"

namespace dlo {
namespace {

using testing::book_of;
using testing::claimed;
using testing::failed;
using ::testing::HasSubstr;
using testing::live;
using testing::must;
using testing::noon;
using testing::running;
using testing::verdict;

// --- counting -----------------------------------------------------------------------------------

TEST(Counting, TheStartMarkCountsAttemptsAndRetries) {  // R1
  Counters counters = RuleBook::started({});
  EXPECT_EQ(print(counters), "fetch=0 attempt=1 failure=0 abandon=0 retry=0 replay=0 total=1");
  counters = RuleBook::started(counters);
  EXPECT_EQ(print(counters), "fetch=0 attempt=2 failure=0 abandon=0 retry=1 replay=0 total=2");
}

TEST(Counting, WhatNeverStartedIsGivenBackButNotBelowZero) {  // R1, I8, CONTRACT 3.2 step 5
  const RuleBook book = book_of("standard");
  const Outcome never{OutcomeKind::never_started, {}};
  const Decision decision = book.after_run(never, claimed(), noon, 0);
  EXPECT_EQ(decision.verdict, Verdict(GiveBack{}));
  EXPECT_EQ(decision.counters, Counters{});
  EXPECT_EQ(book.after_run(never, {}, noon, 0).counters, Counters{});
}

TEST(Counting, UnderDurableFetchAClaimStaysCounted) {  // R1, R3-1
  const Decision decision =
      book_of("durable-fetch").after_run({OutcomeKind::never_started, {}}, claimed(), noon, 0);
  EXPECT_EQ(decision.counters, claimed());
}

TEST(Counting, InDurableAFailedRunIsACountedAbandon) {  // S3-28
  const RuleBook book = book_of("durable");
  EXPECT_EQ(book.after_run(failed("x"), running(1), noon, 0).counters.abandon, 1U);
  EXPECT_EQ(book_of("kafka").after_run(failed("x"), running(1), noon, 0).counters.abandon, 0U);
}

TEST(Counting, ACounterAtItsEndStaysThere) {
  Counters full;
  full.fetch = full.attempt = full.failure = full.abandon = full.retry = full.total =
      std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(RuleBook::started(full), full);
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = must(RuleBook::build(profile));
    const Decision decision = book.after_run(failed("temporary"), full, noon, 0);
    EXPECT_EQ(decision.counters.failure, full.failure) << profile.name;
  }
}

// --- crashes ------------------------------------------------------------------------------------

struct CrashRow {
  const char* profile;
  std::uint32_t executions;
  const char* reason;
};
void PrintTo(const CrashRow& row, std::ostream* out) {
  *out << row.profile;
}
class CrashLoop : public ::testing::TestWithParam<CrashRow> {};

TEST_P(CrashLoop, EndsAtTheStatedExecution) {  // D5, R8, S3-14
  const auto death = live(book_of(GetParam().profile), {OutcomeKind::crashed, {}});
  ASSERT_TRUE(death);
  EXPECT_EQ(death->executions, GetParam().executions);
  EXPECT_EQ(death->as.reason, GetParam().reason);
}
// clang-format off
INSTANTIATE_TEST_SUITE_P(Decide, CrashLoop, ::testing::ValuesIn<CrashRow>({
    {"standard",               5, "MaxAttemptsExceeded"},
    {"service-bus",            3, "PoisonMessage"},
    {"service-bus+safe",       3, "PoisonMessage"},
    {"booking",                3, "crash"},
    {"booking+safe",           3, "MaxRequeueAttemptsExceeded"},
    {"booking-outbox",         3, "crash"},
    {"booking-outbox+safe",    3, "MaxPublishAttemptsExceeded"},
    {"booking-retry-api",      3, "crash"},
    {"booking-retry-api+safe", 4, "Maximum retry attempts reached"},
    {"workflow",               4, "exhausted"},
    {"workflow+safe",          4, "exhausted"},
    {"durable",                5, "crash"},
    {"durable+safe",           5, "Poisoned"},
    {"durable-fetch",         10, "Poison"},
    {"durable-fetch+safe",    10, "Poison"},
    {"kafka",                  3, "crash"},
    {"kafka+safe",             4, "UnexpectedException"},
}));
// clang-format on

TEST(Crash, ThatDoesNotCountLeavesTheFailuresAlone) {  // D5
  const RuleBook book = book_of("booking");
  Counters counters = running(1);
  counters.fetch = 2;
  const Decision decision = book.resume(counters);
  EXPECT_EQ(decision.verdict, Verdict(dlo::Run{}));
  EXPECT_EQ(decision.counters, counters);
}

TEST(Crash, ThatCountsIsReadOffTheStartMarks) {
  // Three starts, one reported failure: two crashes that no process lived to write down.
  const RuleBook book = must(RuleBook::build(with_limit(must(find_profile("booking+safe")), 9)));
  Counters counters;
  counters.fetch = 4;
  counters.attempt = counters.total = 3;
  counters.retry = 2;
  counters.failure = 1;
  const Decision once = book.resume(counters);
  EXPECT_EQ(once.verdict, Verdict(dlo::Run{}));
  EXPECT_EQ(once.counters.failure, 3U);
  EXPECT_EQ(book.resume(once.counters).counters.failure, 3U);  // asking again counts nothing twice
}

/// Four executions that were abandoned and one that was cut off: one crash, not five.
TEST(Crash, AnAbandonIsAReport) {
  for (const Profile& base : builtin_profiles()) {
    const RuleBook book = must(RuleBook::build(with_limit(base, 9)));
    Counters counters;
    counters.fetch = 6;
    counters.attempt = counters.total = 5;
    counters.retry = 4;
    counters.abandon = 4;
    const Decision decision = book.resume(counters);
    EXPECT_EQ(decision.verdict, Verdict(dlo::Run{})) << base.name;
    const std::uint32_t counted = base.crash_counts ? 1 : 0;
    EXPECT_EQ(decision.counters.failure, counted) << base.name;
    EXPECT_EQ(decision.counters.abandon, 4 + (base.failure_abandons ? counted : 0)) << base.name;
  }
}

TEST(Crash, AFailureAfterAbandonsCountsOnce) {
  const RuleBook book = book_of("durable+safe");
  Counters counters = running(3);
  counters.failure = 0;
  counters.abandon = 2;
  const Decision decision = book.after_run(failed("x"), counters, noon, 0);
  EXPECT_EQ(decision.counters.abandon, 3U);
  EXPECT_EQ(decision.counters.failure, 1U);
}

TEST(Crash, ASecondOneWhileAloneIsFinal) {  // R7
  const Decision decision = book_of("standard").crashed_alone(running(2));
  EXPECT_EQ(verdict<DeadLetterAs>(decision).reason, "crash");
  EXPECT_EQ(decision.category, "crash");
}

TEST(Crash, KeepsTheErrorFromBefore) {  // I9
  const RuleBook book = book_of("booking+safe");
  Counters counters = running(3);
  counters.fetch = 4;
  counters.failure = 2;
  const auto dead = verdict<DeadLetterAs>(book.resume(counters, "the true error"));
  EXPECT_EQ(dead.reason, "MaxRequeueAttemptsExceeded");
  Profile profile = must(find_profile("booking+safe"));
  profile.post_check->description = "{error}";
  const RuleBook telling = must(RuleBook::build(profile));
  EXPECT_THAT(verdict<DeadLetterAs>(telling.resume(counters, "the true error")).description,
              HasSubstr("the true error"));
}

TEST(PreCheck, PutsTheLastErrorIntoTheDescription) {  // I9, R1-6
  Counters counters = running(4);
  const auto dead =
      verdict<DeadLetterAs>(book_of("booking-outbox").before_run(counters, "broker down"));
  EXPECT_EQ(dead.description, "Event was not published in 3 attempts. Last error: broker down");
}

TEST(Description, SaysSoIfNoErrorIsKnown) {
  const auto all_lost = live(book_of("standard"), {OutcomeKind::crashed, {}});
  ASSERT_TRUE(all_lost);
  EXPECT_EQ(all_lost->as.description,
            "All 5 attempts were used up. Last error: no error was reported");
  EXPECT_EQ(verdict<DeadLetterAs>(book_of("standard").before_run(running(6), "told")).description,
            "All 5 attempts were used up. Last error: told");
  EXPECT_EQ(verdict<DeadLetterAs>(book_of("durable").after_run(failed(""), running(9), noon, 0))
                .description,
            "poison: exceeded 9 abandons (max 5): no error was reported");
  EXPECT_EQ(verdict<DeadLetterAs>(book_of("kafka").after_run(failed(""), running(9), noon, 0))
                .description,
            "")
      << "where the error is all there is to say";
}

TEST(Description, DoesNotReadBlanksInsideTheError) {
  const auto dead = verdict<DeadLetterAs>(
      book_of("service-bus").after_run(failed("{limit} {error} {"), running(3), noon, 0));
  EXPECT_EQ(dead.description,
            "Message exceeded 3 delivery attempts. Last error: {limit} {error} {");
}

}  // namespace
}  // namespace dlo
