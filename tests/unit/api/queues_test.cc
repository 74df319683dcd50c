#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/api/message_frames.h"
#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::api {
namespace {

using testing::eventually;
using testing::must;

class QueuesTest : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void restart() {
    service_.reset();
    must(queues_->close());
    queues_.reset();
    start();
  }
  void TearDown() override { service_.reset(); }

  void declare(const std::string& members = "") {
    const Told told = say("PUT", "/v1/queues/orders", "{" + members + "}");
    EXPECT_EQ(told.status(), 201) << told;
  }
  Told send(const std::string& payload, const std::string& query = "") {
    return ask("POST", "/v1/queues/orders/messages" + query, payload,
               {{"Content-Type", "text/plain"}});
  }
  Told lines(const std::string& act, const std::string& body) {
    return ask("POST", "/v1/queues/orders/" + act, body,
               {{"Content-Type", "application/x-ndjson"}});
  }
  Told receive(const std::string& query = "", Headers headers = {}) {
    return ask("POST", "/v1/queues/orders/receive" + query, "", std::move(headers));
  }
  Told settle(const std::string& lease, const std::string& outcome,
              const std::string& members = "") {
    return say("POST", "/v1/queues/orders/settle",
               R"({"lease":")" + lease + R"(","outcome":")" + outcome + "\"" +
                   (members.empty() ? "" : "," + members) + "}");
  }
  Told show() { return get("/v1/queues/orders"); }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(QueuesTest, WhatHasExpiredMakesRoomThoughNobodyReceives) {
  for (const bool drops : {false, true}) {
    SCOPED_TRACE(drops);
    const Told told = say("PUT", "/v1/queues/orders",
                          std::string(R"({"max_messages":2,"ttl_ms":1000,"drop_expired":)") +
                              (drops ? "true}" : "false}"));
    EXPECT_LT(told.status(), 300) << told;
    EXPECT_EQ(send("a").status(), 201);
    EXPECT_EQ(send("b").status(), 201);
    EXPECT_EQ(send("c").status(), 507);
    EXPECT_EQ(ask("POST", "/v1/queues/orders/pause", "").status(), 200);
    clock_.advance(Millis{2000});
    // By itself, when the server next looks after its queues.
    EXPECT_TRUE(eventually([&] { return show().at(drops ? "expired" : "dead") == "2"; })) << show();
    EXPECT_EQ(show().at("ready"), "0");
    EXPECT_EQ(send("c").status(), 201);
    EXPECT_EQ(ask("POST", "/v1/queues/orders/purge", R"({"confirm":"orders"})",
                  {{"Content-Type", "application/json"}})
                  .status(),
              200);
    EXPECT_EQ(ask("POST", "/v1/queues/orders/resume", "").status(), 200);
  }
}

TEST_F(QueuesTest, AMessageGoesThroughAQueue) {
  declare();
  EXPECT_EQ(send("hello", "?id=1&type=Greeting&key=k").status(), 201);
  const Told got = receive();
  EXPECT_EQ(got.at("messages.0.message.payload"), "hello") << got;
  EXPECT_EQ(got.at("messages.0.message.id"), "1");
  EXPECT_EQ(got.at("messages.0.message.event_type"), "Greeting");
  EXPECT_EQ(got.at("messages.0.message.content_type"), "text/plain");
  EXPECT_EQ(got.at("messages.0.attempt"), "1");
  EXPECT_EQ(receive().at("messages.0"), "?");
  const std::string lease = got.at("messages.0.lease");
  EXPECT_EQ(settle(lease, "complete").at("fate"), "completed");
  const Told again = settle(lease, "complete");
  EXPECT_EQ(again.status(), 409);
  EXPECT_EQ(again.at("code"), "lease_lost");
  EXPECT_EQ(show().at("completed"), "1");
}

TEST_F(QueuesTest, AFailureIsDecidedByTheQueuesProfileAndADeadLetterIsInTheOffice) {
  declare(R"("profile":"service-bus")");
  send("x", "?id=1");
  Told got = receive();
  const Told again = settle(got.at("messages.0.lease"), "fail", R"("error":"network down")");
  EXPECT_EQ(again.at("fate"), "retried") << again;
  clock_.advance_to(TimePoint::max() - std::chrono::hours{24 * 365});
  got = receive();
  const Told dead = settle(got.at("messages.0.lease"), "fail",
                           R"("failure":{"type":"BadRequest","text":"bad request"})");
  EXPECT_EQ(dead.at("fate"), "dead");
  EXPECT_EQ(dead.at("reason"), "NonRetryableError");
  const Told record = get("/v1/dead-letters/" + dead.at("dead_letter"));
  EXPECT_EQ(record.at("failure.type"), "BadRequest") << record;
  EXPECT_EQ(record.at("message.source"), "orders");
  EXPECT_EQ(show().at("dead_lettered"), "1");
}

