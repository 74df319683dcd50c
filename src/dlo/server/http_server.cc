#include "dlo/server/http_server.h"

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <unordered_set>

#include "dlo/server/http_codec.h"

namespace dlo {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Steady = std::chrono::steady_clock;
using boost::system::error_code;

constexpr std::size_t read_chunk = 16 * 1024;
constexpr Millis sweep_every{500};
constexpr Millis sweep_every_while_stopping{20};

struct Connection {
  explicit Connection(tcp::socket accepted) : socket(std::move(accepted)) {}
  tcp::socket socket;
  Steady::time_point deadline;  // checked by the server's one coarse timer
  bool in_request = false;
};
using ConnectionPtr = std::shared_ptr<Connection>;

}  // namespace

struct HttpServer::Inside {
  Inside(HttpOptions given, Handle given_handle)
      : options(std::move(given)), handle(std::move(given_handle)) {}

  asio::awaitable<void> accept_loop();
  asio::awaitable<void> serve(ConnectionPtr connection);
  asio::awaitable<void> sweep();
  void begin_stop(Millis grace);
  void expect(Connection& connection, bool in_request) const;
  void forget(const ConnectionPtr& connection);

  HttpOptions options;
  Handle handle;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer sweeper{io};
  std::unordered_set<ConnectionPtr> open;
  std::atomic<std::size_t> count{0};
  std::uint16_t bound_port = 0;
  bool stopping = false;
  Steady::time_point stop_by = Steady::time_point::max();
};

void HttpServer::Inside::expect(Connection& connection, bool in_request) const {
  connection.in_request = in_request;
  connection.deadline =
      Steady::now() + (in_request ? options.request_timeout : options.idle_timeout);
}

void HttpServer::Inside::forget(const ConnectionPtr& connection) {
  error_code ignored;
  connection->socket.shutdown(tcp::socket::shutdown_both, ignored);
  connection->socket.close(ignored);
  open.erase(connection);
  count.store(open.size());
}

asio::awaitable<void> HttpServer::Inside::accept_loop() {
  while (!stopping) {
    error_code error;
    tcp::socket socket =
        co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (stopping) break;
    if (error) {  // out of descriptors and the like: wait instead of spinning
      asio::steady_timer pause(io, Millis{50});
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    if (open.size() >= options.max_connections) continue;  // its socket closes here
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    auto connection = std::make_shared<Connection>(std::move(socket));
    expect(*connection, false);
    open.insert(connection);
    count.store(open.size());
    asio::co_spawn(io, serve(connection), asio::detached);
  }
}

asio::awaitable<void> HttpServer::Inside::serve(ConnectionPtr connection) {
  HttpCodec codec(options);
  std::string output;
  std::string chunk(read_chunk, '\0');
  bool go_on = true;
  while (go_on) {
    error_code error;
    if (!codec.has_more()) {
      const std::size_t got = co_await connection->socket.async_read_some(
          asio::buffer(chunk), asio::redirect_error(asio::use_awaitable, error));
      if (error) break;
      codec.feed(chunk.data(), got);
      if (!connection->in_request) expect(*connection, true);
    }
    go_on = codec.answer(output, handle, stopping);
    if (!output.empty()) {
      co_await asio::async_write(connection->socket, asio::buffer(output),
                                 asio::redirect_error(asio::use_awaitable, error));
      output.clear();
      if (error) break;
      expect(*connection, !codec.idle());
    }
    if (stopping && codec.idle()) break;
  }
  forget(connection);
}

asio::awaitable<void> HttpServer::Inside::sweep() {
  while (!(stopping && open.empty())) {
    sweeper.expires_after(stopping ? sweep_every_while_stopping : sweep_every);
    error_code error;
    co_await sweeper.async_wait(asio::redirect_error(asio::use_awaitable, error));
    const auto now = Steady::now();
    error_code ignored;
    for (const auto& connection : open) {
      if (now >= connection->deadline || now >= stop_by) connection->socket.close(ignored);
    }
  }
}

void HttpServer::Inside::begin_stop(Millis grace) {
  if (stopping) return;
  stopping = true;
  stop_by = Steady::now() + grace;
  error_code ignored;
  acceptor.close(ignored);
  for (const auto& connection : open) {
    if (!connection->in_request) connection->socket.close(ignored);
  }
  sweeper.cancel();
}

HttpServer::HttpServer(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const noexcept {
  return inside_->bound_port;
}
std::size_t HttpServer::connections() const noexcept {
  return inside_->count.load();
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(HttpOptions options, Handle handle) {
  auto inside = std::make_unique<Inside>(std::move(options), std::move(handle));
  const HttpOptions& chosen = inside->options;
  error_code error;
  const std::string host = chosen.host == "localhost" ? "127.0.0.1" : chosen.host;
  const auto address = asio::ip::make_address(host, error);
  if (error) {
    return Error{Code::invalid_argument, "http.listen",
                 "'" + chosen.host + "' is not an IP address. Use for example 127.0.0.1:8080."};
  }
  const tcp::endpoint endpoint(address, chosen.port);
  inside->acceptor.open(endpoint.protocol(), error);
  if (!error) inside->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) inside->acceptor.bind(endpoint, error);
  if (!error) inside->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return Error{Code::unavailable, "http.listen",
                 "Cannot listen on " + chosen.host + ":" + std::to_string(chosen.port) + ": " +
                     error.message() +
                     ". Choose another address with --listen HOST:PORT (port 0: any free one)."};
  }
  inside->bound_port = inside->acceptor.local_endpoint(error).port();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(inside)));
}

void HttpServer::run() {
  asio::co_spawn(inside_->io, inside_->accept_loop(), asio::detached);
  asio::co_spawn(inside_->io, inside_->sweep(), asio::detached);
  inside_->io.run();
}

void HttpServer::stop(Millis grace) {
  asio::post(inside_->io, [inside = inside_.get(), grace] { inside->begin_stop(grace); });
}

bool is_loopback(std::string_view host) noexcept {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace dlo
