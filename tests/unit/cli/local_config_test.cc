// Without a server the configuration holds as it does with one.
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/cli/cli.h"
#include "dlo/cli/context.h"
#include "dlo/engine/clock.h"

namespace dlo::cli {
namespace {

using dlo::testing::noon;

class LocalConfig : public ::testing::Test {
 protected:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  std::string said(std::vector<std::string> words, Variables variables) {
    words.insert(words.begin(), "dlo");
    words.insert(words.end(), {"--data", place_.path()});
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    std::ostringstream out;
    const ManualClock clock(noon);
    Context context{out, out, noon};
    context.clock = &clock;
    context.environment = std::move(variables);
    code_ = run(static_cast<int>(argv.size()), argv.data(), context);
    return out.str();
  }
  std::string report(const std::string& error, Variables variables) {
    return said({"report", "--source", "w", "--profile", "workflow", "--error", error},
                std::move(variables));
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  int code_ = 0;

 private:
  dlo::testing::TemporaryDirectory place_;
};

TEST_F(LocalConfig, AReportIsNotTakenInWhereThatIsDisabled) {  // S2-9
  const std::string refused = report("timeout", {{"MAHAVISHNU_DLQ_ENABLED", "false"}});
  EXPECT_EQ(code_, exit_error) << refused;
  EXPECT_TRUE(has(refused, "workflow.enabled is false")) << refused;
  report("timeout", {});
  EXPECT_EQ(code_, exit_ok);
}

TEST_F(LocalConfig, TheStrategyHoldsForAReport) {  // S2-27
  const std::string skipped = report("access denied", {{"DLO_WORKFLOW_STRATEGY", "selective"}});
  EXPECT_EQ(code_, exit_error) << skipped;
  EXPECT_TRUE(has(skipped, "selective")) << skipped;
}

TEST_F(LocalConfig, TheNumbersSayHowManyThereMayBe) {  // S2-10
  report("timeout", {});
  const std::string numbers = said({"retries", "stats"}, {{"DLO_WORKFLOW_MAX_SIZE", "321"}});
  EXPECT_TRUE(has(numbers, "321")) << numbers;
}

TEST_F(LocalConfig, WhatCannotBeReadKeepsNothing) {
  const std::string refused = report("timeout", {{"DLO_WORKFLOW_STRATEGY", "sometimes"}});
  EXPECT_EQ(code_, exit_usage) << refused;
  EXPECT_TRUE(has(refused, "sometimes")) << refused;
}

}  // namespace
}  // namespace dlo::cli
