#include <gtest/gtest.h>
#include <string>

#include "unit/server/serving.h"

namespace dlo {
namespace {

using testing::HttpClient;
using testing::must;

class HttpServerTest : public Serving {};

TEST_F(HttpServerTest, AConnectionServesOneRequestAfterAnother) {
  serve();
  HttpClient client(server_->port());
  for (const std::string path : {"/a", "/b", "/c"}) {
    client.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(client.read_until(";").find("GET " + path), std::string::npos);
  }
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrderHoweverManyThereAre) {
  serve();
  HttpClient client(server_->port());
  constexpr int many = 3000;  // their answers are larger than one gathered write
  std::string requests;
  for (int i = 0; i < many; ++i) {
    requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  client.send(requests);
  const std::string answers = client.read_until(";", many);
  std::size_t at = 0;
  for (int i = 0; i < many; ++i) {
    at = answers.find("GET /" + std::to_string(i) + " ", at);
    ASSERT_NE(at, std::string::npos) << "answer " << i << " is missing or out of order";
  }
}

TEST_F(HttpServerTest, AWholeAddressIsUnderstoodAndItsHostCounts) {  // RFC 9112, 3.2.2
  serve({}, [](const HttpRequest& request, const ExchangePtr& exchange) {
    HttpResponse response = echo(request);
    response.body += request.header("Host");
    exchange->send(std::move(response));
  });
  HttpClient client(port());
  const auto told = [&](const std::string& target) {
    client.send(get(target));
    return client.read_answer().body;
  };
  EXPECT_EQ(told("http://example.org:81/v1/me?a=b"), "GET /v1/me?a=b ;example.org:81");
  EXPECT_EQ(told("HTTPS://[::1]:8080/a"), "GET /a ;[::1]:8080");
  EXPECT_EQ(told("http://example.org"), "GET / ;example.org");
  EXPECT_EQ(told("http://example.org?a=b"), "GET /?a=b ;example.org");
  EXPECT_EQ(told("/a"), "GET /a ;x");
}

TEST_F(HttpServerTest, ARequestMayArriveByteByByte) {
  serve();
  HttpClient client(server_->port());
  for (const char c : std::string("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")) {
    client.send(std::string(1, c));
  }
  EXPECT_NE(client.read_until(";").find("POST /x abc;"), std::string::npos);
}

TEST_F(HttpServerTest, ABodyOverTheLimitIsRefusedWithTheLimit) {
  HttpOptions options;
  options.body_limit = 10;
  serve(options);
  HttpClient client(server_->port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n");
  const std::string answer = client.read_until("}");
  EXPECT_NE(answer.find("413"), std::string::npos) << answer;
  EXPECT_NE(answer.find("limit of 10 bytes"), std::string::npos) << answer;
}

TEST_F(HttpServerTest, AChunkedBodyOverTheLimitIsRefusedToo) {
  HttpOptions options;
  options.body_limit = 10;
  serve(options);
  HttpClient client(server_->port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 5; ++i) client.send("4\r\nabcd\r\n");
  EXPECT_NE(client.read_until("}").find("413"), std::string::npos);
}

TEST_F(HttpServerTest, EndlessHeadersAreRefused) {
  HttpOptions options;
  options.header_limit = 1000;
  serve(options);
  HttpClient client(server_->port());
  std::string request = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 200; ++i) request += "X-Header-" + std::to_string(i) + ": y\r\n";
  client.send(request);
  EXPECT_NE(client.read_until("}").find("431"), std::string::npos);
}

TEST_F(HttpServerTest, RubbishIsAnsweredWith400AndTheConnectionEnds) {
  serve();
  HttpClient client(server_->port());
  client.send(std::string("\x16\x03\x01\x00\xff garbage\r\n\r\n", 18));
  EXPECT_NE(client.read_until("}").find("400"), std::string::npos);
  EXPECT_TRUE(client.closed_by_server());
}

TEST_F(HttpServerTest, AClientThatNeverFinishesItsRequestIsCutOffAndOthersAreServed) {
  HttpOptions options;
  options.header_timeout = Millis{1};
  serve(options);
  HttpClient slow(server_->port());
  slow.send("GET / HTTP/1.1\r\nHos");
  HttpClient other(server_->port());
  other.send("GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(other.read_until(";").find("GET /ok"), std::string::npos);
  EXPECT_TRUE(slow.closed_by_server());
}

TEST_F(HttpServerTest, StopEndsIdleConnectionsAndReturns) {
  serve();
  HttpClient idle(server_->port());
  idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  idle.read_until(";");
  server_->stop(Millis{5000});
  thread_.join();
  EXPECT_TRUE(idle.closed_by_server());
}

TEST_F(HttpServerTest, ATakenPortIsAnErrorThatSaysWhatToDo) {
  serve();
  HttpOptions same;
  same.port = server_->port();
  const auto second = HttpServer::listen(same, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::unavailable);
  EXPECT_NE(second.error().detail.find("--listen"), std::string::npos);
}

TEST(Loopback, OnlyTheMachineItself) {
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_TRUE(is_loopback("localhost"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
  EXPECT_FALSE(is_loopback("::"));
  EXPECT_FALSE(is_loopback("192.0.2.1"));
}

}  // namespace
}  // namespace dlo
