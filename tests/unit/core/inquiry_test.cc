#include "dlo/core/inquiry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/core/always_failing.h"

#include "dlo/core/dependencies.h"
#include "dlo/core/given_up.h"
#include "dlo/core/retry_request.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::book_of;
using testing::failure_saying;
using ::testing::HasSubstr;
using testing::must;
using testing::noon;
using testing::running;

std::string step(const Explanation& explanation, std::string_view name) {
  std::string all;
  for (const ExplainStep& said : explanation.steps) {
    if (said.step == name) all += said.text + "\n";
  }
  return all;
}

/// A dead letter as an engine would write it.
DeadLetter record_of(const RuleBook& book, const Decision& decision, Failure failure) {
  DeadLetter record;
  auto message = std::make_shared<Message>();
  message->id = "m-1";
  message->source = "orders";
  message->event_type = "OrderPlaced";
  record.message = std::move(message);
  record.profile = book.profile().name;
  record.category = decision.category;
  record.rule = decision.rule;
  record.failure = std::move(failure);
  record.counters = decision.counters;
  record.limit = book.limit_for(record.category);
  record.policy = print(book.policy_for(record.category));
  record.died_at = noon;
  if (const auto* death = std::get_if<DeadLetterAs>(&decision.verdict)) {
    record.reason = death->reason;
    record.description = death->description;
  }
  return record;
}

/// One that failed once and was given up.
DeadLetter given_up_record(const RuleBook& book) {
  const Failure failure = failure_saying("connection refused");
  const Decision decision = given_up(
      book.after_run({OutcomeKind::failed, failure}, running(1), noon, 0), book.profile(), failure);
  return record_of(book, decision, failure);
}

Explanation asked_about(const DeadLetter& record, const ProfileBook& rules = {},
                        const Inquiry& inquiry = {}, std::span<const Attempt> attempts = {}) {
  return must(explain(rules, {}, inquiry, {&record, attempts}, noon + 1h));
}

void expect_agrees(const Explanation& said, const DeadLetter& record) {
  const auto* death = std::get_if<DeadLetterAs>(&said.verdict);
  ASSERT_NE(death, nullptr) << record.profile << ": " << step(said, "verdict");
  EXPECT_EQ(death->reason, record.reason) << record.profile;
  EXPECT_EQ(death->description, record.description) << record.profile;
  EXPECT_EQ(said.category, record.category) << record.profile;
  EXPECT_EQ(said.rule, record.rule) << record.profile;
  EXPECT_EQ(said.limit, record.limit) << record.profile;
  EXPECT_EQ(said.counters_after, record.counters) << record.profile;
  EXPECT_THAT(step(said, "verdict"), HasSubstr("dead letter " + record.reason)) << record.profile;
}

TEST(Inquiry, WhatDiedOfItsRulesIsExplainedByThemInAgreementWithItsRecord) {
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = must(RuleBook::build(profile));
    for (const char* text : {"temporary", "bad request", "connection timeout"}) {
      const auto death = testing::live_failing(book, failure_saying(text));
      if (!death) continue;  // refused to the caller
      Decision decision;
      decision.verdict = death->as;
      decision.counters = death->counters;
      decision.category = death->category;
      decision.rule = death->rule;
      const DeadLetter record = record_of(book, decision, failure_saying(text));
      const Explanation said = asked_about(record);
      const auto* as = std::get_if<DeadLetterAs>(&said.verdict);
      ASSERT_NE(as, nullptr) << profile.name << " " << text;
      EXPECT_EQ(as->reason, record.reason) << profile.name << " " << text;
      EXPECT_EQ(step(said, "record"), "") << profile.name << " " << text;
    }
  }
}

TEST(Inquiry, WhatWasReportedAsGivenUpIsNoRetry) {
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = must(RuleBook::build(profile));
    const DeadLetter record = given_up_record(book);
    if (record.reason.empty()) continue;  // refused to the caller
    const Explanation said = asked_about(record);
    expect_agrees(said, record);
    EXPECT_EQ(step(said, "delay"), "") << profile.name;
    EXPECT_FALSE(said.delay.has_value()) << profile.name;
  }
  const Explanation said = asked_about(given_up_record(book_of("standard")));
  EXPECT_THAT(step(said, "record"), HasSubstr("reported as given up: kept"));
  EXPECT_THAT(said.because, HasSubstr("reported as given up"));
}

