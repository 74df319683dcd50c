#include "dlo/engine/handlers/http_handler.h"

#include <atomic>
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "support/must.h"
#include "unit/handlers/http_world.h"
#include "unit/handlers/loopback_server.h"
#include "unit/handlers/world.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using dlo::testing::context_of_first_attempt;
using dlo::testing::eventually;
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
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HttpPush, TheBodyArrivesByteForByteWithItsHeaders) {
  const LoopbackServer server([](const Request&) { return Reply{http(204, "", "")}; });
  std::string every_byte;
  for (int i = 0; i < 70'000; ++i) every_byte += static_cast<char>(i % 256);
  EXPECT_EQ(push(server.url("/hook?a=1"), every_byte), Outcome{});
  ASSERT_EQ(server.requests().size(), 1U);
  const Request request = server.requests().front();
  EXPECT_EQ(request.line, "POST /hook?a=1 HTTP/1.1");
  EXPECT_EQ(request.body, every_byte);
  EXPECT_EQ(request.header("content-type"), "application/json");
  EXPECT_EQ(request.header("ce-id"), "m-1");
  EXPECT_EQ(request.header("ce-type"), "OrderPlaced");
  EXPECT_EQ(request.header("dlo-id"), "00112233445566778899aabbccddeeff");
  EXPECT_EQ(request.header("expect"), "<none>");
}

TEST(HttpPush, SixtyFourMegabytesArriveWhole) {
  const LoopbackServer server([](const Request&) { return Reply{http(200, "", "thanks")}; });
  const std::string big(64 * 1024 * 1024, 'b');
  EXPECT_EQ(push(server.url(), big), Outcome{});
  EXPECT_EQ(server.requests().front().body.size(), big.size());
}

TEST(HttpPush, NullAndEmptyPayloadsAreToldApart) {
  const LoopbackServer server([](const Request&) { return Reply{http(200, "", "")}; });
  const auto handler = handler_for(server.url());
  EXPECT_EQ(handler->run(message_with(std::nullopt), context_of_first_attempt()), Outcome{});
  EXPECT_EQ(handler->run(message_with(""), context_of_first_attempt()), Outcome{});
  const auto requests = server.requests();
  EXPECT_EQ(requests.at(0).header("dlo-payload"), "null");
  EXPECT_EQ(requests.at(1).header("dlo-payload"), "<none>");
  EXPECT_EQ(requests.at(0).header("content-length"), "0");
}

TEST(HttpPush, EveryStatusOfTheTwoHundredsIsDoneAndNoOther) {
  std::atomic<int> status{200};
  const LoopbackServer server([&](const Request&) { return Reply{http(status, "", "")}; });
  const auto handler = handler_for(server.url());
  const auto answer_to = [&](int code) {
    status = code;
    return handler->run(message_with("x"), context_of_first_attempt());
  };
  for (const int code : {200, 201, 202, 206, 226, 299}) EXPECT_EQ(answer_to(code), Outcome{});
  for (const int code : {300, 304, 400, 404, 409, 410, 499, 500, 503, 599}) {
    EXPECT_EQ(answer_to(code).kind, OutcomeKind::failed) << code;
    EXPECT_EQ(answer_to(code).failure.status, code);
  }
}

TEST(HttpPush, TooManyRequestsCarriesThePatienceAskedFor) {
  const Outcome outcome = push_to({http(429, "Retry-After: 17\r\n", "slow down")});
  EXPECT_EQ(outcome.failure.status, 429);
  EXPECT_EQ(outcome.failure.retry_after, 17s);
  EXPECT_EQ(outcome.failure.type, "HttpStatus");
  EXPECT_THAT(outcome.failure.text, AllOf(HasSubstr("HTTP 429 Too Many Requests from http://127"),
                                          HasSubstr(": slow down")));
}

TEST(HttpPush, ADateInRetryAfterIsMeasuredFromNow) {
  const Outcome outcome = push_to({http(503, "retry-after:Sun, 01 Mar 2026 12:05:00 GMT\r\n", "")});
  EXPECT_EQ(outcome.failure.retry_after, 5min);
}

TEST(HttpPush, AProblemDocumentReachesTheClassifier) {
  const Outcome outcome = push_to({http(
      422, "Content-Type: application/problem+json\r\n",
      R"({"type":"urn:problem:no-balance","title":"No balance","detail":"for merchant 7"})")});
  EXPECT_EQ(outcome.failure.type, "urn:problem:no-balance");
  EXPECT_THAT(outcome.failure.text, HasSubstr("No balance: for merchant 7"));
}

TEST(HttpPush, AChunkedAnswerIsRead) {
  const Outcome outcome =
      push_to({"HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n "
               "world\r\n0\r\n\r\n"});
  EXPECT_THAT(outcome.failure.text, HasSubstr(": hello world"));
}

TEST(HttpPush, HeadersOfAnInterimAnswerDoNotCount) {
  const Outcome outcome = push_to(
      {"HTTP/1.1 103 Early Hints\r\nRetry-After: 99\r\n\r\n" + http(500, "", "the real one")});
  EXPECT_EQ(outcome.failure.status, 500);
  EXPECT_EQ(outcome.failure.retry_after, std::nullopt);
  EXPECT_THAT(outcome.failure.text, HasSubstr("the real one"));
}

TEST(HttpPush, AnEndlessAnswerIsCutAndItsStatusStillCounts) {
  const std::string flood(8 * 1024 * 1024, 'f');
  const Outcome good = push_to({http(200, "", flood), Reply::Then::close});
  EXPECT_EQ(good, Outcome{});
  const Outcome bad = push_to({http(500, "", flood), Reply::Then::close});
  EXPECT_EQ(bad.failure.status, 500);
  EXPECT_LT(bad.failure.text.size(), 5'000U);
}

TEST(HttpPush, ARedirectToTheSameOriginKeepsMethodAndBody) {
  const LoopbackServer server([](const Request& request) {
    const bool first = request.line.starts_with("POST /hook ");
    return Reply{first ? http(307, "Location: /new?x=1\r\n", "moved") : http(200, "", "")};
  });
  EXPECT_EQ(push(server.url(), "payload"), Outcome{});
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests.at(1).line, "POST /new?x=1 HTTP/1.1");
  EXPECT_EQ(requests.at(1).body, "payload");
}

TEST(HttpPush, ARedirectElsewhereIsNotFollowed) {
  const LoopbackServer other([](const Request&) { return Reply{http(200, "", "")}; });
  for (const int status : {301, 302, 303, 307, 308}) {
    const Outcome outcome =
        push_to({http(status, "Location: " + other.url("/steal?secret=1") + "\r\n", "")});
    EXPECT_EQ(outcome.kind, OutcomeKind::failed);
    EXPECT_EQ(outcome.failure.code, "redirect");
    EXPECT_EQ(outcome.failure.status, status);
    EXPECT_THAT(outcome.failure.text,
                AllOf(HasSubstr("points to http://127.0.0.1"), Not(HasSubstr("secret"))));
  }
  EXPECT_EQ(other.connections(), 0);
}

TEST(HttpPush, ARedirectLoopEnds) {
  const LoopbackServer server(
      [](const Request&) { return Reply{http(308, "Location: /hook\r\n", "")}; });
  EXPECT_EQ(push(server.url()).failure.code, "redirect");
  EXPECT_EQ(server.requests().size(), 4U);
}

TEST(HttpPush, ConnectionsAreReused) {
  const LoopbackServer server([](const Request&) { return Reply{http(200, "", "ok")}; });
  const auto handler = handler_for(server.url());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(handler->run(message_with("x"), context_of_first_attempt()), Outcome{});
  }
  EXPECT_EQ(server.requests().size(), 20U);
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpPush, AConnectionThatTheServerClosedMeanwhileIsReplaced) {
  const LoopbackServer server(
      [](const Request&) { return Reply{http(200, "", "ok"), Reply::Then::close}; });
  const auto handler = handler_for(server.url());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(handler->run(message_with("x"), context_of_first_attempt()), Outcome{});
    ASSERT_TRUE(eventually([&] { return server.closed() == i + 1; }));
  }
  EXPECT_EQ(server.connections(), 5);
}

