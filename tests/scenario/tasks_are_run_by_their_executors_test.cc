#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"
#include "unit/handlers/loopback_server.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;
const std::string json = "Content-Type: application/json\r\n";

/// As the API writes times, to the second.
std::string time_in(std::chrono::seconds from_now) {
  const std::time_t when =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() + from_now);
  std::tm parts{};
  gmtime_r(&when, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)};
}

/// Tasks that the office retries, from the configuration to what becomes of them.
class TasksAreRun : public ::testing::Test {
 protected:
  void serve(const std::string& configuration) {
    const std::string file = place_.path() + "/dlo.yaml";
    std::ofstream(file) << "data: " << place_.path() << "/office\nserver: {listen: '127.0.0.1:0'}\n"
                        << configuration;
    server_ = std::make_unique<Running>(std::vector<std::string>{"serve", "--config", file});
    said_ = server_->read_until("/healthz");
    client_ = std::make_unique<HttpClient>(port_in(said_));
  }
  std::string report(const std::string& members) {
    const auto told =
        client_->ask("POST", "/v1/dead-letters",
                     R"({"source":"workflows","profile":"workflow",)" + members + "}", json);
    EXPECT_EQ(told.status, 201) << told.body;
    return member(told.body, "id");
  }
  std::string show(const std::string& id) {
    return client_->ask("GET", "/v1/dead-letters/" + id).body;
  }
  bool becomes(const std::string& id, const std::string& status) {
    return eventually([&] { return member(show(id), "status") == status; });
  }

  const TemporaryDirectory place_;
  std::unique_ptr<Running> server_;
  std::string said_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(TasksAreRun, AndAFailureThatIsReturnedInGoodOrderIsOne) {  // I5, R2-2, S2-16
  const LoopbackServer there([](const Request&) -> Reply {
    return {http(200, json, R"({"status":"failed","error":"timeout of the index"})")};
  });
  const std::string at = "http://127.0.0.1:" + std::to_string(there.port());
  serve("executors:\n  web: {http: '" + at +
        "/run'}\n  program: {command: \"echo {\\\"status\\\":\\\"failed\\\"}\"}\n");
  const auto task = [](const std::string& adapter) {
    return R"("error":"timeout","policy":"immediate","max_retries":2,"task":{"adapter":")" +
           adapter + R"("})";
  };
  const std::string web = report(task("web"));
  const std::string program = report(task("program"));
  EXPECT_TRUE(becomes(web, "exhausted")) << show(web);
  EXPECT_NE(show(web).find("timeout of the index"), std::string::npos);
  EXPECT_TRUE(becomes(program, "exhausted")) << show(program);
}

TEST_F(TasksAreRun, OverHttpByWhatTheEndpointAnswers) {  // S2-2, S2-17
  const LoopbackServer there([](const Request& request) -> Reply {
    if (request.line.starts_with("POST /well")) return {http(204, "", "")};
    if (request.line.starts_with("POST /slow")) return {"", Reply::Then::hang};
    if (request.line.starts_with("POST /later")) {
      return {http(503, "Retry-After: 1800\r\n", "not now")};
    }
    return {http(500, "", "no such table")};
  });
  const std::string at = "http://127.0.0.1:" + std::to_string(there.port());
  serve("executors:\n  well: {http: '" + at + "/well'}\n  badly: {http: '" + at +
        "/badly'}\n  slow: {http: '" + at + "/slow', timeout: 1s}\n  later: {http: '" + at +
        "/later'}\n");
  const auto task = [](const std::string& adapter, const std::string& retries) {
    return R"("error":"timeout","policy":"immediate","targets":["/repo"],"max_retries":)" +
           retries + R"(,"task":{"adapter":")" + adapter + R"("})";
  };
  const std::string well = report(task("well", "3"));
  const std::string badly = report(task("badly", "2"));
  const std::string slow = report(task("slow", "1"));
  const std::string later = report(task("later", "3"));

  EXPECT_TRUE(becomes(well, "resolved")) << show(well);
  EXPECT_TRUE(becomes(badly, "exhausted")) << show(badly);
  EXPECT_EQ(number(show(badly), "retry"), 2);
  EXPECT_NE(show(badly).find("no such table"), std::string::npos) << show(badly);
  EXPECT_TRUE(becomes(slow, "exhausted")) << show(slow);
  EXPECT_EQ(number(show(slow), "retry"), 1);
  EXPECT_TRUE(eventually([&] { return member(show(later), "next_retry_at") > time_in(29min); }))
      << "it asked for half an hour: " << show(later);
  EXPECT_EQ(number(show(later), "retry"), 1);
  EXPECT_EQ(member(show(later), "status"), "pending");

  int runs = 0;
  for (const Request& each : there.requests()) {
    EXPECT_EQ(each.header("dlo-targets"), "[%22/repo%22]");
    runs += each.line.starts_with("POST /badly") ? 1 : 0;
  }
  EXPECT_EQ(runs, 2);
}

