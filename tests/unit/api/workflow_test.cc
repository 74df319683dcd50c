// The way a dead letter is worked on, from the first look to its end (S1-39 to S1-44).
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

class WorkflowTest : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(WorkflowTest, ADeadLetterIsInspectedWithPayloadErrorAndAttempts) {  // S1-40
  const std::string id = dead(R"("id":"p-1","json":{"booking":-7},"attempts":3,"final":true)");
  const Told told = get("/v1/dead-letters/" + id);
  EXPECT_TRUE(told.says("booking")) << told;
  EXPECT_TRUE(told.says("card expired")) << told;
  EXPECT_TRUE(told.says(R"("attempt":3)")) << told;
}

TEST_F(WorkflowTest, WhatIsTriedByHandAndFailsStaysOpenWithTheError) {  // S1-42
  const std::string id = dead(R"("id":"p-1")");
  const std::string path = "/v1/dead-letters/" + id;
  const Told told =
      say("POST", path + "/attempts", R"({"error":"booking 7 is locked","type":"BookingLocked"})");
  EXPECT_EQ(told.status(), 200) << told;
  EXPECT_EQ(get("/v1/dead-letters?q=status:open+error:locked").at("dead_letters.0.id"), id);
  const Told after = get(path);
  EXPECT_EQ(after.at("attempts.0.error_text"), "booking 7 is locked") << after;
  EXPECT_TRUE(after.says("BookingLocked"));
  EXPECT_EQ(get("/v1/audit").at("entries.1.act"), "attempt");
  say("POST", path + "/resolve",
      R"({"by":"ana","notes":"Manually processed after fixing booking data"})");
  EXPECT_EQ(say("POST", path + "/attempts", R"({"error":"x"})").status(), 409);
  EXPECT_EQ(say("POST", path + "/attempts", R"({"error":""})").status(), 400);
}

TEST_F(WorkflowTest, ARepublishedOneIsResolvedByNobodyOnceTheQueueHasIt) {  // S1-43
  say("PUT", "/v1/queues/payments", "{}");
  const std::string id = dead(R"("id":"p-1","json":{"amount":-1})");
  say("POST", "/v1/dead-letters/" + id + "/edit", R"({"json":{"amount":1},"reason":"sign"})");
  const Told job = say("POST", "/v1/jobs",
                       R"({"act":"replay","ids":[")" + id +
                           R"("],"watch":"0s","start":true,)"
                           R"("notes":"Republished to queue after fixing root cause"})");
  ASSERT_EQ(job.status(), 201) << job;
  ASSERT_TRUE(eventually([&] {
    clock_.advance(Millis{100});
    return get("/v1/jobs/" + job.at("job.id")).at("job.state") == "done";
  }));
  const Told resolved = get("/v1/dead-letters/" + id);
  EXPECT_TRUE(resolved.says(R"("status":"resolved")")) << resolved;
  EXPECT_EQ(resolved.at("resolution.by"), "") << resolved;
  EXPECT_EQ(resolved.at("resolution.how"), "republished") << resolved;
  const Told message = ask("POST", "/v1/queues/payments/receive?limit=1");
  EXPECT_EQ(message.at("messages.0.message.payload"), R"({"amount":1})")
      << "the newest version: " << message;
}

TEST_F(WorkflowTest, DeadLettersOfTheLastDayAreFoundResolvedOrNot) {  // S1-35, S1-36
  const std::string old = dead(R"("id":"old","event_type":"PaymentRetryFailed")");
  clock_.advance(Millis{25 * 3'600'000});
  const std::string first = dead(R"("id":"1","event_type":"PaymentRetryFailed")");
  clock_.advance(Millis{1000});
  const std::string second = dead(R"("id":"2","event_type":"Other")");
  say("POST", "/v1/dead-letters/" + second + "/resolve", "{}");
  const Told day = get("/v1/dead-letters?q=age:%3C24h");
  EXPECT_EQ(day.at("dead_letters.0.id"), second) << day;
  EXPECT_EQ(day.at("dead_letters.1.id"), first);
  EXPECT_EQ(day.at("dead_letters.2.id"), "?");
  const Told failed = get("/v1/dead-letters?q=status:open+type:PaymentRetryFailed");
  EXPECT_EQ(failed.at("dead_letters.0.id"), first) << failed;
  EXPECT_EQ(failed.at("dead_letters.1.id"), old);
}

}  // namespace
}  // namespace dlo::api
