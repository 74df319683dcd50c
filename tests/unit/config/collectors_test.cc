// Dead-letter queues that are drained: `collectors` and `rabbitmq`.
#include <gtest/gtest.h>
#include <string>

#include "unit/config/reading_text.h"

#include "dlo/config/config.h"

namespace dlo {
namespace {

const std::string server = "rabbitmq: {address: 'amqp://dlo:hunter2@mq.example/shop'}\n";

ConfigReading reading(const std::string& file, Environment environment = {}) {
  return read_config({file, std::move(environment), {}});
}

TEST(Collecting, ACollectorIsASourceOfItsNameUnlessSomebodySaysOtherwise) {
  const auto read =
      reading(server +
              "profiles: {mine: {base: booking}}\n"
              "collectors:\n  payment_failed: {rabbitmq: payment_failed_dlq}\n"
              "  errors: {rabbitmq: error, source: sales, origin: Sales, profile: mine}\n");
  EXPECT_EQ(problems_of(read), "");
  ASSERT_EQ(read.config.collectors.size(), 2U);
  EXPECT_EQ(read.config.collectors[0], (CollectorSettings{"payment_failed", "payment_failed_dlq",
                                                          "payment_failed", "", "standard"}));
  EXPECT_EQ(read.config.collectors[1],
            (CollectorSettings{"errors", "error", "sales", "Sales", "mine"}));
}

TEST(Collecting, ThePasswordIsShownToNobody) {
  const auto in_file = reading(server + "collectors: {a: {rabbitmq: dead}}\n");
  const auto in_variable =
      reading("collectors: {a: {rabbitmq: dead}}\n",
              {{"DLO_RABBITMQ_ADDRESS", "amqp://dlo:hunter2@mq.example/shop"}});
  for (const auto* each : {&in_file, &in_variable}) {
    EXPECT_EQ(problems_of(*each), "");
    std::string shown;
    for (const auto& setting : show_config(each->config, "dlo.yaml", true)) {
      shown += setting.path + "=" + setting.value + "\n";
    }
    EXPECT_EQ(shown.find("hunter2"), std::string::npos);
    EXPECT_NE(shown.find("rabbitmq.address=(hidden)\n"), std::string::npos) << shown;
    EXPECT_NE(shown.find("collectors.a=drains RabbitMQ queue \"dead\" as source \"a\""),
              std::string::npos)
        << shown;
  }
}

TEST(Collecting, ChangesOfCollectorsNeedARestart) {
  const auto before = reading(server + "collectors: {a: {rabbitmq: dead}}\n");
  const auto after = reading(server + "collectors: {a: {rabbitmq: dead, origin: orders}}\n");
  EXPECT_EQ(needs_restart(before.config, after.config), std::vector<std::string>{"collectors"});
}

struct Row {
  const char* name;
  const char* file;
  const char* said;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class CollectingMistakes : public ::testing::TestWithParam<Row> {};

TEST_P(CollectingMistakes, AreNamed) {
  const auto found = problems_of(reading(server + GetParam().file));
  EXPECT_NE(found.find(GetParam().said), std::string::npos) << found;
}

// clang-format off: a table is read in rows
INSTANTIATE_TEST_SUITE_P(All, CollectingMistakes, ::testing::ValuesIn<Row>({
    {"AList", "collectors: [a]\n", "2: collectors holds settings by name"},
    {"AWord", "collectors: {a: dead}\n", "2: collectors.a holds settings by name"},
    {"NoQueue", "collectors: {a: {source: x}}\n", "collectors.a must say what it drains: `rabbitmq: QUEUE`"},
    {"AnEmptyQueue", "collectors: {a: {rabbitmq: ''}}\n", "collectors.a.rabbitmq takes one value"},
    {"AListOfQueues", "collectors: {a: {rabbitmq: [x, y]}}\n", "collectors.a.rabbitmq takes one value"},
    {"MisspeltSetting", "collectors: {a: {rabitmq: x}}\n", "did you mean \"rabbitmq\"? Valid: rabbitmq, source, origin, profile"},
    {"MisspeltProfile", "collectors: {a: {rabbitmq: x, profile: bookng}}\n", "collectors.a.profile: unknown profile \"bookng\": did you mean \"booking\""},
    {"MisspeltSection", "colectors: {a: {rabbitmq: x}}\n", "did you mean \"collectors\""},
    {"TwoOfOneQueue", "collectors: {a: {rabbitmq: x}, b: {rabbitmq: x}}\n", "collectors.b drains \"x\", and so does collectors.a"},
    {"ItsOwnOrigin", "collectors: {a: {rabbitmq: x, origin: x}}\n", "would be collected again"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Collecting, WithoutAServerNothingCanBeCollected) {
  EXPECT_NE(problems_of(reading("collectors: {a: {rabbitmq: x}}\n")).find("needs rabbitmq.address"),
            std::string::npos);
  EXPECT_NE(problems_of(reading("rabbitmq: {adress: x}\n")).find("did you mean \"address\""),
            std::string::npos);
  EXPECT_NE(problems_of(reading("rabbitmq: {prefetch: 0}\n")).find("1 to 65535"),
            std::string::npos);
}

}  // namespace
}  // namespace dlo
