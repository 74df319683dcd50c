#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/server/http.h"
#include "dlo/server/http_exchange.h"

namespace dlo {

struct HttpOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;      // 0: any free port
  std::size_t io_threads = 1;  // one moves 60 000 requests a second
  std::uint32_t header_limit = 64 * 1024;
  std::size_t header_count = 256;
  std::size_t body_limit = 8 * 1024 * 1024;
  std::size_t max_body_memory = 256U << 20U;  // of all bodies that are here; more are refused (503)
  std::size_t max_pipelined = 16;             // requests of one connection that are under way
  std::size_t max_connections = 10'000;
  Millis idle_timeout{60'000};    // between two requests
  Millis header_timeout{10'000};  // from the first byte of a request to the end of its head
  Millis body_timeout{60'000};    // from there to its last byte
  Millis write_timeout{30'000};   // without the client taking a single byte
  std::string certificate;        // PEM files; both or none: plain HTTP
  std::string key;
  Millis handshake_timeout{10'000};
  std::size_t handshake_threads = 2;
  Millis hsts{0};  // browsers are to come back encrypted for so long; 0: they are not told
};

/// HTTP/1.1 with keep-alive and pipelining (answers in order), on I/O threads that never wait for a
/// handler. Slow, silent, greedy or malicious clients are refused or cut off; nobody else waits for
/// them, and memory stays bounded: per connection, and of all bodies together.
class HttpServer {
 public:
  /// Runs on an I/O thread and must not block: it answers at once what costs nothing, and hands
  /// everything else to threads of its own together with the exchange. Must not throw.
  using Handle = std::function<void(HttpRequest, ExchangePtr)>;

  /// Binds at once, so that the port is known and a taken one is an error here, not later.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(HttpOptions options,
                                                                  Handle handle);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::size_t connections() const noexcept;

  /// Takes over a new certificate: connections made from now on use it. Refused, with nothing
  /// changed, if it cannot be used or this server speaks plain HTTP.
  [[nodiscard]] Result<void> use_certificate(const std::string& certificate,
                                             const std::string& key);

  /// Serves until `stop`. Call it once; this thread is the first I/O thread.
  void run();

  /// From any thread: takes no new connections, closes idle ones, lets requests that have begun
  /// finish within `grace` (their answers say `Connection: close`), then `run` returns.
  void stop(Millis grace);

 private:
  struct Inside;
  explicit HttpServer(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

/// True for 127.0.0.0/8, ::1 and "localhost": the only addresses served without tokens.
[[nodiscard]] bool is_loopback(std::string_view host) noexcept;

}  // namespace dlo
