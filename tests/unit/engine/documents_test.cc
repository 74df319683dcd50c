// What the documents promise, executed from end to end: the matrix of S0-30, the consumer of
// S1-15..21 and the worker of S4-23..25.

#include "world.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

struct Scenario {
  const char* name;
  std::uint32_t earlier;  // deliveries that failed before
  Outcome outcome;
  int runs;
  const char* reason;  // null: no dead letter
  bool back;           // it is in the queue again
};

void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

class ServiceBusMatrix : public ::testing::TestWithParam<Scenario> {};

TEST_P(ServiceBusMatrix, FollowsTheDocument) {
  const Scenario& row = GetParam();
  World world;
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    must(world.broker.pause());  // one delivery only: what comes back stays there
    return row.outcome;
  });
  auto message = std::make_shared<Message>();
  message->id = "invoice-1";
  Counters counters;
  counters.fetch = counters.attempt = counters.failure = counters.total = row.earlier;
  counters.retry = row.earlier > 0 ? row.earlier - 1 : 0;
  const std::vector<Publication> batch{Publication{message, {}, {}, counters}};
  must(world.broker.publish(batch, world.clock.now()));

  world.processor()->drain();

  EXPECT_EQ(runs, row.runs);
  const auto stats = world.source_stats();
  EXPECT_EQ(stats.ready + stats.delayed, row.back ? 1U : 0U);
  EXPECT_EQ(stats.leased, 0U);
  if (row.reason == nullptr) {
    EXPECT_TRUE(world.records().empty());
  } else {
    EXPECT_EQ(world.only_record().reason, row.reason);
    EXPECT_EQ(stats.dead_lettered, 1U);
  }
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(S0_30, ServiceBusMatrix, ::testing::ValuesIn<Scenario>({
    {"SuccessCompletes",                    0, ok(),                                     1, nullptr,                    false},
    {"SuccessAtTheLastCountCompletes",      2, ok(),                                     1, nullptr,                    false},
    {"PoisonIsNotExecuted",                 3, ok(),                                     0, "PoisonMessage",            false},
    {"TimeoutEndsAtOnce",                   0, failed("Error", "execution timeout"),     1, "NonRetryableError",        false},
    {"BadRequestEndsAtOnce",                0, failed("Error", "400 Bad Request"),       1, "NonRetryableError",        false},
    {"ConflictEndsAtOnce",                  0, failed("Error", "409 Conflict"),          1, "NonRetryableError",        false},
    {"NonRetryableAtTheLimitKeepsItsName",  2, failed("Error", "forbidden"),             1, "NonRetryableError",        false},
    {"NetworkErrorIsAbandoned",             0, failed("Error", "network unreachable"),   1, nullptr,                    true},
    {"EmptyErrorIsRetried",                 0, failed("", ""),                           1, nullptr,                    true},
    {"SecondFailureIsAbandoned",            1, failed("Error", "network unreachable"),   1, nullptr,                    true},
    {"ThirdFailureEnds",                    2, failed("Error", "network unreachable"),   1, "MaxDeliveryCountExceeded", false},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(ServiceBus, AnErrorThrownAtTheLimitIsNamedAndKept) {  // R0-2, I9
  World world;
  world.on_every([](const Message&, const RunContext&) -> Outcome {
    throw std::runtime_error("agent went away");
  });
  world.publish("invoice-1");
  world.processor()->drain();

  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.reason, "MaxDeliveryCountExceeded");
  EXPECT_EQ(record.description,
            "Message exceeded 3 delivery attempts. Last error: agent went away");
  EXPECT_EQ(record.failure.type, "std::runtime_error");
  EXPECT_EQ(record.failure.text, "agent went away");
  EXPECT_EQ(record.counters.fetch, 3U);
  EXPECT_EQ(record.counters.attempt, 3U);
}

TEST(ServiceBus, EveryEarlierAttemptIsInTheRecord) {  // I9
  World world;
  int run = 0;
  world.on_every([&](const Message&, const RunContext&) {
    world.clock.advance(10ms);
    ++run;
    return failed("Error" + std::to_string(run), "problem " + std::to_string(run));
  });
  world.publish("invoice-1");
  world.processor()->drain();

  const auto attempts = world.attempts_of(world.only_record());
  ASSERT_EQ(attempts.size(), 3U);
  EXPECT_EQ(attempts[0].error_type, "Error3");
  EXPECT_EQ(attempts[1].error_text, "problem 2");
  EXPECT_EQ(attempts[2].error_type, "Error1");
  EXPECT_EQ(attempts[2].started_at, noon);
  EXPECT_EQ(attempts[2].took, 10ms);
  EXPECT_EQ(attempts[2].node, "node-1");
  EXPECT_EQ(attempts[0].number, 3U);
}

TEST(ServiceBus, SeveralMessagesEachEndTheirOwnWay) {  // S0-47
  World world;
  world.on_every([](const Message& message, const RunContext&) {
    if (message.id == "good") return ok();
    if (message.id == "bad") return failed("Error", "invalid format");
    return failed("Error", "network down");
  });
  world.publish("good");
  world.publish("bad");
  world.publish("unlucky");
  world.processor()->drain();

  std::map<std::string, std::string> reasons;
  for (const auto& record : world.records()) reasons[record.message->id] = record.reason;
  EXPECT_EQ(reasons, (std::map<std::string, std::string>{{"bad", "NonRetryableError"},
                                                         {"unlucky", "MaxDeliveryCountExceeded"}}));
  EXPECT_EQ(world.source_stats().completed, 1U);
}

TEST(Booking, TheThirdFailureMovesItAway) {  // S1-15..21
  World world;
  world.rules = rules_of("booking");
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    return failed("DbUpdateException", "database is down");
  });
  world.publish("booking-1", R"({"bookingId":7})");
  world.clock.advance(1h);
  world.processor()->drain();

  EXPECT_EQ(runs, 3);
  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.counters.failure, 3U);
  EXPECT_EQ(record.description, "Message failed after 3 attempts. Moving to DLQ.");
  EXPECT_EQ(record.first_attempt_at, world.clock.now() - 15s);  // S1-23: estimated
  EXPECT_EQ(record.message->payload, R"({"bookingId":7})");
  EXPECT_EQ(record.failure.text, "database is down");
}

