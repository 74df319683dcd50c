#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace dlo::bench {

/// What one connection asks next, given the body of the answer before (empty at first). An empty
/// request ends the connection.
using NextRequest = std::function<std::string(std::size_t connection, std::string_view answer)>;

struct LoadResult {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;  // answers other than 2xx
  double seconds = 0;
  double server_cpu_seconds = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  [[nodiscard]] double per_second() const { return static_cast<double>(requests) / seconds; }
  [[nodiscard]] double cpu_us() const {
    return server_cpu_seconds * 1e6 / static_cast<double>(requests);
  }
};

/// One thread, `connections` keep-alive connections, one request under way on each, for `seconds`.
/// `server` is the process whose CPU time is counted.
LoadResult run_load(std::uint16_t port, int server, std::size_t connections, double seconds,
                    const NextRequest& next);

/// A POST or GET as bytes.
std::string request_bytes(std::string_view method, std::string_view target,
                          std::string_view body = {}, std::string_view headers = {});

}  // namespace dlo::bench
