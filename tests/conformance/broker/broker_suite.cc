#include "conformance/broker/broker_suite.h"

#include <stdexcept>

#include "support/require.h"

namespace dlo::testing {

void PrintTo(const BrokerBackend& backend, std::ostream* out) {
  *out << backend.name;
}

std::string backend_name(const ::testing::TestParamInfo<BrokerBackend>& info) {
  return info.param.name;
}

void BrokerSuite::SetUp() {
  if (GetParam().find_server) SKIP_WITHOUT_SERVER(GetParam().find_server());
}

Broker& BrokerSuite::open(const SourceOptions& options) {
  rig_.reset();
  rig_ = GetParam().make_empty(options);
  return rig_->broker();
}

Broker& BrokerSuite::broker() {
  return rig_ ? rig_->broker() : open();
}

QueueAdmin& BrokerSuite::admin() {
  auto* admin = broker().admin();
  if (admin == nullptr) throw std::runtime_error("this broker says it has no QueueAdmin");
  return *admin;
}

Message BrokerSuite::message(const std::string& id, const std::string& key) {
  Message made;
  made.id = id;
  made.key = key;
  made.payload = "body of " + id;
  return made;
}

PublishAnswer BrokerSuite::publish(Publication publication, Instant now) {
  return must(broker().publish({&publication, 1}, now)).at(0);
}

PublishAnswer BrokerSuite::publish(const Message& what, Instant now, Millis delay) {
  Publication publication;
  publication.message = std::make_shared<const Message>(what);
  publication.delay = delay;
  return publish(std::move(publication), now);
}

PublishAnswer BrokerSuite::publish(const std::string& id, Instant now, const std::string& key) {
  return publish(message(id, key), now);
}

std::vector<Delivery> BrokerSuite::take(std::size_t limit, Instant now, Millis lease_for) {
  return must(broker().receive({limit, lease_for, 0ms}, now));
}

Delivery BrokerSuite::take_one(Instant now, Millis lease_for) {
  auto deliveries = take(1, now, lease_for);
  if (deliveries.size() != 1) {
    throw std::runtime_error("expected one delivery, got " + std::to_string(deliveries.size()));
  }
  return std::move(deliveries.front());
}

Ids BrokerSuite::ids(const std::vector<Delivery>& deliveries) {
  Ids out;
  for (const auto& delivery : deliveries) out.push_back(delivery.message->id);
  return out;
}

bool BrokerSuite::start(const LeaseToken& lease, Instant now) {
  return must(broker().start({&lease, 1}, now)).at(0);
}

bool BrokerSuite::renew(const LeaseToken& lease, Instant now, Millis lease_for) {
  return must(broker().renew({&lease, 1}, now, lease_for)).at(0);
}

SettleAnswer BrokerSuite::end(const LeaseToken& lease, Ending ending, Instant now) {
  const Settlement settlement{lease, std::move(ending)};
  return must(broker().settle({&settlement, 1}, now)).at(0);
}

SettleAnswer BrokerSuite::settle(const Delivery& delivery, Ending ending, Instant now) {
  const auto answer = end(delivery.lease, std::move(ending), now);
  if (answer.settled != Settled::done) {
    throw std::runtime_error("the live lease of " + delivery.message->id + " was called lost");
  }
  return answer;
}

SourceStats BrokerSuite::stats(Instant now) {
  return must(broker().stats(now));
}

void BrokerSuite::restart(Restart how, TimePoint now) {
  broker();
  rig_->restart(how, now);
}

void BrokerSuite::put_undecodable(const std::string& bytes, TimePoint now) {
  broker();
  rig_->put_undecodable(bytes, now);
}

Yard* BrokerSuite::yard() {
  broker();
  return rig_->yard();
}

Failed failed(const Delivery& delivery, TimePoint now, Millis delay, std::string error) {
  Failed ending;
  ending.counters = with_start(delivery.counters);
  ++ending.counters.failure;
  ending.again_at = now + delay;
  ending.delay = delay;
  ending.error = std::move(error);
  return ending;
}

}  // namespace dlo::testing
