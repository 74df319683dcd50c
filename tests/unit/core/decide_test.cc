#include "dlo/core/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/core/always_failing.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::book_of;
using testing::claimed;
using ::testing::ElementsAre;
using testing::failed;
using testing::failure_saying;
using testing::live;
using testing::live_failing;
using testing::must;
using testing::noon;
using testing::running;
using testing::verdict;

// --- the matrix of document 000 (S0-30) ---------------------------------------------------------

TEST(ServiceBus, SuccessCompletesAtAnyCount) {  // S0-5, S0-10 (1)
  const RuleBook book = book_of("service-bus");
  for (std::uint32_t n : {1U, 3U}) {
    const Decision decision = book.after_run({}, running(n), noon, 0);
    EXPECT_EQ(decision.verdict, Verdict(Complete{}));
    EXPECT_EQ(decision.counters, running(n));
  }
}

TEST(ServiceBus, APoisonMessageIsNotExecuted) {  // S0-6, S0-22..25, S0-10 (2)
  const RuleBook book = book_of("service-bus");
  Counters counters = running(3);
  EXPECT_EQ(book.before_run(counters).verdict, Verdict(dlo::Run{}));
  counters.fetch = 4;
  const auto dead = verdict<DeadLetterAs>(book.before_run(counters));
  EXPECT_EQ(dead.reason, "PoisonMessage");
  EXPECT_EQ(dead.description, "Message exceeded maximum delivery count of 3");
}

TEST(ServiceBus, ANonRetryableErrorEndsAtTheFirstDelivery) {  // S0-7, S0-10 (3)
  const RuleBook book = book_of("service-bus");               // names in a decision are the book's
  const Decision decision = book.after_run(failed("Bad Request"), running(1), noon, 0);
  const auto dead = verdict<DeadLetterAs>(decision);
  EXPECT_EQ(dead.reason, "NonRetryableError");
  EXPECT_EQ(dead.description, "Bad Request");
  EXPECT_FALSE(dead.exhausted);
  EXPECT_EQ(decision.rule, "bad request");
  EXPECT_EQ(decision.category, "non_retryable");
}

TEST(ServiceBus, ANetworkErrorIsAbandonedForRedelivery) {  // S0-8, S0-10 (4)
  const auto retry = verdict<RetryAt>(
      book_of("service-bus").after_run(failed("network error"), running(1), noon, 0));
  EXPECT_EQ(retry, (RetryAt{noon, 0ms, Placement::requeue}));
}

TEST(ServiceBus, TheThirdDeliveryRunsAndItsFailureIsFinal) {  // S0-9, S0-10 (5), R0-2, R0-7
  const auto dead = verdict<DeadLetterAs>(
      book_of("service-bus").after_run(failed("network error"), running(3), noon, 0));
  EXPECT_EQ(dead.reason, "MaxDeliveryCountExceeded");
  EXPECT_EQ(dead.description, "Message exceeded 3 delivery attempts. Last error: network error");
}

TEST(ServiceBus, ACrashAtTheLastDeliveryComesBackAsPoison) {  // D5, S0-22
  Counters counters = running(3);
  counters.fetch = 4;
  const auto dead = verdict<DeadLetterAs>(book_of("service-bus").resume(counters, "before"));
  EXPECT_EQ(dead.reason, "PoisonMessage");
}

// --- schedules ---------------------------------------------------------------------------------

TEST(Schedule, KafkaWaitsTwoFourEightSecondsHoldingThePartition) {  // S4-10..12, D13
  const RuleBook book = book_of("kafka");
  EXPECT_THAT(live_failing(book, failure_saying("x"))->waits, ElementsAre(2s, 4s, 8s));
  EXPECT_EQ(verdict<RetryAt>(book.after_run(failed("x"), running(1), noon, 0)).placement,
            Placement::hold);
  EXPECT_EQ(
      verdict<RetryAt>(book_of("kafka+safe").after_run(failed("x"), running(1), noon, 0)).placement,
      Placement::delayed);
}

