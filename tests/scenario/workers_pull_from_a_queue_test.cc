#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

const std::string json = "Content-Type: application/json\r\n";

std::string settle(HttpClient& client, const std::string& lease, const std::string& how) {
  return client
      .ask("POST", "/v1/queues/orders/settle", R"({"lease":")" + lease + "\"," + how + "}", json)
      .body;
}

// A program sends orders; a worker takes them, does one, fails one for good and is killed together
// with the server while it has the third. Nothing is lost and nothing is there twice.
TEST(Scenario, WorkersPullFromAQueueAndWhatTheyCannotDoIsInTheOffice) {
  const TemporaryDirectory place;
  std::string held;
  {
    Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
    HttpClient client(port_in(server.read_until("/healthz")));
    EXPECT_EQ(client.ask("PUT", "/v1/queues/orders", R"({"profile":"service-bus"})", json).status,
              201);
    for (const char* order : {"1", "2", "3"}) {
      EXPECT_EQ(
          client.ask("POST", "/v1/queues/orders/messages?id=" + std::string(order), order).status,
          201);
    }
    const auto first = client.ask("POST", "/v1/queues/orders/receive");
    EXPECT_NE(
        settle(client, member(first.body, "lease"), R"("outcome":"complete")").find("completed"),
        std::string::npos);
    const auto second = client.ask("POST", "/v1/queues/orders/receive");
    const std::string dead =
        settle(client, member(second.body, "lease"), R"("outcome":"fail","error":"bad request")");
    EXPECT_NE(dead.find("NonRetryableError"), std::string::npos) << dead;
    const auto third = client.ask("POST", "/v1/queues/orders/receive");
    held = member(third.body, "lease");
    EXPECT_EQ(server.stop(SIGKILL), -SIGKILL);
  }
  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  HttpClient client(port_in(server.read_until("/healthz")));
  EXPECT_NE(settle(client, held, R"("outcome":"complete")").find("lease_lost"), std::string::npos)
      << "a lease does not outlive the server";
  const auto again = client.ask("POST", "/v1/queues/orders/receive?wait_ms=10000");
  EXPECT_EQ(member(again.body, "payload"), "3") << again.body;
  EXPECT_EQ(member(again.body, "attempt"), "2") << "a kill counts: " << again.body;
  EXPECT_NE(
      settle(client, member(again.body, "lease"), R"("outcome":"complete")").find("completed"),
      std::string::npos);
  EXPECT_EQ(client.ask("POST", "/v1/queues/orders/receive").body, "{\"messages\":[]}\n");
  const auto dead = client.ask("GET", "/v1/dead-letters?q=source%3Aorders");
  EXPECT_EQ(member(dead.body, "message_id"), "2") << dead.body;
  HttpClient waiting(port_in(server.read_until("/healthz")));
  waiting.send("POST /v1/queues/orders/receive?wait_ms=60000 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.ask("GET", "/healthz").status, 200);
  EXPECT_EQ(server.stop(SIGTERM), 0) << "somebody who waits does not keep the server";
}

}  // namespace
}  // namespace dlo::testing
