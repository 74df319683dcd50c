// The suite is tested by breaking one rule at a time: a sabotage that its test does not notice
// fails here, by name. Each runs in a process of its own, chosen by DLO_SABOTAGE, because a test
// that fails cannot be taken back.

#include "conformance/office/saboteur.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace dlo::testing {
namespace {

constexpr const char* chosen_by = "DLO_SABOTAGE";
constexpr const char* none_of_them = "nothing";

/// The office to be broken; none in an ordinary run.
std::vector<OfficeBackend> sabotaged_backends() {
  const char* chosen = std::getenv(chosen_by);
  if (chosen == nullptr) return {};
  const std::string rule = chosen;
  const auto make = [rule]() -> std::unique_ptr<OfficeUnderTest> {
    for (Sabotage& row : sabotages()) {
      if (row.rule == rule) return sabotaged(std::move(row.hooks));
    }
    if (rule == none_of_them) return sabotaged({});
    throw std::runtime_error("there is no sabotage called \"" + rule + "\"");
  };
  return {{"sabotaged", make, true}};
}

INSTANTIATE_TEST_SUITE_P(Sabotaged, OfficeSuite, ::testing::ValuesIn(sabotaged_backends()),
                         backend_name);

struct SuiteRun {
  int exit_code = -1;
  std::string output;
};

SuiteRun run_suite(const std::string& rule, const std::vector<std::string>& tests) {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) throw std::runtime_error("cannot find this program");
  std::string filter;
  for (const std::string& test : tests) filter += "Sabotaged/OfficeSuite." + test + "/*:";
  const std::string command = std::string(chosen_by) + "='" + rule + "' '" + path.data() +
                              "' --gtest_filter='" + filter + "' --gtest_color=no 2>&1";
  SuiteRun run;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    run.output.append(buffer.data(), got);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  return run;
}

bool says(const SuiteRun& run, const std::string& text) {
  return run.output.find(text) != std::string::npos;
}

class Saboteur : public ::testing::TestWithParam<Sabotage> {};

TEST_P(Saboteur, IsNoticed) {
  ASSERT_FALSE(GetParam().noticed_by.empty());
  const SuiteRun run = run_suite(GetParam().rule, GetParam().noticed_by);
  for (const std::string& test : GetParam().noticed_by) {
    ASSERT_TRUE(says(run, "[ RUN      ] Sabotaged/OfficeSuite." + test + "/"))
        << "there is no such test: " << test << '\n'
        << run.output;
    EXPECT_TRUE(says(run, "[  FAILED  ] Sabotaged/OfficeSuite." + test + "/"))
        << test << " did not notice: " << GetParam().rule << '\n'
        << run.output;
  }
  EXPECT_EQ(run.exit_code, 1) << "a failed test, not a crash\n" << run.output;
}

TEST(SaboteurTable, EveryRuleOfTheOfficeSuiteHasASabotageItNotices) {
  std::set<std::string> covered;
  for (const Sabotage& row : sabotages()) {
    covered.insert(row.noticed_by.begin(), row.noticed_by.end());
  }
  const auto& unit = *::testing::UnitTest::GetInstance();
  int rules = 0;
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const auto& suite = *unit.GetTestSuite(i);
    if (std::string(suite.name()) != "Memory/OfficeSuite") continue;
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string name = suite.GetTestInfo(j)->name();
      const auto rule = name.substr(0, name.find('/'));
      EXPECT_TRUE(covered.contains(rule)) << rule << " has never been seen to fail";
      ++rules;
    }
  }
  EXPECT_GT(rules, 150);
}

std::string sentence_name(const ::testing::TestParamInfo<Sabotage>& info) {
  std::string name;
  bool capital = true;
  for (const char c : info.param.rule) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      name += static_cast<char>(capital ? std::toupper(letter) : letter);
    }
    capital = c == ' ';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(OfOffices, Saboteur, ::testing::ValuesIn(sabotages()), sentence_name);

/// Otherwise every sabotage would be "noticed", whatever it does.
TEST(SaboteurAtRest, BreaksNothing) {
  const SuiteRun run = run_suite(none_of_them, {"*"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_TRUE(says(run, "[  PASSED  ]")) << run.output;
  EXPECT_FALSE(says(run, "[  SKIPPED ]")) << run.output;
}

}  // namespace
}  // namespace dlo::testing
