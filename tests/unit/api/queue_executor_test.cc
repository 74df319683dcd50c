// Tasks that an executor sends on to a queue of the server (document 002, R3).

#include <gtest/gtest.h>
#include <string>

#include "support/eventually.h"
#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::api {
namespace {

using testing::eventually;
using testing::must;
using namespace std::chrono_literals;

class QueueExecutorTest : public Asking {
 protected:
  void start() override {
    options_.retries.executors = std::make_shared<Executors>("llamaindex");
    options_.retries.queues = {{"llamaindex", "tasks"}};
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  std::string report(const std::string& members) {
    const Told told =
        say("POST", "/v1/dead-letters",
            R"({"source":"workflows","profile":"workflow","error":"timeout",)" + members + "}");
    EXPECT_EQ(told.status(), 201) << told;
    return told.at("id");
  }
  Told record(const std::string& id) { return get("/v1/dead-letters/" + id); }
  /// Takes one from the queue as soon as it is there.
  Told received() {
    Told told;
    EXPECT_TRUE(eventually([&] {
      told = ask("POST", "/v1/queues/tasks/receive?limit=1");
      return told.at("messages.0.lease") != "?";
    }));
    return told;
  }
  void settle(const Told& received, const std::string& outcome) {
    const Told told =
        say("POST", "/v1/queues/tasks/settle",
            R"({"lease":")" + received.at("messages.0.lease") + R"(","outcome":)" + outcome + "}");
    EXPECT_EQ(told.status(), 200) << told;
  }
  std::size_t records() {
    Query all;
    for (const Status each : all_statuses()) all.statuses.push_back(each);
    return must(office_.list(all)).rows.size();
  }

  const testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(QueueExecutorTest, ATaskThatDiesInItsQueueIsTheSameRecordAgain) {  // R3, S2-2
  EXPECT_EQ(say("PUT", "/v1/queues/tasks", "{}").status(), 201);
  const std::string id = report(R"("task_id":"wf_1","task":{"n":1})");
  clock_.advance(1min);
  const Told task = received();
  EXPECT_TRUE(task.says("dlo-id")) << task;
  EXPECT_TRUE(task.says(id)) << task;
  ASSERT_TRUE(eventually([&] { return record(id).at("status") == "resolved"; }));
  clock_.advance(1s);
  settle(task, R"("dead_letter","reason":"BadTask","description":"no such file")");
  ASSERT_TRUE(eventually([&] { return record(id).at("occurrence") == "2"; })) << record(id);
  EXPECT_EQ(record(id).at("status"), "pending");
  EXPECT_EQ(record(id).at("message.source"), "tasks");
  EXPECT_EQ(record(id).at("counters.replay"), "1");
  EXPECT_EQ(records(), 1U);
}

TEST_F(QueueExecutorTest, ADeathThatOvertakesTheEndOfTheRunIsNotLost) {  // R3, R5
  EXPECT_EQ(say("PUT", "/v1/queues/tasks", "{}").status(), 201);
  for (int i = 0; i < 20; ++i) {
    const std::string id = report(R"("task_id":"wf_)" + std::to_string(i) + R"(","task":{})");
    clock_.advance(1min);
    settle(received(), R"("dead_letter","reason":"BadTask")");  // whatever is written by now
    ASSERT_TRUE(eventually([&] { return record(id).at("occurrence") == "2"; })) << record(id);
    EXPECT_EQ(record(id).at("status"), "pending");
    EXPECT_EQ(records(), static_cast<std::size_t>(i) + 1);
  }
}

TEST_F(QueueExecutorTest, WhoOnlyCopiesTheStampsIsAnotherMessage) {  // R3
  EXPECT_EQ(say("PUT", "/v1/queues/tasks", "{}").status(), 201);
  const std::string id = report(R"("task_id":"wf_1","task":{"n":1})");
  clock_.advance(1min);
  settle(received(), R"("complete")");
  ask("POST", "/v1/queues/tasks/messages?id=other", "{}",
      {{"Content-Type", "application/json"}, {"dlo-header-dlo-id", id}});
  settle(received(), R"("dead_letter","reason":"BadTask")");
  ASSERT_TRUE(eventually([&] { return records() == 2; }));
  EXPECT_EQ(record(id).at("status"), "resolved");
}

TEST_F(QueueExecutorTest, AQueueThatIsGoneIsAFailureOfTheTask) {  // S2-2
  const std::string id = report(R"("task":{"n":1})");
  EXPECT_EQ(get("/v1/retries").at("circuits.0.target"), "queue:tasks");
  clock_.advance(1min);
  ASSERT_TRUE(eventually([&] { return record(id).at("counters.failure") == "2"; })) << record(id);
  EXPECT_EQ(record(id).at("status"), "pending");
  EXPECT_EQ(record(id).at("failure.type"), "QueueUnavailable") << record(id);
  EXPECT_EQ(record(id).at("category"), "transient") << "somebody may yet declare it";
  EXPECT_EQ(say("PUT", "/v1/queues/tasks", "{}").status(), 201);
  clock_.advance(2min);
  EXPECT_TRUE(received().says("messages"));
  EXPECT_TRUE(eventually([&] { return record(id).at("status") == "resolved"; }));
}

TEST_F(QueueExecutorTest, WithoutExecutorsTheServerSaysThatWhatIsDueWaits) {
  std::vector<std::string> lines;
  options_.retries.executors = std::make_shared<Executors>("llamaindex");
  options_.retries.log = [&](const std::string& line) { lines.push_back(line); };
  {
    const Service none(office_, nullptr, clock_, options_);
  }
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("no executors are configured"), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace dlo::api
