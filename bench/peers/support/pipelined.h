#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peers/support/connection.h"
#include "peers/support/peer.h"

namespace dlo::peers {

/// What one step of reading made of the bytes that came.
struct Eaten {
  std::size_t bytes = 0;  // 0: not whole yet
  long acknowledged = 0;  // how many messages that acknowledges
};

/// Peer::enqueue() for a server that acknowledges in order and that several requests may wait for.
///   put(connection, body)      appends the request
///   eat(connection, bytes)     consumes one reply and returns Eaten
template <typename Put, typename Eat>
[[nodiscard]] Measured enqueue_pipelined(std::vector<Connection>& connections, int outstanding,
                                         const Bodies& bodies, Budget& budget, Put put, Eat eat) {
  Latencies latencies;
  std::string body;
  long stored = 0;
  drive(
      connections,
      [&](Connection& connection) {
        while (connection.waiting() < outstanding) {
          const Numbers next = budget.take();
          if (next.count == 0) return;
          bodies.write(next.first, body);
          put(connection, body);
          connection.asked();
        }
      },
      [&](Connection& connection, std::string_view bytes) {
        const Eaten eaten = eat(connection, bytes);
        if (eaten.bytes == 0) return eaten.bytes;
        for (long i = 0; i < eaten.acknowledged; ++i) latencies.add(connection.answered().took);
        stored += eaten.acknowledged;
        return eaten.bytes;
      },
      [&] { return budget.spent() && stored == budget.taken(); });
  return budget.measured(stored, std::move(latencies));
}

}  // namespace dlo::peers
