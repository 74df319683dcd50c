#pragma once

#include <string>

#include "support/temporary_directory.h"

namespace dlo::testing {

/// The address of a RabbitMQ server that all test programs of one build share; it is started by
/// whoever comes first and stops some time after the last one. Throws MissingServer.
[[nodiscard]] std::string shared_rabbitmq();

/// A server of its own, for tests that stop it. Throws MissingServer.
class RabbitNode {
 public:
  /// `config`: lines for its configuration, with @port@ for a free port. `plugins`: their names,
  /// with commas.
  explicit RabbitNode(const std::string& config = {}, const std::string& plugins = {});
  ~RabbitNode();
  RabbitNode(const RabbitNode&) = delete;
  RabbitNode& operator=(const RabbitNode&) = delete;

  [[nodiscard]] std::string address() const;
  /// On the port that `config` called @port@, by this name of the machine.
  [[nodiscard]] std::string secure_address(const std::string& host) const;
  /// Asks it as rabbitmqctl does. Throws if it refuses.
  void ctl(const std::string& arguments);
  /// As if the machine had lost it. What it had confirmed is there when it comes back.
  void crash();
  void start();
  /// Which queues there are is on its disk: a server forgets what was declared within two seconds
  /// of its death, with all that was confirmed.
  void remember();
  /// It is there and says nothing, until it is thawed.
  void freeze();
  void thaw();

 private:
  TemporaryDirectory directory_;
  std::string port_;
};

/// A name for a queue that nobody else has used.
[[nodiscard]] std::string fresh_queue();

}  // namespace dlo::testing
