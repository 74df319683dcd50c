#include "dlo/core/explain.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/core/always_failing.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::book_of;
using ::testing::HasSubstr;
using testing::must;

Question about(std::string text, std::uint32_t attempt = 1) {
  Question question;
  question.outcome.failure.text = std::move(text);
  question.attempt = attempt;
  return question;
}

std::string step(const Explanation& explanation, std::string_view name) {
  std::string all;
  for (const ExplainStep& said : explanation.steps) {
    if (said.step == name) all += said.text + "\n";
  }
  return all;
}

TEST(Explain, TellsWhichRuleFiredAndWhatStoppedAnother) {
  const RuleBook book = book_of("workflow");
  const Explanation answer = must(explain(book, about("index out of bounds: access denied")));
  EXPECT_EQ(answer.rule, "permission");
  EXPECT_EQ(answer.category, "permission");
  EXPECT_THAT(step(answer, "classify"),
              HasSubstr("rule \"resource\" matched \"out of\" (substring) but not with \"index\""));
  EXPECT_THAT(step(answer, "classify"), HasSubstr("rule \"permission\" matched \"denied\""));
  EXPECT_THAT(step(answer, "category"), HasSubstr("permission means never"));
}

TEST(Explain, WhatIsHiddenBeforeADecisionMatchesNoRule) {
  const RuleBook book = book_of("service-bus");
  const auto category = [&](std::string text) {
    return must(explain(book, about(std::move(text)))).category;
  };
  EXPECT_EQ(category("login failed: timeout"), "non_retryable");
  EXPECT_EQ(category("login failed: password=timeout"), "retryable");
}

TEST(Explain, AttemptNMeansAllEarlierOnesFailedAndCounted) {  // R11
  const Explanation answer = must(explain(book_of("durable"), about("x", 3)));
  EXPECT_EQ(print(answer.counters_at_run),
            "fetch=3 attempt=3 failure=2 abandon=2 retry=2 replay=0 total=3");
  EXPECT_EQ(print(answer.counters_after),
            "fetch=3 attempt=3 failure=3 abandon=3 retry=2 replay=0 total=3");
  EXPECT_THAT(step(answer, "counters"), HasSubstr("abandon=3"));
}

TEST(Explain, AgreesWithTheEngineAtEveryExecution) {
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = must(RuleBook::build(profile));
    Counters counters;
    for (std::uint32_t n = 1; n <= 12; ++n) {
      ++counters.fetch;
      Decision decision = book.before_run(counters, "temporary");
      const bool ran = std::holds_alternative<dlo::Run>(decision.verdict);
      if (ran) {
        decision = book.after_run({OutcomeKind::failed, testing::failure_saying("temporary")},
                                  RuleBook::started(counters), TimePoint{}, Question{}.random);
      }
      const Explanation answer = must(explain(book, about("temporary", n)));
      EXPECT_EQ(answer.verdict, decision.verdict) << profile.name << " " << n;
      EXPECT_EQ(answer.ran, ran) << profile.name << " " << n;
      counters = decision.counters;
      if (!std::holds_alternative<RetryAt>(decision.verdict)) break;
    }
  }
}

TEST(Explain, TheCheckAndTheVerdictNameOneReason) {
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = must(RuleBook::build(profile));
    for (std::uint32_t n = 1; n <= 12; ++n) {
      Question question = about("temporary", n);
      question.outcome.failure.type = "System.InvalidOperationException";
      const Explanation answer = must(explain(book, question));
      const auto* dead = std::get_if<DeadLetterAs>(&answer.verdict);
      for (const std::string& said : {step(answer, "pre_check"), step(answer, "post_check")}) {
        const auto at = said.find("dead letter ");
        if (at == std::string::npos) continue;
        ASSERT_NE(dead, nullptr) << profile.name << " " << n;
        EXPECT_EQ(said.substr(at), "dead letter " + dead->reason + "\n")
            << profile.name << " " << n;
      }
    }
  }
}

TEST(Explain, ACheckThatNobodyAskedIsNotMentioned) {
  Profile profile = must(find_profile("workflow"));
  profile.categories["transient"].action = Action::reject_to_caller;
  const Explanation answer = must(explain(must(RuleBook::build(profile)), about("busy", 9)));
  ASSERT_TRUE(std::holds_alternative<RejectToCaller>(answer.verdict));
  EXPECT_EQ(step(answer, "post_check"), "");
}

