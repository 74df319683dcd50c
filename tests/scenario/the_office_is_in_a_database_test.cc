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

constexpr const char* json = "Content-Type: application/json\r\n";

struct OfficeInADatabase : ::testing::Test {
  void SetUp() override { SKIP_WITHOUT_SERVER(database = std::make_unique<PostgresServer>()); }

  [[nodiscard]] std::vector<std::string> serving(const TemporaryDirectory& data) const {
    return {"serve",    "--data",     data.path(), "--office", database->address(),
            "--listen", "127.0.0.1:0"};
  }
  static HttpClient client_of(Running& server) {
    return HttpClient(port_in(server.read_until("/healthz")));
  }
  static int report(HttpClient& client, const std::string& id) {
    return client
        .ask("POST", "/v1/dead-letters",
             R"({"source":"payments","id":")" + id + R"(","failure":{"text":"card expired"}})",
             json)
        .status;
  }
  std::unique_ptr<PostgresServer> database;
};

// A node dies; another one, on another machine with another directory, goes on with its office.
TEST_F(OfficeInADatabase, IsServedByTheNextNodeWhenTheFirstIsKilled) {
  const TemporaryDirectory one;
  const TemporaryDirectory two;
  {
    Running first(serving(one));
    HttpClient client = client_of(first);
    ASSERT_EQ(report(client, "p1"), 201);
    const auto sent = client.ask("POST", "/v1/queues/orders/messages", "one order");
    ASSERT_EQ(sent.status, 201) << sent.body;
    EXPECT_EQ(run_dlo({"list", "--data", one.path()}).code, 0) << "commands find their server";

    ASSERT_TRUE(eventually([&] { return client.ask("GET", "/healthz").has("\"leads\":true"); }));
    const Ended beside =
        run_shell("DLO_OFFICE='" + database->address() + "' dlo archive --where status:open --yes",
                  two.path());
    EXPECT_EQ(beside.code, 1);
    EXPECT_NE(beside.err.find("is served by 'dlo serve on "), std::string::npos) << beside.err;
    EXPECT_EQ(beside.err.find("postgresql://"), std::string::npos) << "it may hold a password";
    EXPECT_EQ(first.stop(SIGKILL), -SIGKILL);
  }
  Running second(serving(two));
  HttpClient client = client_of(second);
  EXPECT_TRUE(client.ask("GET", "/v1/dead-letters").has("card expired"));
  EXPECT_EQ(report(client, "p1"), 200) << "the same report again is the same record";
  EXPECT_EQ(second.stop(SIGTERM), 0);
  EXPECT_NE(second.read_until("Stopped.").find("Stopped."), std::string::npos);
}

// The database goes down and comes back; nothing is acknowledged in between, nothing is lost.
TEST_F(OfficeInADatabase, IsWrittenAgainWhenTheDatabaseIsBack) {
  const TemporaryDirectory data;
  Running server(serving(data));
  HttpClient client = client_of(server);
  ASSERT_EQ(report(client, "before"), 201);
  database->crash();
  EXPECT_EQ(report(client, "meanwhile"), 503);
  database->start();
  EXPECT_TRUE(eventually([&] { return report(client, "after") < 300; }));
  const auto listed = client.ask("GET", "/v1/dead-letters");
  EXPECT_TRUE(listed.has("before") && listed.has("after")) << listed.body;
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

// Without a server, commands look into the database themselves.
TEST_F(OfficeInADatabase, IsLookedIntoWithoutAServer) {
  const TemporaryDirectory data;
  {
    Running server(serving(data));
    HttpClient client = client_of(server);
    ASSERT_EQ(report(client, "p1"), 201);
    ASSERT_EQ(server.stop(SIGTERM), 0);
  }
  const auto with_office = [&](const std::string& command) {
    return run_shell("DLO_OFFICE='" + database->address() + "' " + command, data.path());
  };
  const Ended listed = with_office("dlo list -o json");
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_NE(listed.out.find("card expired"), std::string::npos) << listed.out;
  EXPECT_EQ(with_office("dlo audit verify").code, 0);
  EXPECT_EQ(with_office("dlo migrate").code, 0);
  const Ended keys = with_office("dlo key list");
  EXPECT_NE(keys.code, 0);
  EXPECT_NE(keys.err.find("yours is in a database"), std::string::npos) << keys.err;
  const Ended shown = with_office("dlo config show --effective");
  EXPECT_EQ(shown.out.find(database->address()), std::string::npos) << "it may hold a password";
}

}  // namespace
}  // namespace dlo::testing
