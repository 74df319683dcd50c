// beanstalkd: put, reserve + delete, release with delay, bury, kick. Raw protocol, pipelined: it
// has no batches, but takes any number of commands at once.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peers/support/connection.h"
#include "peers/support/failure.h"
#include "peers/support/number.h"
#include "peers/support/peer.h"
#include "peers/support/pipelined.h"

namespace dlo::peers {
namespace {

enum Kind : int { reserve, settlement };

/// The first line with its end; empty if it has not all come.
std::string_view line_of(std::string_view bytes) {
  const auto end = bytes.find('\n');
  return end == std::string_view::npos ? std::string_view{} : bytes.substr(0, end + 1);
}

[[noreturn]] void refused(std::string_view line) {
  fail("beanstalkd says: " + std::string{line});
}

void put(Connection& connection, const std::string& body) {
  connection.out += "put 1000 0 120 ";  // priority, no delay, seconds of lease
  connection.out += std::to_string(body.size());
  connection.out += "\r\n";
  connection.out += body;
  connection.out += "\r\n";
}

/// One reply of a consumer: a message, or the end of a lease.
struct Reply {
  std::size_t bytes = 0;  // 0: not whole yet
  std::string_view id;    // empty: not a message
  std::string_view body;
};

Reply read_reply(std::string_view bytes) {
  const auto line = line_of(bytes);
  if (line.empty()) return {};
  constexpr std::string_view reserved = "RESERVED ";
  if (!line.starts_with(reserved)) {
    if (line != "DELETED\r\n" && line != "RELEASED\r\n" && line != "BURIED\r\n") refused(line);
    return {.bytes = line.size()};
  }
  const auto space = line.find(' ', reserved.size());
  const auto size = static_cast<std::size_t>(number_in(line.substr(space + 1)));
  if (bytes.size() < line.size() + size + 2) return {};
  return {.bytes = line.size() + size + 2,
          .id = line.substr(reserved.size(), space - reserved.size()),
          .body = bytes.substr(line.size(), size)};
}

void append_settlement(std::string& out, std::string_view id, Fate fate) {
  switch (fate) {
    case Fate::done:
      out.append("delete ").append(id).append("\r\n");
      return;
    case Fate::retry:
      out.append("release ").append(id).append(" 1000 ");
      out.append(std::to_string(retry_delay.count())).append("\r\n");
      return;
    case Fate::dead:
      out.append("bury ").append(id).append(" 1000\r\n");
      return;
  }
}

class BeanstalkdPeer final : public Peer {
 public:
  BeanstalkdPeer(int port, const Bodies& bodies) : port_(port), bodies_(bodies) {}

  Measured enqueue(Callers callers, Budget& budget) override {
    auto connections = connect(port_, callers.count);
    return enqueue_pipelined(connections, callers.outstanding, bodies_, budget, put,
                             [](Connection&, std::string_view bytes) {
                               const auto line = line_of(bytes);
                               if (!line.empty() && !line.starts_with("INSERTED")) refused(line);
                               return Eaten{line.size(), 1};
                             });
  }

  Measured settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) override;

  Measured redrive() override {
    return time_one_request([this] {
      constexpr std::string_view kicked = "KICKED ";
      const auto answer = ask("kick 1000000000\r\n");
      if (!answer.starts_with(kicked)) refused(answer);
      return number_in(std::string_view{answer}.substr(kicked.size()));
    });
  }

  Measured end_to_end(Pace& pace, Receipts& receipts) override;

  Tally tally() override {
    const auto stats = ask("stats-tube default\r\n");
    const auto read = [&](const std::string& name) {
      const auto at = stats.find("\n" + name + ": ");
      if (at == std::string::npos) refused(stats);
      return number_in(std::string_view{stats}.substr(at + name.size() + 3));
    };
    return {read("current-jobs-ready"), read("current-jobs-delayed"), read("current-jobs-buried")};
  }

 private:
  /// One command and its answer, with the data that follows the line if it is an OK.
  std::string ask(std::string_view command) {
    auto connection = connect(port_, 1);
    connection.front().out += command;
    std::string answer;
    drive(
        connection, [](Connection&) {},
        [&](Connection&, std::string_view bytes) -> std::size_t {
          const auto line = line_of(bytes);
          if (line.empty()) return 0;
          std::size_t size = line.size();
          if (line.starts_with("OK "))
            size += static_cast<std::size_t>(number_in(line.substr(3))) + 2;
          if (bytes.size() < size) return 0;
          answer = bytes.substr(0, size);
          return size;
        },
        [&] { return !answer.empty(); });
    return answer;
  }

  int port_;
  const Bodies& bodies_;
};

Measured BeanstalkdPeer::settle(Consumers consumers, Fate fate, Budget& budget,
                                Receipts& receipts) {
  const bool batched = consumers == Consumers::one_in_batches;
  auto connections = connect(port_, batched ? 1 : workers);
  const int window = batched ? 512 : 1;
  Latencies latencies;
  long settled = 0;
  const auto fill = [&](Connection& connection) {
    while (connection.waiting() < window && budget.take().count > 0) {
      connection.out += "reserve\r\n";
      connection.asked(reserve);
    }
  };
  const auto eat = [&](Connection& connection, std::string_view bytes) {
    const Reply reply = read_reply(bytes);
    if (reply.bytes == 0) return reply.bytes;
    const auto answered = connection.answered();
    latencies.add(answered.took);
    if (answered.kind == settlement) {
      ++settled;
    } else {
      receipts.take(reply.body);
      append_settlement(connection.out, reply.id, fate);
      connection.asked(settlement);
    }
    return reply.bytes;
  };
  drive(connections, fill, eat, [&] { return budget.spent() && settled == budget.taken(); });
  return budget.measured(settled, std::move(latencies));
}

Measured BeanstalkdPeer::end_to_end(Pace& pace, Receipts& receipts) {
  auto connections = connect(port_, 2);  // 0 sends, 1 receives
  Latencies latencies;
  std::string body;
  long deleted = 0;
  pace.start();
  const auto fill = [&](Connection& connection) {
    if (connection.id() == 0) {
      pace.send_due([&](long number) {
        bodies_.write(number, body);
        put(connection, body);
      });
    } else if (connection.waiting() == 0 && receipts.count() < pace.messages()) {
      connection.out += "reserve\r\n";
      connection.asked(reserve);
    }
  };
  const auto eat = [&](Connection& connection, std::string_view bytes) {
    if (connection.id() == 0) return line_of(bytes).size();
    const Reply reply = read_reply(bytes);
    if (reply.bytes == 0) return reply.bytes;
    if (connection.answered().kind == settlement) {
      ++deleted;
    } else {
      latencies.add(Clock::now() - pace.due(receipts.take(reply.body)));
      append_settlement(connection.out, reply.id, Fate::done);
      connection.asked(settlement);
    }
    return reply.bytes;
  };
  drive(
      connections, fill, eat, [&] { return deleted == pace.messages(); },
      [&] { return pace.wake(); });
  return pace.measured(deleted, std::move(latencies));
}

}  // namespace
}  // namespace dlo::peers

int main(int argc, char** argv) {
  using namespace dlo::peers;
  return run_peer(argc, argv, [](const std::string& where, const Bodies& bodies) {
    return std::make_unique<BeanstalkdPeer>(port_of(where), bodies);
  });
}
