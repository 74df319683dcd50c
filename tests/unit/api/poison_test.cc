#include <gtest/gtest.h>
#include <string>

#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/jobs/discard_keeper.h"

namespace dlo::api {
namespace {

using testing::must;

class PoisonTest : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  /// An activity of instance `instance` that was poisoned in queue `work`.
  void poison(const std::string& instance, const std::string& activity) {
    say("PUT", "/v1/queues/work", R"({"profile":"durable"})");
    const std::string owner =
        R"("owner":{"instance":")" + instance + R"(","execution":3)" +
        (activity.empty() ? "" : R"(,"activity":{"name":")" + activity + R"(","id":9})") + "}";
    ask("POST", "/v1/queues/work/messages", R"({"payload":"input",)" + owner + "}",
        {{"Content-Type", "application/x-ndjson"}});
    const Told got = ask("POST", "/v1/queues/work/receive");
    const Told dead = say("POST", "/v1/queues/work/settle",
                          R"({"outcome":"abandon","force_poison":true,"error_message":"boom",)"
                          R"("increment_count":true,"lease":")" +
                              got.at("messages.0.lease") + "\"}");
    EXPECT_EQ(dead.at("fate"), "dead") << dead;
  }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(PoisonTest, ItemsAreListedByKindAndInstance) {  // S3-31, S3-32, S3-37
  poison("i1", "");
  poison("i1", "charge");
  poison("i2", "charge");
  const Told activities = get("/v1/poison/activities?instance=i2");
  EXPECT_EQ(activities.at("items.0.instance_id"), "i2") << activities;
  EXPECT_EQ(activities.at("items.0.activity_name"), "charge");
  EXPECT_EQ(activities.at("items.0.execution_id"), "3");
  EXPECT_EQ(activities.at("items.0.activity_id"), "9");
  EXPECT_EQ(activities.at("items.0.abandon_count"), "1");
  EXPECT_EQ(activities.at("items.0.last_error"), "boom");
  EXPECT_EQ(activities.at("items.0.poisoned_at"), "2026-03-01T12:00:00.000Z");
  EXPECT_EQ(activities.at("items.1"), "?");
  EXPECT_NE(get("/v1/poison/activities").at("items.1.poison_id"), "?");
  EXPECT_EQ(get("/v1/poison/orchestrations").at("items.0.instance_id"), "i1");
  EXPECT_EQ(get("/v1/poison/orchestrations").at("items.1"), "?");
}

TEST_F(PoisonTest, AnItemNamesItsMessageTypeAsTheErrorValueDoes) {  // S3-10, S3-11
  poison("i1", "");
  poison("i1", "charge");
  EXPECT_EQ(get("/v1/poison/orchestrations").at("items.0.message_type"), "Orchestration");
  const Told activities = get("/v1/poison/activities");
  EXPECT_EQ(activities.at("items.0.message_type.Activity.activity_name"), "charge") << activities;
  EXPECT_EQ(activities.at("items.0.message_type.Activity.activity_id"), "9");
}

TEST_F(PoisonTest, TheFourNumbersOfARuntimeAreToBeHad) {  // S3-39
  poison("i1", "");
  poison("i1", "charge");
  poison("i2", "charge");
  say("PUT", "/v1/queues/worker_queue", R"({"profile":"durable"})");
  ask("POST", "/v1/queues/worker_queue/messages", "x");
  ask("POST", "/v1/queues/work/messages", "x");
  ask("POST", "/v1/queues/work/messages", "x");
  const Told usual = get("/v1/poison/stats");
  EXPECT_EQ(usual.at("poison_orchestrator_count"), "1") << usual;
  EXPECT_EQ(usual.at("poison_worker_count"), "2");
  EXPECT_EQ(usual.at("orchestrator_queue"), "0");
  EXPECT_EQ(usual.at("worker_queue"), "1");
  EXPECT_EQ(get("/v1/poison/stats?orchestrator_queue=work").at("orchestrator_queue"), "2");
  EXPECT_EQ(get("/v1/poison/stats?worker_queue=nowhere").status(), 404);
}

TEST_F(PoisonTest, AnAbandonWaitsAsLongAsItsDelaySays) {  // R11
  say("PUT", "/v1/queues/work", R"({"profile":"durable"})");
  ask("POST", "/v1/queues/work/messages", "x");
  std::string lease;
  const auto is_there = [&] {
    const Told got = ask("POST", "/v1/queues/work/receive");
    lease = got.at("messages.0.lease");
    return lease != "?";
  };
  const auto abandon = [&](const std::string& delay) {
    return say("POST", "/v1/queues/work/settle",
               R"({"outcome":"abandon",)" + delay + R"(,"lease":")" + lease + "\"}");
  };
  ASSERT_TRUE(is_there());
  EXPECT_EQ(abandon(R"("delay":"soon")").status(), 400);
  EXPECT_EQ(abandon(R"("delay":"5s","delay_ms":5)").status(), 400);
  for (const char* delay : {R"("delay":"5s")", R"("delay_ms":5000)"}) {
    EXPECT_EQ(abandon(delay).at("fate"), "released");
    clock_.advance(std::chrono::milliseconds{4'999});
    EXPECT_FALSE(is_there()) << delay;
    clock_.advance(std::chrono::milliseconds{1});
    EXPECT_TRUE(is_there()) << delay;
  }
}

TEST_F(PoisonTest, TheBookIsReadByPages) {
  for (const std::string instance : {"i1", "i2", "i3"}) poison(instance, "charge");
  const Told first = get("/v1/poison/activities?limit=2");
  EXPECT_EQ(first.at("items.1.instance_id"), "i2") << first;
  EXPECT_EQ(first.at("items.2"), "?");
  EXPECT_EQ(first.at("next"), first.at("items.1.poison_id"));
  const Told rest = get("/v1/poison/activities?limit=2&after=" + first.at("next"));
  EXPECT_EQ(rest.at("items.0.instance_id"), "i3") << rest;
  EXPECT_EQ(rest.at("next"), "null");
  EXPECT_EQ(get("/v1/poison/activities?limit=0").status(), 400);
}

TEST_F(PoisonTest, OneIsShownWithItsInput) {  // S3-33, S3-38
  poison("i1", "charge");
  const std::string id = get("/v1/poison/activities").at("items.0.poison_id");
  const Told shown = get("/v1/poison/activities/" + id);
  EXPECT_EQ(shown.at("input"), "input") << shown;
  EXPECT_EQ(shown.at("original_created_at"), "2026-03-01T12:00:00.000Z");
  EXPECT_EQ(get("/v1/poison/orchestrations/" + id).status(), 404) << "of another kind";
  EXPECT_EQ(get("/v1/poison/activities/x").status(), 400);
}

TEST_F(PoisonTest, RemovingAnswersWhetherThereWasOne) {  // S3-34
  poison("i1", "charge");
  const std::string id = get("/v1/poison/activities").at("items.0.poison_id");
  EXPECT_EQ(ask("DELETE", "/v1/poison/activities/" + id).at("removed"), "true");
  EXPECT_EQ(ask("DELETE", "/v1/poison/activities/" + id).at("removed"), "false");
  EXPECT_EQ(get("/v1/poison/activities").at("items.0"), "?");
}

TEST_F(PoisonTest, WhatIsRemovedCanBeRestoredUntilItsGraceEndsAndIsGoneAfterwards) {
  // As of an office in which everything older was looked for long ago.
  EXPECT_EQ(must(sweep_discarded(office_, Millis{0}, clock_.now())), 0U);
  poison("i1", "charge");
  poison("i2", "charge");
  const Told items = get("/v1/poison/activities");
  const std::string restored = get("/v1/dead-letters?q=status:open").at("dead_letters.0.id");
  for (const auto* item : {"items.0.poison_id", "items.1.poison_id"}) {
    EXPECT_EQ(ask("DELETE", "/v1/poison/activities/" + items.at(item)).at("removed"), "true");
  }
  EXPECT_EQ(say("POST", "/v1/dead-letters/" + restored + "/restore", "{}").status(), 200);
  const Millis grace = std::chrono::hours{1};
  EXPECT_EQ(must(sweep_discarded(office_, grace, clock_.now() + grace - Millis{1})), 0U);
  EXPECT_EQ(must(sweep_discarded(office_, grace, clock_.now() + grace)), 1U);
  EXPECT_NE(get("/v1/dead-letters/" + restored).at("status"), "discarding");
}

TEST_F(PoisonTest, ARetryGoesBackToItsQueueWithTheCountReset) {  // S3-35
  poison("i1", "charge");
  const std::string id = get("/v1/poison/activities").at("items.0.poison_id");
  const auto retry = [&](const std::string& key) {
    return say("POST", "/v1/poison/activities/" + id + "/retry", "", {{"Idempotency-Key", key}});
  };
  EXPECT_EQ(retry("first").at("retried"), "true");
  EXPECT_EQ(retry("second").at("retried"), "false");
  const Told again = retry("first");
  EXPECT_EQ(again.at("retried"), "true") << "whoever did not hear the answer hears it now";
  EXPECT_EQ(again.header("Idempotency-Replayed"), "true");
  const Told got = ask("POST", "/v1/queues/work/receive");
  EXPECT_EQ(got.at("messages.0.message.payload"), "input") << got;
  EXPECT_EQ(got.at("messages.0.counters.abandon"), "0");
}

TEST_F(PoisonTest, WithoutQueuesARetryIsRefused) {
  poison("i1", "charge");
  const std::string id = get("/v1/poison/activities").at("items.0.poison_id");
  service_ = std::make_unique<Service>(office_, nullptr, clock_, options_);
  EXPECT_EQ(say("POST", "/v1/poison/activities/" + id + "/retry", "").status(), 409);
}

}  // namespace
}  // namespace dlo::api
