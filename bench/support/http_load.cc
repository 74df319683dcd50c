#include "support/http_load.h"

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace dlo::bench {
namespace {

using Steady = std::chrono::steady_clock;

struct Connection {
  int fd = -1;
  std::string in;
  Steady::time_point asked;
  bool over = false;
};

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect to the server");
  }
  return fd;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("the server hung up");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

double cpu_of(int process) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

/// The size of the whole answer at the front of `in`, or 0 if it is not all there.
std::size_t answer_size(const std::string& in, std::size_t& head) {
  const auto end = in.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  head = end + 4;
  const auto length = in.find("Content-Length: ");
  const std::size_t body = length < end ? std::stoul(in.substr(length + 16, 12)) : 0;
  return in.size() >= head + body ? head + body : 0;
}

}  // namespace

std::string request_bytes(std::string_view method, std::string_view target, std::string_view body,
                          std::string_view headers) {
  std::string out(method);
  out += ' ';
  out += target;
  out += " HTTP/1.1\r\nHost: x\r\n";
  out += headers;
  if (method != "GET") out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  out += "\r\n";
  out += body;
  return out;
}

LoadResult run_load(std::uint16_t port, int server, std::size_t connections, double seconds,
                    const NextRequest& next) {
  const int poll = ::epoll_create1(0);
  std::vector<Connection> all(connections);
  std::vector<double> times;
  LoadResult result;
  const double cpu_before = cpu_of(server);
  const auto begin = Steady::now();
  const auto end =
      begin + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
  std::size_t open = 0;
  const auto ask = [&](std::size_t i, std::string_view answer) {
    const std::string request = Steady::now() < end ? next(i, answer) : std::string();
    if (request.empty()) {
      ::close(all[i].fd);
      all[i].over = true;
      --open;
      return;
    }
    all[i].asked = Steady::now();
    send_all(all[i].fd, request);
  };
  for (std::size_t i = 0; i < connections; ++i) {
    all[i].fd = connect_to(port);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    ::epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &event);
    ++open;
    ask(i, {});
  }
  std::vector<epoll_event> events(connections);
  std::string buffer(1U << 20U, '\0');
  while (open > 0) {
    const int ready = ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), 10'000);
    if (ready <= 0) throw std::runtime_error("the server does not answer");
    for (int e = 0; e < ready; ++e) {
      const std::size_t i = events[static_cast<std::size_t>(e)].data.u64;
      Connection& connection = all[i];
      const auto got = ::recv(connection.fd, buffer.data(), buffer.size(), 0);
      if (got <= 0) throw std::runtime_error("the server hung up");
      connection.in.append(buffer.data(), static_cast<std::size_t>(got));
      std::size_t head = 0;
      const std::size_t size = answer_size(connection.in, head);
      if (size == 0) continue;
      ++result.requests;
      if (connection.in.compare(9, 1, "2") != 0) ++result.refused;
      times.push_back(
          std::chrono::duration<double, std::milli>(Steady::now() - connection.asked).count());
      const std::string answer = connection.in.substr(head, size - head);
      connection.in.erase(0, size);
      ask(i, answer);
    }
  }
  ::close(poll);
  result.seconds = std::chrono::duration<double>(Steady::now() - begin).count();
  result.server_cpu_seconds = cpu_of(server) - cpu_before;
  std::sort(times.begin(), times.end());
  if (!times.empty()) {
    result.p50_ms = times[times.size() / 2];
    result.p99_ms = times[times.size() * 99 / 100];
  }
  return result;
}

}  // namespace dlo::bench
