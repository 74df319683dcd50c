// Redis streams as a work queue: XADD, XREADGROUP, XACK + XDEL; delays in a sorted set, dead
// letters in a second stream, which is how its users build both. Raw protocol, pipelined.
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "peers/support/connection.h"
#include "peers/support/failure.h"
#include "peers/support/number.h"
#include "peers/support/peer.h"
#include "peers/support/pipelined.h"

namespace dlo::peers {
namespace {

using Fields = std::vector<std::string_view>;

void append_part(std::string& out, std::string_view part) {
  out += '$';
  out += std::to_string(part.size());
  out += "\r\n";
  out += part;
  out += "\r\n";
}

template <typename Parts>
void append_command(std::string& out, const Parts& parts) {
  out += '*';
  out += std::to_string(parts.size());
  out += "\r\n";
  for (const std::string_view part : parts) append_part(out, part);
}

void command(std::string& out, std::initializer_list<std::string_view> parts) {
  append_command(out, parts);
}

/// Consumes one whole reply: returns its length, 0 if it has not all come. Strings and numbers in
/// it are appended to `fields`, nesting forgotten. An error ends the program.
std::size_t read_reply(std::string_view bytes, Fields& fields) {
  const auto end_of_line = bytes.find('\n');
  if (end_of_line == std::string_view::npos) return 0;
  const auto line = bytes.substr(0, end_of_line - 1);
  std::size_t used = end_of_line + 1;
  switch (line.front()) {
    case '-':
      fail("redis says: " + std::string{line});
    case ':':
      fields.push_back(line.substr(1));
      return used;
    case '$': {
      const long length = number_in(line.substr(1));
      if (length < 0) return used;
      const auto size = static_cast<std::size_t>(length);
      if (bytes.size() < used + size + 2) return 0;
      fields.push_back(bytes.substr(used, size));
      return used + size + 2;
    }
    case '*':
      for (long left = number_in(line.substr(1)); left > 0; --left) {
        const auto part = read_reply(bytes.substr(used), fields);
        if (part == 0) return 0;
        used += part;
      }
      return used;
    default:
      return used;
  }
}

constexpr std::string_view queue = "q";
constexpr std::string_view delayed = "q:delayed";
constexpr std::string_view dead = "q:dead";
constexpr std::string_view reason = "MaxDeliveryCountExceeded";

enum Kind : int { read_group, queued_in_transaction, end_of_transaction };

void put(Connection& connection, const std::string& body) {
  command(connection.out, {"XADD", queue, "*", "d", body});
}

class RedisPeer final : public Peer {
 public:
  RedisPeer(int port, const Bodies& bodies) : port_(port), bodies_(bodies) {
    ask({"XGROUP", "CREATE", queue, "g", "0", "MKSTREAM"});
  }

  Measured enqueue(Callers callers, Budget& budget) override {
    auto connections = connect(port_, callers.count);
    Fields fields;
    return enqueue_pipelined(connections, callers.outstanding, bodies_, budget, put,
                             [&](Connection&, std::string_view bytes) {
                               fields.clear();
                               return Eaten{read_reply(bytes, fields), 1};
                             });
  }

  Measured settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) override;
  Measured redrive() override;
  Measured end_to_end(Pace& pace, Receipts& receipts) override;

  Tally tally() override {
    return {ask({"XLEN", queue}), ask({"ZCARD", delayed}), ask({"XLEN", dead})};
  }

 private:
  /// One request and its answer; the first number in it.
  long ask(std::initializer_list<std::string_view> parts) {
    auto connection = connect(port_, 1);
    command(connection.front().out, parts);
    return answer(connection);
  }
  static long answer(std::vector<Connection>& connection) {
    long first = 0;
    bool answered = false;
    drive(
        connection, [](Connection&) {},
        [&](Connection&, std::string_view bytes) {
          Fields fields;
          const auto used = read_reply(bytes, fields);
          answered = used > 0;
          if (answered && !fields.empty()) first = number_in(fields.front());
          return used;
        },
        [&] { return answered; });
    return first;
  }

