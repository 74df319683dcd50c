#include "dlo/server/http_server.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <vector>

#include "dlo/server/http_connection.h"

namespace dlo {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Steady = std::chrono::steady_clock;
using boost::system::error_code;

constexpr Millis sweep_every{250};
constexpr Millis sweep_every_while_stopping{20};
constexpr Millis accept_pause{50};
constexpr std::size_t most_handshakes = 4'096;  // that wait for a thread

}  // namespace

struct HttpServer::Inside {
  Inside(HttpOptions given, Handle handle) {
    common.options = std::move(given);
    common.handle = std::move(handle);
    common.limits = {common.options.header_limit, common.options.header_count,
                     common.options.body_limit};
    const std::size_t threads = std::max<std::size_t>(common.options.io_threads, 1);
    for (std::size_t i = 0; i < threads; ++i) loops.push_back(std::make_unique<HttpLoop>(common));
    acceptor = std::make_unique<tcp::acceptor>(loops.front()->io);
    pause = std::make_unique<asio::steady_timer>(loops.front()->io);
  }

  ~Inside() {
    // Its threads speak to the loops, which go before `common` does.
    if (common.handshakes != nullptr) common.handshakes->close();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  void accept();
  void welcome(HttpLoop& loop, tcp::socket socket);
  void sweep(HttpLoop& loop);
  void begin_stop(HttpLoop& loop, Steady::time_point stop_by);

  HttpCommon common;
  std::vector<std::unique_ptr<HttpLoop>> loops;
  std::unique_ptr<tcp::acceptor> acceptor;
  std::unique_ptr<asio::steady_timer> pause;
  std::size_t next_loop = 0;
  std::uint16_t bound_port = 0;
};

void HttpServer::Inside::accept() {
  if (!acceptor->is_open()) return;
  HttpLoop& loop = *loops[next_loop++ % loops.size()];
  acceptor->async_accept(loop.io, [this, &loop](const error_code& error, tcp::socket socket) {
    if (common.stopping.load()) return;
    if (error) {  // out of descriptors and the like: wait instead of spinning
      pause->expires_after(accept_pause);
      pause->async_wait([this](const error_code& stopped) {
        if (!stopped) accept();
      });
      return;
    }
    welcome(loop, std::move(socket));
    accept();
  });
}

void HttpServer::Inside::welcome(HttpLoop& loop, tcp::socket socket) {
  if (common.connections.fetch_add(1) >= common.options.max_connections) {
    common.connections.fetch_sub(1);
    AnswerForm form;
    form.keep_alive = false;
    HttpResponse busy =
        problem(503, "too_many_connections", "The server has as many connections as it can take.");
    busy.headers.push_back({"Retry-After", "1"});
    if (common.handshakes != nullptr) return;  // nothing it could read without a handshake
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(answer_text(std::move(busy), form)), ignored);
    return;  // its socket closes here
  }
  asio::dispatch(loop.io, [this, &loop, accepted = std::move(socket)]() mutable {
    auto connection = std::make_shared<HttpConnection>(loop, std::move(accepted));
    loop.open.insert(connection);
    connection->start();
    if (common.stopping.load()) connection->close();
  });
}

void HttpServer::Inside::sweep(HttpLoop& loop) {
  const auto now = Steady::now();
  const auto connections = std::vector(loop.open.begin(), loop.open.end());
  for (const auto& connection : connections) connection->check_time(now);
  const bool stopping = common.stopping.load();
  if (stopping && loop.open.empty()) return;
  loop.sweeper.expires_after(stopping ? sweep_every_while_stopping : sweep_every);
  loop.sweeper.async_wait([this, &loop](const error_code&) { sweep(loop); });
}

void HttpServer::Inside::begin_stop(HttpLoop& loop, Steady::time_point stop_by) {
  loop.stop_by = std::min(loop.stop_by, stop_by);
  const auto connections = std::vector(loop.open.begin(), loop.open.end());
  for (const auto& connection : connections) connection->drain();
  loop.sweeper.cancel();
}

HttpServer::HttpServer(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const noexcept {
  return inside_->bound_port;
}
std::size_t HttpServer::connections() const noexcept {
  return inside_->common.connections.load();
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(HttpOptions options, Handle handle) {
  auto inside = std::make_unique<Inside>(std::move(options), std::move(handle));
  const HttpOptions& chosen = inside->common.options;
  error_code error;
  const std::string host = chosen.host == "localhost" ? "127.0.0.1" : chosen.host;
  const auto address = asio::ip::make_address(host, error);
  if (error) {
    return Error{Code::invalid_argument, "http.listen",
                 "'" + chosen.host + "' is not an IP address. Use for example 127.0.0.1:8080."};
  }
  if (!chosen.certificate.empty() || !chosen.key.empty()) {
    auto identity = TlsIdentity::load(chosen.certificate, chosen.key);
    if (!identity) return identity.error();
    inside->common.identity = std::move(*identity);
    inside->common.handshakes =
        std::make_unique<WorkerPool>(chosen.handshake_threads, most_handshakes);
  }
  const tcp::endpoint endpoint(address, chosen.port);
  tcp::acceptor& acceptor = *inside->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return Error{Code::unavailable, "http.listen",
                 "Cannot listen on " + chosen.host + ":" + std::to_string(chosen.port) + ": " +
                     error.message() +
                     ". Choose another address with --listen HOST:PORT (port 0: any free one)."};
  }
  inside->bound_port = acceptor.local_endpoint(error).port();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(inside)));
}

Result<void> HttpServer::use_certificate(const std::string& certificate, const std::string& key) {
  if (inside_->common.handshakes == nullptr) {
    return Error{Code::refused, "server.tls",
                 "This server speaks plain HTTP; restart it to speak TLS."};
  }
  auto identity = TlsIdentity::load(certificate, key);
  if (!identity) return identity.error();
  const std::lock_guard lock(inside_->common.identity_mutex);
  inside_->common.identity = std::move(*identity);
  return {};
}

void HttpServer::run() {
  inside_->accept();
  std::vector<std::thread> others;
  for (const auto& loop : inside_->loops) inside_->sweep(*loop);
  for (std::size_t i = 1; i < inside_->loops.size(); ++i) {
    others.emplace_back([this, i] { inside_->loops[i]->io.run(); });
  }
  inside_->loops.front()->io.run();
  for (auto& other : others) other.join();
}

void HttpServer::stop(Millis grace) {
  if (inside_->common.stopping.exchange(true)) return;
  const auto stop_by = Steady::now() + grace;
  asio::post(inside_->loops.front()->io, [inside = inside_.get()] {
    error_code ignored;
    inside->acceptor->close(ignored);
    inside->pause->cancel();
  });
  for (const auto& loop : inside_->loops) {
    asio::post(loop->io,
               [inside = inside_.get(), &loop, stop_by] { inside->begin_stop(*loop, stop_by); });
  }
}

bool is_loopback(std::string_view host) noexcept {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace dlo
