#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <signal.h>
#include <string>

#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// An operator raises a limit: the file is checked, the server is told, and a mistake changes
// nothing.
TEST(Scenario, RulesChangeWhileTheServerRuns) {
  const TemporaryDirectory place;
  const std::string file = place.path() + "/dlo.yaml";
  const std::string start = "data: " + place.path() + "/office\nserver: {listen: '127.0.0.1:0'}\n";
  const auto with_limit = [&](const std::string& limit) {
    return start + "profiles:\n  payments: {base: standard, limit: " + limit + "}\n";
  };
  write(file, with_limit("two"));
  const auto wrong = run_dlo({"config", "check", file});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("dlo.yaml:4: profiles.payments: limit must be"), std::string::npos)
      << wrong.err;
  EXPECT_EQ(run_dlo({"serve", "--config", file}).code, 1);

  write(file, with_limit("2"));
  EXPECT_EQ(run_dlo({"config", "check", file}).code, 0);
  Running server({"serve", "--config", file});
  HttpClient client(port_in(server.read_until("/healthz")));
  const std::string json = "Content-Type: application/json\r\n";
  const auto verdict = [&](const std::string& profile, const std::string& source) {
    return client
        .ask("POST", "/v1/dead-letters",
             R"({"source":")" + source + R"(","error":"slow","attempts":2,"profile":")" + profile +
                 R"("})",
             json)
        .body;
  };
  const std::string dead = R"("verdict":"dead_letter")";
  const std::string again = R"("verdict":"retry")";
  EXPECT_NE(verdict("payments", "a").find(dead), std::string::npos) << verdict("payments", "a");
  EXPECT_EQ(client.ask("PUT", "/v1/queues/orders", R"({"profile":"payments"})", json).status, 201);

  write(file, with_limit("9") + "sources:\n  b: {limit: 1}\n");
  ::kill(server.pid(), SIGHUP);
  server.read_until("read again");
  EXPECT_NE(verdict("payments", "a").find(again), std::string::npos) << verdict("payments", "a");
  EXPECT_NE(verdict("payments", "b").find(dead), std::string::npos) << verdict("payments", "b");

  // The queue orders goes by it, so it must not vanish; nothing changes.
  write(file, start + "profiles:\n  refunds: {base: standard}\n");
  ::kill(server.pid(), SIGHUP);
  server.read_until("not taken over");
  EXPECT_NE(verdict("payments", "a").find(again), std::string::npos);
  const auto trail = client.ask("GET", "/v1/audit");
  EXPECT_TRUE(trail.has("config.reload"));
  std::smatch digests;
  EXPECT_TRUE(std::regex_search(trail.body, digests,
                                std::regex("before_sha256[^0-9a-f]*([0-9a-f]{64})[^0-9a-f]*"
                                           "after_sha256[^0-9a-f]*([0-9a-f]{64})")))
      << trail.body;
  EXPECT_NE(digests[1], digests[2]);
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
