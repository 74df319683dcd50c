#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/failure.h"
#include "dlo/core/message.h"
#include "dlo/core/time.h"

namespace dlo::collector {

/// Whose headers tell why a message is in a dead-letter queue.
enum class Dialect : std::uint8_t { none, own, booking, broker, spring, masstransit, nservicebus };
[[nodiscard]] std::string_view name_of(Dialect dialect) noexcept;

/// One entry of `x-death`: how often it died of something in one queue.
struct BrokerDeath {
  std::string queue;
  std::string reason;
  std::string exchange;
  std::string routing_key;  // the first of them
  std::uint32_t count = 1;
  std::optional<TimePoint> at;  // the first time
};

/// What the headers of a dead message tell of it.
struct Letter {
  Dialect dialect = Dialect::none;
  Failure failure;
  std::string queue;     // in which it failed; empty: nobody tells
  std::string exchange;  // through which it had come there
  std::string routing_key;
  std::string event_type;      // for messages that have none of their own
  std::uint32_t attempts = 1;  // at least 1: somebody gave up on it
  std::optional<TimePoint> first_failed_at;
  std::optional<TimePoint> last_failed_at;
  std::vector<BrokerDeath> deaths;  // newest first
};

/// Where it was found.
struct Place {
  std::string queue;   // the dead-letter queue
  std::string origin;  // in which everything there failed, if somebody has said so; or empty
  TimePoint now{};     // nothing can have failed later
};

/// Reads the failure headers of RabbitMQ itself (x-death), of Spring AMQP, MassTransit and
/// NServiceBus, of document 001, and our own. Pure and total: whatever is missing, of a wrong type
/// or absurd is as if it were not there, and every message becomes a letter. Texts are well-formed
/// UTF-8 and cut where they are too long; the headers themselves stay with the message as they are.
[[nodiscard]] Letter read_letter(const Headers& headers, const Place& place);

/// Headers that tell of a death and of nothing else; `*` stands for anything. They stay behind when
/// a message is sent back: its next death is to be told by its own.
[[nodiscard]] const std::vector<std::string>& death_headers();

}  // namespace dlo::collector
