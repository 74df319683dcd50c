#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlo/broker/rabbitmq/rabbit_options.h"
#include "dlo/core/counters.h"
#include "dlo/core/message.h"
#include "dlo/core/result.h"

namespace dlo {

namespace rabbitmq {
struct Carried;
}

/// A message on its way to a RabbitMQ server.
struct RabbitPost {
  std::string exchange;     // empty: the default one, where
  std::string routing_key;  // is the name of a queue
  MessagePtr message;
  std::shared_ptr<const rabbitmq::Carried> carried = nullptr;  // what our own consumer goes on from
};

/// Publishes persistent, mandatory and confirmed, many at once.
/// Threads  Any method from any thread.
/// Errors   not_found: nothing is bound there. full: the queue or the server has no room.
///          invalid_argument: it can never be sent. timed_out: whether it arrived is not known.
class RabbitPublisher {
 public:
  explicit RabbitPublisher(RabbitServer server, std::string purpose = "dlo publisher");
  ~RabbitPublisher();
  RabbitPublisher(const RabbitPublisher&) = delete;
  RabbitPublisher& operator=(const RabbitPublisher&) = delete;

  /// What became of each, in order; empty: it is in every queue it was routed to, on disk.
  /// An error of the whole call means that nothing was sent.
  Result<std::vector<std::optional<Error>>> send(std::span<const RabbitPost> posts);

  /// Later calls answer unavailable.
  void close() noexcept;
  /// Breaks the connection as a failing network would. It comes back by itself.
  void cut() noexcept;

 private:
  class Desk;
  std::unique_ptr<Desk> desk_;
};

}  // namespace dlo
