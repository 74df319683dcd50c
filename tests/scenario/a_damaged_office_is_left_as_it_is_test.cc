#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <signal.h>
#include <string>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

const std::string json = "Content-Type: application/json\r\n";
constexpr int page = 4096;

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The files of the office that hold something, but for the marks of whoever reads.
std::map<std::string, std::string> office_files(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const char* name : {"office.db", "office.db-wal", "payloads.db", "payloads.db-wal"}) {
    std::string bytes = bytes_of(directory + "/" + name);
    if (!bytes.empty()) files[name] = std::move(bytes);
  }
  return files;
}

/// Overwrites the page that holds `text` with noise.
void spoil(const std::string& file, const std::string& text) {
  const std::size_t at = bytes_of(file).find(text);
  ASSERT_NE(at, std::string::npos);
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(static_cast<std::streamoff>(at / page * page));
  for (int i = 0; i < page; ++i) out.put(static_cast<char>(i * 31 % 251));
}

std::string fails(HttpClient& client) {
  const std::string lease =
      member(client.ask("POST", "/v1/queues/orders/receive?wait_ms=10000").body, "lease");
  EXPECT_NE(lease, "");
  const auto told =
      client.ask("POST", "/v1/queues/orders/settle",
                 R"({"outcome":"fail","error":"bad request","lease":")" + lease + "\"}", json);
  return std::to_string(told.status) + " " + told.body;
}

class DamagedOffice : public ::testing::Test {
 protected:
  void SetUp() override {
    Running server = serve();
    HttpClient client(port_in(server.read_until("/healthz")));
    report_many(client, 200, [](const std::string& id) {
      return R"({"source":"orders","error":"boom","id":")" + id + R"(","payload":"parcel )" + id +
             R"( of the day"})";
    });
    EXPECT_EQ(client.ask("PUT", "/v1/queues/orders", R"({"profile":"service-bus"})", json).status,
              201);
    EXPECT_EQ(client.ask("POST", "/v1/queues/orders/messages?id=held", "held").status, 201);
    EXPECT_EQ(server.stop(SIGTERM), 0);
    sound_ = office_files(place_.path());
  }
  [[nodiscard]] Running serve() const {
    return Running({"serve", "--data", place_.path(), "--listen", "127.0.0.1:0"});
  }
  [[nodiscard]] std::string office() const { return place_.path() + "/office.db"; }
  /// It stops, and promises nothing.
  void expect_sober_end(Running& server) {
    EXPECT_EQ(::kill(server.pid(), SIGTERM), 0);
    EXPECT_NO_THROW(server.read_until("Stopped.\n"));  // and nothing else in that line
    EXPECT_EQ(server.stop(0), 1);
  }

  TemporaryDirectory place_;
  std::map<std::string, std::string> sound_;
};

// A disk has overwritten a page while nobody looked. Whoever saves what can be saved finds the
// files as they were, however long the server ran, and nobody was told that something was kept.
TEST_F(DamagedOffice, IsServedForReadingAndItsFilesStayAsTheyAre) {
  spoil(office(), "parcel 100 of the day");
  const auto before = office_files(place_.path());
  {
    Running server = serve();
    HttpClient client(port_in(server.read_until("/healthz")));
    for (const char* path : {"/healthz", "/readyz"}) {
      const auto health = client.ask("GET", path);
      EXPECT_EQ(health.status, 503) << path;
      EXPECT_TRUE(health.has("office damaged")) << health.body;
    }
    EXPECT_EQ(client.ask("GET", "/v1/dead-letters?limit=1").status, 200);
    const auto refused =
        client.ask("POST", "/v1/dead-letters", R"({"source":"orders","error":"boom"})", json);
    EXPECT_EQ(refused.status, 500) << refused.body;
    EXPECT_TRUE(refused.has("nothing is written to it any more")) << refused.body;
    EXPECT_EQ(client.ask("PUT", "/v1/queues/more", "{}", json).status, 500);
    EXPECT_EQ(fails(client).substr(0, 4), "500 ");
    expect_sober_end(server);
  }
  EXPECT_EQ(office_files(place_.path()), before);

  // With a backup back in its place, what could not be recorded is still in its queue.
  std::ofstream(office(), std::ios::binary) << sound_.at("office.db");
  Running server = serve();
  HttpClient client(port_in(server.read_until("/healthz")));
  const std::string dead = fails(client);
  EXPECT_NE(dead.find("NonRetryableError"), std::string::npos) << dead;
  EXPECT_TRUE(client.ask("GET", "/v1/dead-letters?q=message%3Aheld").has("\"held\""));
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

TEST_F(DamagedOffice, ThatIsFoundWhileItRunsIsWrittenToNoMore) {
  Running server = serve();
  HttpClient client(port_in(server.read_until("/healthz")));
  client.ask("POST", "/v1/dead-letters", R"({"source":"orders","error":"boom"})", json);
  const std::string listed = client.ask("GET", "/v1/dead-letters?q=message%3A100").body;
  const std::string id = member(listed, "id");
  ASSERT_NE(id, "") << listed;
  spoil(office(), "parcel 100 of the day");
  EXPECT_EQ(client.ask("GET", "/healthz").status, 200) << "nobody has met it yet";
  EXPECT_EQ(client.ask("GET", "/v1/dead-letters/" + id).status, 500);
  const auto before = office_files(place_.path());
  EXPECT_EQ(client.ask("GET", "/healthz").status, 503);
  EXPECT_EQ(
      client.ask("POST", "/v1/dead-letters", R"({"source":"orders","error":"boom"})", json).status,
      500);
  expect_sober_end(server);
  EXPECT_EQ(office_files(place_.path()), before);
}

}  // namespace
}  // namespace dlo::testing
