// Sections whose words reports and profiles may use: policies, templates, event types (S2-31,
// S2-55, S2-56).
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "support/must.h"

#include "dlo/config/config.h"
#include "dlo/regex/re2_compiler.h"

namespace dlo {
namespace {

using dlo::testing::must;

ConfigReading reading(std::string_view file) {
  return read_config({file, {}, re2_compiler()});
}
std::string problems_in(std::string_view file) {
  std::string all;
  for (const ConfigProblem& each : reading(file).problems) {
    all += std::to_string(each.line) + ": " + each.text + "\n";
  }
  return all;
}

TEST(ConfigNames, ASchedulesNameStandsForAListAnExpressionOrAPolicyInFull) {  // S2-55
  const auto read = reading(
      "policies:\n"
      "  fib: [1m, 1m, 2m, 3m, 5m, 8m]\n"
      "  fibonacci: {expression: '1m * fib(n)', cap: 2h}\n"
      "  squares: {expression: 'min(5m * n^2, 2h)', jitter: full}\n"
      "  steps: {delays: [1s, 1m], jitter: equal}\n"
      "  slow: linear base=10m\n");
  EXPECT_TRUE(read.problems.empty()) << read.problems.front().text;
  const NamedPolicies& named = read.config.rules.names()->policies;
  ASSERT_EQ(named.size(), 5U);
  EXPECT_EQ(print(named.at("fib")), "list delays=1m,1m,2m,3m,5m,8m");
  EXPECT_EQ(print(named.at("fibonacci")), "expression delay=1m*fib(n) cap=2h");
  EXPECT_EQ(print(named.at("squares")), "expression delay=min(5m*n^2,2h) jitter=full");
  EXPECT_EQ(print(named.at("steps")), "list delays=1s,1m jitter=equal");
  EXPECT_EQ(print(named.at("slow")), "linear base=10m");
  const auto shown = show_config(read.config, "dlo.yaml", false);
  ASSERT_EQ(shown.size(), 5U);
  EXPECT_EQ(shown[0].path, "policies.fib");
  EXPECT_EQ(shown[0].value, "list delays=1m,1m,2m,3m,5m,8m");
}

TEST(ConfigNames, ProfilesSourcesAndEventTypesMayNameASchedule) {  // S2-31, S2-55
  const auto read = reading(
      "sources: {payments: {retry: fib}}\n"
      "event_types: {CardDeclined: {limit: 2, retry: slow}}\n"
      "profiles:\n"
      "  mine: {base: workflow, retry: fib, categories: {network: {policy: slow, limit: 4}}}\n"
      "policies: {fib: [1m, 2m], slow: fixed base=1h}\n");
  EXPECT_TRUE(read.problems.empty()) << read.problems.front().text;
  const Profile mine = must(read.config.rules.find("mine"));
  EXPECT_EQ(print(mine.retry), "list delays=1m,2m");
  EXPECT_EQ(print(mine.categories.at("network").policy.value()), "fixed base=1h");
  Message message;
  message.source = "payments";
  EXPECT_EQ(print(must(read.config.rules.find("standard", message)).retry), "list delays=1m,2m");
  message.event_type = "CardDeclined";
  EXPECT_EQ(print(must(read.config.rules.find("standard", message)).retry), "fixed base=1h");
  EXPECT_EQ(must(read.config.rules.find("standard", message)).limit, 2U);
  const auto shown = show_config(read.config, "dlo.yaml", false);
  EXPECT_EQ(shown[0].path, "event_types.CardDeclined");
  EXPECT_EQ(shown[0].value, "limit 2, fixed base=1h");
}

TEST(ConfigNames, TheFourWordsMeanTheSameWhereverAFileHasThem) {  // S2-5, S2-6
  for (const auto& [word, full] : {std::pair{"linear", "linear base=5m"},
                                   {"exponential", "exponential base=1m factor=2 cap=1h"},
                                   {"immediate", "immediate"},
                                   {"never", "never"}}) {
    const std::string text(word);
    const auto read = reading("policies: {own: " + text + "}\ntemplates: {short: {policy: " + text +
                              "}}\nsources: {payments: {retry: " + text +
                              "}}\nevent_types: {CardDeclined: {retry: " + text +
                              "}}\nprofiles: {mine: {base: workflow, retry: " + text +
                              ", categories: {network: {policy: " + text + "}}}}\n");
    ASSERT_TRUE(read.problems.empty()) << read.problems.front().text;
    const ProfileBook& rules = read.config.rules;
    EXPECT_EQ(print(*rules.sources().at("payments").policy), full);
    EXPECT_EQ(print(*rules.overrides().by_event_type.at("CardDeclined").policy), full);
    EXPECT_EQ(print(rules.names()->policies.at("own")), full);
    EXPECT_EQ(print(*must(rules.names()->find_template("short")).asked.policy), full);
    const Profile mine = must(rules.find("mine"));
    EXPECT_EQ(print(mine.retry), full);
    EXPECT_EQ(print(mine.categories.at("network").policy.value()), full);
  }
}

TEST(ConfigNames, AWaitOfWhichNobodySaysHowLongItIsIsRefused) {
  for (const std::string file :
       {"sources: {a: {retry: fixed}}\n", "event_types: {A: {retry: exponential factor=3}}\n",
        "profiles: {mine: {base: workflow, retry: linear cap=1h}}\n",
        "profiles: {mine: {base: workflow, categories: {network: {policy: fixed}}}}\n",
        "policies: {own: fixed}\n", "templates: {short: {policy: fixed}}\n"}) {
    EXPECT_NE(problems_in(file).find("needs a base, the time it waits first"), std::string::npos)
        << file << problems_in(file);
  }
}

TEST(ConfigNames, CategoriesThatAProfileDoesNotNameStayAsItsBaseHasThem) {  // S2-8
  const auto read = reading(
      "profiles:\n"
      "  mine: {base: workflow, categories: {network: {limit: 9}, resource: {limit: 2},\n"
      "    validation: {policy: immediate}}}\n");
  ASSERT_TRUE(read.problems.empty()) << read.problems.front().text;
  const Profile mine = must(read.config.rules.find("mine"));
  EXPECT_EQ(mine.categories.at("network").limit, 9U);
  EXPECT_EQ(mine.categories.at("permission").action, Action::never);
  EXPECT_EQ(mine.categories.at("permanent").action, Action::never) << "what nobody knows";
  EXPECT_EQ(print(mine.categories.at("resource").policy.value()), "linear base=5m")
      << "its limit alone is named";
  EXPECT_EQ(mine.categories.at("validation").action, Action::retry)
      << "who names a policy wants it retried";
}

TEST(ConfigNames, ATemplateIsEverythingAboutAFailureInOneWord) {  // S2-56
  const auto read = reading(
      "templates:\n"
      "  nightly:\n"
      "    policy: exponential\n"
      "    max_retries: 7\n"
      "    category: transient\n"
      "    priority: medium\n"
      "    metadata: {team: data, slos: {max_delay_minutes: 15}}\n"
      "    tags: [nightly, slow]\n"
      "  rate-limit: {max_retries: 9}\n");
  EXPECT_TRUE(read.problems.empty()) << read.problems.front().text;
  const auto names = read.config.rules.names();
  const RetryTemplate nightly = must(names->find_template("nightly"));
  EXPECT_TRUE(nightly.asked.plain);
  EXPECT_EQ(nightly.asked.max_retries, 7U);
  EXPECT_EQ(nightly.priority, Priority::normal);
  EXPECT_EQ(nightly.tags, (std::vector<std::string>{"nightly", "slow"}));
  EXPECT_EQ(nightly.metadata.map.size(), 2U);
  EXPECT_FALSE(must(names->find_template("rate-limit")).asked.policy) << "ours takes its place";
  EXPECT_TRUE(names->find_template("network")) << "the others stay";
}

TEST(ConfigNames, JitterOfTheSafeProfileStaysWhereTheFileNamesAPolicy) {  // R12
  const auto read = reading("workflow: {retry_policy: linear}\n");
  EXPECT_EQ(print(must(read.config.rules.find("workflow")).retry), "linear base=5m");
  EXPECT_EQ(print(must(read.config.rules.find("workflow+safe")).retry),
            "linear base=5m jitter=equal");
}

TEST(ConfigNames, AnExecutorMayHaveATimeoutALimitAndACircuitOfItsOwn) {  // S2-2
  const auto read = reading(
      "executors:\n"
      "  a: {http: 'http://localhost:9/run', timeout: 20s, at_once: 2,\n"
      "      circuit: {failures: 3, share: 25, of: 40, window: 1m, cool_down: 30s, probes: 2}}\n"
      "  b: {command: /usr/bin/sweep, circuit: {failures: 0}}\n"
      "  c: {queue: tasks}\n");
  EXPECT_TRUE(read.problems.empty()) << read.problems.front().text;
  ASSERT_EQ(read.config.executors.size(), 3U);
  const ExecutorSettings& a = read.config.executors[0];
  EXPECT_EQ(a.timeout, std::chrono::seconds{20});
  EXPECT_EQ(a.at_once, 2U);
  EXPECT_EQ(read.config.executors[1].at_once, 0U);
  BreakerPolicy expected;
  expected.consecutive = 3;
  expected.failure_share = 0.25;
  expected.minimum_calls = 40;
  expected.window = std::chrono::minutes{1};
  expected.cool_down = std::chrono::seconds{30};
  expected.probes = 2;
  EXPECT_EQ(a.circuit, expected);
  EXPECT_FALSE(read.config.executors[1].timeout);
  EXPECT_EQ(read.config.executors[1].circuit.consecutive, 0U);
  EXPECT_EQ(read.config.executors[2].circuit, BreakerPolicy{});
}

struct Wrong {
  const char* name;
  const char* file;
  const char* says;
};
void PrintTo(const Wrong& wrong, std::ostream* out) {
  *out << wrong.file;
}
class ConfigNameMistake : public ::testing::TestWithParam<Wrong> {};

TEST_P(ConfigNameMistake, IsRefusedWithItsLineAndWhatWouldBeRight) {
  const std::string problems = problems_in(GetParam().file);
  EXPECT_NE(problems.find(GetParam().says), std::string::npos) << problems;
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Mistakes, ConfigNameMistake, ::testing::ValuesIn<Wrong>({
    {"TheNameOfAKind",       "policies: {linear: [1m]}\n",                    "1: policies.linear: choose another name"},
    {"ANameWithBlanks",      "policies: {'my own': [1m]}\n",                  "choose another name"},
    {"AMistakeHasItsColumn", "policies:\n  a: {expression: '5m * m'}\n",      "2: policies.a: expression, column 6: unknown name \"m\""},
    {"BothForms",            "policies: {a: {expression: 1s, delays: [1s]}}\n", "either an expression or delays"},
    {"NeitherForm",          "policies: {a: {cap: 1s}}\n",                    "must have `expression` or `delays`"},
    {"UnknownSetting",       "policies: {a: {expresion: 1s}}\n",              "did you mean \"expression\""},
    {"AListOfLists",         "policies: {a: [[1s]]}\n",                       "no time"},
    {"AnEmptyList",          "policies: {a: []}\n",                           "policies.a: "},
    {"NamesThatAreGone",     "profiles: {mine: {base: workflow, retry: fib}}\n", "unknown retry policy \"fib\""},
    {"UnknownInASource",     "policies: {fib: [1m]}\nsources: {a: {retry: fibb}}\n", "2: sources.a.retry: unknown retry policy \"fibb\": did you mean \"fib\""},
    {"EventTypeLimit",       "event_types: {A: {limit: 0}}\n",                "event_types.A.limit: \"0\" is not a whole number from 1 to 1000"},
    {"EventTypeSetting",     "event_types: {A: {limits: 1}}\n",               "did you mean \"limit\""},
    {"TemplatePolicy",       "templates: {a: {policy: sometimes}}\n",         "templates.a.policy: unknown retry policy \"sometimes\""},
    {"TemplateRetries",      "templates: {a: {max_retries: 1001}}\n",         "whole number from 0 to 1000"},
    {"TemplatePriority",     "templates: {a: {priority: urgent}}\n",          "Valid: low, medium, normal, high"},
    {"TemplateMetadata",     "templates: {a: {metadata: x}}\n",               "templates.a.metadata holds settings by name"},
    {"TemplateSetting",      "templates: {a: {polcy: never}}\n",              "did you mean \"policy\""},
    {"CircuitSetting",       "executors: {a: {command: x, circuit: {failure: 1}}}\n", "did you mean \"failures\""},
    {"CircuitShare",         "executors: {a: {command: x, circuit: {share: 101}}}\n", "executors.a.circuit.share: \"101\" is out of bounds; allowed: 1 to 100"},
    {"CircuitTime",          "executors: {a: {command: x, circuit: {window: 1ms}}}\n", "executors.a.circuit.window"},
    {"CircuitIsAMap",        "executors: {a: {command: x, circuit: 5}}\n",    "executors.a.circuit holds settings by name"},
    {"ExecutorTimeout",      "executors: {a: {command: x, timeout: 0s}}\n",   "executors.a.timeout: \"0s\" is out of bounds; allowed: 1s to 1d"},
    {"QueueWithACircuit",    "executors: {a: {queue: q, circuit: {failures: 1}}}\n", "a queue takes a task or does not"},
    {"TemplateIsAMap",       "templates: {a: 7}\n",                           "templates.a holds settings by name"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

}  // namespace
}  // namespace dlo
