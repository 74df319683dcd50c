// on_death: hold through the routes (R10, docs/adr/0029).
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

class QueueHoldsTest : public Asking {
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

  Told declare(const std::string& members) {
    return say("PUT", "/v1/queues/orders", "{" + members + "}");
  }
  void send(const std::string& id, const std::string& key) {
    EXPECT_EQ(ask("POST", "/v1/queues/orders/messages?id=" + id + "&key=" + key, "x",
                  {{"Content-Type", "text/plain"}})
                  .status(),
              201);
  }
  Told receive() { return ask("POST", "/v1/queues/orders/receive", ""); }
  Told settle(const Told& received, const std::string& how) {
    return say("POST", "/v1/queues/orders/settle",
               R"({"lease":")" + received.at("messages.0.lease") + "\"," + how + "}");
  }
  /// The dead letter of the next message.
  std::string die() {
    const Told told = settle(receive(), R"("outcome":"dead_letter","reason":"Bad")");
    EXPECT_EQ(told.at("fate"), "dead") << told;
    return told.at("dead_letter");
  }
  bool comes(const std::string& id) {
    return eventually([&] {
      clock_.advance(Millis{500});
      const Told told = receive();
      return told.says("\"id\":\"" + id + "\"");
    });
  }
  Told act(const std::string& letter, const std::string& what) {
    return say("POST", "/v1/dead-letters/" + letter + "/" + what, "{}");
  }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(QueueHoldsTest, AQueueGoesOnUnlessItIsToldToHold) {
  EXPECT_EQ(declare("").at("on_death"), "continue");
  EXPECT_EQ(declare(R"("on_death":"hold")").at("on_death"), "hold");
  restart();
  EXPECT_EQ(get("/v1/queues/orders").at("on_death"), "hold");
  EXPECT_EQ(declare("").at("on_death"), "continue");
}

TEST_F(QueueHoldsTest, WhatCannotBeHeldIsRefusedWithTheReason) {
  const Told unordered = declare(R"("on_death":"hold","keys_in_order":false)");
  EXPECT_EQ(unordered.status(), 400) << unordered;
  EXPECT_TRUE(unordered.says("keys_in_order")) << unordered;
  const Told away = declare(R"("on_death":"hold","profile":"workflow")");
  EXPECT_EQ(away.status(), 400) << away;
  EXPECT_TRUE(away.says("wait in the office")) << away;
  const Told misspelt = declare(R"("on_death":"holt")");
  EXPECT_EQ(misspelt.status(), 400) << misspelt;
  EXPECT_TRUE(misspelt.says("continue or hold")) << misspelt;
  EXPECT_EQ(get("/v1/queues/orders").status(), 404) << "nothing was made";
}

TEST_F(QueueHoldsTest, ADeadLetterTellsWhoWaitsBehindItUntilItIsClosed) {
  EXPECT_EQ(declare(R"("on_death":"hold")").status(), 201);
  for (const char* id : {"1", "2", "3"}) send(id, "ann");
  const std::string dead = die();
  EXPECT_EQ(get("/v1/dead-letters/" + dead).at("holds_key.waiting"), "2");
  EXPECT_EQ(get("/v1/queues/orders").at("held"), "2");
  EXPECT_TRUE(receive().says("\"messages\":[]"));
  EXPECT_LT(act(dead, "resolve").status(), 300);
  EXPECT_FALSE(get("/v1/dead-letters/" + dead).says("holds_key"));
  EXPECT_TRUE(comes("2"));
}

TEST_F(QueueHoldsTest, WhatWasClosedBeforeTheServerStoppedIsLetGoByTheNext) {
  EXPECT_EQ(declare(R"("on_death":"hold")").status(), 201);
  for (const char* id : {"1", "2"}) send(id, "ann");
  const std::string dead = die();
  service_.reset();  // and with it who looks after the queues
  {
    Transition closed;
    closed.id = RecordId{parse_id(dead).value()};
    closed.to = Status::archived;
    closed.now = clock_.now();
    const std::vector<Change> changes{closed};
    must(office_.apply(changes));
  }
  restart();
  EXPECT_TRUE(comes("2"));
}

TEST_F(QueueHoldsTest, AQueueThatHoldsNoMoreLetsAllGo) {
  EXPECT_EQ(declare(R"("on_death":"hold")").status(), 201);
  for (const char* id : {"1", "2"}) send(id, "ann");
  (void)die();
  send("1-of-bob", "bob");
  (void)die();  // nobody waits behind it
  EXPECT_EQ(declare("").status(), 200);
  for (const bool restarted : {false, true}) {
    if (restarted) restart();
    const Told next = receive();
    EXPECT_EQ(next.at("messages.0.message.id"), "2") << next;
    EXPECT_EQ(settle(next, R"("outcome":"release")").at("fate"), "released");
  }
  send("2-of-bob", "bob");
  EXPECT_EQ(ask("POST", "/v1/queues/orders/receive?limit=10", "").at("messages.1.message.id"),
            "2-of-bob");
}

TEST_F(QueueHoldsTest, WhatIsSentBackComesBeforeThoseWhoWait) {
  EXPECT_EQ(declare(R"("on_death":"hold")").status(), 201);
  for (const char* id : {"1", "2"}) send(id, "ann");
  (void)die();
  const Told job =
      say("POST", "/v1/jobs", R"({"act":"replay","query":"source:orders","start":true})");
  EXPECT_EQ(job.status(), 201) << job;
  Told again;
  ASSERT_TRUE(eventually([&] {
    clock_.advance(Millis{500});
    again = receive();
    return !again.says("\"messages\":[]");
  }));
  EXPECT_EQ(again.at("messages.0.message.id"), "1") << again;
  EXPECT_EQ(again.at("messages.0.message.key"), "ann");
  EXPECT_TRUE(receive().says("\"messages\":[]")) << "not before it is done";
  EXPECT_EQ(settle(again, R"("outcome":"complete")").at("fate"), "completed");
  EXPECT_TRUE(comes("2"));
}

}  // namespace
}  // namespace dlo::api