TEST_F(TasksAreRun, ByWhoeverWorksOnAQueue) {  // S2-2, R3
  serve("executors:\n  llamaindex: {queue: tasks}\n  lost: {queue: nowhere}\n");
  ASSERT_EQ(client_->ask("PUT", "/v1/queues/tasks", "{}", json).status, 201);
  const std::string id = report(R"("error":"timeout","policy":"immediate","task":{"n":7})");
  EXPECT_TRUE(becomes(id, "resolved")) << show(id);
  const auto arrived = client_->ask("POST", "/v1/queues/tasks/receive?limit=1&wait_ms=10000").body;
  EXPECT_EQ(member(arrived, "lease").empty(), false) << arrived;
  const auto settled = client_->ask("POST", "/v1/queues/tasks/settle",
                                    R"({"lease":")" + member(arrived, "lease") +
                                        R"(","outcome":"dead_letter","reason":"BadTask"})",
                                    json);
  EXPECT_EQ(settled.status, 200) << settled.body;
  ASSERT_TRUE(eventually([&] { return number(show(id), "occurrence") == 2; })) << show(id);
  EXPECT_EQ(all_after(client_->ask("GET", "/v1/dead-letters").body, R"("id":")").size(), 1U);

  const std::string lost =
      report(R"("error":"timeout","policy":"immediate","max_retries":2,"task":{"adapter":"lost"})");
  EXPECT_TRUE(becomes(lost, "exhausted")) << show(lost);
  EXPECT_NE(show(lost).find("nowhere"), std::string::npos) << show(lost);
}

TEST_F(TasksAreRun, AsOftenAsTheirCategoryAllows) {  // S2-31
  const std::string script = place_.path() + "/fail";
  std::ofstream(script) << "#!/bin/sh\ncat >&2\nexit 1\n";  // the task is what goes wrong
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  serve(
      "profiles:\n  workflow:\n    categories:\n"
      "      transient: {policy: immediate, limit: 5}\n"
      "      network: {policy: immediate, limit: 3}\n"
      "      resource: {policy: immediate, limit: 2}\n"
      "executors:\n  llamaindex: {command: " +
      script + ", circuit: {failures: 0, of: 1000}}\n");
  const auto ends_after = [this](const std::string& error, int retries) {
    const std::string id = report(R"("task":{"say":")" + error + R"("},"error":")" + error + "\"");
    EXPECT_TRUE(becomes(id, "exhausted")) << show(id);
    EXPECT_EQ(number(show(id), "retry"), retries) << show(id);
  };
  ends_after("service busy", 5);
  ends_after("connection reset", 3);
  ends_after("out of memory", 2);
  const std::string never = report(R"("task":{},"error":"no such file")");
  EXPECT_EQ(member(show(never), "status"), "pending");
  EXPECT_EQ(number(show(never), "retry"), 0);
  EXPECT_NE(show(never).find("\"next_retry_at\":null"), std::string::npos) << show(never);
}

TEST_F(TasksAreRun, ByNobodyWhoIsNotConfiguredAndTheServerSaysSo) {
  serve("");
  EXPECT_NE(said_.find("no executors are configured, so what is due waits"), std::string::npos)
      << said_;
  const std::string id = report(R"("error":"timeout","policy":"immediate","task":{})");
  EXPECT_EQ(member(show(id), "status"), "pending");
}

}  // namespace
}  // namespace dlo::testing
