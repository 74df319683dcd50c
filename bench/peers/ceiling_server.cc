// A bound, not a product: the least that a durable leased queue behind a socket must do. Requests,
// a log, one fdatasync for all that came meanwhile, 16 bytes of index a message. Whatever it leaves
// out (checksums, timers, reasons, several queues) a real queue must pay for on top.
//
// ceiling_server PORT FILE BYTES
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "peers/ceiling_log.h"
#include "peers/ceiling_wire.h"
#include "peers/support/failure.h"
#include "peers/support/peer.h"

namespace dlo::peers::ceiling {
namespace {

enum class State : std::uint8_t { ready, leased, delayed, dead, done };

struct Entry {
  std::uint64_t at;  // of the body, in the log
  Length size;
  State state;
  std::uint8_t attempts;
};
static_assert(sizeof(Entry) == 16);

class Queue {
 public:
  explicit Queue(Log& log) : log_(log) {}

  /// Carries out a request and appends its reply.
  void handle(Op op, std::string_view data, std::string& reply) {
    const std::size_t start = reply.size();
    append(reply, Length{0});
    answer(op, data, reply);
    const auto size = static_cast<Length>(reply.size() - start - sizeof(Length));
    std::memcpy(reply.data() + start, &size, sizeof size);
  }

 private:
  void answer(Op op, std::string_view data, std::string& reply) {
    switch (op) {
      case Op::put:
        return put(data, reply);
      case Op::lease:
        return lease(take<Length>(data), reply);
      case Op::done:
        return settle(op, State::done, data);
      case Op::retry:
        return settle(op, State::delayed, data);
      case Op::dead:
        return settle(op, State::dead, data);
      case Op::redrive:
        return redrive(reply);
      case Op::tally:
        append<Id>(reply, ready_.size());
        append<Id>(reply, delayed_);
        append<Id>(reply, dead_.size());
        return;
    }
    fail("a request of unknown kind");
  }

  void put(std::string_view body, std::string& reply) {
    const auto at = log_.append(std::uint8_t{1}, body);
    const Id id = entries_.size();
    entries_.push_back({at, static_cast<Length>(body.size()), State::ready, 0});
    ready_.push_back(id);
    append(reply, id);
  }

  void lease(Length most, std::string& reply) {
    std::string ids;
    for (Length i = 0; i < most && !ready_.empty(); ++i) {
      const Id id = ready_.front();
      ready_.pop_front();
      Entry& entry = entries_[id];
      entry.state = State::leased;
      ++entry.attempts;
      append(reply, id);
      append(reply, entry.size);
      reply += log_.read(entry.at, entry.size);
      append(ids, id);
    }
    if (!ids.empty()) log_.append(static_cast<std::uint8_t>(Op::lease), ids);
  }

  void settle(Op op, State state, std::string_view ids) {
    log_.append(static_cast<std::uint8_t>(op), ids);
    while (!ids.empty()) {
      const Id id = take<Id>(ids);
      entries_.at(id).state = state;
      if (state == State::dead) dead_.push_back(id);
      if (state == State::delayed) ++delayed_;
    }
  }

  void redrive(std::string& reply) {
    std::string record;
    append<Id>(record, dead_.size());
    log_.append(static_cast<std::uint8_t>(Op::redrive), record);
    append<Id>(reply, dead_.size());
    for (const Id id : dead_) {
      entries_[id].state = State::ready;
      entries_[id].attempts = 0;
      ready_.push_back(id);
    }
    dead_.clear();
  }

  Log& log_;
  std::vector<Entry> entries_;
  std::deque<Id> ready_;
  std::deque<Id> dead_;
  std::size_t delayed_ = 0;
};

/// A client, with the replies that wait for a sync.
struct Client {
  explicit Client(int accepted) : socket(accepted) {}
  int socket;
  std::string in;
  std::string held;    // replies of the group that is forming
  std::string flying;  // replies of the group that is being synced
  bool gone = false;

  void send_flying() {
    std::string_view rest = flying;
    while (!gone && !rest.empty()) {
      const auto count = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count >= 0) {
        rest.remove_prefix(static_cast<std::size_t>(count));
      } else if (errno == EAGAIN) {
        pollfd writable{socket, POLLOUT, 0};
        ::poll(&writable, 1, 100);
      } else {
        gone = true;
      }
    }
    flying.clear();
  }
};

class Server {
 public:
  Server(int port, Log& log) : log_(log), queue_(log), listener_(listen_on(port)) {
    watch(listener_, nullptr);
    watch(log_.finished(), this);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> events{};
    while (true) {
      const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        void* const source = events[static_cast<std::size_t>(i)].data.ptr;
        if (source == nullptr) {
          accept_one();
        } else if (source == this) {
          log_.acknowledge_finished();
          answer_synced();
        } else {
          serve(*static_cast<Client*>(source));
        }
      }
      if (!holding_.empty() && !log_.busy()) commit();
    }
  }

 private:
  static int listen_on(int port) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener, 128) != 0) {
      fail("cannot listen on port " + std::to_string(port) + ": " + std::strerror(errno));
    }
    return listener;
  }

  void watch(int descriptor, void* source) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = source;
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &event);
  }

  void accept_one() {
    const int socket = ::accept(listener_, nullptr, nullptr);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    clients_.push_back(std::make_unique<Client>(socket));
    watch(socket, clients_.back().get());
  }

  void serve(Client& client) {
    const auto count = ::recv(client.socket, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      ::close(client.socket);
      client.gone = true;
      return;
    }
    client.in.append(buffer_.data(), static_cast<std::size_t>(count));
    const bool was_holding = !client.held.empty();
    std::string_view rest = client.in;
    while (const std::size_t size = whole_frame(rest)) {
      handle(client, rest.substr(sizeof(Length), size - sizeof(Length)));
      rest.remove_prefix(size);
    }
    client.in.erase(0, client.in.size() - rest.size());
    if (!was_holding && !client.held.empty()) holding_.push_back(&client);
  }

  /// A lease need not wait for a sync, its record rides in the next one; nor does it overtake.
  void handle(Client& client, std::string_view request) {
    const Op op{take<std::uint8_t>(request)};
    const bool at_once =
        (op == Op::lease || op == Op::tally) && client.held.empty() && client.flying.empty();
    queue_.handle(op, request, at_once ? client.flying : client.held);
    if (at_once) client.send_flying();
  }

  void commit() {
    for (Client* const client : holding_) client->flying.swap(client->held);
    flying_.swap(holding_);
    if (log_.commit()) answer_synced();
  }

  void answer_synced() {
    for (Client* const client : flying_) client->send_flying();
    flying_.clear();
  }

  Log& log_;
  Queue queue_;
  int listener_;
  int poll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<char> buffer_ = std::vector<char>(1 << 18);
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> holding_;
  std::vector<Client*> flying_;
};

}  // namespace
}  // namespace dlo::peers::ceiling

int main(int argc, char** argv) {
  using namespace dlo::peers;
  if (argc != 4) fail("usage: ceiling_server PORT FILE BYTES", Exit::wrong_use);
  ceiling::Log log{argv[2], std::strtoull(argv[3], nullptr, 10)};
  ceiling::Server{port_of(argv[1]), log}.run();
}
