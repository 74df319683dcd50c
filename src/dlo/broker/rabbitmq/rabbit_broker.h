#pragma once

#include <memory>
#include <string>

#include "dlo/broker/broker.h"
#include "dlo/broker/rabbitmq/rabbit_options.h"

namespace dlo {

/// A queue of a RabbitMQ server, classic or quorum, as a source.
/// Leases, start marks and abandons are this process's own, among the messages it has in hand;
/// a connection that is lost ends every lease, and the server hands the messages out again. A
/// failed attempt is durable before it is settled: the message is sent to the end of the queue
/// with its counts, and only then is its delivery acknowledged. Nothing is requeued to make it
/// wait: what has to wait is held in hand, so waits that are many or long belong into the office.
/// A batch is not atomic: after an error some of it may be there. Books are as seen from here.
class RabbitBroker final : public Broker {
 public:
  /// Refuses options that cannot be meant. A server that is not there is looked for in the
  /// background; until then calls answer what is wrong.
  static Result<std::unique_ptr<RabbitBroker>> open(const RabbitOptions& options);
  ~RabbitBroker() override;
  RabbitBroker(const RabbitBroker&) = delete;
  RabbitBroker& operator=(const RabbitBroker&) = delete;

  /// With `wait` zero it asks the server first, so that what was published before is seen.
  Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now) override;
  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant now) override;
  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                           Instant now) override;
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant now,
                                  Millis lease_for) override;
  Result<std::vector<PublishAnswer>> publish(std::span<const Publication> messages,
                                             Instant now) override;
  Result<SourceStats> stats(Instant now) override;
  void close() noexcept override;

  /// Breaks its connections as a failing network would. They come back by themselves.
  void cut() noexcept;

 private:
  class Parts;
  explicit RabbitBroker(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace dlo