TEST(Booking, TheSafeVariantMeasuresTheFirstAttempt) {
  World world;
  world.rules = rules_of("booking+safe");
  world.on_every([&](const Message&, const RunContext&) { return failed("E", "down"); });
  world.publish("booking-1");
  auto processor = world.processor();
  for (int i = 0; i < 3; ++i) {
    processor->drain();
    world.clock.advance(1h);
  }
  EXPECT_EQ(world.only_record().first_attempt_at, noon);
}

TEST(Booking, EachMessageHasItsOwnCount) {  // S1-57, R1-2: not one counter per consumer
  World world;
  world.rules = rules_of("booking");
  std::map<std::string, int> runs;
  world.on_every([&](const Message& message, const RunContext&) {
    return ++runs[message.id] < 3 ? failed("E", "down") : ok();
  });
  world.publish("a");
  world.publish("b");
  world.publish("c");
  world.processor()->drain();

  EXPECT_TRUE(world.records().empty());
  EXPECT_EQ(world.source_stats().completed, 3U);
}

TEST(Booking, AnEventWithoutDataIsDroppedCountedAndAudited) {  // S1-16, R8
  World world;
  world.rules = rules_of("booking");
  world.on_every([](const Message&, const RunContext&) { return ok(); });
  world.validators.push_back(
      std::make_shared<FunctionValidator>(Stage::schema, [](const Message& message) {
        std::optional<Failure> failure;
        if (!message.payload || message.payload->empty()) {
          failure.emplace();
          failure->text = "Invalid event format - not requeuing";
        }
        return failure;
      }));
  world.publish("empty", "");
  auto processor = world.processor();
  processor->drain();

  EXPECT_EQ(processor->stats().dropped, 1U);
  EXPECT_TRUE(world.records().empty());
  const auto audit = must(world.office.extras().ledger->audit(0, 10));
  ASSERT_EQ(audit.size(), 1U);
  EXPECT_EQ(audit.front().act.act, "drop");
  EXPECT_EQ(audit.front().act.subject, "orders/empty");
}