TEST(Schedule, WorkflowWaitsByCategory) {  // S2-5, S2-6, S2-8
  const RuleBook book = book_of("workflow");
  EXPECT_THAT(live_failing(book, failure_saying("busy"))->waits, ElementsAre(1min, 2min, 4min));
  EXPECT_THAT(live_failing(book, failure_saying("disk"))->waits, ElementsAre(5min, 10min, 15min));
  EXPECT_EQ(verdict<RetryAt>(book.after_run(failed("busy"), running(1), noon, 0)).placement,
            Placement::in_office);
}

TEST(Schedule, BookingRequeuesAtOnceAndTheOutboxWaitsForItsPoll) {  // S1-5, R1-6
  EXPECT_THAT(live_failing(book_of("booking"), failure_saying("x"))->waits, ElementsAre(0s, 0s));
  EXPECT_THAT(live_failing(book_of("booking-outbox"), failure_saying("x"))->waits,
              ElementsAre(10s, 10s, 10s));
}

TEST(Schedule, StandardDoublesFromOneSecondWithFullJitter) {  // R12
  const RuleBook book = book_of("standard");
  for (std::uint32_t n = 1; n <= 4; ++n) {
    const Decision most = book.after_run(failed("x"), running(n), noon, ~std::uint64_t{0});
    EXPECT_EQ(verdict<RetryAt>(most).delay, 1s * (1 << (n - 1)));
    EXPECT_EQ(verdict<RetryAt>(book.after_run(failed("x"), running(n), noon, 0)).delay, 0s);
  }
}

TEST(Schedule, ASafeVariantWaitsAtLeastHalfOfWhatItsDocumentStates) {
  const RuleBook book = book_of("kafka+safe");
  EXPECT_THAT(live_failing(book, failure_saying("x"))->waits, ElementsAre(1s, 2s, 4s));
}

// --- what never retries --------------------------------------------------------------------------

TEST(Workflow, PermissionValidationAndUnknownAreKeptButNeverRetried) {  // S2-4, S2-8, D7, D9, D11
  const RuleBook book = book_of("workflow");
  for (const auto& [text, category] : {std::pair{"forbidden", "permission"},
                                       {"malformed", "validation"},
                                       {"odd", "permanent"},
                                       {"user not found", "permanent"},
                                       {"", "permanent"}}) {
    const Decision decision = book.after_run(failed(text), running(1), noon, 0);
    const auto dead = verdict<DeadLetterAs>(decision);
    EXPECT_EQ(dead.reason, category) << text;
    EXPECT_EQ(decision.category, category) << text;
    EXPECT_FALSE(dead.exhausted) << text;
  }
}

TEST(Workflow, ZeroRetriesMeansTheFirstFailureIsFinal) {  // R2-6: it stayed pending for ever
  const RuleBook book = must(RuleBook::build(with_limit(must(find_profile("workflow")), 0)));
  const auto death = live_failing(book, failure_saying("busy"));
  ASSERT_TRUE(death);
  EXPECT_EQ(death->executions, 1U);
  EXPECT_TRUE(death->as.exhausted);
}

TEST(Workflow, ACategoryMayHaveItsOwnLimitAndPolicy) {  // S2-31
  Profile profile = must(find_profile("workflow"));
  profile.categories["transient"].limit = 5;
  profile.categories["resource"].limit = 2;
  const RuleBook book = must(RuleBook::build(profile));
  EXPECT_EQ(live_failing(book, failure_saying("busy"))->executions, 6U);
  EXPECT_EQ(live_failing(book, failure_saying("socket"))->executions, 4U);
  EXPECT_EQ(live_failing(book, failure_saying("disk"))->executions, 3U);
  EXPECT_EQ(book.limit_for("transient"), 5U);
  EXPECT_EQ(print(book.policy_for("resource")), "linear base=5m");
}

TEST(Kafka, BadJsonEndsAtOnceUnderTheNameOfItsException) {  // S4-4, S4-17, S4-23
  Outcome outcome = failed("'x' is an invalid start of a value");
  outcome.failure.type = "System.Text.Json.JsonException";
  const auto dead = verdict<DeadLetterAs>(book_of("kafka").after_run(outcome, running(1), noon, 0));
  EXPECT_EQ(dead.reason, "JsonException");
}

