#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A queue was replaced by another: what died of the old one is sent to the new one, without anybody
// having to say so each time.
TEST(Scenario, DeadLettersAreRedirected) {
  const TemporaryDirectory place;
  const std::string file = place.path() + "/dlo.yaml";
  const std::string data = place.path() + "/office";
  const auto write = [&](const std::string& to) {
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        << "data: " << data << "\nserver: {listen: '127.0.0.1:0'}\n"
        << "replay:\n  redirects:\n    - {from: 'orders*', to: " << to << "}\n";
  };
  write("orders-v3");  // a mistake
  Running server({"serve", "--config", file});
  HttpClient client(port_in(server.read_until("/healthz")));
  const std::string json = "Content-Type: application/json\r\n";
  EXPECT_EQ(client.ask("PUT", "/v1/queues/orders-v2", "{}", json).status, 201);
  const auto warned = run_dlo({"config", "check", file});
  EXPECT_EQ(warned.code, 0);
  EXPECT_TRUE(has(warned.err, R"(there is no queue "orders-v3"; did you mean "orders-v2"?)"))
      << warned.err;

  write("orders-v2");
  EXPECT_EQ(run_dlo({"config", "check", file}).err, "");
  ::kill(server.pid(), SIGHUP);
  server.read_until("read again");
  for (const char* id : {"1", "2"}) {
    const std::string body =
        std::string(R"({"source":"orders-eu","error":"slow","id":")") + id + R"(","json":{}})";
    EXPECT_EQ(client.ask("POST", "/v1/dead-letters", body, json).status, 201);
  }
  const auto sent = run_dlo(
      {"replay", "--source", "orders-eu", "--yes", "--watch-for", "0s", "--wait", "--data", data});
  EXPECT_EQ(sent.code, 0) << sent.err;
  EXPECT_TRUE(has(sent.err, "target orders-v2: 2 by redirect rule 1 (orders* -> orders-v2)"))
      << sent.err;
  EXPECT_TRUE(has(client.ask("GET", "/v1/queues/orders-v2").body, R"("ready":2)"));
  const auto why = run_dlo({"explain", "slow", "--source", "orders-eu", "--config", file});
  EXPECT_TRUE(has(why.out, "sent back it goes to orders-v2, by redirect rule 1")) << why.out;
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
