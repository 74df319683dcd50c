#include "dlo/core/retry_request.h"

#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/core/decide.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

Decision first_failure(const Profile& profile, const std::string& error) {
  const RuleBook book = must(RuleBook::build(profile));
  Outcome outcome{OutcomeKind::failed, {}};
  outcome.failure.text = error;
  Decision decision = book.after_run(outcome, RuleBook::started({}), noon, 0);
  decision.category = decision.rule = {};  // views into the book
  return decision;
}

TEST(RetryRequest, TravelsInHeadersAndComesBackTheSame) {
  const RetryRequest all{must(parse_workflow_policy("linear")), 0};
  const RetryRequest policy_only{must(parse_workflow_policy("list delays=1m,1m,2m,3m,5m")), {}};
  for (const RetryRequest& asked : {all, policy_only, RetryRequest{}}) {
    Headers headers = {{"content-type", "x"}};
    put_request(headers, asked);
    EXPECT_EQ(request_of(headers), asked);
  }
}

TEST(RetryRequest, WhatCannotBeReadIsNoRequest) {
  EXPECT_EQ(request_of({{"dlo-retry-policy", "sometimes"}, {"dlo-max-retries", "-1"}}),
            RetryRequest{});
}

TEST(RetryRequest, ThePoliciesOfDocument002HaveItsFormulas) {  // S2-4..7
  const auto delays = [](const char* name) {
    std::vector<std::optional<Millis>> out;
    const RetryPolicy policy = must(parse_workflow_policy(name));
    for (std::uint64_t n = 1; n <= 8; ++n) out.push_back(delay_before(policy, n, Millis{0}, 0));
    return out;
  };
  using Delays = std::vector<std::optional<Millis>>;
  EXPECT_EQ(delays("exponential"), (Delays{1min, 2min, 4min, 8min, 16min, 32min, 60min, 60min}));
  EXPECT_EQ(delays("linear"), (Delays{5min, 10min, 15min, 20min, 25min, 30min, 35min, 40min}));
  EXPECT_EQ(delays("immediate"), Delays(8, Millis{0}));
  EXPECT_EQ(delays("never"), Delays(8, std::nullopt));
  EXPECT_FALSE(parse_workflow_policy("sometimes"));
}

TEST(RetryRequest, APolicyHoldsAlsoForWhatTheProfileNeverRetries) {  // S2-18
  const Profile workflow = must(find_profile("workflow"));
  EXPECT_TRUE(
      std::holds_alternative<DeadLetterAs>(first_failure(workflow, "permission denied").verdict));
  const Profile asked = with_request(workflow, {must(parse_workflow_policy("linear")), {}});
  const Decision decision = first_failure(asked, "permission denied");
  const auto* again = std::get_if<RetryAt>(&decision.verdict);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->delay, 5min);
}

TEST(RetryRequest, ANumberOfRetriesIsOneUnderEveryProfile) {
  for (const Profile& each : builtin_profiles()) {
    const Profile asked = with_request(each, {must(parse_workflow_policy("immediate")), 2});
    auto book = RuleBook::build(asked);
    ASSERT_TRUE(book) << each.name << ": " << book.error().detail;
    Outcome outcome{OutcomeKind::failed, {}};
    outcome.failure.text = "connection lost";
    Counters counters;
    int retries = 0;
    for (;; ++retries) {
      counters = RuleBook::started(counters);
      const Decision decision = book->after_run(outcome, counters, noon, 0);
      counters = decision.counters;
      if (!std::holds_alternative<RetryAt>(decision.verdict)) break;
    }
    EXPECT_EQ(retries, 2) << each.name;
  }
}

TEST(RetryRequest, NoRetriesAtAllIsExhaustedAtTheFirstFailure) {  // R2-6
  const Profile asked = with_request(must(find_profile("workflow")), {std::nullopt, 0});
  const Decision decision = first_failure(asked, "connection lost");
  const auto* death = std::get_if<DeadLetterAs>(&decision.verdict);
  ASSERT_NE(death, nullptr);
  EXPECT_TRUE(death->exhausted);
}

TEST(RetryRequest, ACategoryThatIsGivenIsTheCategoryUnderEveryProfile) {  // S2-18
  for (const Profile& each : builtin_profiles()) {
    const auto book = RuleBook::build(with_category(each, "resource"));
    ASSERT_TRUE(book) << each.name << ": " << book.error().detail;
    Failure failure;
    failure.text = "permission denied";
    EXPECT_EQ(book->classifier().classify(failure).category, "resource");
  }
}

TEST(RetryRequest, OnlyProfilesThatWaitInTheOfficeAreRetriedByIt) {
  EXPECT_TRUE(office_retries(must(find_profile("workflow"))));
  EXPECT_TRUE(office_retries(must(find_profile("workflow+safe"))));
  EXPECT_FALSE(office_retries(must(find_profile("standard"))));
}

}  // namespace
}  // namespace dlo::testing