  int port_;
  const Bodies& bodies_;
};

/// An XREADGROUP answers with the name of the stream, then id, "d" and body of each entry.
std::size_t entries_in(const Fields& fields) {
  return fields.size() < 4 ? 0 : (fields.size() - 1) / 3;
}
std::string_view id_of(const Fields& fields, std::size_t entry) {
  return fields[1 + 3 * entry];
}
std::string_view body_of(const Fields& fields, std::size_t entry) {
  return fields[3 + 3 * entry];
}

/// One transaction that ends the leases of everything in `fields`.
void append_settlement(Connection& connection, const Fields& fields, Fate fate,
                       std::string_view due) {
  const std::size_t entries = entries_in(fields);
  std::string& out = connection.out;
  Fields acknowledge{"XACK", queue, "g"};
  Fields remove{"XDEL", queue};
  command(out, {"MULTI"});
  connection.asked(queued_in_transaction);
  for (std::size_t i = 0; i < entries; ++i) {
    const auto id = id_of(fields, i);
    const auto body = body_of(fields, i);
    acknowledge.push_back(id);
    remove.push_back(id);
    if (fate == Fate::done) continue;
    if (fate == Fate::retry) command(out, {"ZADD", delayed, due, std::string{id}.append(body)});
    if (fate == Fate::dead) {
      command(out, {"XADD", dead, "*", "d", body, "id", id, "reason", reason});
    }
    connection.asked(queued_in_transaction);
  }
  append_command(out, acknowledge);
  connection.asked(queued_in_transaction);
  append_command(out, remove);
  connection.asked(queued_in_transaction);
  command(out, {"EXEC"});
  connection.asked(end_of_transaction);
}

/// When a retried message is due again, as the score of a sorted set.
std::string due_again() {
  const auto due = std::chrono::system_clock::now() + retry_delay;
  return std::to_string(
      std::chrono::duration_cast<std::chrono::milliseconds>(due.time_since_epoch()).count());
}

Measured RedisPeer::settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) {
  const bool batched = consumers == Consumers::one_in_batches;
  auto connections = connect(port_, batched ? 1 : workers);
  const int most_in_flight = batched ? 16 : 1;  // batches asked for and not yet settled
  std::vector<int> in_flight(connections.size(), 0);
  const std::string due = due_again();
  Fields fields;
  Latencies latencies;
  const auto fill = [&](Connection& connection) {
    while (in_flight[connection.id()] < most_in_flight) {
      const auto wanted = budget.take(batched ? 100 : 1);
      if (wanted.count == 0) return;
      command(connection.out, {"XREADGROUP", "GROUP", "g", "c" + std::to_string(connection.id()),
                               "COUNT", std::to_string(wanted.count), "STREAMS", queue, ">"});
      connection.asked(read_group);
      ++in_flight[connection.id()];
    }
  };
  const auto eat = [&](Connection& connection, std::string_view bytes) {
    fields.clear();
    const auto used = read_reply(bytes, fields);
    if (used == 0) return used;
    const auto answered = connection.answered();
    if (answered.kind != queued_in_transaction) latencies.add(answered.took);
    if (answered.kind == end_of_transaction) --in_flight[connection.id()];
    if (answered.kind != read_group) return used;
    const auto entries = entries_in(fields);
    if (entries == 0) fail("redis had no entry to lease although some are ready");
    for (std::size_t i = 0; i < entries; ++i) receipts.take(body_of(fields, i));
    append_settlement(connection, fields, fate, due);
    return used;
  };
  drive(connections, fill, eat, [&] {
    return budget.spent() && std::all_of(in_flight.begin(), in_flight.end(), std::logical_not{});
  });
  return budget.measured(receipts.count(), std::move(latencies));
}

Measured RedisPeer::redrive() {
  constexpr std::string_view move_a_thousand =
      "local entries = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1000) "
      "for i = 1, #entries do "
      "redis.call('XADD', KEYS[2], '*', 'd', entries[i][2][2]) "
      "redis.call('XDEL', KEYS[1], entries[i][1]) end "
      "return #entries";
  auto connection = connect(port_, 1);
  Latencies latencies;
  long moved = 0;
  const Instant start = Clock::now();
  for (long batch = 1; batch > 0; moved += batch) {
    const Instant before = Clock::now();
    command(connection.front().out, {"EVAL", move_a_thousand, "2", dead, queue});
    batch = answer(connection);
    latencies.add(Clock::now() - before);
  }
  return {moved, Clock::now() - start, std::move(latencies)};
}

Measured RedisPeer::end_to_end(Pace& pace, Receipts& receipts) {
  auto connections = connect(port_, 2);  // 0 sends, 1 receives
  Fields fields;
  Latencies latencies;
  std::string body;
  pace.start();
  const auto fill = [&](Connection& connection) {
    if (connection.id() == 0) {
      pace.send_due([&](long number) {
        bodies_.write(number, body);
        put(connection, body);
      });
    } else if (connection.waiting() == 0 && receipts.count() < pace.messages()) {
      command(connection.out, {"XREADGROUP", "GROUP", "g", "c", "COUNT", "100", "BLOCK", "0",
                               "STREAMS", queue, ">"});
      connection.asked(read_group);
    }
  };
  const auto eat = [&](Connection& connection, std::string_view bytes) {
    fields.clear();
    const auto used = read_reply(bytes, fields);
    if (used == 0 || connection.id() == 0) return used;
    if (connection.answered().kind != read_group) return used;
    for (std::size_t i = 0; i < entries_in(fields); ++i) {
      latencies.add(Clock::now() - pace.due(receipts.take(body_of(fields, i))));
      command(connection.out, {"XACK", queue, "g", id_of(fields, i)});
      connection.asked(end_of_transaction);
      command(connection.out, {"XDEL", queue, id_of(fields, i)});
      connection.asked(end_of_transaction);
    }
    return used;
  };
  const auto done = [&] {
    return receipts.count() == pace.messages() && connections[1].waiting() == 0;
  };
  drive(connections, fill, eat, done, [&] { return pace.wake(); });
  return pace.measured(receipts.count(), std::move(latencies));
}

}  // namespace
}  // namespace dlo::peers

int main(int argc, char** argv) {
  using namespace dlo::peers;
  return run_peer(argc, argv, [](const std::string& where, const Bodies& bodies) {
    return std::make_unique<RedisPeer>(port_of(where), bodies);
  });
}
