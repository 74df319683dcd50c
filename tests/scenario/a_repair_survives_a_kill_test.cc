#include <gtest/gtest.h>
#include <signal.h>
#include <string>
#include <vector>

#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

constexpr int letters = 1'500;
const std::string json = "Content-Type: application/json\r\n";

int number(const std::string& body, const std::string& name) {
  const auto at = body.find("\"" + name + "\":");
  return at == std::string::npos ? -1 : std::stoi(body.substr(at + name.size() + 3));
}
/// Every value that follows `mark`, up to the next quote.
std::vector<std::string> all_after(const std::string& text, const std::string& mark) {
  std::vector<std::string> found;
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const auto from = at + mark.size();
    found.push_back(text.substr(from, text.find('"', from) - from));
  }
  return found;
}

void report_many(HttpClient& client) {
  for (int i = 0; i < letters;) {
    std::string lines;
    for (int n = 0; n < 500; ++n, ++i) {
      lines += R"({"source":"orders","error":"no currency","json":{"n":)" + std::to_string(i) +
               R"(},"id":")" + std::to_string(i) + "\"}\n";
    }
    ASSERT_EQ(
        client.ask("POST", "/v1/dead-letters", lines, "Content-Type: application/x-ndjson\r\n")
            .status,
        200);
  }
}

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
      report_many(client);
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
