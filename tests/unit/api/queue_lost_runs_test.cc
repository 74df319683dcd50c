// Workers that are never heard of again, with messages that wait in the office.
#include <gtest/gtest.h>
#include <string>

#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::api {
namespace {

using testing::must;

class QueueLostRuns : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  void declare(const std::string& profile) {
    const Told told = say("PUT", "/v1/queues/orders", R"({"profile":")" + profile + R"("})");
    ASSERT_LT(told.status(), 300) << told;
  }
  /// As soon as one may be had: its lease.
  std::string receive() {
    clock_.advance(std::chrono::hours{2});
    const Told told = ask("POST", "/v1/queues/orders/receive");
    EXPECT_TRUE(told.says("lease")) << told;
    return told.at("messages.0.lease");
  }
  Told settle(const std::string& lease, const std::string& members) {
    return say("POST", "/v1/queues/orders/settle", R"({"lease":")" + lease + "\"," + members + "}");
  }
  /// The message that waits in the office.
  RecordDetail kept() {
    Query query;
    query.statuses = {Status::waiting};
    const auto rows = must(office_.list(query)).rows;
    EXPECT_EQ(rows.size(), 1U);
    return must(office_.get(rows.at(0).id));
  }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(QueueLostRuns, ARunThatWasCutOffIsCountedWhileTheNextOneRuns) {
  declare("workflow+safe");  // whose retries wait in the office, and where such a run counts
  say("POST", "/v1/queues/orders/messages", R"({"json":1})");
  settle(receive(), R"("outcome":"fail","error":"timeout")");
  receive();  // and nothing more is heard of that worker
  const std::string lease = receive();
  const RecordDetail meanwhile = kept();
  EXPECT_EQ(meanwhile.attempts.size(), 2U);
  EXPECT_EQ(meanwhile.record.counters.attempt, 3U);
  EXPECT_EQ(meanwhile.record.counters.failure, 2U) << "the first failure, and the run cut off";
  EXPECT_EQ(settle(lease, R"("outcome":"complete")").at("fate"), "completed");
}

TEST_F(QueueLostRuns, AServerThatIsStoppedTakesBackWhatWorkersHaveUncounted) {  // I8
  declare("service-bus");
  say("POST", "/v1/queues/orders/messages", R"({"json":1})");
  const std::string held = receive();
  service_.reset();
  must(queues_->close());
  queues_.reset();
  start();
  EXPECT_EQ(settle(held, R"("outcome":"complete")").at("code"), "lease_lost");
  const Told again = ask("POST", "/v1/queues/orders/receive");
  EXPECT_EQ(again.at("messages.0.attempt"), "1") << again;
  EXPECT_EQ(again.at("messages.0.counters.failure"), "0") << again;
}

TEST_F(QueueLostRuns, RulesThatChangeWhileAWorkerHasItDecide) {
  declare("workflow+safe");
  say("POST", "/v1/queues/orders/messages", R"({"json":1})");
  settle(receive(), R"("outcome":"fail","error":"timeout")");
  const std::string lease = receive();
  ProfileBook rules;
  rules.set(with_limit(must(rules.find("workflow+safe")), 1));
  must(service_->use(rules, {}));
  EXPECT_EQ(settle(lease, R"("outcome":"fail","error":"timeout")").at("fate"), "dead");
}

}  // namespace
}  // namespace dlo::api
