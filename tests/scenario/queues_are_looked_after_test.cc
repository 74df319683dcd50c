#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "scenario/program.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Somebody puts messages into queues, looks at them, moves them and cleans up; no server runs.
TEST(Scenario, QueuesAreLookedAfterWithoutAServer) {
  const TemporaryDirectory data;
  const auto dlo = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "queue");
    arguments.insert(arguments.end(), {"--data", data.path()});
    return run_dlo(arguments);
  };
  EXPECT_EQ(dlo({"list"}).code, 4);
  EXPECT_EQ(dlo({"send", "orders", R"({"order":1})", "--id", "o-1"}).code, 0);
  EXPECT_EQ(dlo({"send", "orders", R"({"order":2})", "--id", "o-2", "--delay", "1h"}).code, 0);
  EXPECT_EQ(dlo({"send", "parked", "x"}).code, 0);
  EXPECT_TRUE(has(dlo({"peek", "orders"}).out, R"({"order":2})"));
  EXPECT_TRUE(has(dlo({"list", "-o", "json"}).out, R"("ready":1,"delayed":1,"leased":0)"));

  const Ended plan = dlo({"purge", "parked"});
  EXPECT_TRUE(has(plan.out, "would remove 1 messages") && has(plan.out, "--yes")) << plan.out;
  EXPECT_TRUE(has(dlo({"peek", "parked"}).out, "x"));
  EXPECT_TRUE(has(dlo({"purge", "parked", "--yes"}).out, "removed 1"));

  EXPECT_TRUE(has(dlo({"move", "orders", "parked"}).out, "moved 2 messages"));
  EXPECT_EQ(dlo({"peek", "orders"}).code, 4);
  const Ended misspelt = dlo({"peek", "order"});
  EXPECT_EQ(misspelt.code, 4);
  EXPECT_TRUE(has(misspelt.err, "did you mean \"orders\"")) << misspelt.err;

  const Ended whole = dlo({"fsck"});
  EXPECT_EQ(whole.code, 0);
  EXPECT_TRUE(has(whole.out, "parked: 2 waiting") && has(whole.out, "2 messages read"))
      << whole.out;
}

TEST(Scenario, AMessageIsSentWithItsPriorityAndOnlyOnce) {
  const TemporaryDirectory data;
  const auto send = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"queue", "send", "orders", "x", "--data", data.path()});
    return run_dlo(options);
  };
  EXPECT_EQ(send({"--priority", "high", "--dedupe-id", "d-1"}).code, 0);
  EXPECT_TRUE(has(send({"--dedupe-id", "d-1"}).out, "was sent before"));
  EXPECT_NE(send({"--priority", "urgent"}).code, 0);
  const Ended there = run_dlo({"queue", "peek", "orders", "-o", "ndjson", "--data", data.path()});
  EXPECT_TRUE(has(there.out, R"("priority":"high")")) << there.out;
  EXPECT_EQ(there.out.find('\n'), there.out.size() - 1) << there.out;
}

// As a program has one that uses `Queue` without a server.
TEST(Scenario, ADirectoryOfQueuesAloneIsLookedAtAsWell) {
  const TemporaryDirectory data;
  ASSERT_EQ(run_dlo({"queue", "send", "orders", "here", "--data", data.path()}).code, 0);
  const std::string queues = data.path() + "/queues";
  const Ended fsck = run_dlo({"queue", "fsck", "--data", queues});
  EXPECT_EQ(fsck.code, 0) << fsck.err;
  EXPECT_TRUE(has(fsck.out, "orders: 1 waiting")) << fsck.out;
  EXPECT_TRUE(has(run_dlo({"queue", "dump", "--data", queues}).out, "orders  ready"));
  EXPECT_EQ(run_dlo({"queue", "repair", "--data", queues}).code, 0);
}

// What is done with is not shown as if it were still to be done.
TEST(Scenario, ADumpSaysOfEachMessageWhatStateItIsIn) {
  const TemporaryDirectory data;
  const auto dlo = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "queue");
    arguments.insert(arguments.end(), {"--data", data.path()});
    return run_dlo(arguments);
  };
  ASSERT_EQ(dlo({"send", "orders", "old"}).code, 0);
  ASSERT_EQ(dlo({"purge", "orders", "--yes"}).code, 0);
  ASSERT_EQ(dlo({"send", "orders", "new"}).code, 0);
  const Ended now = dlo({"dump", "-o", "ndjson"});
  EXPECT_EQ(now.code, 0) << now.err;
  EXPECT_TRUE(has(now.out, R"("new")") && has(now.out, R"("state":"ready")")) << now.out;
  EXPECT_FALSE(has(now.out, R"("old")")) << now.out;
  const Ended all = dlo({"dump", "--all"});
  EXPECT_TRUE(has(all.out, "orders  ready")) << all.out;
}

