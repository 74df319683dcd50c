#include "dlo/api/sources.h"

#include <gtest/gtest.h>
#include <string>

#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/core/identity.h"

namespace dlo::api {
namespace {

using testing::must;

class SourcesTest : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(SourcesTest, QueuesAndReportersAreListedWhoHasMostToDoFirst) {
  say("PUT", "/v1/queues/orders", R"({"profile":"kafka"})");
  dead(R"("id":"1")");
  dead(R"("id":"2")");
  const Told all = get("/v1/sources");
  EXPECT_EQ(all.at("sources.0.source"), "payments") << all;
  EXPECT_EQ(all.at("sources.0.kind"), "reported");
  EXPECT_EQ(all.at("sources.0.open"), "2");
  EXPECT_EQ(all.at("sources.1.source"), "orders");
  EXPECT_EQ(all.at("sources.1.kind"), "queue");
  EXPECT_EQ(all.at("sources.1.profile"), "kafka");
  EXPECT_EQ(get("/v1/sources/orders").at("paused"), "false");
  const Told wrong = get("/v1/sources/order");
  EXPECT_EQ(wrong.status(), 404);
  EXPECT_TRUE(wrong.says("orders")) << wrong;
}

TEST_F(SourcesTest, AQueueIsPausedAndResumedAndItsTestSaysSo) {
  say("PUT", "/v1/queues/orders", "{}");
  EXPECT_EQ(ask("POST", "/v1/sources/orders/test").at("works"), "true");
  EXPECT_EQ(ask("POST", "/v1/sources/orders/pause").at("paused"), "true");
  EXPECT_EQ(get("/v1/queues/orders").at("paused"), "true");
  const Told paused = ask("POST", "/v1/sources/orders/test");
  EXPECT_EQ(paused.at("works"), "false") << paused;
  EXPECT_EQ(ask("POST", "/v1/sources/orders/resume").at("paused"), "false");
  EXPECT_TRUE(get("/v1/audit").says("queue/orders"));
}

TEST_F(SourcesTest, AnOutboxIsListedUnderItsNameAndTellsWhatIsWrong) {
  RelayedSource shop;
  shop.name = "shop";
  shop.table = "public.dlo_outbox";
  shop.shape = "own";
  shop.state = "broker_down";
  shop.published = 7;
  shop.trouble = "nobody listens there";
  options_.relayed = [shop] { return std::vector<RelayedSource>{shop}; };
  const Told one = get("/v1/sources/shop");
  EXPECT_EQ(one.at("kind"), "outbox") << one;
  EXPECT_EQ(one.at("relays.0.state"), "broker_down");
  EXPECT_EQ(one.at("relays.0.published"), "7");
  const Told tested = ask("POST", "/v1/sources/shop/test");
  EXPECT_EQ(tested.at("works"), "false") << tested;
  EXPECT_TRUE(tested.says("nobody listens there")) << tested;
  EXPECT_EQ(ask("POST", "/v1/sources/shop/pause").status(), 409);
}

TEST_F(SourcesTest, WhatOthersReportCannotBePausedHere) {
  dead();
  EXPECT_EQ(ask("POST", "/v1/sources/payments/pause").status(), 409);
  EXPECT_EQ(ask("POST", "/v1/sources/payments/test").at("works"), "true");
}

TEST_F(SourcesTest, RulesExplainAFailureAndADeadLetter) {
  const Told text = say("POST", "/v1/rules/explain",
                        R"({"error":"connection refused","attempt":1,"profile":"standard"})");
  EXPECT_EQ(text.status(), 200) << text;
  EXPECT_EQ(text.at("verdict"), "retry") << text;
  EXPECT_NE(text.at("steps.0.text"), "?");
  const std::string id = dead();
  const Told letter = say("POST", "/v1/rules/explain", R"({"id":")" + id + "\"}");
  EXPECT_EQ(letter.status(), 200) << letter;
  EXPECT_EQ(letter.at("profile"), get("/v1/dead-letters/" + id).at("profile")) << letter;
  EXPECT_EQ(say("POST", "/v1/rules/explain", R"({"id":"x"})").status(), 400);
  EXPECT_EQ(say("POST", "/v1/rules/explain", R"({"error":"a","id":"b"})").status(), 400);
  EXPECT_EQ(say("POST", "/v1/rules/explain", R"({"error":"a","profile":"standart"})").status(),
            404);
}

// The record is right, whatever the rules would have allowed.
TEST_F(SourcesTest, ADeadLetterIsExplainedInAgreementWithItsRecord) {
  const auto agrees = [&](const std::string& id, const std::string& because) {
    const Told record = get("/v1/dead-letters/" + id);
    const Told said = say("POST", "/v1/rules/explain", R"({"id":")" + id + "\"}");
    EXPECT_EQ(said.status(), 200) << said;
    EXPECT_EQ(said.at("verdict"), "dead_letter") << said;
    for (const char* each : {"reason", "description", "category", "rule", "limit", "policy"}) {
      EXPECT_EQ(said.at(each), record.at(each)) << each << "\n" << said << "\n" << record;
    }
    EXPECT_TRUE(said.says(because)) << said;
  };
  agrees(dead(R"("id":"given up","final":true,"attempts":2)"), "reported as given up: kept");
  agrees(dead(R"("id":"once")"), "reported as given up: kept");
  agrees(dead(R"("id":"limited","final":true,"attempts":1,"profile":"kafka+safe")"),
         "reported as given up: kept");
  say("PUT", "/v1/queues/orders", "{}");
  ask("POST", "/v1/queues/orders/messages", "x", {{"Content-Type", "text/plain"}});
  const std::string lease = ask("POST", "/v1/queues/orders/receive").at("messages.0.lease");
  const Told settled =
      say("POST", "/v1/queues/orders/settle",
          R"({"outcome":"dead_letter","reason":"NoSuchAccount","description":"nobody","lease":")" +
              lease + "\"}");
  agrees(settled.at("dead_letter"), "dead-lettered by its worker: kept");
}