TEST(HttpPush, WhatWasReceivedAndNotAnsweredIsNotSentAgain) {  // a run is one run
  const LoopbackServer server([](const Request& request) {
    if (request.body == "fine") return Reply{http(200, "", "ok")};
    return Reply{"", request.body == "resets" ? Reply::Then::reset : Reply::Then::close};
  });
  const auto handler = handler_for(server.url());
  std::size_t sent = 0;
  for (const std::optional<std::string>& deadly :
       {std::optional<std::string>("closes"), std::optional<std::string>("resets"),
        std::optional<std::string>("")}) {
    SCOPED_TRACE(*deadly);
    EXPECT_EQ(handler->run(message_with("fine"), context_of_first_attempt()), Outcome{});
    const Outcome outcome = handler->run(message_with(deadly), context_of_first_attempt());
    EXPECT_EQ(outcome.kind, OutcomeKind::failed);
    EXPECT_EQ(outcome.failure.code, "connection_reset");
    EXPECT_THAT(outcome.failure.text, HasSubstr("may have processed it"));
    sent += 2;
    EXPECT_EQ(server.requests().size(), sent) << "on a connection that had been used before";
  }
}

TEST(HttpPush, ALateAnswerNeverMeetsALaterRequest) {
  std::atomic<bool> slow{true};
  const LoopbackServer server([&](const Request& request) {
    if (slow) return Reply{"", Reply::Then::hang};
    return Reply{http(500, "", "answer to " + request.body)};
  });
  const auto handler = handler_for(server.url());
  auto context = context_of_first_attempt();
  context.timeout = 100ms;
  EXPECT_EQ(handler->run(message_with("one"), context).failure.code, "timed_out");
  slow = false;
  context.timeout = 20s;
  EXPECT_THAT(handler->run(message_with("two"), context).failure.text, HasSubstr("answer to two"));
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpPush, ConfiguredHeadersReplaceOurs) {
  const LoopbackServer server([](const Request&) { return Reply{http(200, "", "")}; });
  auto options = options_for(server.url());
  options.headers = {
      {"Authorization", "Bearer t"}, {"Content-Type", "text/x-own"}, {"x-empty", ""}};
  const auto handler = must(HttpHandler::make(options));
  EXPECT_EQ(handler->run(message_with("x"), context_of_first_attempt()), Outcome{});
  const Request request = server.requests().front();
  EXPECT_EQ(request.header("authorization"), "Bearer t");
  EXPECT_EQ(request.header("content-type"), "text/x-own");
  EXPECT_EQ(request.header("x-empty"), "");
}

