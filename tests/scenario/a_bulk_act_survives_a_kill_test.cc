#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

constexpr int letters = 4'000;
const std::string json = "Content-Type: application/json\r\n";

// Somebody archives four thousand at a gentle rate; the server is killed twice in the middle; each
// time it goes on by itself, and at the end everything was done exactly once.
TEST(Scenario, ABulkActSurvivesAKill) {
  const TemporaryDirectory place;
  const std::vector<std::string> serve = {"serve", "--data", place.path(), "--listen",
                                          "127.0.0.1:0"};
  std::string id;
  for (int life = 0; life < 3; ++life) {
    Running server(serve);
    HttpClient client(port_in(server.read_until("/healthz")));
    if (life == 0) {
      report_many(client, letters, [](const std::string& n) {
        return R"({"source":"orders","error":"timed out","id":")" + n + "\"}";
      });
      const auto planned =
          client.ask("POST", "/v1/jobs",
                     R"({"act":"archive","query":"source:orders","rate":2000,"start":true})", json);
      ASSERT_EQ(planned.status, 201) << planned.body;
      // Counting has its time; what it did not reach on a slow machine is said to be there.
      EXPECT_TRUE(member(planned.body, "count") == std::to_string(letters) ||
                  planned.body.find(R"("at_least":true)") != std::string::npos)
          << planned.body;
      id = member(planned.body, "id");
    }
    const auto done = [&] {
      return std::stoi(member(client.ask("GET", "/v1/jobs/" + id).body, "ok"));
    };
    const int before = done();
    ASSERT_TRUE(eventually([&] { return done() > before || done() == letters; }));
    if (life < 2) {
      EXPECT_EQ(server.stop(SIGKILL), -SIGKILL);
      continue;
    }
    ASSERT_TRUE(
        eventually([&] { return client.ask("GET", "/v1/jobs/" + id).has("\"state\":\"done\""); }));
    const auto job = client.ask("GET", "/v1/jobs/" + id);
    EXPECT_EQ(member(job.body, "ok"), std::to_string(letters)) << job.body;
    EXPECT_EQ(member(job.body, "changed"), "0") << job.body;
    const auto open = client.ask("GET", "/v1/dead-letters?q=status%3Aopen&limit=1");
    EXPECT_FALSE(open.has("timed out")) << open.body;
    EXPECT_EQ(server.stop(SIGTERM), 0);
  }
}

}  // namespace
}  // namespace dlo::testing
