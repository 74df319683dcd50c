#include "peers/support/connection.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "peers/support/failure.h"

namespace dlo::peers {
namespace {

constexpr std::size_t room_to_read = 256 << 10;

int dial(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    fail("cannot connect to port " + std::to_string(port) + ": " + std::strerror(errno));
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

}  // namespace

Connection::Connection(int port, std::size_t id)
    : socket_(dial(port)), id_(id), buffer_(2 * room_to_read) {}

Connection::~Connection() {
  if (socket_ >= 0) ::close(socket_);
}

Connection::Connection(Connection&& other) noexcept
    : out(std::move(other.out)),
      socket_(std::exchange(other.socket_, -1)),
      id_(other.id_),
      sent_(other.sent_),
      buffer_(std::move(other.buffer_)),
      read_(other.read_),
      filled_(other.filled_),
      waiting_(std::move(other.waiting_)) {}

Connection::Answered Connection::answered() {
  if (waiting_.empty()) fail("a reply came that nobody asked for");
  const Request request = waiting_.front();
  waiting_.pop_front();
  return {request.kind, Clock::now() - request.at};
}

pollfd Connection::send_some() {
  while (sent_ < out.size()) {
    const auto count = ::send(socket_, out.data() + sent_, out.size() - sent_, MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN) return {socket_, POLLIN | POLLOUT, 0};
    if (count < 0) fail(std::string{"cannot send: "} + std::strerror(errno));
    sent_ += static_cast<std::size_t>(count);
  }
  out.clear();
  sent_ = 0;
  return {socket_, POLLIN, 0};
}

void Connection::receive_some() {
  if (read_ == filled_) read_ = filled_ = 0;
  if (buffer_.size() - filled_ < room_to_read) {
    std::memmove(buffer_.data(), buffer_.data() + read_, filled_ - read_);
    filled_ -= std::exchange(read_, 0);
    if (buffer_.size() - filled_ < room_to_read) buffer_.resize(buffer_.size() * 2);
  }
  const auto count = ::recv(socket_, buffer_.data() + filled_, buffer_.size() - filled_, 0);
  if (count == 0) fail("the server closed the connection");
  if (count < 0 && errno == EAGAIN) return;
  if (count < 0) fail(std::string{"cannot receive: "} + std::strerror(errno));
  filled_ += static_cast<std::size_t>(count);
}

std::string_view Connection::unread() const noexcept {
  return {buffer_.data() + read_, filled_ - read_};
}

std::vector<Connection> connect(int port, int count) {
  std::vector<Connection> connections;
  connections.reserve(static_cast<std::size_t>(count));
  for (std::size_t id = 0; id < static_cast<std::size_t>(count); ++id) {
    connections.emplace_back(port, id);
  }
  return connections;
}

bool wait_for_input(std::vector<pollfd>& sockets, Instant wake, Instant last_input) {
  using std::chrono::nanoseconds;
  constexpr std::int64_t billion = 1'000'000'000;
  const auto pause = std::max(nanoseconds{0}, nanoseconds{wake - Clock::now()}).count();
  const timespec timeout{pause / billion, pause % billion};
  const int ready = ::ppoll(sockets.data(), sockets.size(), &timeout, nullptr);
  if (ready < 0 && errno != EINTR) fail(std::string{"cannot poll: "} + std::strerror(errno));
  if (ready > 0) return true;
  if (Clock::now() - last_input > std::chrono::minutes{1}) fail("the server said nothing for 60 s");
  return false;
}

}  // namespace dlo::peers
