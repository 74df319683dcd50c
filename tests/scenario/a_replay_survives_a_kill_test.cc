#include <gtest/gtest.h>
#include <set>
#include <signal.h>
#include <string>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

constexpr int letters = 3'000;
constexpr int most_lives = 12;  // a batch is 200: there are enough of them to be killed in
const std::string json = "Content-Type: application/json\r\n";
const std::string ndjson = "Content-Type: application/x-ndjson\r\n";

std::string job_in(const std::string& body) {
  const std::string mark = "\"job\":{\"id\":\"";
  const auto at = body.find(mark) + mark.size();
  return body.substr(at, body.find('"', at) - at);
}

class AReplayIsKilled : public ::testing::Test {
 protected:
  std::string prepare(HttpClient& client) {
    EXPECT_EQ(client.ask("PUT", "/v1/queues/orders", "{}", json).status, 201);
    for (int i = 0; i < letters;) {
      std::string lines;
      for (int n = 0; n < 500; ++n, ++i) {
        lines += R"({"source":"orders","error":"timed out","id":")" + std::to_string(i) + "\"}\n";
      }
      EXPECT_EQ(client.ask("POST", "/v1/dead-letters", lines, ndjson).status, 200);
    }
    const auto planned = client.ask(
        "POST", "/v1/jobs",
        R"({"act":"replay","query":"source:orders","watch":"1h","rate":800,"start":true})", json);
    EXPECT_EQ(planned.status, 201) << planned.body;
    return job_in(planned.body);
  }
  static int sent(HttpClient& client) {
    return number(client.ask("GET", "/v1/queues/orders").body, "ready");
  }
  /// How many the queue has that the job does not know of: nobody works in the directory.
  int in_flight(const std::string& job) {
    const Ended queue = run_dlo({"queue", "list", "-o", "json", "--data", place_.path()});
    const Ended shown = run_dlo({"job", "show", job, "-o", "json", "--data", place_.path()});
    EXPECT_EQ(queue.code, 0) << queue.err;
    EXPECT_EQ(shown.code, 0) << shown.err;
    return number(queue.out, "ready") - number(shown.out, "ok");
  }
  const TemporaryDirectory place_;
  const std::vector<std::string> serve_ = {"serve", "--data", place_.path(), "--listen",
                                           "127.0.0.1:0"};
};

// The server is killed right after it put dead letters into a queue, before it could write that
// down. It sends these again, under the same ids, and the queue drops them: at the end each is
// there once, and none was skipped.
TEST_F(AReplayIsKilled, AndOnlyWhatWasInFlightIsSentAgainAndDropped) {
  std::string id;
  int repeated = 0;
  for (int life = 0; life < most_lives && repeated == 0; ++life) {
    Running server(serve_);
    HttpClient client(port_in(server.read_until("/healthz")));
    if (life == 0) id = prepare(client);
    const int before = sent(client);
    ASSERT_LT(before, letters) << "it was over before it could be killed in the right moment";
    ASSERT_TRUE(eventually([&] { return sent(client) > before; }));
    ASSERT_EQ(server.stop(SIGKILL), -SIGKILL);
    repeated = in_flight(id);
    ASSERT_GE(repeated, 0) << "what the job wrote down as sent is in the queue";
  }
  EXPECT_GT(repeated, 0) << "no kill fell between sending and writing it down";
  Running server(serve_);
  HttpClient client(port_in(server.read_until("/healthz")));
  ASSERT_TRUE(eventually(
      [&] { return number(client.ask("GET", "/v1/jobs/" + id).body, "ok") == letters; }));
  EXPECT_EQ(sent(client), letters) << "none twice, none missing";
  std::set<std::string> ids;
  for (int got = 0; got < letters; got += 1'000) {
    const std::string page = client.ask("POST", "/v1/queues/orders/receive?limit=1000").body;
    const std::string mark = R"("name":"dlo-id","value":")";
    for (auto at = page.find(mark); at != std::string::npos; at = page.find(mark, at + 1)) {
      ids.insert(page.substr(at + mark.size(), 32));
    }
  }
  EXPECT_EQ(ids.size(), std::size_t{letters});
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