TEST(HttpPush, LineBreaksInAMessageAddNoHeaderOnTheWire) {
  const LoopbackServer server([](const Request&) { return Reply{http(200, "", "")}; });
  Message message = message_with("x");
  message.event_type = "a\r\nX-Evil: 1\r\n\r\nGET / HTTP/1.1";
  message.content_type = "text/plain\r\nX-Evil: 2";
  message.headers = {{"n\r\nX-Evil: 3", "v\nX-Evil: 4"}};
  EXPECT_EQ(handler_for(server.url())->run(message, context_of_first_attempt()), Outcome{});
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(server.requests().front().header("x-evil"), "<none>");
  EXPECT_EQ(server.requests().front().body, "x");
}

TEST(HttpPush, EightThreadsDoNotMixUpAnswersOrLeakDescriptors) {
  const std::size_t before = open_descriptors();
  {
    const LoopbackServer server(
        [](const Request& request) { return Reply{http(500, "", "echo " + request.body)}; });
    const auto handler = handler_for(server.url());
    std::atomic<int> right{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          const std::string words = "run " + std::to_string(t) + "." + std::to_string(i);
          const auto outcome = handler->run(message_with(words), context_of_first_attempt());
          if (outcome.failure.text.ends_with(": echo " + words)) ++right;
        }
      });
    }
    threads.clear();
    EXPECT_EQ(right, 400);
    EXPECT_LE(server.connections(), 8);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(HttpOptionsCheck, WhatCannotWorkIsRefusedWithTheReason) {
  const auto refusal = [](HttpPushOptions options) {
    const auto made = HttpHandler::make(std::move(options));
    EXPECT_FALSE(made);
    return made ? std::string() : made.error().detail;
  };
  EXPECT_THAT(refusal(options_for("")), HasSubstr("no absolute URL"));
  EXPECT_THAT(refusal(options_for("example.org/x y")), HasSubstr("percent-encode"));
  EXPECT_THAT(refusal(options_for("file:///etc/passwd")), HasSubstr("allowed are http and https"));
  EXPECT_THAT(refusal(options_for("http://h/\r\nX: y")), HasSubstr("percent-encode"));
  auto bad_header = options_for("http://h/");
  bad_header.headers = {{"x", "a\r\nb"}};
  EXPECT_THAT(refusal(bad_header), HasSubstr("value of header x"));
  bad_header.headers = {{"bad name", "v"}};
  EXPECT_THAT(refusal(bad_header), HasSubstr("'bad name' is no header name"));
  bad_header.headers = {{"Webhook-Signature", "v"}};
  EXPECT_THAT(refusal(bad_header), HasSubstr("set by the handler itself"));
  auto bad_secret = options_for("http://h/");
  bad_secret.secrets = {"short"};
  EXPECT_THAT(refusal(bad_secret), HasSubstr("signing secret number 1"));
}

}  // namespace
}  // namespace dlo
