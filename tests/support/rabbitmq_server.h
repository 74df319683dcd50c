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
  RabbitNode();
  ~RabbitNode();
  RabbitNode(const RabbitNode&) = delete;
  RabbitNode& operator=(const RabbitNode&) = delete;

  [[nodiscard]] std::string address() const;
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
