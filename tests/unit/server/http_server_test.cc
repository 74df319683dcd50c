#include "dlo/server/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

#include "support/must.h"

namespace dlo {
namespace {

using dlo::testing::must;

/// A client that does exactly what a test tells it to, on a plain socket.
class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval limit{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect");
    }
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const auto n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<std::size_t>(n);
    }
  }
  /// Reads until `count` copies of `mark` have come; whatever came if the server closes first.
  std::string read_until(const std::string& mark, std::size_t count = 1) {
    std::string all;
    std::size_t seen = 0;
    std::size_t from = 0;
    char buffer[65536];
    while (seen < count) {
      const auto n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      all.append(buffer, static_cast<std::size_t>(n));
      for (auto at = all.find(mark, from); at != std::string::npos; at = all.find(mark, from)) {
        ++seen;
        from = at + mark.size();
      }
    }
    return all;
  }
  /// True if the server closes the connection before the ten seconds of the socket are over.
  bool closed_by_server() {
    char byte = 0;
    while (true) {
      const auto n = ::recv(fd_, &byte, 1, 0);
      if (n == 0) return true;
      if (n < 0) return errno == ECONNRESET;
    }
  }

 private:
  int fd_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  void serve(HttpOptions options = {}) {
    server_ = must(HttpServer::listen(options, [](const HttpRequest& request) {
      HttpResponse response;
      response.content_type = "text/plain";
      response.body = request.method + " " + request.target + " " + request.body + ";";
      return response;
    }));
    thread_ = std::thread([this] { server_->run(); });
  }
  void TearDown() override {
    if (server_) server_->stop(Millis{0});
    if (thread_.joinable()) thread_.join();
  }
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(HttpServerTest, AConnectionServesOneRequestAfterAnother) {
  serve();
  Client client(server_->port());
  for (const std::string path : {"/a", "/b", "/c"}) {
    client.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(client.read_until(";").find("GET " + path), std::string::npos);
  }
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrderHoweverManyThereAre) {
  serve();
  Client client(server_->port());
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

TEST_F(HttpServerTest, ARequestMayArriveByteByByte) {
  serve();
  Client client(server_->port());
  for (const char c : std::string("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")) {
    client.send(std::string(1, c));
  }
  EXPECT_NE(client.read_until(";").find("POST /x abc;"), std::string::npos);
}

TEST_F(HttpServerTest, ABodyOverTheLimitIsRefusedWithTheLimit) {
  HttpOptions options;
  options.body_limit = 10;
  serve(options);
  Client client(server_->port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n");
  const std::string answer = client.read_until("}");
  EXPECT_NE(answer.find("413"), std::string::npos) << answer;
  EXPECT_NE(answer.find("limit of 10 bytes"), std::string::npos) << answer;
}

TEST_F(HttpServerTest, AChunkedBodyOverTheLimitIsRefusedToo) {
  HttpOptions options;
  options.body_limit = 10;
  serve(options);
  Client client(server_->port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 5; ++i) client.send("4\r\nabcd\r\n");
  EXPECT_NE(client.read_until("}").find("413"), std::string::npos);
}

TEST_F(HttpServerTest, EndlessHeadersAreRefused) {
  HttpOptions options;
  options.header_limit = 1000;
  serve(options);
  Client client(server_->port());
  std::string request = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 200; ++i) request += "X-Header-" + std::to_string(i) + ": y\r\n";
  client.send(request);
  EXPECT_NE(client.read_until("}").find("431"), std::string::npos);
}

TEST_F(HttpServerTest, RubbishIsAnsweredWith400AndTheConnectionEnds) {
  serve();
  Client client(server_->port());
  client.send(std::string("\x16\x03\x01\x00\xff garbage\r\n\r\n", 18));
  EXPECT_NE(client.read_until("}").find("400"), std::string::npos);
  EXPECT_TRUE(client.closed_by_server());
}

TEST_F(HttpServerTest, AClientThatNeverFinishesItsRequestIsCutOffAndOthersAreServed) {
  HttpOptions options;
  options.request_timeout = Millis{1};
  serve(options);
  Client slow(server_->port());
  slow.send("GET / HTTP/1.1\r\nHos");
  Client other(server_->port());
  other.send("GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(other.read_until(";").find("GET /ok"), std::string::npos);
  EXPECT_TRUE(slow.closed_by_server());
}

TEST_F(HttpServerTest, StopEndsIdleConnectionsAndReturns) {
  serve();
  Client idle(server_->port());
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
