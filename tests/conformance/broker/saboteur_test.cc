// The suite is only worth what it notices: each sabotage is run against the tests that must fail,
// in a process of its own, so that a crash or a failed test there is an answer here.
#include "conformance/broker/saboteur.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

namespace dlo::testing {

void PrintTo(const Sabotage& sabotage, std::ostream* out) {
  *out << sabotage.name;
}

namespace {

/// Names of the suite's tests that failed under `sabotage`.
std::set<std::string> failures_under(const Sabotage& sabotage) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string filter;
  for (const auto& test : sabotage.noticed_by) filter += "Memory/BrokerSuite." + test + "/*:";
  const auto command = std::string(sabotage_variable) + "=" + sabotage.name + " '" + self +
                       "' --gtest_brief=1 --gtest_filter='" + filter + "' 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> child(::popen(command.c_str(), "r"), ::pclose);
  std::ostringstream output;
  std::array<char, 4096> buffer{};
  while (const auto got = std::fread(buffer.data(), 1, buffer.size(), child.get())) {
    output.write(buffer.data(), static_cast<std::streamsize>(got));
  }
  std::set<std::string> failed;
  std::istringstream lines(output.str());
  const std::string mark = "[  FAILED  ] Memory/BrokerSuite.";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(mark)) continue;
    failed.insert(line.substr(mark.size(), line.find('/', mark.size()) - mark.size()));
  }
  return failed;
}

class Sabotaged : public ::testing::TestWithParam<Sabotage> {};

TEST_P(Sabotaged, IsNoticed) {
  ASSERT_FALSE(GetParam().noticed_by.empty());
  const auto failed = failures_under(GetParam());
  for (const auto& test : GetParam().noticed_by) {
    EXPECT_TRUE(failed.contains(test)) << test << " passed although " << GetParam().name;
  }
}

INSTANTIATE_TEST_SUITE_P(Broker, Sabotaged, ::testing::ValuesIn(sabotages()),
                         [](const auto& row) { return row.param.name; });

TEST(SaboteurTable, EveryRuleOfTheSuiteHasASabotageItNotices) {
  std::set<std::string> covered;
  for (const auto& sabotage : sabotages()) {
    covered.insert(sabotage.noticed_by.begin(), sabotage.noticed_by.end());
  }
  const auto& unit = *::testing::UnitTest::GetInstance();
  int rules = 0;
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const auto& suite = *unit.GetTestSuite(i);
    if (std::string(suite.name()) != "Memory/BrokerSuite") continue;
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string name = suite.GetTestInfo(j)->name();
      const auto rule = name.substr(0, name.find('/'));
      EXPECT_TRUE(covered.contains(rule)) << rule << " has never been seen to fail";
      ++rules;
    }
  }
  EXPECT_GT(rules, 100);
}

}  // namespace
}  // namespace dlo::testing
