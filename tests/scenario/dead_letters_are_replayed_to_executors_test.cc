#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <string>

#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

const std::string json = "Content-Type: application/json\r\n";

/// A server with executors: another server's queue behind HTTP, one that does not exist there, and
/// commands that keep what they get or fail.
class ReplayedToExecutors : public ::testing::Test {
 protected:
  ReplayedToExecutors() {
    HttpClient there(other_port_);
    EXPECT_EQ(there.ask("PUT", "/v1/queues/inbox", "{}", json).status, 201);
    const std::string script = place_.path() + "/keep";
    std::ofstream(script) << "#!/bin/sh\ncat >> " << place_.path() << "/kept\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    const std::string queues = "http://127.0.0.1:" + std::to_string(other_port_) + "/v1/queues/";
    std::ofstream(place_.path() + "/dlo.yaml")
        << "data: " << place_.path() << "/office\nserver: {listen: '127.0.0.1:0'}\nexecutors:\n"
        << "  inbox: {http: '" << queues << "inbox/messages'}\n"
        << "  nowhere: {http: '" << queues << "inbox/nowhere'}\n"
        << "  keep: {command: " << script << "}\n  refuse: {command: /bin/false}\n";
  }
  std::string report(const std::string& payload) {
    const auto told = client_->ask(
        "POST", "/v1/dead-letters",
        R"({"source":"orders","error":"timed out","payload":")" + payload + "\"}", json);
    EXPECT_EQ(told.status, 201) << told.body;
    const auto at = told.body.find(R"("id":")") + 6;
    return told.body.substr(at, 32);
  }
  Ended replay(const std::string& id, const std::string& to) {
    return run_dlo(
        {"replay", id, "--to", to, "--yes", "--wait", "--server", address(), "--reason", "fixed"});
  }
  std::string show(const std::string& id) {
    return client_->ask("GET", "/v1/dead-letters/" + id).body;
  }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void start() {
    server_ = std::make_unique<Running>(
        std::vector<std::string>{"serve", "--config", place_.path() + "/dlo.yaml"});
    port_ = port_in(server_->read_until("/healthz"));
    client_ = std::make_unique<HttpClient>(port_);
  }

  const TemporaryDirectory place_;
  Running other_{{"serve", "--data", place_.path() + "/other", "--listen", "127.0.0.1:0"}};
  const std::uint16_t other_port_ = port_in(other_.read_until("/healthz"));
  std::unique_ptr<Running> server_;
  std::uint16_t port_ = 0;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(ReplayedToExecutors, WithoutAServerItIsSaidWhoseExecutorsAre) {
  const TemporaryDirectory alone;
  ASSERT_EQ(run_dlo({"demo", "--messages", "14", "--keep", "--data", alone.path()}).code, 0);
  const Ended refused =
      run_dlo({"replay", "type:poison", "--to", "exec:inbox", "--yes", "--data", alone.path()});
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_NE(refused.err.find("No server works in"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("dlo serve --config"), std::string::npos) << refused.err;
}

TEST_F(ReplayedToExecutors, AnEndpointOrACommandDoesTheWorkAndItsAnswerIsTheOutcome) {
  start();
  const std::string pushed = report("pushed");
  const Ended sent = replay(pushed, "exec:inbox");
  EXPECT_EQ(sent.code, 0) << sent.out << sent.err;
  EXPECT_NE(show(pushed).find(R"("status":"resolved")"), std::string::npos) << show(pushed);
  HttpClient there(other_port_);
  const auto arrived = there.ask("POST", "/v1/queues/inbox/receive");
  EXPECT_NE(arrived.body.find("pushed"), std::string::npos) << arrived.body;
  EXPECT_NE(replay(pushed, "exec:inbox").code, 0) << "it is resolved: nothing to send";

  const std::string run = report("run");
  EXPECT_EQ(replay(run, "exec:keep").code, 0);
  std::ifstream kept(place_.path() + "/kept");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "run");
  EXPECT_NE(show(run).find(R"("status":"resolved")"), std::string::npos);

  for (const std::string to : {"exec:nowhere", "exec:refuse"}) {
    const std::string id = report("still dead");
    replay(id, to);
    const std::string dead = show(id);
    EXPECT_NE(dead.find(R"("status":"pending")"), std::string::npos) << dead;
    EXPECT_NE(dead.find(to == "exec:refuse" ? "exit:1" : "404"), std::string::npos) << dead;
  }
  const Ended unknown = replay(report("x"), "exec:inbx");
  EXPECT_NE(unknown.code, 0);
  EXPECT_NE(unknown.err.find("inbox"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace dlo::testing