TEST(Kafka, WithoutATypeTheReasonIsUnexpectedException) {  // R4-5
  EXPECT_EQ(live_failing(book_of("kafka"), failure_saying("x"))->as.reason, "UnexpectedException");
}

TEST(Category, MayBeRefusedToWhoeverReportedIt) {  // S2-27
  Profile profile = must(find_profile("workflow"));
  profile.categories["permission"] = {.action = Action::reject_to_caller, .reason = "not stored"};
  const RuleBook book = must(RuleBook::build(profile));
  EXPECT_EQ(
      verdict<RejectToCaller>(book.after_run(failed("forbidden"), running(1), noon, 0)).reason,
      "not stored");
}

// --- D6..D11: the same failure under every document ---------------------------------------------

struct Disagreement {
  const char* row;
  const char* profile;
  Failure failure;
  bool retried;
};
void PrintTo(const Disagreement& d, std::ostream* out) {
  *out << d.row << " " << d.profile;
}
class Documents : public ::testing::TestWithParam<Disagreement> {};

TEST_P(Documents, DisagreeAsStated) {
  const Disagreement& d = GetParam();
  const Decision decision =
      book_of(d.profile).after_run({OutcomeKind::failed, d.failure}, running(1), noon, 0);
  EXPECT_EQ(std::holds_alternative<RetryAt>(decision.verdict), d.retried)
      << name_of(decision.verdict);
}

Failure with_status(std::string text, int status) {
  Failure failure = failure_saying(std::move(text));
  failure.status = status;
  return failure;
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Contract31, Documents, ::testing::ValuesIn<Disagreement>({
    {"D6",  "service-bus", failure_saying("timeout"),   false},
    {"D6",  "booking",     failure_saying("timeout"),   true},
    {"D6",  "workflow",    failure_saying("timeout"),   true},
    {"D6",  "durable",     failure_saying("timeout"),   true},
    {"D6",  "kafka",       failure_saying("timeout"),   true},
    {"D7",  "service-bus", failure_saying("odd"),       true},
    {"D7",  "booking",     failure_saying("odd"),       true},
    {"D7",  "workflow",    failure_saying("odd"),       false},
    {"D7",  "kafka",       failure_saying("odd"),       true},
    {"D7",  "standard",    failure_saying("odd"),       true},
    {"D8",  "service-bus", failure_saying(""),          true},
    {"D8",  "workflow",    failure_saying(""),          false},
    {"D8",  "kafka",       failure_saying(""),          true},
    {"D9",  "service-bus", failure_saying("not found"), false},
    {"D9",  "booking",     failure_saying("not found"), true},
    {"D9",  "workflow",    failure_saying("not found"), false},
    {"D9",  "kafka",       failure_saying("Balance not found"), true},
    {"D10", "service-bus", with_status("HTTP 429 Too Many Requests", 429), true},
    {"D10", "workflow",    with_status("HTTP 429 Too Many Requests", 429), false},
    {"D10", "workflow+safe", with_status("HTTP 429 Too Many Requests", 429), true},
    {"D10", "workflow+safe", with_status("", 500),      true},
    {"D10", "kafka",       with_status("500", 500),     true},
    {"D10", "standard",    with_status("x", 503),       true},
    {"D10", "standard",    with_status("x", 422),       false},
    {"D11", "service-bus", failure_saying("unauthorized"), false},
    {"D11", "booking",     failure_saying("unauthorized"), true},
    {"D11", "workflow",    failure_saying("unauthorized"), false},
    {"D11", "kafka",       failure_saying("unauthorized"), true},
}));
// clang-format on

// --- D12: malformed messages
// ----------------------------------------------------------------------

TEST(Invalid, ServiceBusCallsItNonRetryable) {
  const Decision decision =
      book_of("service-bus")
          .after_invalid(claimed(), Stage::decode, failure_saying("bad"), noon, 0);
  EXPECT_EQ(verdict<DeadLetterAs>(decision).reason, "NonRetryableError");
  EXPECT_EQ(verdict<DeadLetterAs>(decision).description, "bad");
}

