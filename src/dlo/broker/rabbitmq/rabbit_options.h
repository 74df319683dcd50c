#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

/// For an address that begins with amqps://. Paths of PEM files.
struct RabbitTls {
  std::string ca_file;           // whose certificates are believed; empty: those the system trusts
  std::string certificate_file;  // of ours, for servers that want to see one
  std::string key_file;          // of it; empty: in the same file
  bool verify = true;            // false: anybody may answer; what is sent can be read by him

  bool operator==(const RabbitTls&) const = default;
};

/// Where a RabbitMQ server is, and how to behave towards it.
struct RabbitServer {
  std::string address;  // amqp[s]://user:password@host:port/vhost; never printed
  std::chrono::seconds heartbeat{10};
  Millis confirm_within{30'000};  // a publication that nobody confirmed by then is in doubt
  RabbitTls tls{};
};

/// What becomes of a queue that is not there. One that is there is never changed.
enum class QueueKind : std::uint8_t {
  existing,  // others make it; its absence is an error
  classic,   // made if need be, durable
  quorum,    // likewise
};

/// One queue of a RabbitMQ server as a source.
struct RabbitOptions {
  RabbitServer server;
  std::string queue;
  QueueKind kind = QueueKind::existing;
  std::string source;            // stamped on what it delivers; empty: the queue's name
  std::string event_type{};      // of messages that name none; they are sent on without one
  std::uint16_t prefetch = 256;  // messages in hand; 0: as many as the server gives

  // A quorum queue counts how often it got a message back, but a lost connection gives back all
  // that were fetched, run or not. So that count is one of fetches, unless this is set.
  bool returns_are_attempts = false;

  // A failed message that is due at once is given back to the server, rejected and requeued, if it
  // has an id. Nothing can be left with it: whoever sets this keeps its counts, before it settles.
  bool requeues = false;

  // As in SourceOptions; priorities and ages order what is in hand.
  Millis ageing{30'000};
  bool claims_count = false;
  std::optional<Millis> ttl;
  bool drop_expired = false;
};

/// Refuses what cannot be meant, and says which setting and what would be right.
[[nodiscard]] Result<void> check(const RabbitServer& server);
[[nodiscard]] Result<void> check(const RabbitOptions& options);

namespace rabbitmq {

/// An address in its parts. `shown` is for people: it has no password.
struct Place {
  std::string host;
  int port = 5672;
  std::string vhost;
  std::string user;
  std::string password;
  std::string shown;
  bool secure = false;  // amqps
};
[[nodiscard]] Result<Place> parse_address(const std::string& address);

}  // namespace rabbitmq
}  // namespace dlo
