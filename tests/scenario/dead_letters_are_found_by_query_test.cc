#include <gtest/gtest.h>

#include "scenario/program.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

// An operator looks for some of the demo's dead letters, mistypes, and takes fields along.
TEST(Scenario, DeadLettersAreFoundByQuery) {
  const TemporaryDirectory place;
  const Ended demo = run_dlo({"demo", "--messages", "60", "--keep", "--data", place.path()});
  ASSERT_EQ(demo.code, 0) << demo.out << demo.err;
  const auto list = [&place](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"list", "--data", place.path()});
    return run_dlo(arguments);
  };

  const Ended by_query =
      list({"status:open type:crashing error:\"divide by zero\" age:<1h", "-o", "id"});
  ASSERT_EQ(by_query.code, 0) << by_query.err;
  EXPECT_EQ(by_query.out, list({"--type", "crashing", "--status", "open", "-o", "id"}).out);
  EXPECT_EQ(by_query.out, list({"--query", "type:crashing", "--status", "open", "-o", "id"}).out);
  EXPECT_EQ(list({"-o", "id", "--", "-type:crashing", "type:crashing"}).code, 4);
  EXPECT_EQ(list({"age:>2d"}).code, 4);

  const Ended one = list({"id:" + by_query.out.substr(0, 32), "-o", "id"});
  EXPECT_EQ(one.out, by_query.out.substr(0, 33));

  const Ended mistyped = list({"source:orders stauts:open"});
  EXPECT_EQ(mistyped.code, 2);
  EXPECT_NE(mistyped.err.find("column 15: unknown qualifier \"stauts\": did you mean \"status\"?"),
            std::string::npos)
      << mistyped.err;
  const Ended twice = list({"type:crashing", "--type", "crashing"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.err.find("type: was given before"), std::string::npos) << twice.err;

  const Ended lifted =
      list({"type:crashing", "--columns", "x=body.nothing,y=header.none", "-o", "ndjson"});
  EXPECT_EQ(lifted.code, 0) << lifted.err;
  EXPECT_NE(lifted.out.find("\"columns\":{\"x\":null,\"y\":null}"), std::string::npos)
      << lifted.out;
}

// In a script a variable was not set. That must not mean every dead letter there is.
TEST(Scenario, NothingWhereAWordBelongsIsRefused) {
  const TemporaryDirectory place;
  ASSERT_EQ(run_dlo({"demo", "--messages", "14", "--keep", "--data", place.path()}).code, 0);
  for (const char* option : {"--status", "--source", "--category", "--group", "--type", "--key",
                             "--error", "--since", "--until"}) {
    for (const char* verb : {"list", "resolve"}) {
      const Ended refused = run_dlo({verb, option, "", "--data", place.path()});
      EXPECT_EQ(refused.code, 2) << verb << " " << option << refused.out;
      EXPECT_NE(refused.err.find("is empty"), std::string::npos) << option << refused.err;
    }
  }
  for (const char* query : {"", " ", " \t\n"}) {
    const Ended refused = run_dlo({"resolve", "--where", query, "--yes", "--data", place.path()});
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_NE(refused.err.find("Say what to resolve"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(run_dlo({"count", "status:open", "--data", place.path()}).out.substr(0, 1), "3");
}

}  // namespace
}  // namespace dlo::testing