TEST_F(SourcesTest, WhatIsOverriddenForAnEventTypeIsAppliedAndNamed) {
  options_.rules.set_event_type("PaymentFailed", {.limit = 2, .policy = {}, .classifier = {}});
  const Told said =
      say("POST", "/v1/rules/explain", R"({"error":"x","event_type":"PaymentFailed","attempt":2})");
  EXPECT_EQ(said.at("verdict"), "dead_letter") << said;
  EXPECT_EQ(said.at("limit"), "2") << said;
  EXPECT_TRUE(said.says("set by event type PaymentFailed")) << said;
  EXPECT_EQ(say("POST", "/v1/rules/explain", R"({"error":"x","attempt":2})").at("limit"), "5");
  const std::string id = dead(R"("id":"p","event_type":"PaymentFailed","attempts":2)");
  const Told letter = say("POST", "/v1/rules/explain", R"({"id":")" + id + "\"}");
  EXPECT_EQ(letter.at("limit"), get("/v1/dead-letters/" + id).at("limit")) << letter;
  EXPECT_EQ(letter.at("limit"), "2") << letter;
}

TEST_F(SourcesTest, WhatIsSupposedOfADeadLetterIsDecidedByTheRules) {
  const std::string id = dead();
  const auto supposing = [&](const std::string& members) {
    return say("POST", "/v1/rules/explain", R"({"id":")" + id + "\"," + members + "}");
  };
  EXPECT_EQ(supposing(R"("attempt":2)").at("verdict"), "retry");
  EXPECT_EQ(supposing(R"("counters":{"attempt":9})").at("verdict"), "dead_letter");
  EXPECT_EQ(supposing(R"("counters":{"atempt":9})").status(), 400);
  EXPECT_EQ(supposing(R"("profile":"kafka")").at("profile"), "kafka");
  EXPECT_TRUE(supposing(R"("profile":"kafka")").says("\"caution\":\"\\\"kafka+safe"));
}

