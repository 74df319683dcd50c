#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/time.h"
#include "dlo/engine/handlers/http_answer.h"
#include "dlo/engine/handlers/http_request.h"

namespace dlo {

/// What all requests of one handler have in common.
struct HttpTransport {
  Millis connect_timeout{5'000};
  std::size_t response_limit = 64 * 1024;
  std::string ca_file;             // PEM; empty: the system's
  std::string client_certificate;  // PEM; empty: none
  std::string client_key;
  std::string proxy;  // empty: none, whatever the environment says
};

struct HttpCall {
  const std::string& url;
  const HttpHeaders& headers;
  std::string_view body;
  Millis timeout{0};  // zero: none
  std::stop_token stop;
  std::string method = "POST";  // a GET has no body
  /// The timeout counts from then: one that was redirected has no more time than another.
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

/// How a request ended that got no complete answer.
struct HttpTrouble {
  std::string_view code;  // one of failure_code
  std::string text;
  bool sent = false;  // at least a part of the request went out: it may have been processed
};

struct HttpResult {
  bool answered = false;
  HttpAnswer answer;
  HttpTrouble trouble;
};

/// One connection to a receiver, kept alive between requests. One request at a time.
class HttpChannel {
 public:
  explicit HttpChannel(const HttpTransport& transport);
  ~HttpChannel();
  HttpChannel(const HttpChannel&) = delete;
  HttpChannel& operator=(const HttpChannel&) = delete;

  /// Blocks until the answer is there, the time is up or `stop` is set; the latter two end it
  /// within milliseconds. Follows no redirect. Never throws for what the other side does.
  [[nodiscard]] HttpResult call(const HttpCall& request);

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

/// Idle channels, the latest used first, so that connections are reused while they are warm.
class HttpChannelPool {
 public:
  explicit HttpChannelPool(HttpTransport transport) : transport_(std::move(transport)) {}

  [[nodiscard]] std::unique_ptr<HttpChannel> take();
  void give_back(std::unique_ptr<HttpChannel> channel);

 private:
  HttpTransport transport_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpChannel>> idle_;
};

/// Scheme, host and port are the same.
[[nodiscard]] bool is_same_origin(const std::string& a, const std::string& b);

/// Empty if `url` can be pushed to, else what is wrong with it.
[[nodiscard]] std::string trouble_with_url(const std::string& url);

}  // namespace dlo
