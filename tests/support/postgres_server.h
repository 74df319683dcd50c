#pragma once

#include <string>
#include <vector>

#include "support/temporary_directory.h"

namespace dlo::testing {

/// The address of a PostgreSQL server that all test programs of one build share; it is started by
/// whoever comes first and stops some time after the last one. Throws MissingServer.
[[nodiscard]] std::string shared_postgres();

/// A server of its own, for tests that stop it. Throws MissingServer.
class PostgresServer {
 public:
  /// `settings` are like "max_connections=20".
  explicit PostgresServer(std::vector<std::string> settings = {});
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  [[nodiscard]] std::string address(const std::string& database = "postgres") const;
  [[nodiscard]] int port() const noexcept { return port_; }
  /// As if the machine had lost it: nothing is finished.
  void crash();
  void start();

 private:
  TemporaryDirectory directory_;
  std::vector<std::string> settings_;
  int port_ = 0;
};

}  // namespace dlo::testing