TEST_F(SourcesTest, ADeadLetterOfAnotherSourceIsNotExplainedToAScopedToken) {
  const std::string id = dead();
  const Told made =
      say("POST", "/v1/tokens", R"({"name":"r","role":"reader","sources":["orders"]})");
  const Headers reader = {{"Authorization", "Bearer " + made.at("secret")}};
  const Told said = say("POST", "/v1/rules/explain", R"({"id":")" + id + "\"}", reader);
  EXPECT_GE(said.status(), 400) << said;
  EXPECT_FALSE(said.says("card expired")) << said;
}

TEST_F(SourcesTest, RulesAreSimulatedOnWhatDiedWithoutChangingIt) {
  const std::string id = dead(R"("id":"1","event_type":"orders.created")");
  dead(R"("id":"2")");
  const std::string before = get("/v1/dead-letters/" + id).body();
  const Told same = say("POST", "/v1/rules/simulate", R"({"query":"source:payments"})");
  EXPECT_EQ(same.status(), 200) << same;
  EXPECT_EQ(same.at("looked_at"), "2");
  EXPECT_EQ(same.at("all"), "true");
  const Told few = say("POST", "/v1/rules/simulate", R"({"query":"","sample":1})");
  EXPECT_EQ(few.at("looked_at"), "1");
  EXPECT_EQ(few.at("all"), "false");
  EXPECT_EQ(say("POST", "/v1/rules/simulate", R"({"query":"sorce:a"})").status(), 400);
  EXPECT_EQ(say("POST", "/v1/rules/simulate", R"({"query":"","profile":"nope"})").status(), 404);
  EXPECT_EQ(get("/v1/dead-letters/" + id).body(), before);
}

// Otherwise a reader whose token is for looking could not ask.
TEST_F(SourcesTest, WhoeverMayLookMayAskTheRules) {
  const Told made = say("POST", "/v1/tokens", R"({"name":"r","actions":["read"]})");
  const Headers reader = {{"Authorization", "Bearer " + made.at("secret")}};
  EXPECT_EQ(say("POST", "/v1/rules/simulate", R"({"query":""})", reader).status(), 200);
  EXPECT_EQ(say("POST", "/v1/rules/explain", R"({"error":"x"})", reader).status(), 200);
}

class ConsumedTest : public SourcesTest {
 protected:
  void start() override {
    consumer_.source = "payment_failed";
    consumer_.broker = "rabbitmq";
    consumer_.queue = "payment_failed";
    consumer_.handler = "http billing";
    consumer_.profile = "booking+safe";
    consumer_.dead_letter_queue = "payment_failed_dlq";
    consumer_.state = "working";
    consumer_.received = 7;
    options_.consumed.names = {"payment_failed"};
    options_.consumed.list = [this] { return std::vector<ConsumedSource>{consumer_}; };
    options_.consumed.pause = [this](const std::string& source, bool paused) {
      EXPECT_EQ(source, "payment_failed");
      consumer_.paused = paused;
      consumer_.state = paused ? "paused" : "working";
    };
    SourcesTest::start();
  }

  ConsumedSource consumer_;
};

TEST_F(ConsumedTest, AQueueThatIsHandledHereIsListedWithItsState) {
  const Told one = get("/v1/sources/payment_failed");
  EXPECT_EQ(one.at("kind"), "consumed") << one;
  EXPECT_EQ(one.at("profile"), "booking+safe");
  EXPECT_EQ(one.at("consumer.queue"), "payment_failed");
  EXPECT_EQ(one.at("consumer.dead_letter_queue"), "payment_failed_dlq");
  EXPECT_EQ(one.at("consumer.state"), "working");
  EXPECT_EQ(one.at("consumer.received"), "7");
  EXPECT_EQ(ask("POST", "/v1/sources/payment_failed/test").at("works"), "true");
  consumer_.state = "broker_down";
  consumer_.trouble = "RabbitMQ cannot be reached";
  const Told broken = ask("POST", "/v1/sources/payment_failed/test");
  EXPECT_EQ(broken.at("works"), "false") << broken;
  EXPECT_TRUE(broken.says("RabbitMQ cannot be reached")) << broken;
}

