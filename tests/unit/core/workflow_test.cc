// What profile `workflow` and its safe variant decide, beyond the table of profiles.
#include <gtest/gtest.h>

#include "unit/core/always_failing.h"

#include "dlo/core/backoff.h"
#include "dlo/core/decide.h"
#include "dlo/core/retry_request.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::book_of;
using testing::failed;
using testing::must;
using testing::noon;
using testing::running;
using testing::verdict;

TEST(Workflow, WhatIsNeverRetriedIsExhaustedAtTheLimitAllTheSame) {  // R2-5: it stayed pending
  for (const char* name : {"workflow", "workflow+safe"}) {
    const RuleBook book = book_of(name);
    Counters counters = running(3);  // two retries by hand before this one
    counters.retry = 2;
    const auto early = verdict<DeadLetterAs>(book.after_run(failed("odd"), counters, noon, 0));
    EXPECT_FALSE(early.exhausted) << name;
    for (const std::uint32_t retries : {3U, 4U}) {
      counters.retry = retries;
      const auto late = verdict<DeadLetterAs>(book.after_run(failed("odd"), counters, noon, 0));
      EXPECT_TRUE(late.exhausted) << name;
      EXPECT_EQ(late.reason, "exhausted") << name;
    }
    const RuleBook none = must(RuleBook::build(with_limit(must(find_profile(name)), 0)));
    EXPECT_TRUE(verdict<DeadLetterAs>(none.after_run(failed("odd"), running(1), noon, 0)).exhausted)
        << name << ": no retry was ever meant (R2-6)";
  }
}

TEST(Workflow, ThePolicyOfWhatIsNeverRetriedIsNever) {  // S2-4, S2-8, S2-25
  for (const char* name : {"workflow", "workflow+safe"}) {
    for (const char* category : {"permission", "validation", "permanent"}) {
      EXPECT_EQ(print(book_of(name).policy_for(category)), "never") << name << " " << category;
    }
  }
}

TEST(Workflow, ATargetThatDoesNotAnswerIsNoFaultOfTheTask) {  // S2-8
  const RuleBook book = book_of("workflow+safe");             // names in a decision are the book's
  for (const char* code : {"connection_refused", "connection_reset", "dns", "timed_out", "tls"}) {
    Outcome outcome = failed("POST http://h/x failed");
    outcome.failure.code = code;
    const Decision decision = book.after_run(outcome, running(1), noon, 0);
    EXPECT_EQ(decision.category, "network") << code;
    EXPECT_TRUE(std::holds_alternative<RetryAt>(decision.verdict)) << code;
  }
}

TEST(Workflow, AHandlerThatExitsWith75IsTriedAgain) {  // DESIGN 5
  for (const char* name : {"workflow", "workflow+safe"}) {
    const RuleBook book = book_of(name);
    for (const char* text : {"", "odd", "invalid format"}) {
      Outcome outcome = failed(text);
      outcome.failure.code = "exit:75";
      const Decision decision = book.after_run(outcome, running(1), noon, 0);
      EXPECT_EQ(decision.category, "transient") << name << " " << text;
      EXPECT_TRUE(std::holds_alternative<RetryAt>(decision.verdict)) << name << " " << text;
      outcome.failure.code = "exit:1";
      EXPECT_FALSE(
          std::holds_alternative<RetryAt>(book.after_run(outcome, running(1), noon, 0).verdict))
          << name << " " << text;
    }
  }
}

TEST(Unregistered, WaitsAsTheTaskWasAskedTo) {  // S2-4, S2-6
  const auto asked = [](std::optional<const char*> policy) {
    RetryRequest request;
    if (policy) request.policy = must(parse_policy(*policy));
    const RuleBook book =
        must(RuleBook::build(with_request(must(find_profile("workflow")), request)));
    return book.unregistered(testing::claimed(), noon, 0);
  };
  EXPECT_EQ(verdict<RetryAt>(asked({})).delay, 1min) << "as any other failure";
  EXPECT_EQ(verdict<RetryAt>(asked("linear base=5m")).delay, 5min);
  EXPECT_FALSE(verdict<DeadLetterAs>(asked("never")).exhausted);
}

}  // namespace
}  // namespace dlo
