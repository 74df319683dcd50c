// What hostile, broken and slow clients do, and that others do not notice.
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "unit/server/serving.h"

namespace dlo {
namespace {

using testing::eventually;
using testing::HttpClient;

class HttpAbuse : public Serving {};

TEST_F(HttpAbuse, AHundredThousandHeadersAreRefusedWhateverTheirSize) {
  serve();
  HttpClient client(port());
  std::string request = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 100'000; ++i) request += "a: b\r\n";
  client.send(request + "\r\n");
  EXPECT_NE(client.read_until("}").find("431"), std::string::npos);
}

TEST_F(HttpAbuse, MoreHeadersThanTheLimitAreRefusedThoughTheyAreSmall) {
  HttpOptions options;
  options.header_count = 10;
  serve(options);
  HttpClient client(port());
  std::string headers;
  for (int i = 0; i < 10; ++i) headers += "a: b\r\n";
  client.send(get("/", headers));
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, 431);
  EXPECT_TRUE(answer.has("10 headers")) << answer.body;
}

TEST_F(HttpAbuse, AChunkExtensionWithoutEndIsRefused) {
  HttpOptions options;
  options.header_limit = 1024;
  serve(options);
  HttpClient client(port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;");
  client.send(std::string(200'000, 'e'));
  EXPECT_EQ(client.read_answer().status, 413);
}

TEST_F(HttpAbuse, ABodyThatIsMostlyFramingIsRefused) {
  HttpOptions options;
  options.header_limit = 1024;
  options.body_limit = 1000;
  serve(options);
  HttpClient client(port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  std::string chunk = "1;" + std::string(500, 'e') + "\r\nx\r\n";
  for (int i = 0; i < 100 && client.send(chunk); ++i) {
  }
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, 413);
  EXPECT_TRUE(answer.has("framing_too_large")) << answer.body;
}

TEST_F(HttpAbuse, AClientStillSendingSeesWhyItWasRefused) {
  HttpOptions options;
  options.body_limit = 10;
  serve(options);
  HttpClient client(port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n");
  EXPECT_TRUE(client.send(std::string(4'000'000, 'x'))) << "a reset would throw the answer away";
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, 413);
  EXPECT_TRUE(answer.has("10 bytes (server.max_body)")) << answer.body;
}

struct Smuggled {
  const char* name;
  const char* request;
  int status;
};
void PrintTo(const Smuggled& row, std::ostream* out) {
  *out << row.name;
}
class BadRequests : public Serving, public ::testing::WithParamInterface<Smuggled> {};

TEST_P(BadRequests, AreAnsweredWithAProblemAndTheConnectionEnds) {
  serve();
  HttpClient client(port());
  client.send(GetParam().request);
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, GetParam().status) << answer.head << answer.body;
  EXPECT_TRUE(answer.has("application/problem+json")) << answer.head;
  EXPECT_TRUE(answer.has("Connection: close")) << answer.head;
  EXPECT_TRUE(client.closed_by_server());
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Shapes, BadRequests, ::testing::ValuesIn(std::vector<Smuggled>{
    {"LengthAndChunked", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc", 400},
    {"TwoLengths",       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
    {"NegativeLength",   "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\n", 400},
    {"HugeLength",       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
    {"HugeChunk",        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413},
    {"PackedChunks",     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 501},
    {"TwiceChunked",     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 501},
    {"BadChunk",         "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
    {"NoHost",           "GET / HTTP/1.1\r\n\r\n", 400},
    {"TwoHosts",         "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
    {"BlankBeforeColon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
    {"NulInHeader",      "GET / HTTP/1.1\r\nHost: x\x01\r\n\r\n", 400},
    {"Version2",         "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
    {"UnknownExpect",    "GET / HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n", 417},
    {"UserInAddress",    "GET http://u:p@x/a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"NoHostInAddress",  "GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"OtherScheme",      "GET ftp://x/a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"HostAsTarget",     "GET x:80 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"NotHttp",          "\x16\x03\x01 garbage\r\n\r\n", 400},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST_F(HttpAbuse, AHeaderOfAnAnswerCannotBecomeTwo) {
  serve({}, [](const HttpRequest& request, const ExchangePtr& exchange) {
    HttpResponse response;
    response.headers.push_back({"X-Echo", "a\r\nX-Evil: 1\r\n\r\n" + request.body});
    exchange->send(std::move(response));
  });
  HttpClient client(port());
  EXPECT_FALSE(client.ask("POST", "/", "b").has("\r\nX-Evil"));
}

TEST_F(HttpAbuse, ABodyThatStopsArrivingIsAnsweredWith408) {
  HttpOptions options;
  options.body_timeout = Millis{1};
  serve(options);
  HttpClient client(port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(client.read_answer().status, 408);
  EXPECT_TRUE(client.closed_by_server());
}

TEST_F(HttpAbuse, AConnectionThatSaysNothingIsClosed) {
  HttpOptions options;
  options.idle_timeout = Millis{1};
  serve(options);
  HttpClient client(port());
  EXPECT_TRUE(client.closed_by_server());
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(HttpAbuse, AClientThatDoesNotReadItsAnswersIsCutOff) {
  HttpOptions options;
  options.write_timeout = Millis{1};
  serve(options, [](const HttpRequest&, const ExchangePtr& exchange) {
    HttpResponse response;
    response.content_type = "application/octet-stream";
    response.body.assign(32U << 20U, 'x');
    exchange->send(std::move(response));
  });
  HttpClient client(port(), 4096);
  client.send(get("/"));
  ASSERT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(HttpAbuse, BodiesOfAllClientsTogetherHaveABudget) {
  HttpOptions options;
  options.max_body_memory = 100'000;
  serve(options);
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port()));
    clients.back()->send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60001\r\n\r\n");
    clients.back()->send(std::string(60'000, 'x'));
    if (i == 0) {  // the first one is in before the second begins
      HttpClient other(port());
      EXPECT_EQ(other.ask("GET", "/").status, 200);
    }
  }
  EXPECT_EQ(clients[1]->read_answer().status, 503);
  clients[0]->send("x");
  EXPECT_EQ(clients[0]->read_answer().status, 200);
  // What it took was given back.
  HttpClient again(port());
  EXPECT_EQ(again.ask("POST", "/", std::string(90'000, 'x')).status, 200);
}

TEST_F(HttpAbuse, OneMoreThanTheMostConnectionsIsTurnedAwayWithWords) {
  HttpOptions options;
  options.max_connections = 2;
  serve(options);
  HttpClient first(port());
  HttpClient second(port());
  EXPECT_EQ(first.ask("GET", "/").status, 200);
  EXPECT_EQ(second.ask("GET", "/").status, 200);
  {
    HttpClient third(port());
    const auto answer = third.read_answer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_TRUE(answer.has("Retry-After")) << answer.head;
  }
  EXPECT_EQ(first.ask("GET", "/").status, 200);
}

TEST_F(HttpAbuse, AThousandSilentConnectionsKeepNobodyFromBeingServed) {
  serve();
  std::vector<std::unique_ptr<HttpClient>> silent;
  for (int i = 0; i < 1000; ++i) silent.push_back(std::make_unique<HttpClient>(port()));
  for (auto& client : silent) client->send("GET / HT");
  HttpClient client(port());
  EXPECT_EQ(client.ask("GET", "/a").status, 200);
  EXPECT_TRUE(eventually([&] { return server_->connections() == 1001; }));
}

}  // namespace
}  // namespace dlo
