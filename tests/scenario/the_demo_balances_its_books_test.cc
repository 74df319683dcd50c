#include <gtest/gtest.h>

#include "scenario/program.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

TEST(Scenario, ADemoThatKeepsNothingTakesNoDirectory) {
  const Ended refused = run_dlo({"demo", "--data", "/nowhere/at/all"});
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_NE(refused.err.find("--keep"), std::string::npos) << refused.err;
}

// A new user runs the demo, keeps its office, and looks around in it.
TEST(Scenario, TheDemoBalancesItsBooksAndLeavesAnOfficeToLookAt) {
  const TemporaryDirectory place;
  const Ended demo = run_dlo({"demo", "--messages", "60", "--keep", "--data", place.path()});
  ASSERT_EQ(demo.code, 0) << demo.out << demo.err;
  EXPECT_NE(demo.out.find("They balance."), std::string::npos) << demo.out;
  EXPECT_NE(demo.out.find("sent 60 = done "), std::string::npos) << demo.out;

  const Ended ids = run_dlo({"list", "--data", place.path(), "-o", "id"});
  ASSERT_EQ(ids.code, 0) << ids.err;
  const std::string first = ids.out.substr(0, 32);

  const Ended shown = run_dlo({"show", first, "--data", place.path()});
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (const char* word : {"reason", "category", "attempts, newest first", "payload, "}) {
    EXPECT_NE(shown.out.find(word), std::string::npos) << word << " is missing in\n" << shown.out;
  }
  const Ended json = run_dlo({"show", first, "--data", place.path(), "-o", "json"});
  EXPECT_NE(json.out.find("\"id\":\"" + first + "\""), std::string::npos) << json.out;

  const Ended numbers = run_dlo({"stats", "--data", place.path()});
  EXPECT_EQ(numbers.code, 0);
  EXPECT_NE(numbers.out.find("orders"), std::string::npos) << numbers.out;

  const Ended again = run_dlo({"demo", "--messages", "60", "--keep", "--data", place.path()});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
  EXPECT_NE(again.out.find("They balance."), std::string::npos) << again.out;
  EXPECT_EQ(run_dlo({"list", "--data", place.path(), "-o", "id", "--limit", "500"}).out.size(),
            2 * ids.out.size())
      << "the messages of the second demo are others, though they look the same";

  const Ended crashed = run_dlo({"list", "--type", "crashing", "--data", place.path()});
  EXPECT_EQ(crashed.code, 0);
  EXPECT_NE(crashed.out.find("about to divide by zero"), std::string::npos) << crashed.out;
}

// The disk is full, or as good as: no file may grow further. The demo says so and ends.
TEST(Scenario, ADemoWhoseOfficeFailsSaysSoAndEnds) {
  const TemporaryDirectory place;
  const Ended demo =
      run_shell("trap '' XFSZ; ulimit -f 2000; TMPDIR=. dlo demo --messages 3000", place.path());
  EXPECT_EQ(demo.code, 1) << demo.err;
  EXPECT_NE(demo.err.find("dlo: "), std::string::npos) << demo.err;
  EXPECT_NE(demo.out.find("order-"), std::string::npos) << "it was told while it went well";
  EXPECT_EQ(demo.out.find("They balance"), std::string::npos);
}

}  // namespace
}  // namespace dlo::testing
