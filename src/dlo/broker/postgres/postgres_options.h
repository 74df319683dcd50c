#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "dlo/core/sealed.h"

namespace dlo {

struct PostgresQueueOptions {
  /// Where the tables are. Several sets of queues may live in one database, each in its schema.
  std::string schema = "dlo_queues";
  /// For those who take messages, and as many for those who send and settle. Made when needed; one
  /// more listens.
  std::size_t connections = 4;
  /// Delays and leases follow the server's clock, as it was when the queues were opened and as this
  /// program's steady clock goes on from there. For programs on several machines.
  bool by_servers_clock = false;
  /// Told when the server goes away, and why; and, with an empty text, when it is back. On a thread
  /// of the queues, with no lock held.
  std::function<void(const std::string&)> on_trouble;
  /// Null: bodies are written as they are. Else payloads, headers and error texts are sealed.
  std::shared_ptr<const Sealer> sealer;
};

}  // namespace dlo