// A byte of a message went bad on the disk.
TEST(Scenario, ADamagedQueueIsFoundAndTheRestIsSaved) {
  const TemporaryDirectory data;
  for (const std::string body : {"first body", "second body", "third body"}) {
    ASSERT_EQ(run_dlo({"queue", "send", "orders", body, "--data", data.path()}).code, 0);
  }
  for (const auto& file : std::filesystem::directory_iterator(data.path() + "/queues")) {
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string all(std::istreambuf_iterator<char>(bytes), {});
    const auto at = all.find("second body");
    if (at == std::string::npos) continue;
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put('S');
  }
  const Ended fsck = run_dlo({"queue", "fsck", "--data", data.path()});
  EXPECT_EQ(fsck.code, 1);
  EXPECT_TRUE(has(fsck.out, "1 UNREADABLE") && has(fsck.out, ".seg at byte")) << fsck.out;
  const Ended dump = run_dlo({"queue", "dump", "-o", "ndjson", "--data", data.path()});
  EXPECT_EQ(dump.code, 3);
  EXPECT_TRUE(has(dump.out, "first body") && has(dump.out, "third body")) << dump.out;
  EXPECT_FALSE(has(dump.out, "econd body")) << dump.out;
}

// The same, before a checkpoint said what was there: nothing opens until somebody decides.
TEST(Scenario, ADamagedQueueIsRepairedAndGoesOn) {
  const TemporaryDirectory data;
  const auto dlo = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "queue");
    arguments.insert(arguments.end(), {"--data", data.path()});
    return run_dlo(arguments);
  };
  for (const std::string body : {"first body", "second body", "third body"}) {
    ASSERT_EQ(dlo({"send", "orders", body, "--id", body.substr(0, body.find(' '))}).code, 0);
  }
  const std::filesystem::path queues = data.path() + "/queues";
  std::filesystem::remove(queues / "checkpoint");
  ASSERT_EQ(dlo({"peek", "orders"}).code, 0);  // all segments are there: nothing is missing
  std::filesystem::remove(queues / "checkpoint");
  for (const auto& file : std::filesystem::directory_iterator(queues)) {
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string all(std::istreambuf_iterator<char>(bytes), {});
    const auto at = all.find("second body");
    if (at == std::string::npos) continue;
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put('S');
  }
  const Ended refused = dlo({"peek", "orders"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(has(refused.err, ".seg at byte ") && has(refused.err, "dlo queue repair"))
      << refused.err;
  const Ended plan = dlo({"repair"});
  EXPECT_EQ(plan.code, 1);
  EXPECT_TRUE(has(plan.out, R"(LOST      queue "orders" message "second")") &&
              has(plan.out, "Nothing was changed") && has(plan.out, "--yes"))
      << plan.out;
  EXPECT_EQ(dlo({"peek", "orders"}).code, 1);
  const Ended repaired = dlo({"repair", "--yes"});
  EXPECT_EQ(repaired.code, 3) << repaired.out << repaired.err;
  EXPECT_TRUE(has(repaired.out, "1 messages lost")) << repaired.out;
  const Ended fsck = dlo({"fsck"});
  EXPECT_EQ(fsck.code, 0) << fsck.out;
  EXPECT_TRUE(has(fsck.out, "SET ASIDE")) << fsck.out;
  EXPECT_EQ(dlo({"repair"}).code, 0);
  const Ended peek = dlo({"peek", "orders"});
  EXPECT_TRUE(has(peek.out, "first body") && has(peek.out, "third body")) << peek.out << peek.err;
  EXPECT_FALSE(has(peek.out, "econd body")) << peek.out;
  bool report = false;
  for (const auto& file : std::filesystem::directory_iterator(queues)) {
    report = report || file.path().filename().string().starts_with("quarantine-report");
  }
  EXPECT_TRUE(report);
}

TEST(Scenario, AFileThatWasCutIsRepairedForGood) {
  const TemporaryDirectory data;
  const auto dlo = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "queue");
    words.insert(words.end(), {"--data", data.path()});
    return run_dlo(words);
  };
  for (const std::string body : {"first body", "second body", "third body"}) {
    ASSERT_EQ(dlo({"send", "orders", body}).code, 0);
  }
  const std::string segment = data.path() + "/queues/000000000001.seg";
  std::filesystem::resize_file(segment, 250);
  EXPECT_EQ(dlo({"fsck"}).code, 1);
  const Ended repaired = dlo({"repair", "--yes"});
  EXPECT_EQ(repaired.code, 3) << repaired.out << repaired.err;
  EXPECT_TRUE(has(repaired.out, "BROKEN")) << repaired.out;
  const Ended fsck = dlo({"fsck"});
  EXPECT_EQ(fsck.code, 3) << fsck.out;
  EXPECT_TRUE(has(fsck.out, "There is nothing to repair") && !has(fsck.out, "DAMAGED")) << fsck.out;
  EXPECT_EQ(dlo({"repair"}).code, 0);
  EXPECT_EQ(dlo({"send", "orders", "fourth body"}).code, 0);
  EXPECT_TRUE(has(dlo({"dump", "-o", "ndjson"}).out, "fourth body"));
}

}  // namespace
}  // namespace dlo::testing
