#include "conformance/broker/broker_suite.h"
#include "support/eventually.h"
#include "support/rabbitmq_client.h"
#include "support/rabbitmq_server.h"

#include "dlo/broker/rabbitmq/rabbit_broker.h"

namespace dlo::testing {
namespace {

class RabbitRig final : public Rig {
 public:
  RabbitRig(const SourceOptions& source, QueueKind kind) {
    options_.server.address = shared_rabbitmq();
    options_.queue = queue_.name();
    options_.kind = kind;
    options_.prefetch = UINT16_MAX;  // the suite takes as much as it likes
    options_.source = source.source;
    options_.ageing = source.ageing;
    options_.claims_count = source.claims_count;
    options_.ttl = source.ttl;
    options_.drop_expired = source.drop_expired;
    broker_ = must(RabbitBroker::open(options_));
  }

  Broker& broker() override { return *broker_; }

  // A connection that breaks is what the death of a process looks like to the server. It gives
  // messages back in its own time.
  void restart(Restart how, TimePoint now) override {
    const auto before = here(now);
    if (how == Restart::clean) {
      broker_.reset();
      broker_ = must(RabbitBroker::open(options_));
    } else {
      broker_->cut();
    }
    const bool back = eventually([&] { return here(now) == before; });
    if (!back) throw std::runtime_error("messages did not come back after a restart");
  }

  // To RabbitMQ a body is bytes: there is nothing it could fail to decode.
  void put_undecodable(const std::string& /*bytes*/, TimePoint /*now*/) override {}

 private:
  /// Not leased, and not lost.
  std::optional<std::uint64_t> here(TimePoint now) {
    const auto stats = broker_->stats(now);
    if (!stats) return std::nullopt;
    return stats->ready + stats->delayed + stats->leased;
  }

  TemporaryQueue queue_;
  RabbitOptions options_;
  std::unique_ptr<RabbitBroker> broker_;
};

/// What a foreign server cannot promise, whoever its client is; and what its client could only
/// promise for the messages it happens to have in hand.
Abilities rabbit_abilities() {
  Abilities can;
  can.undecodable = false;       // bodies are bytes
  can.stable_positions = false;  // a message has no number of its own
  can.key_order = false;         // other consumers have other messages of the same key
  can.holds = false;             // ... so nothing is there to be held
  can.dedupe = false;            // the server remembers no ids
  can.limits = false;            // the server's own (x-max-length), with its own answers
  can.admin = false;             // pausing is not asking; a peek would mark messages redelivered
  can.rates = false;             // others publish and consume too
  can.exact_order = false;       // ages begin when a message is fetched
  can.start_marks = false;       // they are this process's own
  return can;
}

BrokerBackend rabbit(const char* name, QueueKind kind) {
  return {
      name, rabbit_abilities(),
      [kind](const SourceOptions& options) { return std::make_unique<RabbitRig>(options, kind); },
      [] { (void)shared_rabbitmq(); }};
}

INSTANTIATE_TEST_SUITE_P(RabbitMQ, BrokerSuite,
                         ::testing::Values(rabbit("Classic", QueueKind::classic),
                                           rabbit("Quorum", QueueKind::quorum)),
                         backend_name);

}  // namespace
}  // namespace dlo::testing