TEST(Inquiry, WhatNoRuleDecidedIsSaidToBeSo) {
  const RuleBook book = book_of("standard");
  DeadLetter record = given_up_record(book);
  const auto said_of = [&](std::string category, std::string type, std::string reason) {
    record.category = std::move(category);
    record.failure.type = std::move(type);
    record.reason = std::move(reason);
    const Explanation said = asked_about(record);
    expect_agrees(said, record);
    EXPECT_EQ(step(said, "classify"), "");
    return step(said, "record");
  };
  EXPECT_THAT(said_of("", "NoSuchAccount", "NoSuchAccount"), HasSubstr("by its worker"));
  EXPECT_THAT(said_of("poison", "Poison", "Poisoned"), HasSubstr("abandoned as poison"));
  EXPECT_THAT(said_of("unknown", "", "Expired"), HasSubstr("time to live"));
  EXPECT_THAT(said_of("invalid", "", "SchemaViolation"), HasSubstr("did not pass validation"));
  EXPECT_THAT(said_of("unknown", "", std::string(blocked_reason)), HasSubstr("it waits for"));
}

TEST(Inquiry, ACategoryThatIsNeverRetriedOverridesNothing) {
  const RuleBook book = book_of("workflow");
  const Failure failure = failure_saying("Permission denied");
  const Decision decision = book.after_run({OutcomeKind::failed, failure}, running(1), noon, 0);
  const DeadLetter record = record_of(book, decision, failure);
  ASSERT_EQ(record.policy, "never");
  const Explanation said = asked_about(record);
  expect_agrees(said, record);
  EXPECT_EQ(step(said, "override"), "");
  EXPECT_EQ(said.policy, "never");
}

TEST(Inquiry, WhoseReplayToAnExecutorFailedIsStillDeadOfWhatItDiedOf) {
  const RuleBook book = book_of("standard");
  const Failure first = failure_saying("amount is negative");
  DeadLetter record =
      record_of(book, book.after_run({OutcomeKind::failed, first}, running(5), noon, 0), first);
  ASSERT_EQ(record.reason, "MaxAttemptsExceeded");
  const std::string category = record.category;
  Attempt died;
  died.number = 5;
  died.started_at = noon - 1s;
  died.error_text = first.text;
  died.category = category;
  Attempt replayed;
  replayed.number = 6;
  replayed.started_at = noon + 1min;
  replayed.error_text = "401 unauthorized";
  replayed.node = "mailer";
  record.failure = failure_saying(replayed.error_text);
  ++record.counters.total;
  const std::vector<Attempt> attempts{replayed, died};
  const Explanation said = asked_about(record, {}, {}, attempts);
  expect_agrees(said, record);
  EXPECT_THAT(step(said, "replay"), HasSubstr("\"mailer\" in vain: 401 unauthorized"));
}

TEST(Inquiry, ItsOwnLimitAndPolicyExplainARecordWhateverHoldsNow) {
  Profile then = must(find_profile("standard"));
  then = with_limit(std::move(then), 2);
  const RuleBook book = must(RuleBook::build(then));
  const Failure failure = failure_saying("busy");
  const DeadLetter record =
      record_of(book, book.after_run({OutcomeKind::failed, failure}, running(2), noon, 0), failure);
  const Explanation said = asked_about(record);
  expect_agrees(said, record);
  EXPECT_THAT(step(said, "override"),
              HasSubstr("limit = 2, as when it was decided; now it would be 5"));
  EXPECT_THAT(step(said, "post_check"), HasSubstr("attempt 2 is >= 2"));
}

