#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "support/certificate.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"
#include "support/tls_client.h"
#include "unit/server/serving.h"

namespace dlo {
namespace {

using dlo::testing::HttpClient;
using dlo::testing::make_certificate;
using dlo::testing::must;
using dlo::testing::TlsClient;

/// OpenSSL as an old machine has it, where TLS 1.0 is fine: what is refused here is refused by us.
/// Before anything asks for a context.
struct OldDefaults {
  OldDefaults() {
    std::ofstream(file) << "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\n"
                           "system_default = old\n[old]\nMinProtocol = TLSv1\n"
                           "CipherString = DEFAULT@SECLEVEL=0\n";
    ::setenv("OPENSSL_CONF", file.c_str(), 1);
  }
  const dlo::testing::TemporaryDirectory place{};
  const std::string file = place.path() + "/openssl.cnf";
};
const OldDefaults old_defaults;

class Tls : public Serving {
 protected:
  HttpOptions with_certificate(const std::string& name = "first") {
    const auto files = make_certificate(place_.path(), name);
    HttpOptions options;
    options.certificate = files.certificate;
    options.key = files.key;
    return options;
  }
  dlo::testing::TemporaryDirectory place_;
};

TEST_F(Tls, AnswersRequestsOfOneConnectionOneAfterTheOther) {
  serve(with_certificate());
  TlsClient client(port());
  ASSERT_TRUE(client.agreed());
  for (const auto* target : {"/a", "/b"}) {
    ASSERT_TRUE(client.send(get(target)));
    EXPECT_NE(client.read_until(";").find("GET " + std::string(target)), std::string::npos);
  }
}

TEST_F(Tls, LargeBodiesComeAndGoWhole) {
  serve(with_certificate());
  TlsClient client(port());
  const std::string body(5'000'000, 'x');
  ASSERT_TRUE(client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body));
  const std::string answer = client.read_until(";");
  EXPECT_NE(answer.find("POST /a " + body + ";"), std::string::npos) << answer.size();
}

TEST_F(Tls, WhoeverSpeaksPlainHttpIsToldWhatToDo) {
  serve(with_certificate());
  HttpClient client(port());
  client.send(get("/secret"));
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_NE(answer.find("tls_required"), std::string::npos) << answer;
  EXPECT_NE(answer.find("https://"), std::string::npos) << answer;
}

TEST_F(Tls, BrowsersAreToldToComeBackEncryptedIfThatIsWantedAndNeverInPlain) {
  HttpOptions options = with_certificate();
  options.hsts = std::chrono::hours{24};
  serve(options);
  TlsClient client(port());
  ASSERT_TRUE(client.send(get("/a")));
  const std::string told = client.read_until(";");
  EXPECT_NE(told.find("Strict-Transport-Security: max-age=86400\r\n"), std::string::npos) << told;
  ASSERT_TRUE(client.send("rubbish\r\n\r\n"));
  EXPECT_NE(client.read_until("max-age").find("400"), std::string::npos) << "refusals say so, too";
  HttpClient plain(port());
  plain.send(get("/a"));
  EXPECT_EQ(plain.read_all().find("Strict-Transport"), std::string::npos);
}

TEST_F(Tls, BrowsersAreToldNothingUnlessThatIsWanted) {
  serve(with_certificate());
  TlsClient client(port());
  ASSERT_TRUE(client.send(get("/a")));
  EXPECT_EQ(client.read_until(";").find("Strict-Transport"), std::string::npos);
}

TEST_F(Tls, OldVersionsAreRefused) {
  serve(with_certificate());
  EXPECT_FALSE(TlsClient(port(), TLS1_1_VERSION).agreed());
  TlsClient client(port(), TLS1_2_VERSION);
  EXPECT_TRUE(client.agreed());
  EXPECT_EQ(client.version(), "TLSv1.2");
}

TEST_F(Tls, ASlowHandshakeIsCutOff) {
  HttpOptions options = with_certificate();
  options.handshake_timeout = Millis{100};
  serve(options);
  HttpClient silent(port());
  EXPECT_TRUE(silent.closed_by_server());
  HttpClient half(port());
  half.send(std::string("\x16\x03\x01\x02", 4));  // a record whose rest never comes
  EXPECT_TRUE(half.closed_by_server());
}

TEST_F(Tls, WhatIsNotAHandshakeEndsTheConnection) {
  serve(with_certificate());
  HttpClient client(port());
  client.send("\x16 and then something else, long enough to be taken for a record");
  EXPECT_TRUE(client.closed_by_server());
  TlsClient good(port());
  EXPECT_TRUE(good.agreed());
}

TEST_F(Tls, ANewCertificateIsForThoseWhoComeAfterIt) {
  serve(with_certificate("first"));
  TlsClient before(port());
  const auto next = make_certificate(place_.path(), "second");
  must(server_->use_certificate(next.certificate, next.key));
  TlsClient after(port());
  EXPECT_EQ(before.server_name(), "first");
  EXPECT_EQ(after.server_name(), "second");
  before.send(get("/still"));
  EXPECT_NE(before.read_until(";").find("GET /still"), std::string::npos);
}

TEST_F(Tls, ACertificateThatCannotBeUsedChangesNothing) {
  const HttpOptions options = with_certificate("first");
  serve(options);
  const auto other = make_certificate(place_.path(), "second");
  const auto mixed = server_->use_certificate(options.certificate, other.key);
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().detail.find("second.key"), std::string::npos) << mixed.error().detail;
  std::ofstream(other.certificate) << "not a certificate";
  const auto broken = server_->use_certificate(other.certificate, other.key);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().detail.find("second.crt"), std::string::npos) << broken.error().detail;
  EXPECT_EQ(TlsClient(port()).server_name(), "first");
}

TEST_F(Tls, AServerWithoutItsKeyDoesNotStart) {
  HttpOptions options = with_certificate();
  options.key = place_.path() + "/absent.key";
  const auto refused = HttpServer::listen(options, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("absent.key"), std::string::npos);
}

TEST_F(Tls, AServerThatStopsSaysGoodbye) {
  serve(with_certificate());
  TlsClient client(port());
  client.send("GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(client.read_until("never there").find("GET /last"), std::string::npos);
}

}  // namespace
}  // namespace dlo
