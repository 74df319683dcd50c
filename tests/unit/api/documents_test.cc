// What the documents ask of those who look after dead letters, in the words of the API.
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

class Documents : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(Documents, TasksAreListedByStatusAndAtMostAHundredIfAskedSo) {  // S2-19
  for (int i = 0; i < 3; ++i) dead(R"("id":"t-)" + std::to_string(i) + R"(")");
  EXPECT_EQ(get("/v1/dead-letters?q=status:pending&limit=100").at("dead_letters.2.status"),
            "pending");
  EXPECT_EQ(get("/v1/dead-letters?q=status:exhausted&limit=100").at("dead_letters.0"), "?");
  EXPECT_EQ(get("/v1/dead-letters?q=status:pending&limit=2").at("dead_letters.2"), "?");
}

TEST_F(Documents, AListOfTasksHasAHundredUnlessAskedOtherwise) {  // S2-19
  for (int i = 0; i < 101; ++i) dead(R"("id":"t-)" + std::to_string(i) + R"(")");
  const Told tasks = get("/v1/dead-letters?q=status:pending&form=workflow");
  EXPECT_NE(tasks.at("dead_letters.99.task_id"), "?");
  EXPECT_EQ(tasks.at("dead_letters.100"), "?");
  EXPECT_EQ(get("/v1/dead-letters?q=status:pending").at("dead_letters.50"), "?")
      << "any other list has fifty";
}

TEST_F(Documents, ATaskSaysWhenItFailedHowOftenAndWhenItIsTriedNextAndAnAbsentOneIsNothing) {
  const std::string id = dead(R"("id":"t-1")");  // S2-20
  const Told task = get("/v1/dead-letters/" + id + "?form=workflow");
  EXPECT_EQ(task.at("task_id"), "t-1") << task;
  for (const char* name : {"failed_at", "retry_count", "max_retries"}) {
    EXPECT_NE(task.at(name), "?") << name << task;
  }
  EXPECT_EQ(task.at("next_retry_at"), "null");
  EXPECT_EQ(get("/v1/dead-letters/" + std::string(32, '0')).status(), 404);
}

TEST_F(Documents, ARetryAnswersWhetherItWasTakenAndWhyNot) {  // S2-21
  const std::string id = dead(R"("id":"t-1")");
  const Told nobody = say("POST", "/v1/dead-letters/" + id + "/retry", "{}");
  EXPECT_EQ(nobody.status(), 409) << nobody;
  EXPECT_TRUE(nobody.says("Nobody here runs messages")) << nobody;
  say("PUT", "/v1/queues/payments", "{}");
  const Told taken = say("POST", "/v1/dead-letters/" + id + "/retry", "{}");
  EXPECT_EQ(taken.status(), 200) << taken;
  EXPECT_NE(taken.at("next_retry_at"), "null");
}

TEST_F(Documents, WhatIsRetriedWithinTheHourIsFoundAndNothingElse) {  // S2-38
  say("PUT", "/v1/queues/payments", "{}");
  const std::string due = dead(R"("id":"t-1")");
  dead(R"("id":"t-2")");  // nobody tries it again
  ASSERT_EQ(say("POST", "/v1/dead-letters/" + due + "/retry", "{}").status(), 200);
  const Told soon = get("/v1/dead-letters?q=next_retry:%3C%3D1h");
  EXPECT_EQ(soon.at("dead_letters.0.id"), due) << soon;
  EXPECT_EQ(soon.at("dead_letters.1"), "?") << soon;
  EXPECT_EQ(get("/v1/dead-letters?q=next_retry:%3E1h").at("dead_letters.0"), "?");
  EXPECT_EQ(get("/v1/dead-letters?q=status:pending%20next_retry:%3C1h%20failed:%3E24h")
                .at("dead_letters.0"),
            "?");
}

TEST_F(Documents, WhatIsArchivedIsNoLongerAmongTheActive) {  // S2-22
  const std::string id = dead(R"("id":"t-1")");
  say("POST", "/v1/dead-letters/" + id + "/archive", "{}");
  EXPECT_EQ(get("/v1/dead-letters?q=status:open").at("dead_letters.0"), "?");
  EXPECT_EQ(get("/v1/dead-letters?q=status:archived").at("dead_letters.0.id"), id);
}

TEST_F(Documents, ClearingEverythingAnswersHowManyThereWere) {  // S2-23
  for (int i = 0; i < 3; ++i) dead(R"("id":"t-)" + std::to_string(i) + R"(")");
  const Told job =
      say("POST", "/v1/jobs", R"({"act":"discard","query":"status:open","start":true})");
  ASSERT_EQ(job.status(), 201) << job;
  const std::string path = "/v1/jobs/" + job.at("job.id");
  EXPECT_TRUE(eventually([&] { return get(path).at("job.state") == "done"; })) << get(path);
  EXPECT_EQ(get(path).at("progress.ok"), "3");
  EXPECT_EQ(get("/v1/dead-letters?q=status:open").at("dead_letters.0"), "?");
}

TEST_F(Documents, NumbersAreToldByStatusAndCategory) {  // S2-24
  dead(R"("id":"t-1")");
  const Told stats = get("/v1/stats");
  EXPECT_EQ(stats.at("statuses.pending"), "1") << stats;
  EXPECT_EQ(stats.at("counts.0.count"), "1") << stats;
  EXPECT_NE(stats.at("counts.0.category"), "?") << stats;
}

TEST_F(Documents, ATopicIsBrowsedFromItsBeginningWithHeadersAndCounted) {  // S4-18, S4-19, S4-20
  dead(R"("id":"e-1","headers":[{"name":"event-type","value":"BalanceUpdated"}])");
  dead(R"("id":"e-2")");
  const Told page =
      get("/v1/dead-letters?q=source:payments&order=oldest&columns=t=header.event-type");
  EXPECT_EQ(page.at("dead_letters.0.message_id"), "e-1") << page;
  EXPECT_EQ(page.at("dead_letters.0.columns.t"), "BalanceUpdated") << page;
  EXPECT_EQ(page.at("dead_letters.1.message_id"), "e-2") << page;
  EXPECT_EQ(get("/v1/stats").at("statuses.pending"), "2");
}

TEST_F(Documents, AnEventIsTakenOutAndSentBackToItsTopicWithItsType) {  // S4-21, S4-22
  say("PUT", "/v1/queues/payments", "{}");
  const std::string id = dead(R"("id":"e-1","event_type":"BalanceUpdated","json":{"amount":1},)"
                              R"("headers":[{"name":"event-type","value":"BalanceUpdated"}])");
  const Told kafka = get("/v1/dead-letters/" + id + "?form=kafka");
  EXPECT_EQ(kafka.at("body.eventPayload"), R"({"amount":1})") << kafka;
  EXPECT_EQ(kafka.at("body.originalTopic"), "payments");
  const Told job = say("POST", "/v1/jobs",
                       R"({"act":"replay","ids":[")" + id + R"("],"watch":"0s","start":true})");
  const std::string path = "/v1/jobs/" + job.at("job.id");
  EXPECT_TRUE(eventually([&] { return get(path).at("job.state") == "done"; })) << get(path);
  const Told there = get("/v1/queues/payments/messages");
  EXPECT_EQ(there.at("messages.0.event_type"), "BalanceUpdated") << there;
  EXPECT_TRUE(there.says(R"("name":"event-type","value":"BalanceUpdated")")) << there;
  EXPECT_TRUE(there.says(R"("name":"dlo-replay","value":"1")")) << "replays are counted" << there;
}

}  // namespace
}  // namespace dlo::api