TEST(Deaths, AreInTheAuditTrailByTheBatch) {  // R25
  World world;
  world.rules = rules_of("service-bus");
  world.on_every([](const Message&, const RunContext&) { return failed("Bad", "bad request"); });
  for (int i = 0; i < 20; ++i) world.publish("m" + std::to_string(i), "x");
  world.processor()->drain();
  std::size_t deaths = 0;
  for (const AuditEntry& entry : must(world.office.extras().ledger->audit(0, 100))) {
    ASSERT_EQ(entry.act.act, "die");
    EXPECT_EQ(entry.act.actor, "engine");
    deaths += std::stoul(entry.act.detail.substr(std::string("{\"count\":").size()));
  }
  EXPECT_GT(deaths, 0U);
  EXPECT_EQ(deaths, world.records().size());
}

TEST(Kafka, MalformedJsonEndsAtOnceUnderItsOwnName) {  // S4-23
  World world;
  world.rules = rules_of("kafka");
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    return ok();
  });
  Failure why;
  why.type = "System.Text.Json.JsonException";
  why.text = "'a' is an invalid start of a value";
  must(world.broker.publish_undecodable("{\"amount\": abc", why, noon));
  world.publish("next");
  world.processor()->drain();

  EXPECT_EQ(runs, 1);  // the one behind it (I3)
  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.reason, "JsonException");
  EXPECT_EQ(record.message->payload, "{\"amount\": abc");
  EXPECT_EQ(record.counters.attempt, 0U);
}

TEST(Kafka, ABalanceThatNeverComesEndsAfterAttemptFour) {  // S4-24, S4-11
  World world;
  world.rules = rules_of("kafka");
  std::vector<Millis> at;
  world.on_every([&](const Message&, const RunContext&) {
    at.push_back(world.clock.now() - noon);
    return failed("InvalidOperationException", "Balance not found for merchant");
  });
  world.publish("payment-1", R"({"amountInMinorUnits":1000,"currency":"EUR"})");
  auto processor = world.processor();
  for (int second = 0; second <= 30; ++second) {
    processor->drain();
    world.clock.advance(1s);
  }
  EXPECT_EQ(at, (std::vector<Millis>{0s, 2s, 6s, 14s}));
  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.reason, "InvalidOperationException");
  EXPECT_EQ(record.counters.retry, 3U);
  EXPECT_EQ(record.first_failed_at, noon);
  EXPECT_EQ(record.last_failed_at, noon + 14s);
}

TEST(Kafka, ABalanceCreatedMeanwhileLetsARetrySucceed) {  // S4-25, R4-1, I2
  World world;
  world.rules = rules_of("kafka");
  bool balance = false;
  world.on_every([&](const Message&, const RunContext&) {
    return balance ? ok() : failed("InvalidOperationException", "Balance not found for merchant");
  });
  world.publish("payment-1");
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(world.source_stats().completed, 0U);  // a retry is owed: nothing is committed
  balance = true;
  world.clock.advance(2s);
  processor->drain();

  EXPECT_EQ(world.source_stats().completed, 1U);
  EXPECT_TRUE(world.records().empty());
}

TEST(Kafka, AWaitingMessageHoldsItsOwnKeyOnly) {
  World world;
  world.rules = rules_of("kafka");
  std::vector<std::string> done;
  bool well = false;
  world.on_every([&](const Message& message, const RunContext&) {
    if (message.id == "a1" && !well) return failed("E", "later");
    done.push_back(message.id);
    return ok();
  });
  world.publish("a1", "{}", "a");
  world.publish("a2", "{}", "a");
  world.publish("b1", "{}", "b");
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(done, (std::vector<std::string>{"b1"}));
  well = true;
  world.clock.advance(2s);
  processor->drain();
  EXPECT_EQ(done, (std::vector<std::string>{"b1", "a1", "a2"}));
}

TEST(Kafka, WithoutATypeAndWithoutADefaultHandlerTheHeaderIsMissing) {  // S4-5
  World world;
  world.rules = rules_of("kafka");
  world.handlers.set("PaymentCreated",
                     handler([](const Message&, const RunContext&) { return ok(); }));
  world.publish("untyped", "{}", "", "");
  world.processor()->drain();
  EXPECT_EQ(world.only_record().reason, "MissingEventTypeHeader");
}

}  // namespace
}  // namespace dlo::testing