TEST_F(ConsumedTest, ItIsPausedForTheNextServerTooAndTheTrailSaysSo) {
  const auto noted = [&] {
    return must(office_.extras().ledger->document(paused_kind, "payment_failed")).has_value();
  };
  EXPECT_EQ(ask("POST", "/v1/sources/payment_failed/pause").at("paused"), "true");
  EXPECT_TRUE(noted());
  EXPECT_TRUE(get("/v1/audit").says("source/payment_failed"));
  EXPECT_EQ(ask("POST", "/v1/sources/payment_failed/resume").at("paused"), "false");
  EXPECT_FALSE(noted());
}

class UnservedTest : public ConsumedTest {
 protected:
  /// As whoever handled its source left it.
  void waits(const std::string& source, const std::string& id) {
    auto message = std::make_shared<Message>();
    message->source = source;
    message->id = id;
    message->payload = "{}";
    auto record = std::make_shared<DeadLetter>();
    record->message = message;
    record->id = identify(*message);
    record->status = Status::waiting;
    record->failure.text = "Balance not found";
    record->next_retry_at = clock_.now();
    record->profile = "booking+safe";
    const std::vector<Change> changes{Append{record, {}}};
    must(office_.apply(changes));
  }
};

TEST_F(UnservedTest, WhatWaitsForASourceThatIsGoneIsSeen) {
  waits("old_name", "1");
  waits("old_name", "2");
  waits("payment_failed", "3");
  const Told gone = get("/v1/sources/old_name");
  EXPECT_EQ(gone.at("kind"), "unserved") << gone;
  EXPECT_EQ(gone.at("waiting"), "2");
  EXPECT_EQ(gone.at("total"), "0");
  EXPECT_TRUE(gone.says("2 messages wait")) << gone;
  EXPECT_EQ(ask("POST", "/v1/sources/old_name/test").at("works"), "false");
  const Told served = get("/v1/sources/payment_failed");
  EXPECT_EQ(served.at("kind"), "consumed") << served;
  EXPECT_EQ(served.at("waiting"), "1");
  EXPECT_FALSE(served.says("trouble")) << served;
  const auto left = must(service_->unserved());
  EXPECT_EQ(left, (std::map<std::string, std::uint64_t>{{"old_name", 2}}));
}

TEST_F(UnservedTest, ItIsGivenUpAndIsADeadLetterLikeOthers) {
  waits("old_name", "1");
  waits("old_name", "2");
  EXPECT_EQ(say("POST", "/v1/sources/old_name/give-up", R"({"count":3})").status(), 409);
  const Told done = say("POST", "/v1/sources/old_name/give-up", R"({"count":2})");
  EXPECT_EQ(done.at("dead"), "2") << done;
  EXPECT_EQ(done.at("waiting"), "0");
  const Told now = get("/v1/sources/old_name");
  EXPECT_EQ(now.at("kind"), "reported") << now;
  EXPECT_EQ(now.at("open"), "2");
  const Told list = get("/v1/dead-letters");
  EXPECT_EQ(list.at("dead_letters.0.status"), "pending") << list;
  EXPECT_EQ(list.at("dead_letters.0.reason"), "unserved") << list;
  EXPECT_TRUE(get("/v1/audit").says("source/old_name"));
  EXPECT_EQ(say("POST", "/v1/sources/old_name/give-up", "{}").at("dead"), "0") << "once";
}

TEST_F(UnservedTest, WhatIsRunHereIsNotGivenUp) {
  waits("payment_failed", "1");
  const Told refused = say("POST", "/v1/sources/payment_failed/give-up", "{}");
  EXPECT_EQ(refused.status(), 409) << refused;
  EXPECT_EQ(get("/v1/sources/payment_failed").at("waiting"), "1");
}

TEST_F(ConsumedTest, ItsTestSaysIfItMayNotSend) {
  options_.consumed.may_send = [] {
    return Result<void>(Error{Code::refused, "test", "no right to write"});
  };
  service_.reset();
  queues_.reset();
  start();
  const Told tested = ask("POST", "/v1/sources/payment_failed/test");
  EXPECT_EQ(tested.at("works"), "false") << tested;
  EXPECT_TRUE(tested.says("no right to write")) << tested;
}

}  // namespace
}  // namespace dlo::api
