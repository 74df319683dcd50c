#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct ssl_ctx_st;

namespace dlo::testing {

struct Request {
  std::string line;                                 // "POST /hook HTTP/1.1"
  std::multimap<std::string, std::string> headers;  // names in lower case
  std::string raw_head;
  std::string body;
  int connection = 0;  // counted from 1

  /// The only value of a header; "<none>" or "<several>" otherwise.
  [[nodiscard]] std::string header(const std::string& name) const;
};

/// What the server does with a request.
struct Reply {
  enum class Then : std::uint8_t { keep_open, close, reset, hang };
  std::string bytes;
  Then then = Then::keep_open;
};
[[nodiscard]] std::string http(int status, const std::string& headers, const std::string& body);

/// A real HTTP server on loopback, on a port of its own, whose answers a test scripts.
class LoopbackServer {
 public:
  using Script = std::function<Reply(const Request&)>;
  /// Connections on which a body above `most_body` is announced are closed without reading it.
  explicit LoopbackServer(Script script, ssl_ctx_st* tls = nullptr,
                          std::size_t most_body = SIZE_MAX);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  [[nodiscard]] std::string url(const std::string& path = "/hook") const;
  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::vector<Request> requests() const;
  [[nodiscard]] int connections() const { return connections_; }
  [[nodiscard]] int closed() const { return closed_; }  // of them, by us

 private:
  void accept_all(const std::stop_token& stop);
  void serve(int fd, int number, const std::stop_token& stop);
  Script script_;
  ssl_ctx_st* tls_;
  std::size_t most_body_;
  int port_ = 0;
  int listener_ = -1;  // after port_, which opening it fills in
  std::atomic<int> connections_{0};
  std::atomic<int> closed_{0};
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::vector<std::jthread> conversations_;
  std::jthread acceptor_;
};

/// A port on loopback where connecting neither succeeds nor fails: its queue is full.
class FullPort {
 public:
  FullPort();
  ~FullPort();
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/";
  }

 private:
  int port_ = 0;
  int listener_;
  std::vector<int> fillers_;
};

/// A port on loopback that nobody listens on.
[[nodiscard]] int closed_port();

}  // namespace dlo::testing
