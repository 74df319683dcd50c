#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "dlo/core/time.h"
#include "dlo/engine/record.h"

namespace dlo {

/// How one processor works. Everything here is about carrying out; what happens to a message is in
/// its profile.
struct ProcessorOptions {
  Origin origin;                    // goes into records and attempts
  std::size_t max_concurrency = 8;  // handler threads
  std::size_t prefetch = 0;  // received, not yet begun; 0: as many as the handlers' speed asks for
  std::size_t max_in_flight = 8'192;             // received, not yet settled
  std::size_t max_in_flight_bytes = 64U << 20U;  // of these; one bigger message still gets through
  std::size_t receive_limit = 1'024;             // in one call
  std::size_t max_chunk = 256;  // handed to one thread at once, if handlers are fast
  Millis lease_for{30'000};
  Millis receive_wait{200};           // long poll
  Millis handler_timeout{0};          // 0: none
  Millis stop_patience{1'000};        // for a handler that was told to stop
  Millis suspect_window{10'000};      // how long a suspect has the process to itself (R7)
  Millis grace{30'000};               // of run(stop_token)
  std::size_t max_lost_threads = 64;  // replaced at most; beyond that there are fewer threads
  std::uint64_t seed = 0;             // of jitter; 0: drawn
};

}  // namespace dlo
