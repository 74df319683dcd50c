#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/server/http.h"

namespace dlo {

struct ParserLimits {
  std::uint32_t header_bytes = 64 * 1024;
  std::size_t header_count = 256;
  std::size_t body_bytes = 8 * 1024 * 1024;
};

/// One HTTP/1.1 request, read from bytes as they come. Knows nothing of sockets or time.
/// Bounded: head and body by their limits, and what chunked framing adds (sizes, extensions,
/// trailers) by eight times the body's limit.
class RequestParser final : private boost::beast::http::basic_parser<true> {
 public:
  explicit RequestParser(const ParserLimits& limits);

  enum class State { more, done, refused };
  /// Reads from the front of `bytes` and takes off what it used. `more`: what is left over has to
  /// come again, with more behind it.
  State feed(std::string_view& bytes);

  /// Why it was refused, ready to be sent; the connection cannot go on after it.
  [[nodiscard]] const HttpResponse& refusal() const noexcept { return *refusal_; }
  /// After `done`.
  [[nodiscard]] HttpRequest take() { return std::move(request_); }

  [[nodiscard]] bool begun() const noexcept { return begun_; }
  [[nodiscard]] bool head_done() const { return is_header_done(); }
  [[nodiscard]] bool wants_connection() const { return keep_alive(); }
  [[nodiscard]] bool is_1_0() const noexcept { return version_ < 11; }
  [[nodiscard]] bool expects_continue() const noexcept { return expects_continue_; }
  [[nodiscard]] std::size_t body_size() const noexcept { return request_.body.size(); }
  [[nodiscard]] const HttpRequest& request() const noexcept { return request_; }

 private:
  using error_code = boost::system::error_code;
  using view = boost::beast::string_view;
  using Field = boost::beast::http::field;
  using Verb = boost::beast::http::verb;
  using Length = boost::optional<std::uint64_t>;

  void on_request_impl(Verb, view method, view target, int version, error_code&) override;
  void on_response_impl(int, view, int, error_code&) override {}
  void on_field_impl(Field name, view text, view value, error_code& error) override;
  void on_header_impl(error_code& error) override;
  void on_body_init_impl(const Length&, error_code&) override {}
  std::size_t on_body_impl(view body, error_code& error) override;
  void on_chunk_header_impl(std::uint64_t, view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, view body, error_code& error) override;
  void on_finish_impl(error_code&) override {}

  /// The host and path of a target that is a whole address; false: it is none.
  bool take_address();

  State refuse(int status, std::string_view code, const std::string& detail);
  State refuse(const error_code& error);

  const ParserLimits& limits_;
  HttpRequest request_;
  std::optional<HttpResponse> refusal_;
  std::uint64_t raw_bytes_ = 0;  // of body and framing
  std::size_t hosts_ = 0;
  int version_ = 11;
  bool begun_ = false;
  bool expects_continue_ = false;
};

}  // namespace dlo
