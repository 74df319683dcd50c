#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <signal.h>
#include <sstream>
#include <string>

#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

constexpr int tasks = 40;
const std::string json = "Content-Type: application/json\r\n";
const std::string ndjson = "Content-Type: application/x-ndjson\r\n";

int number(const std::string& body, const std::string& name) {
  const auto at = body.find("\"" + name + "\":");
  return at == std::string::npos ? -1 : std::stoi(body.substr(at + name.size() + 3));
}

class ScheduledRetries : public ::testing::Test {
 protected:
  ScheduledRetries() {
    // Runs until it is told to go on, and says which task it has begun. Whoever outlives his server
    // goes on as well, once he is told.
    const std::string script = file("executor");
    std::ofstream(script) << "#!/bin/sh\ncat > /dev/null\necho \"$DLO_MESSAGE_ID\" >> "
                          << file("begun") << "\nwhile [ ! -f " << file("go")
                          << " ]; do sleep 0.02; done\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    std::ofstream(file("dlo.yaml"))
        << "data: " << file("office") << "\nserver: {listen: '127.0.0.1:0'}\n"
        << "workflow: {lease: 1s, at_once: 4}\n"
        << "executors:\n  llamaindex: {command: " << script << "}\n";
  }
  std::string file(const std::string& name) const { return place_.path() + "/" + name; }
  std::vector<std::string> serve() const { return {"serve", "--config", file("dlo.yaml")}; }
  std::vector<std::string> begun() const {
    std::ifstream in(file("begun"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  static int open(HttpClient& client) {
    return number(client.ask("GET", "/v1/retries").body, "queue_size");
  }

  const TemporaryDirectory place_;
};

// The server is killed while executors run. No task is lost and none is doubled: what was cut off
// has counted and is run again when its lease is over, everything else runs once (R2-3, R2-4, R5).
TEST_F(ScheduledRetries, AreKilledAndNothingIsLostOrDoubled) {
  {
    Running server(serve());
    HttpClient client(port_in(server.read_until("/healthz")));
    std::string lines;
    for (int i = 0; i < tasks; ++i) {
      lines += R"({"source":"workflows","profile":"workflow+safe","task_id":"t)" +
               std::to_string(i) +
               R"(","task":{"n":1},"error":"timeout","policy":"immediate","max_retries":5})"
               "\n";
    }
    const auto told = client.ask("POST", "/v1/dead-letters", lines, ndjson);
    ASSERT_EQ(told.status, 200) << told.body;
    ASSERT_TRUE(eventually([&] { return begun().size() == 4; })) << "as many as may run at once";
    EXPECT_EQ(open(client), tasks);
    ASSERT_EQ(server.stop(SIGKILL), -SIGKILL);
  }
  const auto cut_off = begun();
  std::ofstream(file("go")) << "go";
  Running server(serve());
  HttpClient client(port_in(server.read_until("/healthz")));
  ASSERT_TRUE(eventually([&] { return open(client) == 0; }, std::chrono::seconds(60)));
  const auto numbers = client.ask("GET", "/v1/retries").body;
  EXPECT_EQ(number(numbers, "enqueued_total"), tasks);
  EXPECT_EQ(number(numbers, "retry_success"), tasks) << numbers;
  EXPECT_EQ(number(numbers, "exhausted"), 0);
  const auto all = begun();
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), std::size_t{tasks});
  EXPECT_EQ(all.size(), tasks + cut_off.size()) << "only what was cut off ran twice";
  for (const std::string& id : cut_off) {
    const auto found = client.ask("GET", "/v1/dead-letters?q=status:resolved+message:" + id).body;
    EXPECT_NE(found.find("\"retry\":2"), std::string::npos) << "the run that was cut off counts";
  }
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

