#include <filesystem>
#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include "scenario/program.h"
#include "support/certificate.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"
#include "support/tls_client.h"

namespace dlo::testing {
namespace {

// A server for everybody: tokens and a certificate, which is renewed while it runs.
TEST(Scenario, AServerSpeaksTls) {
  const TemporaryDirectory place;
  const auto files = make_certificate(place.path(), "old");
  const std::string data = place.path() + "/office";
  const auto token = run_dlo({"token", "create", "ana", "--role", "admin", "--data", data});
  ASSERT_EQ(token.code, 0) << token.err;
  const auto half = run_dlo(
      {"serve", "--data", data, "--listen", "0.0.0.0:0", "--tls-certificate", files.certificate});
  EXPECT_EQ(half.code, 1) << half.out;

  Running server({"serve", "--data", data, "--listen", "0.0.0.0:0", "--tls-certificate",
                  files.certificate, "--tls-key", files.key});
  const std::string said = server.read_until("/healthz");
  EXPECT_NE(said.find("https://0.0.0.0:"), std::string::npos) << said;
  const std::uint16_t port = port_in(said);
  const std::string secret = token.out.substr(0, token.out.find('\n'));
  TlsClient client(port);
  client.send("GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + secret + "\r\n\r\n");
  EXPECT_NE(client.read_until("}").find("\"role\":\"admin\""), std::string::npos);
  EXPECT_NE(http_get(port, "/healthz").find("https://"), std::string::npos);

  const auto renewed = make_certificate(place.path(), "new");
  std::filesystem::rename(renewed.certificate, files.certificate);
  ::kill(server.pid(), SIGHUP);  // the key is still the old one
  server.read_until("not taken over");
  EXPECT_EQ(TlsClient(port).server_name(), "old");
  std::filesystem::rename(renewed.key, files.key);
  ::kill(server.pid(), SIGHUP);
  server.read_until("read again");
  EXPECT_EQ(TlsClient(port).server_name(), "new");
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
