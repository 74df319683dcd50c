#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace dlo {

/// What one processor has done since it was made, and what it is doing now.
/// Books: received = succeeded + retried + dead + repeated + dropped + released + lost + in_flight.
struct ProcessorStats {
  std::uint64_t received = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t retried = 0;   // failed, will run again
  std::uint64_t dead = 0;      // recorded and settled
  std::uint64_t repeated = 0;  // the office had it already: settled, not run
  std::uint64_t dropped = 0;   // legal losses (R8)
  std::uint64_t released = 0;  // given back unrun
  std::uint64_t lost = 0;      // leases that ended before we did; never settled by us

  std::uint64_t started = 0;       // handler starts
  std::uint64_t timeouts = 0;      // handlers that did not finish in time
  std::uint64_t suspects = 0;      // runs of messages that were running when their process died
  std::uint64_t unrecordable = 0;  // refused by the office one by one: put off, still at the source

  std::uint64_t in_flight = 0;  // received, not yet settled
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t running = 0;
  std::uint64_t threads = 0;
  std::uint64_t threads_lost = 0;      // still inside a handler that ignored its timeout
  std::string intake_stopped_because;  // empty: intake runs
};

/// The same, while it is being counted.
struct ProcessorCounts {
  std::atomic<std::uint64_t> received{0}, succeeded{0}, retried{0}, dead{0}, repeated{0},
      dropped{0}, released{0}, lost{0}, started{0}, timeouts{0}, suspects{0}, unrecordable{0};
};

}  // namespace dlo