TEST(Invalid, BookingDropsAndItsSafeVariantKeeps) {  // S1-16, S1-58, R8
  EXPECT_EQ(
      verdict<Drop>(book_of("booking").after_invalid(claimed(), Stage::decode, {}, noon, 0)).reason,
      "Invalid event format");
  const Decision kept =
      book_of("booking+safe").after_invalid(claimed(), Stage::decode, {}, noon, 0);
  EXPECT_EQ(verdict<DeadLetterAs>(kept).reason, "Invalid event format");
  EXPECT_EQ(kept.counters, claimed());
}

TEST(Invalid, WorkflowKeepsItUnderValidation) {
  const RuleBook book = book_of("workflow");
  const Decision decision =
      book.after_invalid(claimed(), Stage::schema, failure_saying("bad"), noon, 0);
  EXPECT_EQ(verdict<DeadLetterAs>(decision).reason, "validation");
  EXPECT_EQ(decision.category, "validation");
}

TEST(Invalid, DurableCountsItUntilItIsPoison) {
  const RuleBook book = book_of("durable");
  Counters counters;
  for (std::uint32_t n = 1; n <= 5; ++n) {
    ++counters.fetch;
    ASSERT_EQ(book.before_run(counters).verdict, Verdict(dlo::Run{}));
    const Decision decision = book.after_invalid(counters, Stage::decode, {}, noon, 0);
    EXPECT_EQ(decision.counters.abandon, n);
    EXPECT_EQ(std::holds_alternative<DeadLetterAs>(decision.verdict), n == 5) << n;
    counters = decision.counters;
  }
}

struct InvalidRow {
  Stage stage;
  const char* type;
  const char* reason;
};
TEST(Invalid, KafkaNamesTheStageAndRecordsCountZero) {  // S4-4..6, S4-23, R4-5, R12
  const RuleBook book = book_of("kafka");
  for (const auto& [stage, type, reason] :
       {InvalidRow{Stage::header, "", "MissingEventTypeHeader"},
        {Stage::decode, "", "JsonException"},
        {Stage::decode, "System.Text.Json.JsonReaderException", "JsonReaderException"},
        {Stage::schema, "", "DeserializationFailure"}}) {
    Failure failure;
    failure.type = type;
    Counters counters = running(3);
    const Decision decision = book.after_invalid(counters, stage, failure, noon, 0);
    EXPECT_EQ(verdict<DeadLetterAs>(decision).reason, reason);
    EXPECT_EQ(decision.counters.retry, 0U);
    EXPECT_EQ(decision.counters.total, counters.total);
  }
  EXPECT_EQ(book.profile().validation.front(), Stage::decode);
  EXPECT_EQ(book_of("kafka+safe").after_invalid(running(3), Stage::decode, {}, noon, 0).counters,
            running(3));
}

// --- Retry-After, unregistered handlers, replay
// ------------------------------------------------------

Outcome asking_for(Millis patience) {
  Outcome outcome = failed("busy");
  outcome.failure.status = 429;
  outcome.failure.retry_after = patience;
  return outcome;
}

TEST(RetryAfter, IsTheLeastWait) {
  const RuleBook book = book_of("kafka");
  EXPECT_EQ(verdict<RetryAt>(book.after_run(asking_for(30s), running(1), noon, 0)).delay, 30s);
  EXPECT_EQ(verdict<RetryAt>(book.after_run(asking_for(1s), running(1), noon, 0)).delay, 2s);
  EXPECT_EQ(verdict<RetryAt>(book.after_run(asking_for(-5s), running(1), noon, 0)).delay, 2s);
}

TEST(RetryAfter, IsHonouredForAnHourAtMost) {
  const RuleBook book = book_of("kafka");
  EXPECT_EQ(verdict<RetryAt>(book.after_run(asking_for(Millis::max()), running(1), noon, 0)).delay,
            1h);
}

