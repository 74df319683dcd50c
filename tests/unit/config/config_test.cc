#include "dlo/config/config.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "support/must.h"
#include "unit/config/reading_text.h"

#include "dlo/regex/re2_compiler.h"

namespace dlo {
namespace {

using dlo::testing::must;

ConfigReading reading(std::string_view file, Environment environment = {}) {
  return read_config({file, std::move(environment), re2_compiler()});
}

/// "3: text", one line each.

std::string problems_in(std::string_view file, Environment environment = {}) {
  return problems_of(reading(file, std::move(environment)));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Config, ReadsAFileAndTheEnvironmentWins) {
  const auto read = reading("data: /var/dlo\nserver:\n  listen: '[::1]:9000'\n  max_body: 16MB\n",
                            {{"DLO_SERVER_MAX_BODY", "1KB"}, {"HOME", "/root"}});
  EXPECT_EQ(problems_of(read), "");
  EXPECT_EQ(read.config.text("data"), "/var/dlo");
  EXPECT_EQ(read.config.text("server.listen"), "[::1]:9000");
  EXPECT_EQ(read.config.count("server.max_body"), 1024U);
  EXPECT_EQ(read.config.duration("server.idle_timeout"), Millis{60'000});
}

TEST(Config, NothingAtAllIsAConfiguration) {
  for (const auto* text : {"", "# nothing yet\n", "---\n"}) {
    EXPECT_EQ(problems_in(text), "") << text;
  }
}

TEST(Config, ReportsEveryProblemAtOnceWithItsLine) {
  const std::string found = problems_in(
      "server:\n  listen: 127.0.0.1\n  lisen: x\n  io_threads: 900\ndata: a\ndata: b\nserver.x: "
      "1\n");
  EXPECT_TRUE(has(found, "2: server.listen: \"127.0.0.1\" is not HOST:PORT")) << found;
  EXPECT_TRUE(has(found, "3: unknown setting of server \"lisen\": did you mean \"listen\"?"))
      << found;
  EXPECT_TRUE(has(found, "4: server.io_threads: \"900\" is out of bounds; allowed: 1 to 64"))
      << found;
  EXPECT_TRUE(has(found, "6: \"data\" is given twice; the first is in line 5")) << found;
  EXPECT_TRUE(has(found, "7: unknown setting \"server.x\"")) << found;
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 5) << found;
}

TEST(Config, WhatWasReadBeforeASyntaxErrorIsCheckedToo) {
  const std::string found = problems_in("dta: x\nserver:\n  listen: [a\ndata: y\n");
  EXPECT_TRUE(has(found, "1: unknown setting \"dta\": did you mean \"data\"?")) << found;
  EXPECT_TRUE(has(found, "this is not YAML")) << found;
}

struct Wrong {
  const char* name;
  const char* text;
  const char* expected;
};
class ConfigForm : public ::testing::TestWithParam<Wrong> {};
TEST_P(ConfigForm, IsStrict) {
  const std::string found = problems_in(GetParam().text);
  EXPECT_TRUE(has(found, GetParam().expected)) << found;
}
INSTANTIATE_TEST_SUITE_P(
    Yaml, ConfigForm,
    ::testing::ValuesIn<Wrong>({
        {"Anchors", "data: &a x\n", "1: anchors (&a) are not read"},
        {"Aliases", "data: *a\n", "1: "},
        {"Tags", "data: !!str x\n", "1: tags (tag:yaml.org,2002:str) are not read"},
        {"MissingValue", "data:\n", "a value is missing here"},
        {"SecondDocument", "data: x\n---\ndata: y\n", "2: a second document begins here"},
        {"NotAMap", "- data\n", "1: a configuration is made of settings"},
        {"KeyThatIsAMap", "{a: b}: c\n", "1: the name of a setting is plain text"},
        {"SectionThatIsAValue", "server: 8080\n", "1: server holds settings by name"},
        {"ValueThatIsASection", "data: {a: b}\n", "1: data takes one value"},
        {"NotUtf8", "data: \xff\n", "1: the file is not UTF-8"},
        {"YesIsNotTrue", "server: {plain_http: yes}\n", "1: server.plain_http: \"yes\" is neither"},
        {"NoUnit", "server: {drain: 10}\n", "1: server.drain: \"10\" is not a duration"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(Config, TakesTheOldNamesOfTheDocuments) {
  const auto read = reading(
      "dlq_default_max_retries: 7\ndlq_enabled: true\n"
      "ServiceBusConnector:\n  MaxDeliveryCount: 4\n  AutoComplete: false\n  ReceiveMode: "
      "PeekLock\n");
  EXPECT_EQ(problems_of(read), "");
  EXPECT_EQ(read.config.count("workflow.max_retries"), 7U);
  EXPECT_EQ(must(read.config.rules.find("workflow")).limit, 7U);
  EXPECT_EQ(must(read.config.rules.find("service-bus+safe")).limit, 4U);
  const auto shown = show_config(read.config, "dlo.yaml", false);
  ASSERT_EQ(shown.size(), 5U);
  EXPECT_EQ(shown[0].path, "service_bus.max_delivery_count");
  EXPECT_EQ(shown[0].from, "dlo.yaml:4 (as ServiceBusConnector.MaxDeliveryCount)");
}

TEST(Config, FlagsOfDocument002AreWrittenInTheEnvironmentAsItsProgramReadsThem) {  // S2-15
  const auto enabled = [](const char* variable, const char* text) -> std::optional<bool> {
    const auto read = reading("", {{variable, text}});
    if (!read.problems.empty()) return std::nullopt;
    return read.config.flag("workflow.enabled");
  };
  for (const char* yes : {"true", "True", "TRUE", "1", "yes", "on"}) {
    EXPECT_EQ(enabled("MAHAVISHNU_DLQ_ENABLED", yes), true) << yes;
  }
  for (const char* no : {"false", "False", "0", "no", "Off"}) {
    EXPECT_EQ(enabled("MAHAVISHNU_DLQ_ENABLED", no), false) << no;
  }
  for (const char* neither : {"", "2", "maybe"}) {
    EXPECT_EQ(enabled("MAHAVISHNU_DLQ_ENABLED", neither), std::nullopt) << neither;
  }
  EXPECT_EQ(enabled("DLO_WORKFLOW_ENABLED", "True"), std::nullopt) << "ours are strict";
}

TEST(Config, TheSixSettingsOfDocument002AreTakenFromFileAndEnvironment) {  // S2-9..15, R2-1
  const auto from_file = reading(
      "dlq_enabled: false\ndlq_max_size: 500\ndlq_default_retry_policy: linear\n"
      "dlq_default_max_retries: 0\ndlq_retry_processor_enabled: false\n"
      "dlq_retry_interval_seconds: 90\n");
  const auto from_environment = reading("", {{"MAHAVISHNU_DLQ_ENABLED", "false"},
                                             {"MAHAVISHNU_DLQ_MAX_SIZE", "500"},
                                             {"MAHAVISHNU_DLQ_DEFAULT_RETRY_POLICY", "linear"},
                                             {"MAHAVISHNU_DLQ_DEFAULT_MAX_RETRIES", "0"},
                                             {"MAHAVISHNU_DLQ_RETRY_PROCESSOR_ENABLED", "false"},
                                             {"MAHAVISHNU_DLQ_RETRY_INTERVAL_SECONDS", "90"}});
  for (const auto& read : {from_file, from_environment}) {
    EXPECT_EQ(problems_of(read), "");
    EXPECT_FALSE(read.config.flag("workflow.enabled"));
    EXPECT_FALSE(read.config.flag("workflow.retry_processor"));
    EXPECT_EQ(read.config.duration("workflow.retry_interval"), std::chrono::seconds{90});
    for (const char* name : {"workflow", "workflow+safe"}) {
      const Profile profile = must(read.config.rules.find(name));
      EXPECT_EQ(profile.limit, 0U);
      EXPECT_TRUE(print(profile.retry).starts_with("linear base=5m")) << print(profile.retry);
      EXPECT_EQ(profile.capacity.records, 500U);
    }
  }
  const Config nothing;
  EXPECT_TRUE(nothing.flag("workflow.enabled"));
  EXPECT_TRUE(nothing.flag("workflow.retry_processor"));
  EXPECT_EQ(nothing.count("workflow.max_size"), 10'000U);
  EXPECT_EQ(nothing.duration("workflow.retry_interval"), Millis{0}) << "each at its own moment";
}

TEST(Config, WhatReportsMeetWhileTheOfficeIsDownIsSaidOnce) {  // S2-2, R2-10
  const auto of = [](const ConfigReading& read, const char* name) {
    EXPECT_EQ(problems_of(read), "");
    return must(read.config.rules.find(name)).store_failure;
  };
  const auto unsaid = reading("workflow: {strategy: selective}\n");
  EXPECT_EQ(of(unsaid, "workflow"), StoreFailure::memory_fallback);
  EXPECT_EQ(of(unsaid, "workflow+safe"), StoreFailure::reject);
  for (const char* name : {"workflow", "workflow+safe"}) {
    EXPECT_EQ(of(reading("workflow: {store_failure: reject}\n"), name), StoreFailure::reject);
    const auto memory = reading("", {{"DLO_WORKFLOW_STORE_FAILURE", "memory"}});
    EXPECT_EQ(of(memory, name), StoreFailure::memory_fallback);
  }
  const auto skips = must(unsaid.config.rules.find("workflow+safe")).skips;
  EXPECT_EQ(skips, Skips::record) << "another setting";
}

TEST(Config, ExecutorsAreNamedByTheirUsers) {  // S2-17, S2-35
  const auto read = reading(
      "executors:\n  llamaindex: {http: 'http://localhost:9/run'}\n"
      "  sweep: {command: /usr/bin/sweep --all}\n  again: {queue: tasks}\n");
  EXPECT_EQ(problems_of(read), "");
  const std::vector<ExecutorSettings> expected = {{"llamaindex", "http", "http://localhost:9/run"},
                                                  {"sweep", "command", "/usr/bin/sweep --all"},
                                                  {"again", "queue", "tasks"}};
  EXPECT_EQ(read.config.executors, expected);
}

TEST(Config, AnExecutorMayTakeTasksInTheirEnvelopes) {  // S2-17
  const auto read = reading(
      "executors:\n  a: {http: 'http://localhost:9/run', body: envelope}\n"
      "  b: {command: /usr/bin/sweep, body: task}\n");
  EXPECT_EQ(problems_of(read), "");
  ASSERT_EQ(read.config.executors.size(), 2U);
  EXPECT_TRUE(read.config.executors[0].envelope);
  EXPECT_FALSE(read.config.executors[1].envelope);
}

TEST(Config, OurVariableWinsOverAnOldOneWithAWarning) {
  for (const bool ours_first : {true, false}) {
    Environment both = {{"DLO_WORKFLOW_MAX_RETRIES", "2"},
                        {"MAHAVISHNU_DLQ_DEFAULT_MAX_RETRIES", "9"}};
    if (!ours_first) std::swap(both[0], both[1]);
    const auto read = reading("", both);
    EXPECT_EQ(problems_of(read), "");
    EXPECT_EQ(read.config.count("workflow.max_retries"), 2U);
    ASSERT_EQ(read.warnings.size(), 1U);
    EXPECT_TRUE(has(read.warnings[0].text, "DLO_WORKFLOW_MAX_RETRIES wins over MAHAVISHNU_"));
  }
}

TEST(Config, ACertificateNeedsItsKey) {
  EXPECT_EQ(problems_in("tls:\n  certificate: a.crt\n"),
            "2: tls.certificate needs tls.key beside it.\n");
  EXPECT_EQ(problems_in("tls: {certificate: a.crt, key: a.key}\n"), "");
}

TEST(Config, AnOldNameAndOursInOneFileAreOneTooMany) {
  EXPECT_EQ(
      problems_in("dlq_default_max_retries: 7\nworkflow: {max_retries: 6}\n"),
      "2: workflow.max_retries and line 1 both set workflow.max_retries. Keep one of them.\n");
}

// Document 002: bounds and names of its settings, S2-9..15; document 000: S0-14..21.
INSTANTIATE_TEST_SUITE_P(
    Documents, ConfigForm,
    ::testing::ValuesIn<Wrong>({
        {"MaxRetriesAbove10", "dlq_default_max_retries: 11\n", "allowed: 0 to 10"},
        {"UnknownPolicyNamesTheFour", "dlq_default_retry_policy: sometimes\n",
         "unknown value \"sometimes\". Valid: never, linear, exponential, immediate"},
        {"MaxSizeBelow100", "dlq_max_size: 99\n", "allowed: 100 to 100000"},
        {"MaxSizeAbove100000", "dlq_max_size: 100001\n", "allowed: 100 to 100000"},
        {"UnknownStrategyNamesTheFour", "workflow: {strategy: sometimes}\n",
         "Valid: automatic, selective, manual, disabled"},
        {"AnExecutorIsOneThing", "executors: {a: {http: 'http://x', queue: q}}\n",
         "executors.a is one thing"},
        {"ABodyIsTaskOrEnvelope", "executors: {a: {http: 'http://x', body: box}}\n",
         "executors.a.body: unknown value \"box\". Valid: task, envelope"},
        {"OnlyHttpIsSigned", "executors: {a: {command: /bin/true, secret_file: s}}\n",
         "only what is sent over HTTP is signed"},
        {"AQueueRunsNothing", "executors: {a: {queue: q, at_once: 2}}\n",
         "`timeout`, `at_once` and `circuit` are for http and command"},
        {"SomeRunAtOnce", "executors: {a: {command: /bin/true, at_once: 0}}\n",
         "executors.a.at_once"},
        {"AQueueTakesNoEnvelope", "executors: {a: {queue: q, body: envelope}}\n",
         "a queue takes tasks as they are"},
        {"AnExecutorRunsSomehow", "executors: {a: {htp: 'http://x'}}\n", "did you mean \"http\""},
        {"IntervalBelow10s", "dlq_retry_interval_seconds: 9\n", "allowed: 10s to 1h"},
        {"EnabledIsAFlag", "dlq_enabled: perhaps\n", "neither true nor false"},
        {"AutoComplete", "ServiceBusConnector: {AutoComplete: true}\n", "only false"},
        {"ReceiveAndDelete", "ServiceBusConnector: {ReceiveMode: ReceiveAndDelete}\n",
         "only PeekLock"},
        {"NoServiceBusYet", "ServiceBusConnector: {QueueName: invoices}\n",
         "this version has no Service Bus source"},
        {"ClockTimes", "ServiceBusConnector: {MaxWaitTime: '02:00:00'}\n", "allowed: 0s to 1h"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(Config, UnknownVariablesAreRefusedUnlessTheyAreSomebodyElses) {
  EXPECT_EQ(problems_in("", {{"DLO_SERVER_LISTN", "x"}}),
            "0: environment: \"DLO_SERVER_LISTN\" is not a setting; did you mean "
            "DLO_SERVER_LISTEN?\n");
  EXPECT_EQ(problems_in("", {{"DLO_SERVER", "x"},
                             {"DLO_TOKEN", "y"},
                             {"DLO_REQUIRE", "z"},
                             {"DLO_CONFIG", "f"},
                             {"DLO_PORT_8080_TCP", "tcp://10.0.0.1"}}),
            "");
}

TEST(Config, ASecretIsNeverRepeated) {
  const std::string found =
      problems_in("service_bus: {connection_string: Endpoint=hunter2}\n",
                  {{"DLO_SERVICE_BUS_CONNECTION_STRING", "Endpoint=hunter3"}});
  EXPECT_TRUE(has(found, "connection_string cannot be set")) << found;
  EXPECT_FALSE(has(found, "hunter")) << found;
  // ... also not where it is shown; no setting of this version is secret and can be set, so set it.
  Config config;
  config.set(find_key("service_bus.connection_string"), {"hunter2", 0},
             {ConfigOrigin::Kind::file, 1, ""});
  const auto shown = show_config(config, "f", false);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].value, "(hidden)");
}

TEST(Config, ShowSaysWhereEachValueComesFrom) {
  const auto read = reading("data: x\n", {{"DLO_SERVER_DRAIN", "3s"}});
  const auto shown = show_config(read.config, "dlo.yaml", true);
  const auto from = [&](const std::string& path) {
    const auto found = std::find_if(shown.begin(), shown.end(),
                                    [&](const auto& each) { return each.path == path; });
    return found == shown.end() ? "absent" : found->value + " from " + found->from;
  };
  EXPECT_EQ(from("data"), "x from dlo.yaml:1");
  EXPECT_EQ(from("server.drain"), "3s from environment DLO_SERVER_DRAIN");
  EXPECT_EQ(from("server.io_threads"), "1 from default");
  EXPECT_EQ(from("service_bus.queue_name"), "absent");
}

TEST(Config, AProfileStandsOnAnother) {
  const auto read = reading(
      "profiles:\n"
      "  payments-eu: {base: payments, limit: 9}\n"
      "  payments:\n"
      "    base: standard\n"
      "    limit: 4\n"
      "    rules:\n"
      "      - {name: duplicate, match: regex, values: ['dup(licate)?'], category: permanent}\n"
      "    categories:\n"
      "      permanent: {action: terminal}\n"
      "sources:\n"
      "  orders: {limit: 2, retry: fixed base=1s}\n");
  EXPECT_EQ(problems_of(read), "");
  const Profile payments = must(read.config.rules.find("payments"));
  EXPECT_EQ(payments.limit, 4U);
  ASSERT_TRUE(payments.post_check);
  EXPECT_EQ(payments.post_check->limit, 4U);
  EXPECT_EQ(must(read.config.rules.find("payments-eu")).rules.size(), 1U);
  EXPECT_EQ(must(read.config.rules.find("payments-eu")).limit, 9U);
  EXPECT_EQ(must(read.config.rules.find("standard", "orders")).limit, 2U);
  EXPECT_EQ(must(read.config.rules.find("standard", "others")).limit, 5U);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, ConfigForm,
    ::testing::ValuesIn<Wrong>({
        {"NoBase", "profiles:\n  mine: {limit: 3}\n", "2: profiles.mine needs a base"},
        {"UnknownBase", "profiles:\n  mine: {base: standrad}\n", "did you mean \"standard\"?"},
        {"LineOfTheBase", "profiles:\n  mine:\n    base: standrad\n", "3: profiles.mine.base: "},
        {"OnItself", "profiles:\n  a: {base: b}\n  b: {base: a}\n", "is built on itself"},
        {"UnknownSetting", "profiles:\n  mine: {base: standard, limt: 3}\n",
         "did you mean \"limit\"?"},
        {"BadPattern",
         "profiles:\n  mine:\n    base: standard\n    rules:\n"
         "      - {name: r, match: regex, values: ['('], category: transient}\n",
         "2: "},
        {"NotCarriedOut", "profiles:\n  mine: {base: standard, strategy: manual}\n",
         "profiles.mine.strategy cannot be set"},
        {"SourceLimit", "sources:\n  a: {limit: 0}\n", "2: sources.a.limit: \"0\" is not"},
        {"SourcePolicy", "sources:\n  a: {retry: exponental}\n", "did you mean \"exponential\"?"},
        {"SourceCustomPolicy", "sources:\n  a: {retry: custom name=x}\n", "2: "},
        {"SourceSetting", "sources:\n  a: {limits: 3}\n", "did you mean \"limit\"?"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(Config, OneMistakeInAProfileHidesNoOther) {
  const std::string found =
      problems_of(reading("profiles:\n"
                          "  mine:\n"
                          "    base: standrad\n"
                          "    limit: -1\n"
                          "    retry: expo base=2s\n"
                          "  other:\n"
                          "    limit: 3\n"
                          "    nonsense: 1\n"));
  EXPECT_TRUE(has(found, "3: profiles.mine.base")) << found;
  EXPECT_TRUE(has(found, "4: profiles.mine")) << found;
  EXPECT_TRUE(has(found, "5: profiles.mine")) << found;
  EXPECT_TRUE(has(found, "profiles.other needs a base")) << found;
  EXPECT_TRUE(has(found, "nonsense")) << found;
}

TEST(Config, WhatIsNeverClosedIsNamedWhereItWasOpened) {
  const std::string bracket = problems_of(reading("data: x\nmasked: [body.a\ntls:\n  key: k\n"));
  EXPECT_TRUE(has(bracket, "2: this is not YAML")) << bracket;
  const std::string quote = problems_of(reading("data: \"x\nserver:\n  workers: 3\n"));
  EXPECT_TRUE(has(quote, "1: this is not YAML")) << quote;
}

TEST(Config, SaysWhatARunningServerCannotTakeOver) {
  const auto before = reading("data: a\nworkflow: {max_retries: 2}\n").config;
  const auto after = reading("data: b\nworkflow: {max_retries: 3}\n").config;
  EXPECT_EQ(needs_restart(before, after), std::vector<std::string>{"data"});
}

TEST(Config, ARunningServerKeepsTheExecutorsItHas) {
  const auto before = reading("executors: {sweep: {command: /bin/true}}\n").config;
  const auto after = reading("executors: {sweep: {command: /bin/false}}\n").config;
  EXPECT_EQ(needs_restart(before, after), std::vector<std::string>{"executors"});
  EXPECT_TRUE(needs_restart(before, before).empty());
}

TEST(ConfigKeys, EveryDefaultIsWithinItsBounds) {
  for (const ConfigKey& key : config_keys()) {
    if (key.otherwise.empty()) continue;
    const auto read = read_value(key, key.otherwise);
    EXPECT_TRUE(read) << key.path << ": " << (read ? "" : read.error().detail);
    if (read) {
      EXPECT_EQ(read->text, key.otherwise) << key.path;
    }
  }
}

TEST(ConfigKeys, TheDocumentListsEveryOneAsItIs) {
  std::ifstream file(DLO_CONFIG_DOCUMENT);
  const std::string document((std::istreambuf_iterator<char>(file)), {});
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(has(document, markdown_row(key) + "\n"))
        << "docs/config.md lacks this row (`dlo config keys` prints all of them):\n"
        << markdown_row(key);
  }
}

}  // namespace
}  // namespace dlo
