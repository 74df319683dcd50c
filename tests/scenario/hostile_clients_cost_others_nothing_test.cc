#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <vector>

#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

constexpr std::size_t most_connections = 10'000;  // the server's limit

/// Memory of a process that is its own, in MB.
std::size_t memory_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  while (status >> word) {
    if (word != "RssAnon:") continue;
    std::size_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes / 1024;
  }
  return 0;
}

/// As many descriptors as this process may have.
std::size_t raise_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::size_t>(limit.rlim_cur);
}

struct Wrong {
  const char* name;
  std::string request;
  int status;
  const char* says;
};

std::string post(const std::string& target, const std::string& type, const std::string& body,
                 const std::string& headers = "") {
  return "POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Type: " + type + "\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::vector<Wrong> wrong_requests() {
  const std::string json = "application/json";
  const std::string report = "/v1/dead-letters";
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "a: b\r\n";
  return {
      {"deep JSON", post(report, json, R"({"source":"a","error":"e","json":)" + deep + "}"), 400,
       "deep"},
      {"a member twice", post(report, json, R"({"source":"a","source":"b","error":"e"})"), 400,
       "source"},
      {"an unknown member", post(report, json, R"({"source":"a","error":"e","sorce":1})"), 400,
       "sorce"},
      {"a wrong type", post(report, json, R"({"source":7,"error":"e"})"), 400, "source"},
      {"no JSON", post(report, json, "<a/>"), 400, "JSON"},
      {"a wrong content type", post(report, "text/xml", "<a/>"), 415, "application/json"},
      {"a packed body", post(report, json, "\x1f\x8b", "Content-Encoding: gzip\r\n"), 415,
       "Content-Encoding"},
      {"an unknown parameter", "GET /v1/dead-letters?limt=5 HTTP/1.1\r\nHost: x\r\n\r\n", 400,
       "limt"},
      {"a parameter out of bounds", "GET /v1/dead-letters?limit=99999 HTTP/1.1\r\nHost: x\r\n\r\n",
       400, "1000"},
      {"dots in the path", "GET /v1/../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 400, ".."},
      {"escaped dots", "GET /v1/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 400, ".."},
      {"a NUL in the path", "GET /v1/dead-letters/a%00b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "path"},
      {"a method nobody has", "BREW /v1/stats HTTP/1.1\r\nHost: x\r\n\r\n", 405, "GET"},
      {"too many headers", "GET /healthz HTTP/1.1\r\nHost: x\r\n" + many + "\r\n", 431, "headers"},
      {"an endless chunk size",
       "POST /v1/dead-letters HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
           std::string(200'000, '0'),
       413, "framing"},
  };
}

/// Sends each wrong request and a right one after it, on connections of their own.
void expect_refusals(std::uint16_t port) {
  for (const Wrong& wrong : wrong_requests()) {
    HttpClient client(port);
    client.send(wrong.request);
    const auto answer = client.read_answer();
    EXPECT_EQ(answer.status, wrong.status) << wrong.name << ": " << answer.head << answer.body;
    EXPECT_TRUE(answer.has(wrong.says)) << wrong.name << ": " << answer.body;
    EXPECT_EQ(HttpClient(port).ask("GET", "/healthz").status, 200) << "after " << wrong.name;
  }
}

// Somebody floods the server with connections, leaves requests unfinished and sends every kind of
// wrong request; whoever asks properly is answered all the while, and memory stays bounded.
TEST(Scenario, HostileClientsCostOthersNothing) {
  const std::size_t descriptors = raise_descriptors();
  const TemporaryDirectory place;
  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  const std::uint16_t port = port_in(server.read_until("/healthz"));
  expect_refusals(port);
  const std::size_t before = memory_of(server.pid());

  const std::size_t flood = std::min(most_connections - 100, descriptors - 300);
  std::vector<std::unique_ptr<HttpClient>> silent;
  for (std::size_t i = 0; i < flood; ++i) {
    silent.push_back(std::make_unique<HttpClient>(port));
    // A third says nothing, a third never ends its head, a third owes a body.
    if (i % 3 == 1) silent.back()->send("GET /healthz HTTP/1.1\r\nHost: x\r\nX: ");
    if (i % 3 == 2)
      silent.back()->send(
          "POST /v1/dead-letters HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n{");
  }
  HttpClient client(port);
  EXPECT_EQ(client.ask("GET", "/healthz").status, 200);
  expect_refusals(port);
  EXPECT_LT(memory_of(server.pid()), before + 60) << "MB for " << flood << " connections";

  silent.clear();
  EXPECT_EQ(client.ask("GET", "/v1/stats").status, 200);
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
