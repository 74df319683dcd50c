#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

// A worker gives an activity of a durable workflow up; an operator finds it from the command line,
// sends it back, and removes it when it comes again.
TEST(Scenario, PoisonIsListedShownRetriedAndRemoved) {
  const TemporaryDirectory place;
  const std::string json = "Content-Type: application/json\r\n";
  const auto poison = [&](bool send) {
    Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
    HttpClient client(port_in(server.read_until("/healthz")));
    if (send) {
      client.ask("PUT", "/v1/queues/work", R"({"profile":"durable"})", json);
      client.ask("POST", "/v1/queues/work/messages",
                 R"({"payload":"in","owner":{"instance":"i1","execution":1,)"
                 R"("activity":{"name":"charge","id":7}}})",
                 "Content-Type: application/x-ndjson\r\n");
    }
    const auto got = client.ask("POST", "/v1/queues/work/receive").body;
    const auto at = got.find("\"lease\":\"");
    ASSERT_NE(at, std::string::npos) << got;
    const auto dead =
        client.ask("POST", "/v1/queues/work/settle",
                   R"({"outcome":"abandon","force_poison":true,"error_message":"boom","lease":")" +
                       got.substr(at + 9, 32) + "\"}",
                   json);
    EXPECT_TRUE(dead.has("\"dead\"")) << dead.body;
    // The server is the only writer: the command line asks it.
    const Ended absent =
        run_dlo({"poison", "remove", "activities", "4711", "--yes", "--data", place.path()});
    EXPECT_EQ(absent.out, "false\n") << absent.err;
    EXPECT_EQ(server.stop(SIGTERM), 0);
  };
  poison(true);
  const Ended listed = run_dlo(
      {"poison", "list", "activities", "--instance", "i1", "-o", "id", "--data", place.path()});
  ASSERT_EQ(listed.code, 0) << listed.err;
  const std::string id = listed.out.substr(0, listed.out.find('\n'));
  const Ended shown = run_dlo({"poison", "show", "activities", id, "--data", place.path()});
  EXPECT_NE(shown.out.find("\"input\":\"in\""), std::string::npos) << shown.out;
  EXPECT_EQ(run_dlo({"poison", "list", "orchestrations", "--data", place.path()}).code, 4);
  EXPECT_EQ(run_dlo({"poison", "list", "activites", "--data", place.path()}).code, 2);

  EXPECT_EQ(run_dlo({"poison", "retry", "activities", id, "--data", place.path()}).out, "true\n");
  EXPECT_EQ(run_dlo({"poison", "retry", "activities", id, "--data", place.path()}).out, "false\n");
  poison(false);
  EXPECT_EQ(run_dlo({"poison", "remove", "activities", id, "--data", place.path()}).code, 2);
  EXPECT_EQ(run_dlo({"poison", "remove", "activities", id, "--yes", "--data", place.path()}).out,
            "true\n");
  EXPECT_EQ(run_dlo({"poison", "remove", "activities", id, "--yes", "--data", place.path()}).out,
            "false\n");
}

}  // namespace
}  // namespace dlo::testing
