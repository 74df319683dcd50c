#include "dlo/server/http_codec.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>

namespace dlo {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

// How many bytes of answers to pipelined requests are gathered into one write.
constexpr std::size_t flush_at = 64 * 1024;

std::string problem(int status, std::string_view code, const std::string& detail) {
  std::string text = R"({"type":"about:blank","status":)";
  text += std::to_string(status);
  text += R"(,"code":")";
  text += code;
  text += R"(","detail":")";
  text += detail;
  text += "\"}\n";
  return text;
}

void append_response(std::string& out, const HttpResponse& response, bool keep_alive,
                     bool head_only) {
  out += "HTTP/1.1 ";
  out += std::to_string(response.status);
  out += ' ';
  const auto reason =
      http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)));
  out.append(reason.data(), reason.size());
  out += "\r\nServer: dlo\r\nX-Content-Type-Options: nosniff\r\nContent-Type: ";
  out += response.content_type;
  out += "\r\nContent-Length: ";
  out += std::to_string(response.body.size());
  out += keep_alive ? "\r\n\r\n" : "\r\nConnection: close\r\n\r\n";
  if (!head_only) out += response.body;
}

HttpResponse refusal(const error_code& error, const HttpOptions& options) {
  HttpResponse response;
  response.content_type = "application/problem+json";
  if (error == http::error::body_limit) {
    response.status = 413;
    response.body = problem(
        413, "body_too_large",
        "The body is larger than the limit of " + std::to_string(options.body_limit) + " bytes.");
  } else if (error == http::error::header_limit) {
    response.status = 431;
    response.body = problem(431, "headers_too_large",
                            "The headers are larger than the limit of " +
                                std::to_string(options.header_limit) + " bytes.");
  } else {
    response.status = 400;
    response.body = problem(400, "bad_request", "This is not a valid HTTP/1.1 request.");
  }
  return response;
}

HttpRequest to_request(http::request<http::string_body>&& parsed) {
  HttpRequest request;
  request.method = std::string(parsed.method_string());
  request.target = std::string(parsed.target());
  for (const auto& field : parsed) {
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  request.body = std::move(parsed.body());
  return request;
}

}  // namespace

void HttpCodec::renew() {
  parser_ = std::make_unique<http::request_parser<http::string_body>>();
  parser_->eager(true);
  parser_->header_limit(options_.header_limit);
  parser_->body_limit(options_.body_limit);
}

bool HttpCodec::answer(std::string& output, const HttpServer::Handle& handle, bool closing) {
  flushed_early_ = false;
  while (!input_.empty()) {
    if (output.size() >= flush_at) {
      flushed_early_ = true;
      return true;
    }
    error_code error;
    const std::size_t used = parser_->put(boost::asio::buffer(input_), error);
    input_.erase(0, used);
    if (error == http::error::need_more) return true;
    if (error) {
      append_response(output, refusal(error, options_), false, false);
      return false;
    }
    if (!parser_->is_done()) continue;
    const bool keep = parser_->get().keep_alive() && !closing;
    const bool head_only = parser_->get().method() == http::verb::head;
    append_response(output, handle(to_request(parser_->release())), keep, head_only);
    if (!keep) return false;
    renew();
  }
  return true;
}

}  // namespace dlo
