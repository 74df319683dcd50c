#include "dlo/core/abandon.h"

#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck.h>

#include "unit/core/always_failing.h"

namespace dlo {
namespace {

Profile with_check(CounterName counter, Comparison comparison, std::uint32_t limit) {
  Profile profile;
  profile.limit = limit;
  profile.post_check = Check{counter, comparison, limit, "Poisoned", ""};
  return profile;
}
Profile durable(std::uint32_t limit = 5) {
  return with_check(CounterName::abandon, Comparison::at_least, limit);
}
Profile durable_safe() {
  return with_check(CounterName::abandon_or_fetch, Comparison::at_least, 5);
}
Profile durable_fetch() {
  Profile profile;
  profile.limit = 10;
  profile.pre_check = Check{CounterName::fetch, Comparison::greater, 10, "Poison", ""};
  return profile;
}
Profile kafka() {
  return with_check(CounterName::next_retry, Comparison::greater, 3);
}

Profile workflow() {
  return with_check(CounterName::retry, Comparison::at_least, 3);
}
Profile booking_outbox() {
  Profile profile;
  profile.limit = 3;
  profile.pre_check = Check{CounterName::failure, Comparison::at_least, 3, "Max", ""};
  return profile;
}

Counters counters(std::uint32_t fetch, std::uint32_t abandon) {
  Counters value;
  value.fetch = fetch;
  value.abandon = abandon;
  return value;
}

AbandonOptions counted() {
  return {.increment_count = true};
}
AbandonOptions unprocessed() {
  return {};
}
AbandonOptions forced(bool increment) {
  return {.increment_count = increment, .force_poison = true};
}
AbandonOptions limited(bool increment, std::uint32_t limit) {
  return {.increment_count = increment, .max_abandon_count = limit};
}

struct Row {
  const char* name;
  Profile profile;
  Counters before;
  AbandonOptions options;
  AbandonResult result;
  Counters after;
  std::uint32_t limit;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Abandoning : public ::testing::TestWithParam<Row> {};

TEST_P(Abandoning, FollowsTheTable) {
  const Row& row = GetParam();
  const AbandonDecision decision = decide_abandon(row.profile, row.before, row.options);
  EXPECT_EQ(decision.result, row.result);
  EXPECT_EQ(decision.counters, row.after);
  EXPECT_EQ(decision.limit, row.limit);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(S3_20, Abandoning, ::testing::ValuesIn<Row>({
    {"TheFirstAbandonReleases",                     durable(), counters(1, 0), counted(),          Released{},  counters(1, 1), 5},
    {"TheFourthAbandonReleases",                    durable(), counters(4, 3), counted(),          Released{},  counters(4, 4), 5},
    {"TheFifthAbandonPoisons",                      durable(), counters(5, 4), counted(),          Poisoned{5}, counters(5, 5), 5},
    {"BeyondTheLimitItStillPoisons",                durable(), counters(9, 8), counted(),          Poisoned{9}, counters(9, 9), 5},
    {"S3_22_NeverProcessedDoesNotCount",            durable(), counters(4, 3), unprocessed(),      Released{},  counters(3, 3), 5},
    {"S3_20_ComparesAlsoWithoutCounting",           durable(), counters(6, 5), unprocessed(),      Poisoned{5}, counters(5, 5), 5},
    {"S3_23_ForceIgnoresTheCount",                  durable(), counters(1, 0), forced(true),       Poisoned{1}, counters(1, 1), 5},
    {"S3_23_ForceWithoutCountAnswersTheCurrentOne", durable(), counters(3, 2), forced(false),      Poisoned{2}, counters(3, 2), 5},
    {"S3_25_ALowerLimitPerCall",                    durable(), counters(2, 1), limited(true, 2),   Poisoned{2}, counters(2, 2), 2},
    {"S3_25_AHigherLimitPerCall",                   durable(), counters(5, 4), limited(true, 9),   Released{},  counters(5, 5), 9},
    {"S3_25_ALimitOfOneIsTheFirstAbandon",          durable(), counters(1, 0), limited(true, 1),   Poisoned{1}, counters(1, 1), 1},
    {"S3_25_ALimitOfZeroPoisonsAtOnce",             durable(), counters(1, 0), limited(false, 0),  Poisoned{0}, counters(0, 0), 0},
    {"SafeCountsCrashesAsFetches",             durable_safe(), counters(5, 0), counted(),          Poisoned{5}, counters(5, 1), 5},
    {"SafeTakesTheHigherOfBoth",               durable_safe(), counters(2, 4), counted(),          Poisoned{5}, counters(2, 5), 5},
    {"SafeReleasesBelowBoth",                  durable_safe(), counters(4, 2), counted(),          Released{},  counters(4, 3), 5},
    {"S3_30_SafeGivesAnExpiredBufferItsClaimBack", durable_safe(), counters(5, 0), unprocessed(),  Released{},  counters(4, 0), 5},
    {"FetchCountingPoisonsBeforeTheRunNotHere", durable_fetch(), counters(40, 39), counted(),      Released{},  counters(40, 40), 10},
    {"FetchCountingObeysALimitPerCall",        durable_fetch(), counters(2, 1), limited(true, 2),  Poisoned{2}, counters(2, 2), 2},
    {"FetchCountingObeysForce",                durable_fetch(), counters(2, 0), forced(false),     Poisoned{2}, counters(2, 0), 10},
    {"APreCheckOfFailuresLetsTwoAbandonsPass", booking_outbox(), counters(2, 1), counted(),        Released{},  counters(2, 2), 3},
    {"APreCheckOfFailuresPoisonsAtTheThird",   booking_outbox(), counters(3, 2), counted(),        Poisoned{3}, counters(3, 3), 3},
    {"APreCheckOfFailuresForgivesTheUncounted", booking_outbox(), counters(9, 2), unprocessed(),   Released{},  counters(8, 2), 3},
    {"AnyProfileEndsByAbandonsAlone",                  kafka(), counters(4, 3), counted(),         Poisoned{4}, counters(4, 4), 3},
    {"AStrictProfileKeepsItsComparison",               kafka(), counters(3, 2), counted(),         Released{},  counters(3, 3), 3},
    {"ALimitOfRetriesForgivesTheFirstExecution",    workflow(), counters(3, 2), counted(),         Released{},  counters(3, 3), 3},
    {"ALimitOfRetriesIsReachedByTheThirdRetry",     workflow(), counters(4, 3), counted(),         Poisoned{4}, counters(4, 4), 3},
    {"ALimitOfTheCallIsOneOfAbandonsEverywhere",    workflow(), counters(2, 1), limited(true, 2),  Poisoned{2}, counters(2, 2), 2},
    {"ALimitReachedBeforePoisonsWhatNeverRan",         kafka(), counters(5, 4), limited(false, 4), Poisoned{4}, counters(4, 4), 4},
    {"WhatNeverRanHasNoCountAtAll",                    kafka(), counters(1, 0), limited(false, 0), Poisoned{0}, counters(0, 0), 0},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Abandoning, PoisonsAfterExactlyNAbandonsForAnyN) {  // S3-48, S3-51
  EXPECT_TRUE(rc::check([](bool safe, bool per_call) {
    const auto n = *rc::gen::inRange<std::uint32_t>(1, 500);
    const Profile profile = with_check(safe ? CounterName::abandon_or_fetch : CounterName::abandon,
                                       Comparison::at_least, per_call ? 1000 : n);
    AbandonOptions options = counted();
    if (per_call) options.max_abandon_count = n;
    Counters now;
    for (std::uint32_t i = 1; i <= n; ++i) {
      ++now.fetch;
      const AbandonDecision decision = decide_abandon(profile, now, options);
      const AbandonResult expected = i < n ? AbandonResult{Released{}} : Poisoned{n};
      RC_ASSERT(decision.result == expected);
      now = decision.counters;
    }
  }));
}

/// Claims and counted abandons until it is poisoned or a claim finds it dead; 100 at most.
std::uint32_t abandons_survived(const RuleBook& book, bool starts) {
  Counters now;
  for (std::uint32_t n = 1; n <= 100; ++n) {
    ++now.fetch;
    if (!std::holds_alternative<Run>(book.before_run(now).verdict)) return n - 1;
    if (starts) now = with_start(now);
    const AbandonDecision decision = decide_abandon(book.profile(), now, counted());
    if (std::holds_alternative<Poisoned>(decision.result)) return n;
    now = decision.counters;
  }
  return 100;
}

struct End {
  std::uint32_t executions = 0;
  bool unrun = false;  // released, and then a claim found it dead
  std::uint32_t limit = 0;
};

/// Counted abandons with a limit of their own until it is dead.
End abandoned_up_to(const RuleBook& book, std::uint32_t limit, bool carries) {
  Counters now;
  std::optional<std::uint32_t> carried;
  for (std::uint32_t n = 1; n <= 100; ++n) {
    ++now.fetch;
    if (!std::holds_alternative<Run>(book.before_run(now, "", carried).verdict)) {
      return {n - 1, true, 0};
    }
    const AbandonDecision decision =
        decide_abandon(book.profile(), with_start(now), limited(true, limit), carries);
    if (std::holds_alternative<Poisoned>(decision.result)) return {n, false, decision.limit};
    now = decision.counters;
    if (carries) carried = limit;
  }
  return {100, false, 0};
}

TEST(Abandoning, ALimitOfTheCallIsTheLimitUnderEveryProfile) {  // S3-25
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = testing::must(RuleBook::build(profile));
    for (const std::uint32_t limit : {1U, profile.limit, profile.limit + 2}) {
      SCOPED_TRACE(profile.name + " " + std::to_string(limit));
      const End end = abandoned_up_to(book, limit, true);
      EXPECT_FALSE(end.unrun) << "released, and then not run";
      EXPECT_EQ(end.executions, limit);
      EXPECT_EQ(end.limit, limit);
    }
  }
}

TEST(Abandoning, ALimitThatIsNotTakenAlongIsAtMostThatOfTheProfile) {
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = testing::must(RuleBook::build(profile));
    const auto failing =
        testing::live_failing(book, testing::failure_saying("connection reset by peer"));
    for (const std::uint32_t limit : {1U, profile.limit, profile.limit + 2}) {
      SCOPED_TRACE(profile.name + " " + std::to_string(limit));
      const End end = abandoned_up_to(book, limit, false);
      EXPECT_FALSE(end.unrun) << "released, and then not run";
      const bool lowered = profile.pre_check && limit > failing->executions;
      EXPECT_EQ(end.executions, lowered ? failing->executions : limit);
      EXPECT_EQ(end.limit, lowered ? profile.limit : limit) << "the one that decided";
    }
  }
}

TEST(Abandoning, ALowLimitOfTheCallReleasesNothingThatFailuresUsedUp) {
  const RuleBook book = testing::book_of("booking-retry-api");
  const Counters fourth = testing::running(4);
  const AbandonDecision decision = decide_abandon(book.profile(), fourth, limited(true, 2));
  EXPECT_TRUE(std::holds_alternative<Poisoned>(decision.result));
  EXPECT_EQ(decision.limit, 3U);
}

TEST(Abandoning, NoProfileCanBeAbandonedForEver) {  // R8
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = testing::must(RuleBook::build(profile));
    for (const bool starts : {false, true}) {
      EXPECT_LE(abandons_survived(book, starts), profile.limit + 1) << profile.name << starts;
    }
  }
  EXPECT_EQ(abandons_survived(testing::book_of("booking-outbox"), true), 3U);
  EXPECT_EQ(abandons_survived(testing::book_of("booking-retry-api"), true), 4U);
  EXPECT_EQ(abandons_survived(testing::book_of("booking-retry-api"), false), 4U);
  EXPECT_EQ(abandons_survived(testing::book_of("durable-fetch"), true), 10U);
}

/// CONTRACT 3.3, executions: how it ends makes no difference.
TEST(Abandoning, WhoeverOnlyAbandonsExecutesAsOftenAsWhoeverOnlyFails) {
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = testing::must(RuleBook::build(profile));
    const auto death =
        testing::live_failing(book, testing::failure_saying("connection reset by peer"));
    ASSERT_TRUE(death) << profile.name;
    EXPECT_EQ(abandons_survived(book, true), death->executions) << profile.name;
  }
}

TEST(Abandoning, IsTheEndOfAnExecutionUnlessNothingWasProcessed) {
  EXPECT_FALSE(is_execution(unprocessed()));
  EXPECT_FALSE(is_execution(limited(false, 0)));
  EXPECT_TRUE(is_execution(counted()));
  EXPECT_TRUE(is_execution(forced(true)));
  EXPECT_TRUE(is_execution(forced(false)));
}

TEST(Abandoning, NeverPoisonsWhatWasNeverProcessed) {  // S3-22, S3-30, I8
  EXPECT_TRUE(rc::check([](bool safe) {
    const Profile profile = safe ? durable_safe() : durable();
    Counters now;
    for (int i = 0; i < 200; ++i) {
      ++now.fetch;
      const AbandonDecision decision = decide_abandon(profile, now, unprocessed());
      RC_ASSERT(decision.result == AbandonResult{Released{}});
      now = decision.counters;
      RC_ASSERT(now == Counters{});
    }
  }));
}

TEST(Abandoning, IsTotalAtTheEndsOfTheNumbers) {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  const AbandonDecision top = decide_abandon(durable(most), counters(most, most), counted());
  EXPECT_EQ(top.result, AbandonResult{Poisoned{most}});
  EXPECT_EQ(top.counters.abandon, most) << "saturates instead of starting over";
  EXPECT_EQ(decide_abandon(durable(), counters(0, 0), unprocessed()).counters.fetch, 0U)
      << "never below zero (R3-3)";
  Counters retries;
  retries.retry = most;
  EXPECT_EQ(decide_abandon(kafka(), retries, counted()).result, AbandonResult{Poisoned{most}});
}

TEST(Abandoning, WithoutCountingComparesAbandonsAndNothingElse) {  // S3-20, S3-30
  Counters lost = testing::running(4);  // two abandons, and two leases that were lost
  lost.abandon = 2;
  lost.fetch = 5;
  for (const Profile& profile : {kafka(), workflow(), durable_fetch(), booking_outbox()}) {
    EXPECT_EQ(decide_abandon(profile, lost, unprocessed()).result, AbandonResult{Released{}});
  }
  lost.abandon = 4;
  EXPECT_TRUE(std::holds_alternative<Poisoned>(decide_abandon(kafka(), lost, unprocessed()).result))
      << "they are enough by themselves";
}

TEST(Abandoning, WithoutCountingObeysTheLimitThatTheItemWasReleasedUnder) {  // S3-25
  for (const Profile& profile : builtin_profiles()) {
    Counters eight = testing::running(8);
    eight.abandon = 8;
    eight.fetch = 9;
    const AbandonDecision back = decide_abandon(profile, eight, unprocessed(), true, 20);
    EXPECT_EQ(back.result, AbandonResult{Released{}}) << profile.name;
    EXPECT_EQ(back.limit, 20U) << profile.name;
    EXPECT_EQ(decide_abandon(profile, eight, forced(false), true, 20).limit, 20U) << profile.name;
    const AbandonDecision next = decide_abandon(profile, eight, counted(), true, 20);
    EXPECT_NE(next.limit, 20U) << "one that counts has its own, " << profile.name;
  }
}

TEST(Abandoning, AsksForNothingByDefault) {  // S3-26
  const AbandonOptions options;
  EXPECT_FALSE(options.increment_count);
  EXPECT_FALSE(options.force_poison);
  EXPECT_FALSE(options.error_message);
  EXPECT_FALSE(options.max_abandon_count);
  EXPECT_EQ(options.delay, Millis{0});
}

TEST(PoisonValue, IsItsOwnClassOfErrorAndNeverRetryable) {  // S3-12, S3-13
  EXPECT_EQ(name_of(category_of(Poison{})), "poison");
  EXPECT_FALSE(is_retryable(category_of(Poison{})));
  EXPECT_EQ(name_of(ErrorClass::infrastructure), "infrastructure");
  EXPECT_EQ(name_of(ErrorClass::configuration), "configuration");
  EXPECT_EQ(name_of(ErrorClass::application), "application");
  EXPECT_TRUE(is_retryable(ErrorClass::infrastructure));
  EXPECT_FALSE(is_retryable(ErrorClass::configuration));
  EXPECT_FALSE(is_retryable(ErrorClass::application));
}

TEST(PoisonValue, DescribesItselfForPeople) {  // S3-10, S3-11, R3-2
  EXPECT_EQ(describe(Poison{5, 5, "disk full", std::nullopt}),
            "poison: orchestration exceeded 5 abandons (max 5): disk full");
  EXPECT_EQ(describe(Poison{6, 5, std::nullopt, Activity{"charge", 7}}),
            "poison: activity charge#7 exceeded 6 abandons (max 5)");
  EXPECT_EQ(describe(Poison{1, 1, "", std::nullopt}),
            "poison: orchestration exceeded 1 abandon (max 1)");
  EXPECT_EQ(describe(Poison{2, 5, "bad input", std::nullopt}),
            "poison: orchestration was poisoned on request after 2 abandons (max 5): bad input");
}

TEST(PoisonValue, IsTheNumberOfRunsAlsoForWhatDiesBeforeOne) {  // S3-37, contract 3.3
  const Profile safe = testing::must(find_profile("durable+safe"));
  Counters lost = testing::running(5);  // five runs whose leases were lost
  EXPECT_EQ(poison_count(safe, lost), 5U);
  lost.fetch = 6;  // the claim that found it out ran nothing
  EXPECT_EQ(poison_count(safe, lost), 5U);
  lost.abandon = 4;
  EXPECT_EQ(poison_count(safe, lost), 5U);
  const Profile fetch = testing::must(find_profile("durable-fetch"));
  Counters claimed = testing::running(10);
  claimed.fetch = 11;
  EXPECT_EQ(poison_count(fetch, claimed), 11U) << "claims are what it counts";
}

TEST(PoisonValue, CallsOnlyAbandonsAbandons) {
  EXPECT_EQ(describe(Poison{5, 5, "x", std::nullopt, 2}, "message"),
            "poison: message exceeded 5 attempts (max 5): x");
  EXPECT_EQ(describe(Poison{5, 5, "x", std::nullopt, 5}, "message"),
            "poison: message exceeded 5 abandons (max 5): x");
  EXPECT_EQ(describe(Poison{1, 5, "", std::nullopt, 0}),
            "poison: orchestration was poisoned on request after 0 abandons (max 5)");
  EXPECT_EQ(describe(Poison{0, 0, "", std::nullopt, 0}),
            "poison: orchestration was poisoned on request after 0 abandons (max 0)");
}

}  // namespace
}  // namespace dlo