TEST(Explain, SaysWhenAnExecutionWouldNeverHappen) {
  const RuleBook book = book_of("kafka");
  EXPECT_EQ(step(must(explain(book, about("x", 4))), "history"), "");
  EXPECT_THAT(step(must(explain(book, about("x", 7))), "history"), HasSubstr("execution 4"));
  EXPECT_TRUE(explain(book, about("x", 4'000'000'000)).has_value());
}

TEST(Explain, CountersCanBeGiven) {  // R11
  const RuleBook book = book_of("service-bus");
  Question question = about("network", 1);
  question.counters = {{"fetch", 4}};
  const Explanation answer = must(explain(book, question));
  EXPECT_FALSE(answer.ran);
  EXPECT_THAT(step(answer, "pre_check"), HasSubstr("fetch 4 is > 3: dead letter PoisonMessage"));
  question.counters = {{"fech", 4}};
  const auto refused = explain(book, question);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr("did you mean \"fetch\""));
}

TEST(Explain, ThereIsNoAttemptZero) {
  EXPECT_FALSE(explain(book_of("kafka"), about("x", 0)));
}

TEST(Explain, ShowsTheRangeThatJitterLeaves) {
  const Explanation answer = must(explain(book_of("standard"), about("boom", 3)));
  EXPECT_EQ(answer.delay, 2s);
  EXPECT_EQ(answer.shortest_delay, 0s);
  EXPECT_EQ(answer.longest_delay, 4s);
  EXPECT_THAT(step(answer, "delay"), HasSubstr("between 0s and 4s"));
  EXPECT_EQ(answer.policy, "exponential base=1s factor=2 cap=5m jitter=full");
  EXPECT_EQ(step(answer, "verdict"), "retry after 0s to 4s, placed delayed\n");
}

TEST(Explain, AWaitWithoutJitterIsOneNumber) {
  const Explanation answer = must(explain(book_of("kafka"), about("busy")));
  EXPECT_EQ(answer.shortest_delay, answer.longest_delay);
  EXPECT_THAT(step(answer, "verdict"), HasSubstr("retry after 2s, placed"));
}

TEST(Explain, ShowsHowFarDecorrelatedWaitsMayHaveGrown) {
  Profile profile = must(find_profile("standard"));
  profile.limit = 1000;
  profile.pre_check->limit = 1000;
  profile.post_check->limit = 1000;
  profile.retry = must(parse_policy("fixed base=1s cap=5m jitter=decorrelated"));
  const RuleBook book = must(RuleBook::build(profile));
  const auto range = [&](std::uint32_t attempt, Millis previous) {
    Question question = about("boom", attempt);
    question.previous = previous;
    const Explanation answer = must(explain(book, question));
    EXPECT_EQ(answer.shortest_delay, 1s) << attempt;
    EXPECT_THAT(step(answer, "delay"), HasSubstr("waits between 1s and")) << attempt;
    return answer.longest_delay;
  };
  EXPECT_EQ(range(1, 0s), 3s);
  EXPECT_EQ(range(2, 0s), 9s);
  EXPECT_EQ(range(5, 0s), 243s);
  EXPECT_EQ(range(10, 0s), 5min);
  EXPECT_EQ(range(999, 0s), 5min);
  EXPECT_EQ(range(10, 2s), 6s) << "the wait before is known";
}

TEST(Explain, NamesOverridesAndTheCategoryLimit) {  // R12
  Profile profile = must(find_profile("workflow"));
  profile.categories["transient"].limit = 5;
  Question question = about("busy", 2);
  question.overrides = {{"limit", "5", "event type PaymentFailed"}};
  const RuleBook book = must(RuleBook::build(profile));
  const Explanation answer = must(explain(book, question));
  EXPECT_THAT(step(answer, "override"), HasSubstr("limit = 5, set by event type PaymentFailed"));
  EXPECT_EQ(answer.limit, 5U);
  EXPECT_THAT(step(answer, "post_check"), HasSubstr("retry 1 is not >= 5"));
}

TEST(Explain, CoversSuccessAndCrashes) {
  Question question;
  question.outcome.kind = OutcomeKind::ok;
  EXPECT_EQ(must(explain(book_of("kafka"), question)).verdict, Verdict(Complete{}));
  question.outcome.kind = OutcomeKind::crashed;
  EXPECT_THAT(step(must(explain(book_of("booking"), question)), "classify"),
              HasSubstr("does not count"));
  EXPECT_THAT(step(must(explain(book_of("booking+safe"), question)), "classify"),
              HasSubstr("counts as a failure"));
}

TEST(Explain, MentionsRetryAfter) {
  Question question = about("busy");
  question.outcome.failure.retry_after = 30s;
  const Explanation answer = must(explain(book_of("kafka"), question));
  EXPECT_EQ(answer.delay, 30s);
  EXPECT_THAT(step(answer, "retry_after"), HasSubstr("30s"));
}

}  // namespace
}  // namespace dlo
