#include <atomic>
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "support/must.h"
#include "unit/handlers/certificates.h"
#include "unit/handlers/http_world.h"
#include "unit/handlers/loopback_server.h"
#include "unit/handlers/world.h"

#include "dlo/engine/handlers/http_handler.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using dlo::testing::closed_port;
using dlo::testing::context_of_first_attempt;
using dlo::testing::eventually;
using dlo::testing::FullPort;
using dlo::testing::handler_for;
using dlo::testing::http;
using dlo::testing::LoopbackServer;
using dlo::testing::message_with;
using dlo::testing::must;
using dlo::testing::open_descriptors;
using dlo::testing::options_for;
using dlo::testing::push;
using dlo::testing::push_to;
using dlo::testing::Reply;
using dlo::testing::Request;
using dlo::testing::Scratch;
using dlo::testing::TestCertificate;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct TroubleRow {
  const char* name;
  Reply reply;
  const char* code;
};
void PrintTo(const TroubleRow& row, std::ostream* out) {
  *out << row.name;
}
class HttpTroubles : public ::testing::TestWithParam<TroubleRow> {};

TEST_P(HttpTroubles, FollowTheTable) {
  const Outcome outcome = push_to(GetParam().reply);
  EXPECT_EQ(outcome.kind, OutcomeKind::failed);
  EXPECT_EQ(outcome.failure.type, "HttpTransport");
  EXPECT_EQ(outcome.failure.code, GetParam().code);
  EXPECT_EQ(outcome.failure.status, std::nullopt);
  EXPECT_THAT(outcome.failure.text, HasSubstr("may have processed it"));
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Http, HttpTroubles, ::testing::ValuesIn<TroubleRow>({
    {"Reset",         {"", Reply::Then::reset}, "connection_reset"},
    {"ClosedUnsaid",  {"", Reply::Then::close}, "connection_reset"},
    {"Garbage",       {"SSH-2.0-OpenSSH_9.2\r\n", Reply::Then::close}, "protocol"},
    {"BinaryGarbage", {std::string("\0\1\2\3\xFF\xFE\r\n\r\n", 10), Reply::Then::close}, "protocol"},
    {"CutInTheBody",  {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", Reply::Then::close}, "connection_reset"},
    {"CutInAChunk",   {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nonly", Reply::Then::close}, "connection_reset"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(HttpPush, NobodyListeningIsConnectionRefused) {
  const Outcome outcome =
      push("http://127.0.0.1:" + std::to_string(closed_port()) + "/hook?key=s3");
  EXPECT_EQ(outcome.failure.type, "HttpTransport");
  EXPECT_EQ(outcome.failure.code, "connection_refused");
  EXPECT_THAT(outcome.failure.text, AllOf(HasSubstr("Nothing was sent"), Not(HasSubstr("s3"))));
}

TEST(HttpPush, AnUnknownHostIsADnsFailure) {
  EXPECT_EQ(push("http://no-such-host.invalid/").failure.code, "dns");
}

TEST(HttpPush, TheTimeoutEndsASilentServer) {
  const LoopbackServer server([](const Request&) { return Reply{"", Reply::Then::hang}; });
  const auto handler = handler_for(server.url());
  auto context = context_of_first_attempt();
  context.timeout = 100ms;
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = handler->run(message_with("x"), context);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  EXPECT_EQ(outcome.failure.type, "HandlerTimeout");
  EXPECT_EQ(outcome.failure.code, "timed_out");
  EXPECT_THAT(outcome.failure.text, HasSubstr("within 100 ms"));
}

TEST(HttpPush, TheTimeoutEndsAServerThatDripsItsAnswer) {
  const LoopbackServer server([](const Request&) {
    return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1", Reply::Then::hang};
  });
  const auto handler = handler_for(server.url());
  auto context = context_of_first_attempt();
  context.timeout = 100ms;
  EXPECT_EQ(handler->run(message_with("x"), context).failure.code, "timed_out");
}

TEST(HttpPush, StopEndsARunningRequestAtOnce) {
  const LoopbackServer server([](const Request& request) {
    if (request.body == "warm up") return Reply{http(200, "", "")};
    return Reply{"", Reply::Then::hang};
  });
  auto options = options_for(server.url());
  options.timeout = Millis{0};
  options.transport.connect_timeout = 300s;
  const auto handler = must(HttpHandler::make(options));
  // On a warm connection curl has no timer of its own that would wake it up soon.
  EXPECT_EQ(handler->run(message_with("warm up"), context_of_first_attempt()), Outcome{});
  std::stop_source source;
  auto context = context_of_first_attempt();
  context.stop = source.get_token();
  std::jthread stopper([&] {
    EXPECT_TRUE(eventually([&] { return server.requests().size() == 2; }));
    source.request_stop();
  });
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = handler->run(message_with("x"), context);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
  EXPECT_EQ(outcome.kind, OutcomeKind::failed);
  EXPECT_EQ(outcome.failure.code, "stopped");
  EXPECT_EQ(outcome.failure.type, "HandlerStopped");
}

TEST(HttpPush, ARunThatIsStoppedBeforeAnythingWentOutNeverStarted) {
  const LoopbackServer server([](const Request&) { return Reply{http(200, "", "")}; });
  std::stop_source source;
  source.request_stop();
  auto context = context_of_first_attempt();
  context.stop = source.get_token();
  EXPECT_EQ(handler_for(server.url())->run(message_with("x"), context).kind,
            OutcomeKind::never_started);
  EXPECT_EQ(server.connections(), 0);
}

TEST(HttpPush, AConnectionThatDoesNotComeAboutTimesOutWithNothingSent) {
  const FullPort full;
  auto options = options_for(full.url());
  options.transport.connect_timeout = 100ms;
  const Outcome outcome =
      must(HttpHandler::make(options))->run(message_with("x"), context_of_first_attempt());
  EXPECT_EQ(outcome.failure.code, "timed_out");
  EXPECT_THAT(outcome.failure.text, HasSubstr("Nothing was sent"));
}

TEST(HttpPush, ARunThatIsStoppedWhileConnectingGivesItsClaimBack) {
  const FullPort full;
  const auto handler = handler_for(full.url());
  std::stop_source source;
  auto context = context_of_first_attempt();
  context.stop = source.get_token();
  const std::size_t before = open_descriptors();
  std::jthread stopper([&] {
    EXPECT_TRUE(eventually([&] { return open_descriptors() > before + 1; }));
    source.request_stop();
  });
  EXPECT_EQ(handler->run(message_with("x"), context).kind, OutcomeKind::never_started);
}

class HttpTls : public ::testing::Test {
 protected:
  static LoopbackServer::Script ok() {
    return [](const Request&) { return Reply{http(200, "", "")}; };
  }
  Outcome push_trusting(const TestCertificate& trusted, const LoopbackServer& server) {
    trusted.write_to(scratch_ / "ca.pem");
    auto options = options_for(server.url());
    options.transport.ca_file = scratch_ / "ca.pem";
    return must(HttpHandler::make(options))->run(message_with("x"), context_of_first_attempt());
  }
  Scratch scratch_;
};

TEST_F(HttpTls, ACertificateWeTrustIsAccepted) {
  const TestCertificate certificate("IP:127.0.0.1");
  const LoopbackServer server(ok(), certificate.context());
  EXPECT_EQ(push_trusting(certificate, server), Outcome{});
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(HttpTls, AnUnknownCertificateIsRefusedBeforeAnythingIsSent) {
  const TestCertificate certificate("IP:127.0.0.1");
  const LoopbackServer server(ok(), certificate.context());
  const Outcome outcome = push(server.url());
  EXPECT_EQ(outcome.failure.code, "tls");
  EXPECT_THAT(outcome.failure.text, HasSubstr("Nothing was sent"));
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTls, ACertificateForAnotherHostIsRefused) {
  const TestCertificate certificate("DNS:example.org");
  const LoopbackServer server(ok(), certificate.context());
  EXPECT_EQ(push_trusting(certificate, server).failure.code, "tls");
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTls, AServerThatGoesAwayDoesNotKillUs) {
  struct sigaction disposition{};
  ::sigaction(SIGPIPE, nullptr, &disposition);
  ASSERT_EQ(disposition.sa_handler, SIG_DFL) << "a stray SIGPIPE must be able to kill this test";
  const TestCertificate certificate("IP:127.0.0.1");
  const LoopbackServer server(ok(), certificate.context(), 1'000);
  certificate.write_to(scratch_ / "ca.pem");
  auto options = options_for(server.url());
  options.transport.ca_file = scratch_ / "ca.pem";
  auto handler = must(HttpHandler::make(options));
  const Message big = message_with(std::string(8 << 20, 'x'));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(handler->run(big, context_of_first_attempt()).failure.code, "connection_reset");
  }
  EXPECT_EQ(handler->run(message_with("small"), context_of_first_attempt()), Outcome{});
  handler.reset();
}

}  // namespace
}  // namespace dlo
