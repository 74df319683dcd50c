#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "scenario/program.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

// Somebody on call asks why a message died, and what would have happened under other rules.
TEST(Scenario, ADecisionIsExplainedByTheCodeThatTakesIt) {
  const Ended last = run_dlo({"explain", "--profile", "kafka", "--error", "Balance not found",
                              "--type", "InvalidOperationException", "--attempt", "4"});
  EXPECT_EQ(last.code, 0) << last.err;
  EXPECT_NE(last.out.find("dead letter InvalidOperationException"), std::string::npos) << last.out;

  const Ended third =
      run_dlo({"explain", "--profile", "kafka", "--error", "Balance not found", "--type",
               "InvalidOperationException", "--attempt", "3", "-o", "json"});
  EXPECT_NE(third.out.find(R"("verdict":"retry")"), std::string::npos) << third.out;
  EXPECT_NE(third.out.find(R"("delay_ms":8000)"), std::string::npos) << third.out;  // S4-11
}

// What a configuration changes is explained as the server would decide it.
TEST(Scenario, ADecisionUnderAConfigurationIsExplained) {
  const TemporaryDirectory place;
  const std::string file = place.path() + "/dlo.yaml";
  std::ofstream(file) << "profiles:\n  careful: {base: standard, limit: 7}\n"
                         "sources:\n  orders: {limit: 2}\n";
  const auto asked = [&](const std::string& profile, std::vector<std::string> more) {
    std::vector<std::string> words = {"explain", "--config",  file, "--profile", profile, "--error",
                                      "refused", "--attempt", "3",  "-o",        "json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_dlo(words);
  };
  EXPECT_NE(asked("careful", {}).out.find(R"("verdict":"retry")"), std::string::npos);
  const Ended orders = asked("careful", {"--source", "orders"});
  EXPECT_NE(orders.out.find(R"("verdict":"dead_letter")"), std::string::npos) << orders.out;
  EXPECT_NE(orders.out.find("source orders"), std::string::npos) << orders.out;
  const Ended unknown = asked("carefull", {});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("careful"), std::string::npos) << unknown.err;
}

TEST(Scenario, AnExplanationIsATableOrRefusesToBeAnId) {
  const Ended table = run_dlo({"explain", "--error", "x", "--attempt", "1", "-o", "csv"});
  EXPECT_EQ(table.out.find("STEP,TEXT"), 0U) << table.out;
  EXPECT_EQ(run_dlo({"explain", "--error", "x", "--attempt", "1", "-o", "id"}).code, 2);
}

TEST(Scenario, AMisspeltProfileIsRefusedWithTheNearestName) {
  const Ended refused =
      run_dlo({"explain", "--profile", "bokking", "--error", "x", "--attempt", "1"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("did you mean \"booking\""), std::string::npos) << refused.err;
}

TEST(Scenario, AWrongCommandLineIsAUsageError) {
  EXPECT_EQ(run_dlo({}).code, 2);
  EXPECT_EQ(run_dlo({"explain", "--attempt", "0", "--error", "x"}).code, 2);
  EXPECT_EQ(run_dlo({"list", "-o", "xml"}).code, 2);
  EXPECT_EQ(run_dlo({"--help"}).code, 0);
  // ... and says what may have been meant.
  const auto suggests = [](std::vector<std::string> words, const std::string& meant) {
    const Ended ended = run_dlo(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_NE(ended.err.find("did you mean \"" + meant + "\"?"), std::string::npos) << ended.err;
  };
  suggests({"lsit"}, "list");
  suggests({"group", "resolv", "x"}, "resolve");
  suggests({"list", "--limt", "3"}, "--limit");
  suggests({"list", "-o", "jsno"}, "json");
}

TEST(Scenario, EveryProfileThatIsListedCanBeShown) {
  const Ended names = run_dlo({"profile", "list", "-o", "id"});
  ASSERT_EQ(names.code, 0);
  std::size_t from = 0;
  int shown = 0;
  for (auto end = names.out.find('\n'); end != std::string::npos;
       end = names.out.find('\n', from)) {
    const std::string name = names.out.substr(from, end - from);
    EXPECT_EQ(run_dlo({"profile", "show", name}).out.substr(0, 6 + name.size()), "name: " + name);
    from = end + 1;
    ++shown;
  }
  EXPECT_GE(shown, 17);
}

}  // namespace
}  // namespace dlo::testing
