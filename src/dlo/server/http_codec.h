#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>

#include "dlo/server/http_server.h"

namespace dlo {

/// Turns bytes into requests and answers into bytes; knows nothing of sockets.
class HttpCodec {
 public:
  explicit HttpCodec(const HttpOptions& options) : options_(options) { renew(); }

  /// Answers every whole request at the front of what has arrived, until `output` holds
  /// `flush_at` bytes. False: close the connection once `output` is written.
  bool answer(std::string& output, const HttpServer::Handle& handle, bool closing);

  void feed(const char* bytes, std::size_t size) { input_.append(bytes, size); }

  /// Between two requests: nothing has arrived of the next one.
  [[nodiscard]] bool idle() const { return input_.empty() && !parser_->got_some(); }
  /// There may be more whole requests in what has arrived.
  [[nodiscard]] bool has_more() const { return flushed_early_; }

 private:
  void renew();

  const HttpOptions& options_;
  std::unique_ptr<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::string input_;
  bool flushed_early_ = false;
};

}  // namespace dlo
