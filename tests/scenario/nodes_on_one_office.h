#pragma once

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <signal.h>
#include <string>
#include <vector>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/postgres_server.h"
#include "support/require.h"
#include "support/temporary_directory.h"

namespace dlo::testing {

/// Three servers, each with a directory of its own, on one office in a database.
class NodesOnOneOffice : public ::testing::Test {
 protected:
  static constexpr std::size_t nodes = 3;

  void SetUp() override {
    SKIP_WITHOUT_SERVER(database_ = std::make_unique<PostgresServer>());
    // Says what it runs: which task, under which token.
    const std::string script = file("executor");
    std::ofstream(script) << "#!/bin/sh\ncat > /dev/null\necho \"$DLO_MESSAGE_ID $DLO_FENCE\" >> "
                          << file("begun") << "\nwhile [ -f " << file("wait")
                          << " ]; do sleep 0.02; done\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    for (std::size_t i = 0; i < nodes; ++i) {
      std::ofstream(file(name(i) + ".yaml"))
          << "data: " << file(name(i)) << "\noffice: '" << database_->address() << "'\n"
          << "server: {listen: '127.0.0.1:0', node: " << name(i) << "}\n"
          << "workflow: {lease: 2s, at_once: 2}\nexecutors:\n  llamaindex: {command: " << script
          << "}\n";
    }
  }

  [[nodiscard]] static std::string name(std::size_t i) { return "node-" + std::to_string(i); }
  [[nodiscard]] std::string file(const std::string& name) const {
    return place_.path() + "/" + name;
  }

  void start(std::size_t i) {
    running_[i] = std::make_unique<Running>(
        std::vector<std::string>{"serve", "--config", file(name(i) + ".yaml")});
    ports_[i].store(port_in(running_[i]->read_until("/healthz")));
  }
  void start_all() {
    for (std::size_t i = 0; i < nodes; ++i) start(i);
  }
  void kill(std::size_t i) {
    ports_[i].store(0);
    EXPECT_EQ(running_[i]->stop(SIGKILL), -SIGKILL);
    running_[i].reset();
  }
  void stop_all() {
    for (auto& each : running_) {
      if (each == nullptr) continue;
      EXPECT_EQ(each->stop(SIGTERM), 0);
    }
  }

  /// Asks one of them; nothing if it is not there or does not answer.
  std::optional<HttpClient::Answer> ask(std::size_t i, const std::string& method,
                                        const std::string& path, const std::string& body = "",
                                        const std::string& headers = json_type) const {
    const auto port = ports_[i].load();
    if (port == 0) return std::nullopt;
    try {
      auto answer = HttpClient(port).ask(method, path, body, headers);
      if (answer.status != 0) return answer;
      return std::nullopt;  // it was killed before it had answered
    } catch (const std::exception&) {
      return std::nullopt;  // it was killed meanwhile
    }
  }
  [[nodiscard]] std::string get(std::size_t i, const std::string& path) const {
    const auto answer = ask(i, "GET", path, "", "");
    return answer && answer->status == 200 ? answer->body : "";
  }
  [[nodiscard]] bool leads(std::size_t i) const {
    return member(get(i, "/healthz"), "leads") == "true";
  }
  [[nodiscard]] std::optional<std::size_t> leader() const {
    for (std::size_t i = 0; i < nodes; ++i) {
      if (leads(i)) return i;
    }
    return std::nullopt;
  }
  std::size_t wait_for_leader() const {
    std::optional<std::size_t> found;
    EXPECT_TRUE(eventually([&] { return (found = leader()).has_value(); }));
    return found.value_or(0);
  }
  [[nodiscard]] static std::size_t other_than(std::size_t i) { return (i + 1) % nodes; }

  static inline const std::string json_type = "Content-Type: application/json\r\n";
  const TemporaryDirectory place_;
  std::unique_ptr<PostgresServer> database_;
  std::array<std::atomic<std::uint16_t>, nodes> ports_{};
  std::array<std::unique_ptr<Running>, nodes> running_;
};

}  // namespace dlo::testing
