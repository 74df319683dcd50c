#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "support/must.h"
#include "support/postgres_server.h"
#include "support/require.h"

#include "dlo/broker/postgres/postgres_queues.h"
#include "dlo/postgres/connection.h"

namespace dlo::testing {

using namespace std::chrono_literals;

[[nodiscard]] inline SourceOptions named(const std::string& name) {
  SourceOptions options;
  options.source = name;
  return options;
}

[[nodiscard]] inline Publication a_message(const std::string& id, const std::string& key = "") {
  auto message = std::make_shared<Message>();
  message->id = id;
  message->key = key;
  message->payload = "body of " + id;
  Publication publication;
  publication.message = std::move(message);
  return publication;
}

[[nodiscard]] inline std::vector<std::string> ids(const std::vector<Delivery>& deliveries) {
  std::vector<std::string> out;
  for (const Delivery& each : deliveries) out.push_back(each.message->id);
  return out;
}

inline void publish(Broker& queue, const std::string& id, const std::string& key = "",
                    Instant now = noon) {
  const Publication one = a_message(id, key);
  must(queue.publish({&one, 1}, now));
}

[[nodiscard]] inline Settled settle(Broker& queue, const Delivery& delivery, Ending ending,
                                    Instant now = noon) {
  const Settlement settlement{delivery.lease, std::move(ending)};
  return must(queue.settle({&settlement, 1}, now)).at(0).settled;
}

/// A schema of the shared server that goes away with the test.
class QueueSchema {
 public:
  QueueSchema() : address_(shared_postgres()) {
    static std::atomic<int> schemas{0};
    name_ = "w" + std::to_string(::getpid()) + "_" + std::to_string(++schemas);
  }
  ~QueueSchema() { person().run("DROP SCHEMA IF EXISTS \"" + name_ + "\" CASCADE"); }
  QueueSchema(const QueueSchema&) = delete;
  QueueSchema& operator=(const QueueSchema&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] PostgresQueueOptions options() const {
    PostgresQueueOptions options;
    options.schema = name_;
    return options;
  }
  [[nodiscard]] std::unique_ptr<PostgresQueues> open(Instant now = noon) const {
    return must(PostgresQueues::open(address_, now, options()));
  }
  /// Somebody with a client of their own.
  [[nodiscard]] postgres::Connection person() const {
    return {address_, "SET search_path = \"" + name_ + "\"; SET client_min_messages = warning"};
  }

 private:
  std::string address_;
  std::string name_;
};

}  // namespace dlo::testing
