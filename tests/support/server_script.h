#pragma once

#include <string>

namespace dlo::testing {

/// A script beside this file that starts and stops servers of one kind: `postgres_cluster`,
/// `rabbitmq_node`.
class ServerScript {
 public:
  /// `kind` is what DLO_REQUIRE calls it.
  ServerScript(std::string kind, std::string script);

  /// Whether it ended well; what it says is dropped.
  [[nodiscard]] bool run(const std::string& arguments) const;
  /// The last line of what it says. Throws MissingServer with all of it.
  [[nodiscard]] std::string must_run(const std::string& arguments) const;
  /// The port of the server that all test programs of this build share, started if it is not up;
  /// this program counts as one that uses it until it ends. Throws MissingServer.
  [[nodiscard]] std::string join_shared() const;

 private:
  std::string kind_;
  std::string script_;
};

}  // namespace dlo::testing