class RetriesKilledOftenAndAgain : public ScheduledRetries,
                                   public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr int a_round = 4;  // tasks, all of which run when the server is killed

  void report(HttpClient& client, int round) const {
    std::string lines;
    for (int i = 0; i < a_round; ++i) {
      lines += R"({"source":"workflows","profile":")" + std::string(GetParam()) +
               R"(","task_id":")" + name(round, i) +
               R"(","task":{"n":1},"error":"timeout","policy":"immediate","max_retries":5})"
               "\n";
    }
    const auto told = client.ask("POST", "/v1/dead-letters", lines, ndjson);
    ASSERT_EQ(told.status, 200) << told.body;
  }
  static std::string name(int round, int i) {
    return "r" + std::to_string(round) + "t" + std::to_string(i);
  }
  std::size_t begun_of(int round) const {
    std::size_t count = 0;
    for (const std::string& id : begun())
      count += id.starts_with("r" + std::to_string(round) + "t");
    return count;
  }
};
INSTANTIATE_TEST_SUITE_P(Profiles, RetriesKilledOftenAndAgain,
                         ::testing::Values("workflow", "workflow+safe"), [](const auto& row) {
                           return std::string(row.param) == "workflow" ? "workflow" : "safe";
                         });

// Ten times in a row the server is killed while every place is taken. What was cut off has counted
// and is run again after the next start; nothing is lost and nothing else runs twice.
TEST_P(RetriesKilledOftenAndAgain, LoseNothingDoubleNothingAndCountWhatWasCutOff) {  // R2-3, R2-4
  constexpr int kills = 10;
  for (int round = 0; round < kills; ++round) {
    Running server(serve());
    HttpClient client(port_in(server.read_until("/healthz")));
    std::ofstream(file("go")) << "go";
    ASSERT_TRUE(eventually([&] { return open(client) == 0; }, std::chrono::seconds(60)));
    std::filesystem::remove(file("go"));
    report(client, round);
    ASSERT_TRUE(eventually([&] { return begun_of(round) == a_round; })) << "round " << round;
    ASSERT_EQ(server.stop(SIGKILL), -SIGKILL);
  }
  std::ofstream(file("go")) << "go";
  Running server(serve());
  HttpClient client(port_in(server.read_until("/healthz")));
  ASSERT_TRUE(eventually([&] { return open(client) == 0; }, std::chrono::seconds(60)));
  const auto numbers = client.ask("GET", "/v1/retries").body;
  EXPECT_EQ(number(numbers, "enqueued_total"), kills * a_round) << numbers;
  EXPECT_EQ(number(numbers, "retry_success"), kills * a_round) << numbers;
  EXPECT_EQ(number(numbers, "exhausted"), 0) << numbers;
  for (int round = 0; round < kills; ++round) {
    EXPECT_EQ(begun_of(round), std::size_t{2 * a_round}) << "each twice, and none oftener";
    for (int i = 0; i < a_round; ++i) {
      const auto found =
          client.ask("GET", "/v1/dead-letters?q=status:resolved+message:" + name(round, i)).body;
      EXPECT_NE(found.find("\"retry\":2"), std::string::npos) << found;
    }
  }
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

TEST_F(ScheduledRetries, AreGivenBackByAStop) {  // I8
  {
    Running server(serve());
    HttpClient client(port_in(server.read_until("/healthz")));
    const auto told = client.ask(
        "POST", "/v1/dead-letters",
        R"({"source":"w","profile":"workflow","task":{},"error":"timeout","policy":"immediate"})",
        json);
    EXPECT_NE(told.body.find("\"dlq_task_id\":\"wf_"), std::string::npos) << told.body;
    ASSERT_TRUE(eventually([&] { return begun().size() == 1; }));
    EXPECT_EQ(server.stop(SIGTERM), 0);
  }
  const Ended shown = run_dlo({"list", "-o", "json", "--data", file("office")});
  EXPECT_NE(shown.out.find("\"status\":\"pending\""), std::string::npos) << shown.out << shown.err;
  EXPECT_NE(shown.out.find("\"retry\":0"), std::string::npos) << "it has cost nothing";
}

}  // namespace
}  // namespace dlo::testing
