#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <string>
#include <vector>

#include "scenario/program.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The same question to the directory, to the directory a server works in, and to the server by name
// has the same answer; and when the server is gone, the command says so and what to do.
TEST(Scenario, CommandsFindTheirServer) {
  const TemporaryDirectory place;
  ASSERT_EQ(run_dlo({"demo", "--messages", "60", "--keep", "--data", place.path()}).code, 0);
  const std::vector<std::string> at_rest = {"list", "-o", "json", "--data", place.path()};
  const Ended offline = run_dlo(at_rest);
  ASSERT_EQ(offline.code, 0) << offline.err;

  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  const std::string url =
      "http://127.0.0.1:" + std::to_string(port_in(server.read_until("/healthz")));
  EXPECT_EQ(run_dlo(at_rest).out, offline.out);
  EXPECT_EQ(run_dlo({"list", "-o", "json", "--server", url}).out, offline.out);
  ::setenv("DLO_SERVER", url.c_str(), 1);
  EXPECT_EQ(run_dlo({"list", "-o", "json"}).out, offline.out);
  ::unsetenv("DLO_SERVER");

  ASSERT_EQ(server.stop(SIGKILL), -SIGKILL);  // its note stays behind
  EXPECT_EQ(run_dlo(at_rest).out, offline.out);
  const Ended gone = run_dlo({"list", "--server", url});
  EXPECT_EQ(gone.code, 1);
  EXPECT_TRUE(has(gone.err, url) && has(gone.err, "dlo serve") && has(gone.err, "Nothing was done"))
      << gone.err;
  const Ended nowhere = run_dlo({"list", "--data", place.path() + "/elsewhere"});
  EXPECT_EQ(nowhere.code, 4);
  EXPECT_TRUE(has(nowhere.err, "--server URL")) << nowhere.err;
  EXPECT_EQ(run_dlo({"list", "--server", "ftp://x"}).code, 2);
}

// A server with tokens: the command says which one is missing, and never prints one.
TEST(Scenario, ACommandShowsItsToken) {
  const TemporaryDirectory place;
  std::string token = run_dlo({"token", "create", "ana", "--data", place.path()}).out;
  token.pop_back();
  std::ofstream(place.path() + "/token") << token << "\n";
  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  const std::string url =
      "http://127.0.0.1:" + std::to_string(port_in(server.read_until("/healthz")));

  const Ended refused = run_dlo({"stats", "--server", url});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(has(refused.err, "DLO_TOKEN") && has(refused.err, "dlo token create")) << refused.err;
  const Ended wrong = run_dlo({"stats", "--server", url, "--token", "dlo_12345678_secretsecret"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_FALSE(has(wrong.out + wrong.err, "secretsecret")) << wrong.err;
  EXPECT_EQ(run_dlo({"stats", "--server", url, "--token", token}).code, 4);  // an empty office
  EXPECT_EQ(run_dlo({"stats", "--server", url, "--token-file", place.path() + "/token"}).code, 4);
  EXPECT_EQ(run_dlo({"stats", "--server", url, "--token-file", place.path() + "/none"}).code, 2);
}

}  // namespace
}  // namespace dlo::testing
