#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dlo/cli/cli.h"
#include "dlo/cli/context.h"

namespace dlo::cli {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// What a command says on the error stream; none of the places named here exists.
std::string told(std::vector<const char*> words, Variables variables) {
  std::ostringstream out;
  std::ostringstream err;
  Context context{out, err};
  context.environment = std::move(variables);
  words.insert(words.begin(), "dlo");
  run(static_cast<int>(words.size()), words.data(), context);
  return err.str();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Environment, StandsForOptionsThatWereNotGiven) {
  const std::string directory = told({"count"}, {{"DLO_DATA", "/no/such/one"}});
  EXPECT_TRUE(has(directory, "'/no/such/one'")) << directory;
  const std::string server = told({"count"}, {{"DLO_SERVER", "http://127.0.0.1:1"}});
  EXPECT_TRUE(has(server, "http://127.0.0.1:1:")) << server;
  const std::string file =
      told({"count", "--server", "http://127.0.0.1:1"}, {{"DLO_TOKEN_FILE", "/no/such/token"}});
  EXPECT_TRUE(has(file, "/no/such/token")) << file;
  const std::string config = told({"config", "show"}, {{"DLO_CONFIG", "/no/such/config"}});
  EXPECT_TRUE(has(config, "/no/such/config")) << config;
}

TEST(Environment, AVariableThatWasNotSetTakesNoOtherWordForItsValue) {
  // dlo count --source=$SOURCE --category=network
  const std::string text = told({"count", "--source=", "--category=network"}, {});
  EXPECT_TRUE(has(text, "--source= has no value")) << text;
  const std::string behind = told({"count", "--data", "/no/such/one", "--", "--source="}, {});
  EXPECT_FALSE(has(behind, "has no value")) << behind;
}

TEST(Environment, NeverWinsOverAnOption) {
  const std::string directory =
      told({"count", "--data", "/no/such/two"}, {{"DLO_DATA", "/no/such/one"}});
  EXPECT_TRUE(has(directory, "'/no/such/two'")) << directory;
  const std::string server =
      told({"count", "--server", "http://127.0.0.1:2"}, {{"DLO_SERVER", "http://127.0.0.1:1"}});
  EXPECT_TRUE(has(server, "http://127.0.0.1:2:")) << server;
  const std::string config =
      told({"config", "check", "/no/such/two"}, {{"DLO_CONFIG", "/no/such/one"}});
  EXPECT_TRUE(has(config, "/no/such/two")) << config;
  const std::string file =
      told({"count", "--server", "http://127.0.0.1:1", "--token-file", "/no/such/two"},
           {{"DLO_TOKEN", "dlo_1"}, {"DLO_TOKEN_FILE", "/no/such/one"}});
  EXPECT_TRUE(has(file, "/no/such/two")) << file;
}

TEST(Environment, ADirectoryThatIsNamedIsMeantWhateverServerTheEnvironmentPrefers) {
  const std::string text =
      told({"count", "--data", "/no/such/two"}, {{"DLO_SERVER", "http://127.0.0.1:1"}});
  EXPECT_TRUE(has(text, "'/no/such/two'")) << text;
}

}  // namespace
}  // namespace dlo::cli