TEST(RetryAfter, ALongerCapOfThePolicyAllowsMore) {
  Profile profile = must(find_profile("kafka"));
  profile.retry.cap = 6h;
  const RuleBook book = must(RuleBook::build(profile));
  EXPECT_EQ(verdict<RetryAt>(book.after_run(asking_for(24h), running(1), noon, 0)).delay, 6h);
}

TEST(RetryAfter, WithJitterTheHerdIsSpreadBehindIt) {
  const RuleBook book = book_of("standard");
  EXPECT_EQ(verdict<RetryAt>(book.after_run(asking_for(100s), running(1), noon, 0)).delay, 100s);
  EXPECT_EQ(
      verdict<RetryAt>(book.after_run(asking_for(100s), running(1), noon, ~std::uint64_t{0})).delay,
      110s);
}

TEST(RetryAfter, TurnsARequeueIntoADelay) {
  const auto retry =
      verdict<RetryAt>(book_of("service-bus").after_run(asking_for(3s), running(1), noon, 0));
  EXPECT_EQ(retry, (RetryAt{noon + 3s, 3s, Placement::delayed}));
}

TEST(Unregistered, WaitsForADeploymentThenDiesOfTheLimit) {  // R3-5
  const RuleBook book = book_of("durable-fetch");
  Counters counters;
  std::vector<Millis> waits;
  while (true) {
    ++counters.fetch;
    const Decision before = book.before_run(counters);
    if (const auto* dead = std::get_if<DeadLetterAs>(&before.verdict)) {
      EXPECT_EQ(dead->reason, "Poison");
      break;
    }
    const Decision decision = book.unregistered(counters, noon, 0);
    waits.push_back(verdict<RetryAt>(decision).delay);
    counters = decision.counters;
  }
  EXPECT_THAT(waits, ElementsAre(1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s, 60s));
}

TEST(Unregistered, EndsUnderEveryProfile) {
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = must(RuleBook::build(profile));
    Counters counters;
    bool dead = false;
    for (int claim = 0; claim < 100 && !dead; ++claim) {
      ++counters.fetch;
      Decision decision = book.before_run(counters);
      if (std::holds_alternative<dlo::Run>(decision.verdict)) {
        decision = book.unregistered(counters, noon, 0);
      }
      counters = decision.counters;
      dead = std::holds_alternative<DeadLetterAs>(decision.verdict);
    }
    EXPECT_TRUE(dead) << profile.name;
  }
}

TEST(Replay, RestartsOrCarriesOn) {  // D16
  Counters counters = running(4);
  counters.abandon = 2;
  EXPECT_EQ(print(after_replay(counters, ReplayCount::restart)),
            "fetch=0 attempt=0 failure=0 abandon=0 retry=0 replay=1 total=4");
  EXPECT_EQ(print(after_replay(counters, ReplayCount::carry_on)),
            "fetch=4 attempt=4 failure=3 abandon=2 retry=3 replay=1 total=4");
  EXPECT_EQ(must(find_profile("workflow")).replay_count, ReplayCount::carry_on);
  for (const char* name : {"service-bus", "booking", "durable", "kafka"}) {
    EXPECT_EQ(must(find_profile(name)).replay_count, ReplayCount::restart) << name;
  }
}

TEST(Replay, ARestartedMessagePoisonsAgainAfterTheSameNumber) {  // S3-50
  const RuleBook book = book_of("durable");
  const auto first = live(book, failed("x"));
  const auto second = live(book, failed("x"), after_replay(first->counters, ReplayCount::restart));
  EXPECT_EQ(second->executions, 5U);
  EXPECT_EQ(second->counters.total, 10U);
}

TEST(FirstAttempt, IsEstimatedOnlyWhereTheDocumentDoes) {  // S1-23, D24
  EXPECT_EQ(first_attempt_of(must(find_profile("booking")), running(4), noon - 1h, noon),
            noon - 15s);
  EXPECT_EQ(first_attempt_of(must(find_profile("booking+safe")), running(4), noon - 1h, noon),
            noon - 1h);
  EXPECT_EQ(first_attempt_of(must(find_profile("kafka")), running(4), std::nullopt, noon),
            std::nullopt);
}

}  // namespace
}  // namespace dlo
