#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

struct HttpRequest {
  std::string method;
  std::string target;  // path and query, as sent
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free port
  std::uint32_t header_limit = 64 * 1024;
  std::size_t body_limit = 8 * 1024 * 1024;
  Millis idle_timeout{60'000};
  Millis request_timeout{30'000};  // from the first byte of a request to its last
  std::size_t max_connections = 10'000;
};

/// HTTP/1.1 with keep-alive and pipelining on one I/O thread. `handle` runs on that thread and
/// must not block. Slow, silent or oversized clients are cut off; nobody else waits for them.
class HttpServer {
 public:
  using Handle = std::function<HttpResponse(const HttpRequest&)>;

  /// Binds at once, so that the port is known and a taken one is an error here, not later.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(HttpOptions options,
                                                                  Handle handle);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::size_t connections() const noexcept;

  /// Serves until `stop`. Call it once, from the thread that is to be the I/O thread.
  void run();

  /// From any thread: takes no new connections, lets requests that have begun finish within
  /// `grace`, then `run` returns.
  void stop(Millis grace);

 private:
  struct Inside;
  explicit HttpServer(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

/// True for 127.0.0.0/8, ::1 and "localhost": the only addresses served without tokens.
[[nodiscard]] bool is_loopback(std::string_view host) noexcept;

}  // namespace dlo
