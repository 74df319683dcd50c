#pragma once

#include <algorithm>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <signal.h>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/rabbitmq_client.h"
#include "support/rabbitmq_server.h"
#include "support/require.h"
#include "support/temporary_directory.h"

namespace dlo::testing {

inline constexpr std::chrono::seconds long_patience{
    240};  // a node on a busy machine takes its time

/// A queue whose messages `dlo serve` hands to a program, which writes down what it was given: good
/// ones work, bad ones never do, flaky ones at the third attempt.
class HandledQueue : public ::testing::Test {
 protected:
  void on(const std::string& address) {
    address_ = address;
    queue_ = fresh_queue();
    client_ = std::make_unique<RabbitClient>(address);
    client_->declare(queue_);
    write_program();
  }
  void TearDown() override {
    if (client_ == nullptr) return;
    server_.reset();
    for (const std::string& each : {queue_, dead()}) {
      try {
        RabbitClient(address_).remove(each);
      } catch (const std::exception&) {  // it was not there, or the server is gone
      }
    }
  }

  [[nodiscard]] std::string dead() const { return queue_ + "_dlq"; }
  [[nodiscard]] std::string office() const { return data_.path() + "/office"; }

  /// `settings` beside the queue and its handler, such as ", profile: booking".
  void configure(const std::string& settings, const std::string& more = "") {
    std::ofstream(data_.path() + "/dlo.yaml")
        << "rabbitmq: {heartbeat: 2s, address: '" << address_ << "'}\n"
        << more << "sources:\n  payments: {rabbitmq: " << queue_ << settings
        << ", handler: {command: " << data_.path()
        << "/handle, timeout: 60s, circuit: {failures: 0, share: 100, of: 1000000}}}\n";
  }
  void serve() {
    server_ = std::make_unique<Running>(
        std::vector<std::string>{"serve", "--data", office(), "--listen", "127.0.0.1:0", "--config",
                                 data_.path() + "/dlo.yaml"});
    port_ = port_in(server_->read_until("/healthz"));
  }
  [[nodiscard]] std::string get(const std::string& path) const { return http_get(port_, path); }
  [[nodiscard]] std::string source() const { return get("/v1/sources/payments"); }
  [[nodiscard]] std::string state() const { return member(source(), "state"); }
  [[nodiscard]] int done() const { return number(source(), "succeeded"); }
  [[nodiscard]] int open() const { return number(source(), "open"); }

  void publish(const std::string& id, const std::string& body,
               amqp_table_t headers = amqp_empty_table) {
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
    properties.delivery_mode = 1;
    if (!id.empty()) {
      properties._flags |= AMQP_BASIC_MESSAGE_ID_FLAG;
      properties.message_id = RabbitClient::bytes(id);
    }
    if (headers.num_entries > 0) {
      properties._flags |= AMQP_BASIC_HEADERS_FLAG;
      properties.headers = headers;
    }
    client_->publish(queue_, properties, body);
    (void)client_->ready(queue_);  // the answer comes after it
  }

  /// How often each message was run, by its id.
  [[nodiscard]] std::map<std::string, int> runs() const {
    std::map<std::string, int> counted;
    std::ifstream in(data_.path() + "/runs");
    for (std::string line; std::getline(in, line);) ++counted[line.substr(0, line.find(' '))];
    return counted;
  }
  /// "id attempt", in order.
  [[nodiscard]] std::vector<std::string> run_lines() const {
    std::vector<std::string> all;
    std::ifstream in(data_.path() + "/runs");
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  /// The first of the open dead letters, with all that is known of it.
  [[nodiscard]] std::string only_record(const std::string& form = "") const {
    const std::string list = get("/v1/dead-letters");
    return get("/v1/dead-letters/" + member(list, "id") + form);
  }

  /// The ids in the dead-letter queue, which is empty afterwards.
  [[nodiscard]] std::set<std::string> copies() {
    std::set<std::string> ids;
    for (std::uint32_t left = client_->ready(dead()); left > 0; --left) {
      const RabbitClient::Taken taken = client_->take(dead());
      ids.insert(taken.id);
    }
    return ids;
  }

  TemporaryDirectory data_;
  std::string address_;
  std::string queue_;
  std::unique_ptr<RabbitClient> client_;
  std::unique_ptr<Running> server_;
  std::uint16_t port_ = 0;

 private:
  void write_program() const {
    const std::string path = data_.path() + "/handle";
    std::ofstream(path) << "#!/bin/sh\nbody=$(cat)\n"
                        << "echo \"$DLO_MESSAGE_ID $DLO_ATTEMPT\" >> " << data_.path() << "/runs\n"
                        << "case \"$body\" in\n"
                        << "  *bad*) echo \"Balance not found\" >&2; exit 1 ;;\n"
                        << "  *flaky*) test \"$DLO_ATTEMPT\" -ge 3 && exit 0\n"
                        << "    echo \"not yet\" >&2; exit 1 ;;\n"
                        << "  *slow*) while ! test -e " << data_.path()
                        << "/go; do sleep 0.05; done ;;\n"
                        << "esac\n";
    ::chmod(path.c_str(), 0755);
  }
};

/// The texts of a message's headers, by name.
inline std::map<std::string, std::string> texts_of(const amqp_table_t& headers) {
  std::map<std::string, std::string> texts;
  for (int i = 0; i < headers.num_entries; ++i) {
    const auto& [key, value] = headers.entries[i];
    const std::string name(static_cast<const char*>(key.bytes), key.len);
    if (value.kind == AMQP_FIELD_KIND_UTF8) {
      texts[name] = {static_cast<const char*>(value.value.bytes.bytes), value.value.bytes.len};
    } else {
      texts[name] = std::string(1, static_cast<char>(value.kind));
    }
  }
  return texts;
}

}  // namespace dlo::testing
