#include "dlo/server/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>

namespace dlo {
namespace {

namespace http = boost::beast::http;

constexpr std::uint64_t framing_allowance = 8;

std::string text(boost::beast::string_view view) {
  return {view.data(), view.size()};
}

}  // namespace

RequestParser::RequestParser(const ParserLimits& limits) : limits_(limits) {
  eager(true);
  header_limit(limits.header_bytes);
  body_limit(limits.body_bytes);
}

void RequestParser::on_request_impl(Verb, view method, view target, int version, error_code&) {
  request_.method = text(method);
  request_.target = text(target);
  version_ = version;
  request_.headers.reserve(8);
}

void RequestParser::on_field_impl(Field name, view name_text, view value, error_code& error) {
  if (request_.headers.size() >= limits_.header_count) {
    error = http::error::header_limit;
    return;
  }
  if (name == Field::host) ++hosts_;
  if (name == Field::expect) {
    if (!same_ignoring_case({value.data(), value.size()}, "100-continue")) {
      refuse(417, "expectation_failed", "Only 'Expect: 100-continue' is understood.");
      error = http::error::bad_value;
      return;
    }
    expects_continue_ = true;
  }
  // Kept packed, a body would be taken for what it is not.
  if (name == Field::transfer_encoding &&
      !same_ignoring_case({value.data(), value.size()}, "chunked")) {
    refuse(501, "transfer_coding_not_supported",
           "Of transfer codings only 'chunked' is understood. Nothing was used; send the body "
           "unpacked.");
    error = http::error::bad_transfer_encoding;
    return;
  }
  request_.headers.push_back({text(name_text), text(value)});
}

void RequestParser::on_header_impl(error_code& error) {
  if (version_ >= 11 && hosts_ != 1) {
    refuse(400, "bad_request", "A request of HTTP/1.1 has exactly one Host header.");
    error = http::error::bad_field;
  } else if (!request_.target.starts_with('/') && !take_address()) {
    refuse(400, "bad_request",
           "The address is neither a path that begins with '/' nor http://HOST/PATH.");
    error = http::error::bad_target;
  }
}

/// RFC 9112, 3.2.2: who believes to speak to a proxy says the whole address, and has to be
/// understood. Its host is what counts, whatever stands in the header.
bool RequestParser::take_address() {
  const std::string_view whole = request_.target;
  const auto after = whole.find("://");
  if (after == std::string_view::npos) return false;
  const std::string_view scheme = whole.substr(0, after);
  if (!same_ignoring_case(scheme, "http") && !same_ignoring_case(scheme, "https")) return false;
  const std::string_view rest = whole.substr(after + 3);
  const auto end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view host = rest.substr(0, end);
  if (host.empty() || host.find('@') != std::string_view::npos) return false;
  const auto named =
      std::find_if(request_.headers.begin(), request_.headers.end(),
                   [](const HttpHeader& each) { return same_ignoring_case(each.name, "Host"); });
  if (named != request_.headers.end()) named->value = host;  // HTTP/1.0 needs none
  const std::string_view path = rest.substr(end);
  request_.target = (path.starts_with('/') ? "" : "/") + std::string(path);
  return true;
}

std::size_t RequestParser::on_body_impl(view body, error_code&) {
  request_.body.append(body.data(), body.size());
  return body.size();
}

std::size_t RequestParser::on_chunk_body_impl(std::uint64_t, view body, error_code&) {
  request_.body.append(body.data(), body.size());
  return body.size();
}

RequestParser::State RequestParser::feed(std::string_view& bytes) {
  while (!bytes.empty()) {
    begun_ = true;
    const bool in_body = is_header_done();
    error_code error;
    const std::size_t used = put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    bytes.remove_prefix(used);
    if (in_body) raw_bytes_ += used;
    if (raw_bytes_ > framing_allowance * limits_.body_bytes + limits_.header_bytes ||
        (in_body && error == http::error::need_more && bytes.size() > limits_.header_bytes)) {
      return refuse(413, "framing_too_large",
                    "The chunked body is mostly framing. Send larger chunks without extensions.");
    }
    if (error == http::error::need_more) return State::more;
    if (error) return refuse(error);
    if (is_done()) return State::done;
  }
  return is_done() ? State::done : State::more;
}

RequestParser::State RequestParser::refuse(int status, std::string_view code,
                                           const std::string& detail) {
  if (!refusal_) refusal_ = problem(status, code, detail);
  return State::refused;
}

RequestParser::State RequestParser::refuse(const error_code& error) {
  if (error == http::error::body_limit) {
    return refuse(413, "body_too_large",
                  "The body is larger than the limit of " + std::to_string(limits_.body_bytes) +
                      " bytes (server.max_body). Nothing of it was used; send it in parts, or have "
                      "the limit raised.");
  }
  if (error == http::error::header_limit) {
    return refuse(431, "headers_too_large",
                  "The head of the request is larger than the limit of " +
                      std::to_string(limits_.header_bytes) + " bytes or " +
                      std::to_string(limits_.header_count) + " headers.");
  }
  if (error == http::error::bad_version) {
    return refuse(505, "version_not_supported", "Only HTTP/1.1 and HTTP/1.0 are spoken here.");
  }
  return refuse(400, "bad_request",
                "This is not a valid HTTP/1.1 request: " + error.message() + ".");
}

}  // namespace dlo
