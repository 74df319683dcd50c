#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <signal.h>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/postgres_server.h"
#include "support/require.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

const std::string json = "Content-Type: application/json\r\n";

struct QueuesInADatabase : ::testing::Test {
  void SetUp() override { SKIP_WITHOUT_SERVER(database = std::make_unique<PostgresServer>()); }

  /// With a configuration that says where the queues are.
  [[nodiscard]] std::vector<std::string> serving(const TemporaryDirectory& data) const {
    const std::string config = data.path() + "/dlo.yaml";
    std::ofstream(config) << "queues: office\noffice: " << database->address() << "\n";
    return {"serve", "--data", data.path(), "--config", config, "--listen", "127.0.0.1:0"};
  }
  static HttpClient client_of(Running& server) {
    return HttpClient(port_in(server.read_until("/healthz")));
  }
  static std::string settle(HttpClient& client, const std::string& lease, const std::string& how) {
    return client
        .ask("POST", "/v1/queues/orders/settle", R"({"lease":")" + lease + "\"," + how + "}", json)
        .body;
  }
  std::unique_ptr<PostgresServer> database;
};

// A node dies with a message in its worker's hands; another one, on another machine with another
// directory, hands out what waited and what was lost.
TEST_F(QueuesInADatabase, AreHandedOutByTheNextNodeWhenTheFirstIsKilled) {
  const TemporaryDirectory one;
  const TemporaryDirectory two;
  std::string held;
  {
    Running first(serving(one));
    HttpClient client = client_of(first);
    EXPECT_EQ(client.ask("PUT", "/v1/queues/orders", R"({"profile":"service-bus"})", json).status,
              201);
    for (const char* order : {"1", "2", "3", "4"}) {
      const auto sent =
          client.ask("POST", "/v1/queues/orders/messages?id=" + std::string(order), order);
      ASSERT_EQ(sent.status, 201) << sent.body;
    }
    const auto done = client.ask("POST", "/v1/queues/orders/receive");
    EXPECT_NE(
        settle(client, member(done.body, "lease"), R"("outcome":"complete")").find("completed"),
        std::string::npos);
    const auto dead = client.ask("POST", "/v1/queues/orders/receive");
    settle(client, member(dead.body, "lease"), R"("outcome":"fail","error":"bad request")");
    held = member(client.ask("POST", "/v1/queues/orders/receive").body, "lease");
    EXPECT_EQ(first.stop(SIGKILL), -SIGKILL);
  }
  Running second(serving(two));
  HttpClient client = client_of(second);
  const auto listed = client.ask("GET", "/v1/queues");
  EXPECT_TRUE(listed.has("orders") && listed.has("service-bus")) << listed.body;
  const auto interrupted = client.ask("POST", "/v1/queues/orders/receive?wait_ms=10000");
  EXPECT_EQ(member(interrupted.body, "payload"), "3") << interrupted.body;
  EXPECT_NE(settle(client, held, R"("outcome":"complete")").find("lease_lost"), std::string::npos);
  const auto waited = client.ask("POST", "/v1/queues/orders/receive?wait_ms=10000");
  EXPECT_EQ(member(waited.body, "payload"), "4") << waited.body;
  for (const auto& each : {interrupted, waited}) {
    EXPECT_NE(
        settle(client, member(each.body, "lease"), R"("outcome":"complete")").find("completed"),
        std::string::npos);
  }
  EXPECT_EQ(client.ask("POST", "/v1/queues/orders/receive").body, "{\"messages\":[]}\n");
  EXPECT_TRUE(client.ask("GET", "/v1/dead-letters?q=source%3Aorders").has("\"2\""));
  EXPECT_EQ(second.stop(SIGTERM), 0);
  EXPECT_NE(second.read_until("Stopped.").find("and in schema 'dlo_queues'"), std::string::npos);
}

// The database goes down and comes back; nothing is acknowledged in between, nothing is lost.
TEST_F(QueuesInADatabase, AreThereAgainWhenTheDatabaseIsBack) {
  const TemporaryDirectory data;
  Running server(serving(data));
  HttpClient client = client_of(server);
  const auto send = [&](const char* order) {
    return client.ask("POST", "/v1/queues/orders/messages", order).status;
  };
  ASSERT_EQ(send("before"), 201);
  database->crash();
  EXPECT_GE(send("meanwhile"), 500);
  EXPECT_TRUE(eventually([&] { return client.ask("GET", "/healthz").status == 503; }));
  database->start();
  EXPECT_TRUE(eventually([&] { return send("after") == 201; }));
  EXPECT_TRUE(eventually([&] { return client.ask("GET", "/healthz").status == 200; }));
  const auto first = client.ask("POST", "/v1/queues/orders/receive?wait_ms=10000");
  EXPECT_EQ(member(first.body, "payload"), "before") << first.body;
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

TEST_F(QueuesInADatabase, NeedADatabase) {
  const TemporaryDirectory data;
  const Ended refused = run_shell("DLO_QUEUES=office dlo serve --listen 127.0.0.1:0", data.path());
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("name a database"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace dlo::testing
