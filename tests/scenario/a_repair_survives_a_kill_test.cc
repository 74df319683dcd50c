#include <gtest/gtest.h>
#include <signal.h>
#include <string>
#include <vector>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

constexpr int letters = 1'500;
const std::string json = "Content-Type: application/json\r\n";

// A recipe mends fifteen hundred dead letters; the server is killed twice in the middle of it. At
// the end each has one version more, with the mended payload: none was skipped, none mended twice.
TEST(Scenario, ARepairSurvivesAKill) {
  const TemporaryDirectory place;
  const std::vector<std::string> serve = {"serve", "--data", place.path(), "--listen",
                                          "127.0.0.1:0"};
  std::string id;
  for (int life = 0; life < 3; ++life) {
    Running server(serve);
    HttpClient client(port_in(server.read_until("/healthz")));
    if (life == 0) {
      report_many(client, letters, [](const std::string& n) {
        return R"({"source":"orders","error":"no currency","json":{"n":)" + n + R"(},"id":")" + n +
               "\"}";
      });
      const auto planned =
          client.ask("POST", "/v1/jobs",
                     R"({"act":"repair","query":"source:orders","rate":1500,"start":true,)"
                     R"("recipe":[{"set":"currency","value":"EUR"}]})",
                     json);
      ASSERT_EQ(planned.status, 201) << planned.body;
      id = all_after(planned.body, R"("job":{"id":")").at(0);
    }
    const auto done = [&] { return number(client.ask("GET", "/v1/jobs/" + id).body, "ok"); };
    const int before = done();
    ASSERT_TRUE(eventually([&] { return done() > before || done() == letters; }));
    if (life < 2) {
      EXPECT_LT(done(), letters) << "it was over before it was killed";
      EXPECT_EQ(server.stop(SIGKILL), -SIGKILL);
      continue;
    }
    ASSERT_TRUE(
        eventually([&] { return client.ask("GET", "/v1/jobs/" + id).has("\"state\":\"done\""); }));
    EXPECT_EQ(done(), letters) << client.ask("GET", "/v1/jobs/" + id).body;
    std::string cursor;
    int mended = 0;
    for (int page = 0; page < letters / 500; ++page) {
      const auto list =
          client.ask("GET", "/v1/dead-letters?limit=500" + (page == 0 ? "" : "&cursor=" + cursor));
      for (const std::string& letter : all_after(list.body, R"("id":")")) {
        const auto payload = client.ask("GET", "/v1/dead-letters/" + letter + "/versions");
        mended += number(payload.body, "newest") == 1 ? 1 : 0;
      }
      const auto next = all_after(list.body, R"("next":")");
      cursor = next.empty() ? "" : next[0];
    }
    EXPECT_EQ(mended, letters) << "each once";
    EXPECT_EQ(server.stop(SIGTERM), 0);
  }
}

}  // namespace
}  // namespace dlo::testing