TEST_F(QueuesTest, TheDeadOfAQueueAreThoseOfTheOfficeThatSomebodyHasToDealWith) {
  declare();
  say("PUT", "/v1/queues/others", "{}");
  send("x", "?id=1");
  send("y", "?id=2");
  EXPECT_EQ(show().at("dead"), "0");
  const Told first =
      settle(receive().at("messages.0.lease"), "dead_letter", R"("reason":"Policy")");
  EXPECT_EQ(get("/v1/dead-letters/" + first.at("dead_letter")).at("category"), "rejected");
  settle(receive().at("messages.0.lease"), "dead_letter", R"("reason":"Policy")");
  EXPECT_EQ(show().at("dead"), "2");
  EXPECT_EQ(get("/v1/queues/others").at("dead"), "0");
  say("POST", "/v1/dead-letters/" + first.at("dead_letter") + "/resolve", "{}");
  EXPECT_EQ(show().at("dead"), "1");
  EXPECT_EQ(show().at("dead_lettered"), "2");
}

TEST_F(QueuesTest, AQueueTellsHowMuchComesAndGoes) {
  declare();
  for (int i = 0; i < 50; ++i) send("x", "?id=" + std::to_string(i));
  clock_.advance(Millis{2000});
  EXPECT_NE(show().at("in_per_second"), "0");
  EXPECT_EQ(show().at("out_per_second"), "0");
  clock_.advance(Millis{60'000});
  EXPECT_EQ(show().at("in_per_second"), "0");
}

TEST_F(QueuesTest, ADeadLetterOfAQueueCanBeRetriedAndIsHandedOutAgain) {
  declare(R"("profile":"service-bus")");
  send("x", "?id=1");
  const Told dead = settle(receive().at("messages.0.lease"), "dead_letter",
                           R"("reason":"Policy","description":"not today")");
  const std::string id = dead.at("dead_letter");
  EXPECT_EQ(say("POST", "/v1/dead-letters/" + id + "/retry", "{}").status(), 200);
  clock_.advance(Millis{1000});
  const Told got = receive();
  EXPECT_EQ(got.at("messages.0.message.id"), "1") << got;
  EXPECT_EQ(get("/v1/dead-letters/" + id).at("status"), "retrying");
  EXPECT_EQ(settle(got.at("messages.0.lease"), "complete").at("fate"), "completed");
  const Told resolved = get("/v1/dead-letters/" + id);
  EXPECT_EQ(resolved.at("status"), "resolved");
  EXPECT_EQ(resolved.at("resolution.how"), "retried");
}

TEST_F(QueuesTest, AbandonReleaseAndRenewAreWhatTheySay) {
  declare();
  send("x");
  std::string lease = receive("?lease_ms=1000").at("messages.0.lease");
  EXPECT_EQ(settle(lease, "renew", R"("lease_ms":60000)").at("fate"), "renewed");
  clock_.advance(Millis{30'000});
  EXPECT_EQ(settle(lease, "release").at("fate"), "released");
  lease = receive().at("messages.0.lease");
  EXPECT_EQ(settle(lease, "abandon", R"("increment_count":true,"error_message":"e")").status(),
            200);
  const Told got = receive();
  EXPECT_EQ(got.at("messages.0.counters.abandon"), "1") << got;
  const Told poisoned = settle(got.at("messages.0.lease"), "abandon", R"("force_poison":true)");
  EXPECT_EQ(poisoned.at("fate"), "dead") << poisoned;
}

TEST_F(QueuesTest, BatchesGoAsLines) {
  declare();
  const Told sent = lines("messages",
                          "{\"id\":\"1\",\"json\":{\"n\":1.10}}\n"
                          "{\"id\":\"2\",\"payload\":\"two\",\"headers\":[{\"name\":\"t\","
                          "\"value\":\"v\"}]}\n");
  EXPECT_EQ(sent.at("sent"), "2") << sent;
  const Told got = receive("?limit=10", {{"Accept", "application/x-ndjson"}});
  EXPECT_EQ(std::count(got.body().begin(), got.body().end(), '\n'), 2) << got;
  EXPECT_TRUE(got.says(R"("payload":"{\"n\":1.10}")")) << got;
  std::string wishes;
  std::size_t from = 0;
  for (int i = 0; i < 2; ++i) {
    from = got.body().find("\"lease\":\"", from) + 9;
    wishes += R"({"lease":")" + got.body().substr(from, 32) + R"(","outcome":"complete"})" + "\n";
  }
  wishes += R"({"lease":")" + std::string(32, '0') + R"(","outcome":"complete"})";
  const Told settled = lines("settle", wishes);
  EXPECT_EQ(settled.status(), 207);
  EXPECT_EQ(settled.body(),
            "{\"fate\":\"completed\"}\n{\"fate\":\"completed\"}\n{\"fate\":\"lease_lost\"}\n");
}

TEST_F(QueuesTest, ABatchWithABadLineIsNotSentAtAll) {
  declare();
  const Told told = lines("messages", "{\"payload\":\"a\"}\n{\"paylod\":\"b\"}\n");
  EXPECT_EQ(told.status(), 400);
  EXPECT_TRUE(told.says("Line 2")) << told;
  EXPECT_TRUE(told.says("paylod"));
  EXPECT_EQ(show().at("ready"), "0");
  EXPECT_EQ(lines("messages", R"({"source":"other","payload":"x"})").status(), 400);
  EXPECT_EQ(lines("messages", R"({"payload":"x","delay_ms":-1})").status(), 400);
}

TEST_F(QueuesTest, BatchesGoAsFramesByteForByte) {
  declare();
  std::string frames;
  append_frame(frames, "", std::string("\x00\xff", 2));
  append_frame(frames, R"({"id":"2","key":"k"})", "two");
  const std::string type(frames_type);
  EXPECT_EQ(ask("POST", "/v1/queues/orders/messages", frames, {{"Content-Type", type}}).at("sent"),
            "2");
  const Told got = receive("?limit=10", {{"Accept", type}});
  EXPECT_EQ(got.http.content_type, type);
  // u32 size, 16 bytes lease, u32 attempt, u32 head, head, payload
  ASSERT_GE(got.body().size(), 30U);
  EXPECT_EQ(got.body().substr(0, 4), std::string("\x1a\0\0\0", 4));
  EXPECT_EQ(got.body().substr(20, 8), std::string("\1\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(got.body().substr(28, 2), std::string("\x00\xff", 2));
  EXPECT_TRUE(got.body().ends_with("two"));
  EXPECT_TRUE(got.says("\"key\":\"k\""));
  const std::string settlement = got.body().substr(4, 16) + std::string(1, '\0');
  const Told settled = ask("POST", "/v1/queues/orders/settle", settlement + settlement,
                           {{"Content-Type", std::string(settlements_type)}});
  EXPECT_EQ(settled.at("settled"), "1") << settled;
  EXPECT_EQ(settled.at("lost.0"), "1");
  for (const std::string& bad :
       {std::string("\1"), std::string("\xff\xff\xff\xff\0\0\0\0", 8),
        std::string("\4\0\0\0\5\0\0\0", 8), std::string("\3\0\0\0\0\0\0\0", 8)}) {
    EXPECT_EQ(ask("POST", "/v1/queues/orders/messages", bad, {{"Content-Type", type}}).status(),
              400);
  }
}

TEST_F(QueuesTest, WhatCameInAFrameCanBeToldAsFailedInJson) {
  declare();
  send("x");
  const Told got = receive("", {{"Accept", std::string(frames_type)}});
  ASSERT_GE(got.body().size(), 20U);
  std::string lease;
  for (const char byte : got.body().substr(4, 16)) {
    constexpr std::string_view digits = "0123456789abcdef";
    lease += digits[static_cast<unsigned char>(byte) / 16];
    lease += digits[static_cast<unsigned char>(byte) % 16];
  }
  EXPECT_EQ(settle(lease, "dead_letter", R"("reason":"Policy")").at("fate"), "dead");
}

TEST_F(QueuesTest, WhoWaitsGetsAMessageAsSoonAsThereIsOneAndHoldsNoThread) {
  options_.quick_threads = 1;
  declare();
  auto first = begin("POST", "/v1/queues/orders/receive?wait_ms=60000");
  std::vector<std::shared_ptr<Asked>> others;
  for (int i = 0; i < 50; ++i) {
    others.push_back(begin("POST", "/v1/queues/orders/receive?wait_ms=60000"));
  }
  EXPECT_EQ(send("one").status(), 201) << "the only thread is free";
  EXPECT_EQ(Told{first->answer()}.at("messages.0.message.payload"), "one") << "longest first";
  EXPECT_FALSE(others.back()->answered());
  service_->stop_waiting();
  EXPECT_EQ(Told{others.back()->answer()}.at("messages.0"), "?") << "a stop answers everybody";
}

TEST_F(QueuesTest, WhoWaitsInVainIsAnsweredWithNothingWhenTheTimeIsUp) {
  declare();
  auto waiting = begin("POST", "/v1/queues/orders/receive?wait_ms=5000");
  // It begins to wait on a thread of its own, so time goes on until it has waited long enough.
  EXPECT_TRUE(eventually([&] {
    clock_.advance(Millis{1000});
    return waiting->answered();
  }));
  const Told told{waiting->answer()};
  EXPECT_EQ(told.status(), 200);
  EXPECT_EQ(told.at("messages.0"), "?");
}

TEST_F(QueuesTest, ADelayEndsForThoseWhoWait) {
  declare();
  send("later", "?delay_ms=10000");
  auto waiting = begin("POST", "/v1/queues/orders/receive?wait_ms=60000");
  EXPECT_EQ(show().at("delayed"), "1");
  EXPECT_FALSE(waiting->answered());
  clock_.advance(Millis{10'000});
  EXPECT_EQ(Told{waiting->answer()}.at("messages.0.message.payload"), "later");
}

TEST_F(QueuesTest, NothingIsHandedToSomebodyWhoLeft) {
  declare();
  auto left = begin("POST", "/v1/queues/orders/receive?wait_ms=60000");
  ASSERT_TRUE(eventually([&] { return show().at("ready") == "0"; }));
  left->leave();
  send("x");
  EXPECT_EQ(receive().at("messages.0.message.payload"), "x");
}

TEST_F(QueuesTest, WhatWasFetchedForSomebodyWhoLeftMeanwhileIsGivenBackUncounted) {
  declare();
  send("x");
  auto leaving = std::make_shared<Asked>();
  leaving->leave_after(1);  // there when the list of those who wait is read, gone when served
  begin("POST", "/v1/queues/orders/receive?wait_ms=60000", "", {}, leaving);
  const Told got = receive("?wait_ms=30000");
  EXPECT_EQ(got.at("messages.0.message.payload"), "x") << got;
  EXPECT_EQ(got.at("messages.0.attempt"), "1");
}

TEST_F(QueuesTest, AQueueIsDeclaredOnceAndKeepsItsSettings) {
  declare(R"("profile":"kafka","lease_ms":5000,"max_messages":2)");
  send("kept");
  EXPECT_EQ(
      say("PUT", "/v1/queues/orders", R"({"profile":"kafka","lease_ms":5000,"max_messages":2})")
          .status(),
      200);
  restart();
  const Told told = show();
  EXPECT_EQ(told.at("profile"), "kafka") << told;
  EXPECT_EQ(told.at("lease_ms"), "5000");
  EXPECT_EQ(told.at("ready"), "1");
  send("second");
  const Told full = send("third");
  EXPECT_EQ(full.status(), 507) << full;
  EXPECT_EQ(full.header("Retry-After"), "10");
  EXPECT_EQ(full.at("code"), "full");
  EXPECT_EQ(get("/v1/audit").at("entries.0.act"), "declare");
}

// Who declares a queue is told what its profile risks.
TEST_F(QueuesTest, WhatAProfileRisksIsSaidWhereAQueueIsDeclared) {
  Profile own = must(find_profile("standard"));
  own.name = "mine";
  own.invalid = InvalidAction::drop;
  options_.rules.set(own);
  EXPECT_TRUE(say("PUT", "/v1/queues/a", R"({"profile":"mine"})").says("(invalid: drop)"));
  EXPECT_EQ(say("PUT", "/v1/queues/b", "{}").at("caution"), "");
}

TEST_F(QueuesTest, SettingsDoNotChangeUnderMessagesThatAreInWorkersHands) {
  declare();
  send("x");
  const std::string lease = receive().at("messages.0.lease");
  EXPECT_EQ(say("PUT", "/v1/queues/orders", R"({"profile":"kafka"})").status(), 409);
  EXPECT_EQ(settle(lease, "complete").status(), 200) << "as if nothing had been asked";
  EXPECT_EQ(say("PUT", "/v1/queues/orders", R"({"profile":"kafka"})").at("profile"), "kafka");
  send("y");
  EXPECT_EQ(receive().at("messages.0.message.payload"), "y");
}

TEST_F(QueuesTest, NonsenseIsRefused) {
  declare();
  EXPECT_EQ(say("PUT", "/v1/queues/a%20b", "{}").status(), 400);
  EXPECT_EQ(say("PUT", "/v1/queues/o", R"({"profile":"kafak"})").status(), 400);
  EXPECT_EQ(say("PUT", "/v1/queues/o", R"({"lease_ms":0})").status(), 400);
  EXPECT_EQ(say("PUT", "/v1/queues/o", R"({"max_mesages":1})").status(), 400);
  const Told unknown = get("/v1/queues/odrers");
  EXPECT_EQ(unknown.status(), 404);
  EXPECT_TRUE(unknown.says("orders") && unknown.says("PUT")) << unknown;
  EXPECT_EQ(receive("?limit=0").status(), 400);
  EXPECT_EQ(receive("?wait_ms=99999999").status(), 400);
  EXPECT_EQ(settle("abc", "complete").status(), 400);
  EXPECT_EQ(settle(std::string(32, '0'), "explode").status(), 400);
  EXPECT_EQ(settle(std::string(32, '0'), "complete", R"("error":"x")").status(), 400);
  EXPECT_EQ(send("x", "?priority=urgent").status(), 400);
  EXPECT_EQ(ask("POST", "/v1/queues/orders/settle", "x", {{"Content-Type", "text/plain"}}).status(),
            400);
}

TEST_F(QueuesTest, APausedQueueHandsNothingOutAndResumesForThoseWhoWait) {
  declare();
  EXPECT_EQ(say("POST", "/v1/queues/orders/pause", "").at("paused"), "true");
  send("x");
  EXPECT_EQ(receive().at("messages.0"), "?");
  auto waiting = begin("POST", "/v1/queues/orders/receive?wait_ms=60000");
  EXPECT_EQ(say("POST", "/v1/queues/orders/resume", "").at("paused"), "false");
  EXPECT_EQ(Told{waiting->answer()}.at("messages.0.message.payload"), "x");
}

TEST_F(QueuesTest, PeekingChangesNothingAndAPurgeWantsToBeMeant) {
  declare();
  send("x");
  EXPECT_EQ(get("/v1/queues/orders/messages").at("messages.0.payload"), "x");
  const Told refused = say("POST", "/v1/queues/orders/purge", R"({"confirm":"yes"})");
  EXPECT_EQ(refused.status(), 400);
  EXPECT_EQ(refused.at("code"), "confirmation_needed");
  EXPECT_EQ(show().at("ready"), "1");
  EXPECT_EQ(say("POST", "/v1/queues/orders/purge", R"({"confirm":"orders"})").at("purged"), "1");
  EXPECT_EQ(show().at("ready"), "0");
}

TEST_F(QueuesTest, MessagesMoveToAnotherQueue) {
  declare();
  say("PUT", "/v1/queues/parking", "{}");
  send("x");
  EXPECT_EQ(say("POST", "/v1/queues/orders/move", R"({"to":"parking"})").at("moved"), "1");
  EXPECT_EQ(get("/v1/queues/parking").at("ready"), "1");
  EXPECT_EQ(say("POST", "/v1/queues/orders/move", R"({"to":"orders"})").status(), 400);
  EXPECT_EQ(say("POST", "/v1/queues/orders/move", R"({"to":"nowhere"})").status(), 404);
  EXPECT_EQ(get("/v1/queues").at("queues.1.queue"), "parking");
}

TEST_F(QueuesTest, UnderOneKeyAMessageIsSentOnce) {
  declare(R"("dedupe_window_ms":60000)");
  const Headers key{{"Idempotency-Key", "k1"}, {"Content-Type", "text/plain"}};
  EXPECT_EQ(ask("POST", "/v1/queues/orders/messages", "x", key).at("sent"), "1");
  const Told again = ask("POST", "/v1/queues/orders/messages", "x", key);
  EXPECT_EQ(again.at("sent"), "0");
  EXPECT_EQ(again.at("duplicates"), "1");
  EXPECT_EQ(show().at("ready"), "1");
  say("PUT", "/v1/queues/forgetful", R"({"dedupe_window_ms":0})");
  EXPECT_EQ(ask("POST", "/v1/queues/forgetful/messages", "x", key).status(), 400);
}

TEST_F(QueuesTest, HeadersOfAMessageComeAsHeadersOfTheRequest) {
  declare();
  ask("POST", "/v1/queues/orders/messages", "x", {{"Dlo-Header-Tenant", "acme"}});
  EXPECT_EQ(receive().at("messages.0.message.headers.0.name"), "tenant");
}

}  // namespace
}  // namespace dlo::api
