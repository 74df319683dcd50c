#pragma once

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "support/must.h"
#include "support/rabbitmq_client.h"
#include "support/rabbitmq_server.h"
#include "support/require.h"

#include "dlo/broker/rabbitmq/rabbit_broker.h"
#include "dlo/broker/rabbitmq/rabbit_publisher.h"

namespace dlo::testing {

using namespace std::chrono_literals;

inline MessagePtr message_of(const std::string& id, const std::string& body = "body") {
  auto made = std::make_shared<Message>();
  made->id = id;
  made->payload = body;
  return made;
}

inline Publication publication_of(const std::string& id) {
  Publication made;
  made.message = message_of(id);
  return made;
}

/// A queue on the shared server, and sources on it.
class RabbitTest : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_SERVER(queue_ = std::make_unique<TemporaryQueue>()); }

  [[nodiscard]] RabbitOptions options(QueueKind kind = QueueKind::classic) const {
    RabbitOptions made;
    made.server.address = shared_rabbitmq();
    made.queue = queue_->name();
    made.kind = kind;
    return made;
  }
  static std::unique_ptr<RabbitBroker> open(const RabbitOptions& options) {
    return must(RabbitBroker::open(options));
  }
  static Delivery take_one(Broker& broker, TimePoint now = noon) {
    auto got = must(broker.receive({1, 1h, 60s}, now));
    if (got.size() != 1) throw std::runtime_error("nothing came within a minute");
    return std::move(got.front());
  }
  static Settled settle(Broker& broker, const LeaseToken& lease, Ending ending,
                        TimePoint now = noon) {
    const Settlement settlement{lease, std::move(ending)};
    return must(broker.settle({&settlement, 1}, now)).at(0).settled;
  }
  static Failed failed(const Delivery& delivery, TimePoint now, Millis delay = 0ms) {
    Failed ending;
    ending.counters = with_start(delivery.counters);
    ++ending.counters.failure;
    ending.again_at = now + delay;
    ending.delay = delay;
    ending.error = "no";
    return ending;
  }
  [[nodiscard]] const std::string& queue() const { return queue_->name(); }

 private:
  std::unique_ptr<TemporaryQueue> queue_;
};

}  // namespace dlo::testing
