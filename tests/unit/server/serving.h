#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "support/eventually.h"
#include "support/http_client.h"
#include "support/must.h"

#include "dlo/server/http_server.h"

namespace dlo {

/// A server on a free port for the length of one test. Unless told otherwise it repeats what it was
/// asked: "GET /a body;".
class Serving : public ::testing::Test {
 protected:
  static HttpResponse echo(const HttpRequest& request) {
    HttpResponse response;
    response.content_type = "text/plain";
    response.body = request.method + " " + request.target + " " + request.body + ";";
    return response;
  }
  void serve(HttpOptions options = {}, HttpServer::Handle handle = {}) {
    if (!handle) {
      handle = [](const HttpRequest& request, const ExchangePtr& exchange) {
        exchange->send(echo(request));
      };
    }
    server_ = testing::must(HttpServer::listen(std::move(options), std::move(handle)));
    thread_ = std::thread([this] { server_->run(); });
  }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  void TearDown() override {
    if (server_) server_->stop(Millis{0});
    if (thread_.joinable()) thread_.join();
  }
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

inline std::string get(const std::string& target, const std::string& headers = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
}

}  // namespace dlo
