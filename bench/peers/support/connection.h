#pragma once

#include <cstddef>
#include <deque>
#include <poll.h>
#include <string>
#include <string_view>
#include <vector>

#include "peers/support/clock.h"

namespace dlo::peers {

/// A non-blocking TCP connection to a server on this machine, with what is on its way in both
/// directions. Requests are answered in order.
class Connection {
 public:
  explicit Connection(int port, std::size_t id = 0);
  ~Connection();
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Which of its group this is.
  [[nodiscard]] std::size_t id() const noexcept { return id_; }

  /// What is to be sent; append to it.
  std::string out;

  /// Notes that a request was appended to `out` now. `kind` is for the caller.
  void asked(int kind = 0) { waiting_.push_back({Clock::now(), kind}); }
  [[nodiscard]] int waiting() const noexcept { return static_cast<int>(waiting_.size()); }

  struct Answered {
    int kind;
    Duration took;
  };
  /// The oldest request has its answer.
  Answered answered();

  /// Sends what the socket takes; the rest stays in `out`. Returns what to poll() for.
  pollfd send_some();
  /// Reads what has come. Fails the program if the server hung up.
  void receive_some();
  /// What has come and is not consumed yet.
  [[nodiscard]] std::string_view unread() const noexcept;
  void consume(std::size_t bytes) { read_ += bytes; }

 private:
  struct Request {
    Instant at;
    int kind;
  };
  int socket_;
  std::size_t id_;
  std::size_t sent_ = 0;      // bytes of `out` that are gone
  std::vector<char> buffer_;  // unread bytes are [read_, filled_)
  std::size_t read_ = 0;
  std::size_t filled_ = 0;
  std::deque<Request> waiting_;
};

/// So many connections, numbered from 0.
[[nodiscard]] std::vector<Connection> connect(int port, int count);

/// poll() until `wake` at the latest. Fails the program when no server said anything for a minute.
/// Returns whether something can be read.
bool wait_for_input(std::vector<pollfd>& sockets, Instant wake, Instant last_input);

/// Runs the connections until `done()`.
///   fill(connection)           appends requests to its `out`, as long as it wants more on their
///   way eat(connection, bytes)     consumes one reply and returns its length; 0 if it is not whole
///   yet wake()                     when fill() wants to be called although nothing has come
template <typename Fill, typename Eat, typename Done, typename Wake>
void drive(std::vector<Connection>& connections, Fill fill, Eat eat, Done done, Wake wake) {
  std::vector<pollfd> sockets(connections.size());
  Instant last_input = Clock::now();
  while (!done()) {
    for (std::size_t i = 0; i < connections.size(); ++i) {
      fill(connections[i]);
      sockets[i] = connections[i].send_some();
    }
    if (done()) return;
    if (!wait_for_input(sockets, wake(), last_input)) continue;
    last_input = Clock::now();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      auto& connection = connections[i];
      if ((sockets[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      connection.receive_some();
      while (!connection.unread().empty()) {
        const std::size_t eaten = eat(connection, connection.unread());
        if (eaten == 0) break;
        connection.consume(eaten);
      }
    }
  }
}

template <typename Fill, typename Eat, typename Done>
void drive(std::vector<Connection>& connections, Fill fill, Eat eat, Done done) {
  drive(connections, fill, eat, done, [] { return Clock::now() + std::chrono::seconds{1}; });
}

}  // namespace dlo::peers
