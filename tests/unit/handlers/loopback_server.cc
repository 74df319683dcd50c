#include "unit/handlers/loopback_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include "dlo/engine/handlers/sigpipe_shield.h"

namespace dlo::testing {

namespace {

/// A socket, with or without TLS, that gives up when the server ends.
class Stream {
 public:
  Stream(int fd, SSL_CTX* tls, const std::stop_token& stop) : fd_(fd), stop_(stop) {
    if (tls == nullptr) return;
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, fd_);
    ok_ = wait(POLLIN) && SSL_accept(ssl_) == 1;
  }
  ~Stream() {
    SSL_free(ssl_);
    ::close(fd_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }
  bool read_some(std::string& into) {
    char buffer[65536];
    if ((ssl_ == nullptr || SSL_pending(ssl_) == 0) && !wait(POLLIN)) return false;
    const auto got = ssl_ != nullptr ? SSL_read(ssl_, buffer, sizeof buffer)
                                     : ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    into.append(buffer, static_cast<std::size_t>(got));
    return true;
  }
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto wrote = ssl_ != nullptr
                             ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (wrote <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return true;
  }
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  /// Says nothing more until the other side goes away or the server ends.
  void hang() {
    std::string ignored;
    while (read_some(ignored)) {
    }
  }

 private:
  bool wait(short events) {
    while (!stop_.stop_requested()) {
      pollfd watched{fd_, events, 0};
      if (::poll(&watched, 1, 20) > 0) return true;
    }
    return false;
  }
  int fd_;
  const std::stop_token& stop_;
  SSL* ssl_ = nullptr;
  bool ok_ = true;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool read_request(Stream& stream, std::string& buffer, Request& request, std::size_t most_body) {
  std::size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!stream.read_some(buffer)) return false;
  }
  request.raw_head = buffer.substr(0, end + 2);
  buffer.erase(0, end + 4);
  std::size_t at = request.raw_head.find("\r\n");
  request.line = request.raw_head.substr(0, at);
  for (at += 2; at < request.raw_head.size();) {
    const auto stop = request.raw_head.find("\r\n", at);
    const std::string line = request.raw_head.substr(at, stop - at);
    const auto colon = line.find(':');
    const auto value = line.find_first_not_of(' ', colon + 1);
    request.headers.emplace(lower(line.substr(0, colon)),
                            value == std::string::npos ? "" : line.substr(value));
    at = stop + 2;
  }
  const auto length = request.headers.find("content-length");
  const std::size_t size = length == request.headers.end() ? 0 : std::stoul(length->second);
  if (size > most_body) return false;
  while (buffer.size() < size) {
    if (!stream.read_some(buffer)) return false;
  }
  request.body = buffer.substr(0, size);
  buffer.erase(0, size);
  return true;
}

int listen_on_loopback(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = static_cast<sockaddr*>(static_cast<void*>(&address));
  if (fd < 0 || ::bind(fd, generic, size) != 0 || ::getsockname(fd, generic, &size) != 0) {
    throw std::runtime_error("cannot bind to loopback");
  }
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

std::string Request::header(const std::string& name) const {
  const auto [from, to] = headers.equal_range(name);
  if (from == to) return "<none>";
  return std::next(from) == to ? from->second : "<several>";
}

std::string http(int status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " whatever\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

LoopbackServer::LoopbackServer(Script script, ssl_ctx_st* tls, std::size_t most_body)
    : script_(std::move(script)),
      tls_(tls),
      most_body_(most_body),
      listener_(listen_on_loopback(port_)) {
  ::listen(listener_, 128);
  acceptor_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
}

LoopbackServer::~LoopbackServer() {
  acceptor_.request_stop();
  acceptor_.join();
  conversations_.clear();
  ::close(listener_);
}

std::string LoopbackServer::url(const std::string& path) const {
  return std::string(tls_ != nullptr ? "https" : "http") + "://127.0.0.1:" + std::to_string(port_) +
         path;
}

std::vector<Request> LoopbackServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void LoopbackServer::accept_all(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd watched{listener_, POLLIN, 0};
    if (::poll(&watched, 1, 20) <= 0) continue;
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int number = ++connections_;
    conversations_.emplace_back([this, fd, number](const std::stop_token& end) {
      serve(fd, number, end);
      ++closed_;
    });
  }
}

void LoopbackServer::serve(int fd, int number, const std::stop_token& stop) {
  const SigpipeShield shield;  // OpenSSL's writes raise it
  Stream stream(fd, tls_, stop);
  std::string buffer;
  while (stream.ok()) {
    Request request;
    if (!read_request(stream, buffer, request, most_body_)) return;
    request.connection = number;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const Reply reply = script_(request);
    if (!stream.write(reply.bytes)) return;
    if (reply.then == Reply::Then::reset) stream.reset();
    if (reply.then == Reply::Then::hang) stream.hang();
    if (reply.then != Reply::Then::keep_open) return;
  }
}

FullPort::FullPort() : listener_(listen_on_loopback(port_)) {
  ::listen(listener_, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  for (int i = 0; i < 4; ++i) {
    fillers_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::connect(fillers_.back(), static_cast<const sockaddr*>(static_cast<const void*>(&address)),
              sizeof address);
  }
}

FullPort::~FullPort() {
  for (const int fd : fillers_) ::close(fd);
  ::close(listener_);
}

int closed_port() {
  int port = 0;
  ::close(listen_on_loopback(port));
  return port;
}

}  // namespace dlo::testing
