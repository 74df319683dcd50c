#pragma once

#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace dlo::testing {

/// A client that says exactly what it is told to, right or wrong.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval limit{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect");
    }
  }
  ~HttpClient() { ::close(fd_); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] std::uint16_t local_port() const {
    sockaddr_in mine{};
    socklen_t size = sizeof mine;
    if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&mine), &size) != 0) return 0;
    return ntohs(mine.sin_port);
  }
  /// False: the server took no more of it.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  void say_no_more() { ::shutdown(fd_, SHUT_WR); }

  /// Reads until `count` copies of `mark` have come; whatever came if the server closes first.
  std::string read_until(const std::string& mark, std::size_t count = 1) {
    std::string all;
    std::size_t seen = 0;
    std::size_t from = 0;
    char buffer[65536];
    while (seen < count) {
      const auto n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      all.append(buffer, static_cast<std::size_t>(n));
      for (auto at = all.find(mark, from); at != std::string::npos; at = all.find(mark, from)) {
        ++seen;
        from = at + mark.size();
      }
    }
    return all;
  }
  /// Reads until the server closes.
  std::string read_all() {
    std::string all;
    char buffer[65536];
    for (auto n = ::recv(fd_, buffer, sizeof buffer, 0); n > 0;
         n = ::recv(fd_, buffer, sizeof buffer, 0)) {
      all.append(buffer, static_cast<std::size_t>(n));
    }
    return all;
  }
  /// True if the server closes the connection before the ten seconds of the socket are over.
  bool closed_by_server() {
    char byte = 0;
    while (true) {
      const auto n = ::recv(fd_, &byte, 1, 0);
      if (n == 0) return true;
      if (n < 0) return errno == ECONNRESET;
    }
  }

  struct Answer {
    int status = 0;
    std::string head;
    std::string body;
    [[nodiscard]] bool has(std::string_view text) const {
      return head.find(text) != std::string::npos || body.find(text) != std::string::npos;
    }
  };
  /// The next whole answer: by its Content-Length, or its chunks put together.
  Answer read_answer();
  /// One request of the usual kind, and its answer.
  Answer ask(const std::string& method, const std::string& target, const std::string& body = "",
             const std::string& headers = "") {
    send(method + " " + target + " HTTP/1.1\r\nHost: x\r\n" + headers +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" +
         body);
    return read_answer();
  }

 private:
  bool fill(std::size_t size) {
    char buffer[65536];
    while (kept_.size() < size) {
      const auto n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) return false;
      kept_.append(buffer, static_cast<std::size_t>(n));
    }
    return true;
  }
  std::string take_to(std::string_view mark) {
    while (kept_.find(mark) == std::string::npos && fill(kept_.size() + 1)) {
    }
    const auto at = kept_.find(mark);
    return take(at == std::string::npos ? kept_.size() : at + mark.size());
  }
  std::string take(std::size_t size) {
    fill(size);
    std::string out = kept_.substr(0, size);
    kept_.erase(0, out.size());
    return out;
  }

  int fd_;
  std::string kept_;
};

inline HttpClient::Answer HttpClient::read_answer() {
  Answer answer;
  do {
    answer.head = take_to("\r\n\r\n");
    if (answer.head.size() < 12) return answer;
    answer.status = std::stoi(answer.head.substr(9, 3));
  } while (answer.status == 100);
  const auto length = answer.head.find("Content-Length: ");
  if (length != std::string::npos) {
    answer.body = take(std::stoul(answer.head.substr(length + 16)));
  } else if (answer.head.find("Transfer-Encoding: chunked") != std::string::npos) {
    for (std::string size = take_to("\r\n"); size.size() > 2 && size != "0\r\n";
         size = take_to("\r\n")) {
      answer.body += take(std::stoul(size, nullptr, 16));
      take(2);
    }
    take(2);
  }
  return answer;
}

}  // namespace dlo::testing
