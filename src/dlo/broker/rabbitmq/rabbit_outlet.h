#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/rabbitmq/rabbit_options.h"
#include "dlo/broker/rabbitmq/rabbit_publisher.h"
#include "dlo/core/result.h"

namespace dlo {

/// A place on a RabbitMQ server, as people write it: `amqp:QUEUE` is that queue alone,
/// `amqp:EXCHANGE/ROUTING_KEY` every queue that is bound there. `%2F` stands for a slash in the
/// name of an exchange, `amqp:/NAME` for a queue that has one, `%25` for %.
struct RabbitTarget {
  static constexpr std::string_view prefix = "amqp:";
  std::string exchange;  // empty: the default one
  std::string routing_key;
  bool operator==(const RabbitTarget&) const = default;
};
[[nodiscard]] Result<RabbitTarget> parse_rabbit_target(std::string_view text);

/// Which of our sources are queues of this server, and of which queues nothing may be sent to.
struct RabbitSources {
  std::set<std::string> sources;       // what came of them goes back to the queue where it failed
  std::set<std::string> dead_letters;  // queues that are drained: what is sent there comes back
  std::map<std::string, std::string> queues{};  // sources that are one queue, and which
};

/// Sends dead letters back to a RabbitMQ server: persistent, mandatory, confirmed.
/// Threads  Any method from any thread.
class RabbitOutlet {
 public:
  RabbitOutlet(RabbitServer server, RabbitSources sources);

  /// Whether `target` is ours to look after: `amqp:…`, or one of the sources.
  [[nodiscard]] bool covers(const std::string& target) const;
  /// Why nothing can be sent there; ok if it can, as far as its name tells.
  [[nodiscard]] Result<void> check(const std::string& target) const;

  /// What became of each, in order; empty: it is in every queue it was routed to. An error of the
  /// whole call means that nothing was sent. `timed_out`: to be sent again, under the same id.
  Result<std::vector<std::optional<Error>>> send(const std::string& target,
                                                 std::span<const Publication> messages);
  void close() noexcept { publisher_.close(); }

 private:
  [[nodiscard]] Result<RabbitTarget> place_of(const std::string& target,
                                              const Message& message) const;

  const RabbitSources sources_;
  RabbitPublisher publisher_;
};

}  // namespace dlo
