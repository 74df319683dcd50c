// Queues of others that are handled here: `sources` with `rabbitmq`.
#include <gtest/gtest.h>
#include <string>

#include "unit/config/reading_text.h"

#include "dlo/config/config.h"

namespace dlo {
namespace {

const std::string server = "rabbitmq: {address: 'amqp://dlo:hunter2@mq.example/shop'}\n";

ConfigReading reading(const std::string& file) {
  return read_config({file, {}, {}});
}

TEST(Consuming, ASourceThatNamesAQueueIsHandledHere) {
  const auto read = reading(server +
                            "sources:\n  payment_failed:\n    rabbitmq: payment_failed\n"
                            "    handler: {http: 'http://localhost:9000/run', at_once: 4}\n"
                            "    profile: booking+safe\n    prefetch: 64\n    limit: 5\n"
                            "    event_type: PaymentFailed\n    required: [data, data.id]\n"
                            "    dead_letter_queue: payment_failed_dlq\n"
                            "    inner: {retries: 3, policy: fixed base=50ms}\n");
  EXPECT_EQ(problems_of(read), "");
  ASSERT_EQ(read.config.consumers.size(), 1U);
  const ConsumerSettings& made = read.config.consumers.front();
  EXPECT_EQ(made.source, "payment_failed");
  EXPECT_EQ(made.queue, "payment_failed");
  EXPECT_EQ(made.handler.kind, "http");
  EXPECT_EQ(made.handler.at_once, 4U);
  EXPECT_EQ(made.profile, "booking+safe");
  EXPECT_EQ(made.event_type, "PaymentFailed");
  EXPECT_EQ(made.dead_letter_queue, "payment_failed_dlq");
  EXPECT_EQ(made.prefetch, 64U);
  EXPECT_EQ(made.required, (std::vector<std::string>{"data", "data.id"}));
  EXPECT_EQ(made.inner.retries, 3U);
  EXPECT_FALSE(made.drops_invalid);
  const auto profile = read.config.rules.find("booking+safe", std::string("payment_failed"));
  EXPECT_EQ(profile->limit, 5U) << "its rules are those of every source";
}

TEST(Consuming, AHandlerCanBeOneOfTheExecutors) {
  const auto read = reading(server +
                            "executors: {billing: {command: /bin/true, timeout: 10s}}\n"
                            "sources: {a: {rabbitmq: a, handler: billing}}\n");
  EXPECT_EQ(problems_of(read), "");
  ASSERT_EQ(read.config.consumers.size(), 1U);
  EXPECT_EQ(read.config.consumers[0].handler, read.config.executors[0]);
  EXPECT_EQ(read.config.consumers[0].prefetch, 256U);
  EXPECT_EQ(read.config.consumers[0].profile, "standard");
}

TEST(Consuming, ADeathLetsItsKeyGoOn) {  // R10
  const auto read =
      reading(server + "sources: {a: {rabbitmq: a, handler: {command: x}, on_death: continue}}\n");
  EXPECT_EQ(problems_of(read), "");
}

TEST(Consuming, WhatIsMalformedIsDroppedOnlyIfTheQueueSaysSo) {  // R8
  const auto read =
      reading(server + "sources: {a: {rabbitmq: a, handler: {command: x}, invalid: drop}}\n");
  EXPECT_EQ(problems_of(read), "");
  EXPECT_TRUE(read.config.consumers.at(0).drops_invalid);
}

TEST(Consuming, ASourceWithRulesAloneIsNotConsumed) {
  const auto read = reading("sources: {orders: {limit: 8, retry: fixed base=30s}}\n");
  EXPECT_EQ(problems_of(read), "");
  EXPECT_TRUE(read.config.consumers.empty());
}

TEST(Consuming, IsShownWithItsRules) {
  const auto read = reading(server +
                            "sources: {a: {rabbitmq: q, handler: {command: /bin/true}, limit: 4,"
                            " dead_letter_queue: q_dlq}}\n");
  std::string shown;
  for (const auto& each : show_config(read.config, "dlo.yaml", false)) {
    shown += each.path + "=" + each.value + "\n";
  }
  EXPECT_NE(
      shown.find("sources.a=handles RabbitMQ queue \"q\" by command, profile standard, copies "
                 "to \"q_dlq\", limit 4\n"),
      std::string::npos)
      << shown;
}

TEST(Consuming, ChangesNeedARestartAndChangesOfRulesDoNot) {
  const std::string start = server + "sources: {a: {rabbitmq: q, handler: {command: /bin/true}";
  const auto before = reading(start + "}}\n");
  EXPECT_EQ(needs_restart(before.config, reading(start + ", prefetch: 9}}\n").config),
            std::vector<std::string>{"sources"});
  EXPECT_TRUE(needs_restart(before.config, reading(start + ", limit: 9}}\n").config).empty());
}

struct Row {
  const char* name;
  const char* file;
  const char* said;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class ConsumingMistakes : public ::testing::TestWithParam<Row> {};

TEST_P(ConsumingMistakes, AreRefusedWithWhatToDo) {
  const auto read = reading(server + GetParam().file);
  EXPECT_NE(problems_of(read).find(GetParam().said), std::string::npos) << problems_of(read);
}
// clang-format off
INSTANTIATE_TEST_SUITE_P(All, ConsumingMistakes, ::testing::ValuesIn<Row>({
    {"NoQueue", "sources: {a: {handler: {command: x}}}\n", "must say which queue it is"},
    {"NoHandler", "sources: {a: {rabbitmq: q}}\n", "must say who handles its messages"},
    {"UnknownExecutor", "executors: {billing: {command: x}}\nsources: {a: {rabbitmq: q, handler: biling}}\n", "did you mean \"billing\""},
    {"AQueueAsHandler", "sources: {a: {rabbitmq: q, handler: {queue: other}}}\n", "a queue handles nothing"},
    {"TooLong", "sources: {a: {rabbitmq: q, handler: {command: x, timeout: 1h}}}\n", "must not be longer than 25m"},  // RMQ-13
    {"Misspelt", "sources: {a: {rabitmq: q}}\n", "did you mean \"rabbitmq\""},
    {"UnknownInvalid", "sources: {a: {rabbitmq: q, handler: {command: x}, invalid: dropp}}\n", "sources.a.invalid: unknown value \"dropp\": did you mean \"drop\""},
    {"Hold", "sources: {a: {rabbitmq: q, handler: {command: x}, on_death: hold}}\n", "sources.a.on_death cannot be hold: RabbitMQ"},  // R10
    {"UnknownDeath", "sources: {a: {rabbitmq: q, handler: {command: x}, on_death: holt}}\n", "did you mean \"hold\""},
    {"UnknownProfile", "sources: {a: {rabbitmq: q, handler: {command: x}, profile: bokking}}\n", "did you mean \"booking\""},
    {"Prefetch", "sources: {a: {rabbitmq: q, handler: {command: x}, prefetch: 0}}\n", "sources.a.prefetch"},
    {"Format", "sources: {a: {rabbitmq: q, handler: {command: x}, format: xml}}\n", "sources.a.format"},
    {"Required", "sources: {a: {rabbitmq: q, handler: {command: x}, required: []}}\n", "is a list of places"},
    {"Inner", "sources: {a: {rabbitmq: q, handler: {command: x}, inner: {retries: 101}}}\n", "sources.a.inner.retries"},
    {"DeadIntoItself", "sources: {a: {rabbitmq: q, handler: {command: x}, dead_letter_queue: q}}\n", "is the queue itself"},
    {"Collected", "collectors: {c: {rabbitmq: q_dlq}}\nsources: {a: {rabbitmq: q, handler: {command: x}, dead_letter_queue: q_dlq}}\n", "would be there twice"},  // S1-56
    {"Twice", "sources: {a: {rabbitmq: q, handler: {command: x}}, b: {rabbitmq: q, handler: {command: x}}}\n", "and so does sources.a"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Consuming, NeedsAServer) {
  const auto read = reading("sources: {a: {rabbitmq: q, handler: {command: x}}}\n");
  EXPECT_NE(problems_of(read).find("sources needs rabbitmq.address"), std::string::npos);
}

}  // namespace
}  // namespace dlo