TEST(Inquiry, ACategoryThatSomebodySaidIsKept) {
  const RuleBook book = book_of("workflow+safe");
  Failure failure = failure_saying("no idea");
  const RuleBook said_so = must(RuleBook::build(with_category(book.profile(), "permission")));
  const DeadLetter record = record_of(
      said_so, said_so.after_run({OutcomeKind::failed, failure}, running(1), noon, 0), failure);
  ASSERT_EQ(record.category, "permission");
  const Explanation said = asked_about(record);
  EXPECT_EQ(said.category, "permission");
  EXPECT_THAT(step(said, "classify"), HasSubstr("taken for permission"));
  EXPECT_EQ(std::get<DeadLetterAs>(said.verdict).reason, record.reason);
}

TEST(Inquiry, AWaitTheRulesWouldDrawIsSaidAsItsRange) {
  const RuleBook book = book_of("standard");
  const Failure failure = failure_saying("boom");
  DeadLetter record =
      record_of(book, book.after_run({OutcomeKind::failed, failure}, running(1), noon, 0), failure);
  record.reason = "MovedByHand";
  EXPECT_THAT(step(asked_about(record), "record"), HasSubstr("they say retry after 0s to 1s"));
}

TEST(Inquiry, WhatWaitsIsDueWhenItsRecordSays) {
  const RuleBook book = book_of("workflow+safe");
  const Failure failure = failure_saying("connection timeout");
  DeadLetter record =
      record_of(book, book.after_run({OutcomeKind::failed, failure}, running(1), noon, 0), failure);
  record.reason = record.category;  // as a report desk writes it
  record.last_failed_at = noon;
  record.next_retry_at = noon + 77s;
  const Explanation said = asked_about(record);
  const auto* retry = std::get_if<RetryAt>(&said.verdict);
  ASSERT_NE(retry, nullptr);
  EXPECT_EQ(retry->when, noon + 77s);
  EXPECT_EQ(retry->delay, 77s);
  EXPECT_THAT(step(said, "verdict"), HasSubstr("retry after 77s"));
}

TEST(Inquiry, WhatIsSupposedIsDecidedByTheRulesAndNotByTheRecord) {
  const DeadLetter record = given_up_record(book_of("standard"));
  Inquiry inquiry;
  inquiry.attempt = 2;
  EXPECT_TRUE(std::holds_alternative<RetryAt>(asked_about(record, {}, inquiry).verdict));
  inquiry = {};
  inquiry.profile = "kafka+safe";
  EXPECT_EQ(asked_about(record, {}, inquiry).profile, "kafka+safe");
}

TEST(Inquiry, OverridesOfSourceEventTypeAndMessageApplyAndAreNamed) {
  ProfileBook rules;
  rules.set_source("orders", {.limit = 7, .policy = {}, .classifier = {}});
  rules.set_event_type("OrderPlaced", {.limit = 2, .policy = {}, .classifier = {}});
  const auto ask = [&](const std::string& source, const std::string& type) {
    Inquiry inquiry;
    inquiry.error = "busy";
    inquiry.source = source;
    inquiry.event_type = type;
    inquiry.attempt = 2;
    return must(explain(rules, {}, inquiry, {}, noon));
  };
  EXPECT_EQ(ask("", "").limit, 5U);
  EXPECT_EQ(ask("orders", "").limit, 7U);
  const Explanation narrow = ask("orders", "OrderPlaced");
  EXPECT_EQ(narrow.limit, 2U);
  EXPECT_TRUE(std::holds_alternative<DeadLetterAs>(narrow.verdict));
  EXPECT_THAT(step(narrow, "override"), HasSubstr("limit = 2, set by event type OrderPlaced"));
  EXPECT_THAT(step(ask("orders", ""), "override"), HasSubstr("set by source orders"));
}

TEST(Inquiry, AnUnknownProfileOfARecordIsRefusedWithWhatToDo) {
  DeadLetter record = given_up_record(book_of("standard"));
  record.profile = "payments";
  const auto said = explain({}, {}, {}, {&record, {}}, noon);
  ASSERT_FALSE(said);
  EXPECT_THAT(said.error().detail, HasSubstr("Name the configuration that has it"));
}

}  // namespace
}  // namespace dlo
