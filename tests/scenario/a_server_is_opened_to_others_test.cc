#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

std::string secret_in(const std::string& out) {
  return out.substr(0, out.find('\n'));
}

// Whoever makes the first token locks the others out, and himself with it: he is told.
TEST(Scenario, TheFirstTokenThatIsNoAdminsIsMadeWithAWarning) {
  const TemporaryDirectory place;
  const auto first = run_dlo({"token", "create", "graphs", "--data", place.path()});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.err.find("--role admin --data DIR"), std::string::npos) << first.err;
  const auto second = run_dlo({"token", "create", "others", "--data", place.path()});
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.err.find("It is the first"), std::string::npos) << second.err;
}

// A server must not be open to the network by mistake: it wants tokens, then encryption or a word
// that it is not needed; and then each role may do what it may.
TEST(Scenario, AServerIsOpenedToOthersOnlyWithTokens) {
  const TemporaryDirectory place;
  const std::string everywhere = "0.0.0.0:0";
  const auto open = run_dlo({"serve", "--data", place.path(), "--listen", everywhere});
  EXPECT_EQ(open.code, 1);
  EXPECT_NE(open.err.find("dlo token create"), std::string::npos) << open.err;

  const auto admin = run_dlo({"token", "create", "ana", "--role", "admin", "--data", place.path()});
  ASSERT_EQ(admin.code, 0) << admin.err;
  EXPECT_NE(admin.err.find("shown this once"), std::string::npos) << admin.err;
  const auto reader = run_dlo({"token", "create", "graphs", "--data", place.path()});
  ASSERT_EQ(reader.code, 0) << reader.err;
  EXPECT_EQ(reader.err.find("nobody has one of an admin"), std::string::npos) << reader.err;

  const auto plain = run_dlo({"serve", "--data", place.path(), "--listen", everywhere});
  EXPECT_EQ(plain.code, 1);
  EXPECT_NE(plain.err.find("--plain-http"), std::string::npos) << plain.err;

  Running server({"serve", "--data", place.path(), "--listen", everywhere, "--plain-http"});
  const auto port = port_in(server.read_until("/healthz"));
  HttpClient client(port);
  const std::string as_admin = "Authorization: Bearer " + secret_in(admin.out) + "\r\n";
  const std::string as_reader = "Authorization: Bearer " + secret_in(reader.out) + "\r\n";
  const std::string json = "Content-Type: application/json\r\n";
  const std::string report = R"({"source":"payments","error":"card expired"})";
  EXPECT_EQ(client.ask("GET", "/healthz").status, 200);
  EXPECT_EQ(client.ask("GET", "/v1/dead-letters").status, 401);
  EXPECT_EQ(client.ask("GET", "/v1/dead-letters", "", as_reader).status, 200);
  EXPECT_EQ(client.ask("POST", "/v1/dead-letters", report, json + as_admin).status, 201);
  EXPECT_EQ(client.ask("DELETE", "/v1/tokens/00000000", "", as_reader).status, 403);
  const auto audit = client.ask("GET", "/v1/audit", "", as_admin);
  EXPECT_TRUE(audit.has("token.create")) << audit.body;

  // The office is the server's: the command line asks it, and it asks for a token.
  const auto busy = run_dlo({"token", "revoke", "00000000", "--data", place.path()});
  EXPECT_EQ(busy.code, 1);
  EXPECT_NE(busy.err.find("--token-file"), std::string::npos) << busy.err;

  // The doctor tells a wrong token from an old server, and knows what a narrow one may see.
  const auto doctor = [&](const std::string& token) {
    return run_dlo(
        {"doctor", "--server", "http://127.0.0.1:" + std::to_string(port), "--token", token});
  };
  const auto wrong = doctor("dlo_00000000_" + std::string(43, 'A'));
  EXPECT_EQ(wrong.code, 1) << wrong.out;
  EXPECT_EQ(wrong.out.find("older than"), std::string::npos) << wrong.out;
  const auto made = client.ask("POST", "/v1/tokens", R"({"name":"orders","sources":["orders"]})",
                               json + as_admin);
  ASSERT_EQ(made.status, 201) << made.body;
  const auto at = made.body.find("dlo_");
  const auto narrow = doctor(made.body.substr(at, made.body.find('"', at) - at));
  EXPECT_EQ(narrow.code, 3) << narrow.out;  // a reader may look but not act
  EXPECT_NE(narrow.out.find("it lists what your token is for"), std::string::npos) << narrow.out;
  EXPECT_EQ(server.stop(SIGTERM), 0);

  const auto list = run_dlo({"token", "list", "--data", place.path()});
  EXPECT_NE(list.out.find("graphs"), std::string::npos) << list.out;
  const auto ended = run_dlo(
      {"token", "revoke", list.out.substr(list.out.find('\n') + 1, 8), "--data", place.path()});
  EXPECT_EQ(ended.code, 0) << ended.err;
}

}  // namespace
}  // namespace dlo::testing
