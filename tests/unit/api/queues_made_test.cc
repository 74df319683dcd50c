#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::api {
namespace {

using testing::must;

class QueuesMade : public Asking {
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

  Told send(const std::string& payload) {
    return ask("POST", "/v1/queues/orders/messages", payload, {{"Content-Type", "text/plain"}});
  }
  Told receive() { return ask("POST", "/v1/queues/orders/receive"); }
  Told show() { return get("/v1/queues/orders"); }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(QueuesMade, TheFirstMessageMakesItsQueueWithTheUsualSettings) {
  EXPECT_EQ(receive().status(), 404) << "looking for messages makes nothing";
  const Told refused =
      ask("POST", "/v1/queues/orders/messages", "{", {{"Content-Type", "application/x-ndjson"}});
  EXPECT_EQ(refused.status(), 400) << refused;
  EXPECT_EQ(show().status(), 404) << "nonsense makes nothing";
  EXPECT_EQ(ask("POST", "/v1/queues/a%20b/messages", "x").status(), 400);
  const Told sent = send("first");
  EXPECT_EQ(sent.status(), 201) << sent;
  EXPECT_EQ(sent.at("sent"), "1");
  EXPECT_EQ(show().at("profile"), "standard");
  EXPECT_EQ(show().at("dedupe_window_ms"), "600000") << "as a declaration without members has it";
  const Told trail = get("/v1/audit");
  EXPECT_EQ(trail.at("entries.0.act"), "declare") << trail;
  EXPECT_TRUE(trail.says("queue/orders") && trail.says("first message")) << trail;
  EXPECT_EQ(receive().at("messages.0.message.payload"), "first");
  send("second");
  EXPECT_EQ(get("/v1/audit").at("entries.1"), "?") << "made once";
  restart();
  EXPECT_EQ(show().at("queue"), "orders");
}

TEST_F(QueuesMade, ManyFirstMessagesMakeOneQueue) {
  std::vector<std::shared_ptr<Asked>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(
        begin("POST", "/v1/queues/orders/messages", "x", {{"Content-Type", "text/plain"}}));
  }
  for (const auto& each : all) EXPECT_EQ(each->answer().status, 201);
  EXPECT_EQ(show().at("ready"), "20");
  EXPECT_EQ(get("/v1/audit").at("entries.1"), "?");
}

TEST_F(QueuesMade, WhereQueuesMustBeDeclaredAnUnknownOneTakesNothing) {
  options_.create_queues = false;
  const Told refused = send("x");
  EXPECT_EQ(refused.status(), 404) << refused;
  EXPECT_TRUE(refused.says("Declare it first")) << refused;
  EXPECT_EQ(say("PUT", "/v1/queues/orders", "{}").status(), 201);
  EXPECT_EQ(send("x").status(), 201);
}

}  // namespace
}  // namespace dlo::api
