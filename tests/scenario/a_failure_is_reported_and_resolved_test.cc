#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

// Another program tells of failures; somebody finds them, resolves one with a note, and all of it
// is still there when the server has been killed.
TEST(Scenario, AFailureIsReportedFoundResolvedAndRemembered) {
  const TemporaryDirectory place;
  const std::string json = "Content-Type: application/json\r\n";
  std::string id;
  {
    Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
    HttpClient client(port_in(server.read_until("/healthz")));
    const auto reported = client.ask("POST", "/v1/dead-letters",
                                     R"({"source":"payments","id":"p1","json":{"Amount":12},)"
                                     R"("failure":{"type":"CardError","text":"card expired"}})",
                                     json);
    ASSERT_EQ(reported.status, 201) << reported.body;
    id = member(reported.body, "id");
    std::string lines;
    for (int i = 0; i < 100; ++i) {
      lines += R"({"source":"orders","error":"timed out","id":")" + std::to_string(i) + "\"}\n";
    }
    const auto batch =
        client.ask("POST", "/v1/dead-letters", lines, "Content-Type: application/x-ndjson\r\n");
    EXPECT_EQ(batch.status, 200) << batch.body;

    const auto found = client.ask("GET", "/v1/dead-letters?q=error%3Aexpired");
    EXPECT_EQ(member(found.body, "id"), id) << found.body;
    const auto resolved = client.ask("POST", "/v1/dead-letters/" + id + "/resolve",
                                     R"({"by":"ana","notes":"new card"})", json);
    EXPECT_EQ(resolved.status, 200) << resolved.body;
    EXPECT_EQ(server.stop(SIGKILL), -SIGKILL);
  }
  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  HttpClient client(port_in(server.read_until("/healthz")));
  const auto shown = client.ask("GET", "/v1/dead-letters/" + id);
  EXPECT_TRUE(shown.has("new card")) << shown.body;
  const auto stats = client.ask("GET", "/v1/stats");
  EXPECT_TRUE(stats.has("\"open\":100")) << stats.body;
  EXPECT_TRUE(client.ask("GET", "/v1/audit").has("resolve"));
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
