// Our own server, over the network like its peers: length-prefixed frames in HTTP/1.1, on the
// routes anybody would use. What it does inside one process is queue_peer.
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peers/support/connection.h"
#include "peers/support/failure.h"
#include "peers/support/number.h"
#include "peers/support/peer.h"

namespace dlo::peers {
namespace {

constexpr std::string_view frames = "application/vnd.dlo.messages";
constexpr std::string_view settlements = "application/vnd.dlo.settlements";
constexpr std::string_view lines = "application/x-ndjson";
constexpr std::size_t lease_size = 16;
constexpr long batch = 500;
constexpr int batches_ahead = 4;

enum Kind : int { receiving, settling };

struct Answer {
  std::size_t bytes = 0;  // 0: not whole yet
  int status = 0;
  std::string_view body;
};

Answer read_answer(std::string_view bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return {};
  const auto head = bytes.substr(0, end + 2);
  constexpr std::string_view length = "\r\nContent-Length: ";
  const auto at = head.find(length);
  if (at == std::string_view::npos) fail("an answer without a length: " + std::string{head});
  const auto digits = head.substr(at + length.size());
  const auto size = static_cast<std::size_t>(number_in(digits.substr(0, digits.find('\r'))));
  if (bytes.size() < end + 4 + size) return {};
  Answer answer{end + 4 + size, static_cast<int>(number_in(head.substr(9, 3))),
                bytes.substr(end + 4, size)};
  if (answer.status / 100 != 2) fail("dlo says: " + std::string{answer.body});
  return answer;
}

void ask(std::string& out, std::string_view method, std::string_view target, std::string_view type,
         std::string_view body) {
  out.append(method).append(" /v1/queues/jobs").append(target).append(" HTTP/1.1\r\nHost: dlo\r\n");
  if (!type.empty()) out.append("Content-Type: ").append(type).append("\r\n");
  out.append("Accept: ").append(frames).append("\r\nContent-Length: ");
  out.append(std::to_string(body.size())).append("\r\n\r\n").append(body);
}

void append_u32(std::string& out, std::size_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::size_t u32_at(std::string_view bytes, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8U | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

void append_frame(std::string& out, std::string_view body) {
  append_u32(out, 4 + body.size());
  append_u32(out, 0);  // no head
  out += body;
}

/// Calls each(lease, body) for every frame that was received.
template <typename Each>
void for_each_frame(std::string_view bytes, Each each) {
  while (!bytes.empty()) {
    const auto size = u32_at(bytes, 0);
    const auto frame = bytes.substr(4, size);
    const auto head = u32_at(frame, lease_size + 4);
    each(frame.substr(0, lease_size), frame.substr(lease_size + 8 + head));
    bytes.remove_prefix(4 + size);
  }
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<std::uint8_t>(c) >> 4U];
    text += digits[static_cast<std::uint8_t>(c) & 15U];
  }
  return text;
}

/// Ends of leases on their way to one request.
class Endings {
 public:
  explicit Endings(Fate fate) : fate_(fate) {}

  void add(std::string_view lease) {
    if (fate_ == Fate::done) {
      body_.append(lease).push_back('\0');
      return;
    }
    body_ += R"({"lease":")" + hex(lease);
    body_ += fate_ == Fate::retry
                 ? R"(","outcome":"abandon","increment_count":true,"delay_ms":)" +
                       std::to_string(std::chrono::milliseconds(retry_delay).count()) + "}\n"
                 : R"(","outcome":"dead_letter","reason":"Measured"})"
                   "\n";
  }
  void send(std::string& out) const {
    ask(out, "POST", "/settle", fate_ == Fate::done ? settlements : lines, body_);
  }

 private:
  Fate fate_;
  std::string body_;
};

class HttpPeer final : public Peer {
 public:
  HttpPeer(int port, const Bodies& bodies) : port_(port), bodies_(bodies) {
    // Nothing may die of its own while it is measured.
    one("PUT", "", R"({"lease_ms":120000})");
  }

  Measured enqueue(Callers callers, Budget& budget) override {
    auto connections = connect(port_, callers.count);
    std::vector<long> sent(connections.size(), 0);
    Latencies latencies;
    std::string body;
    std::string list;
    long stored = 0;
    const auto fill = [&](Connection& connection) {
      if (connection.waiting() > 0) return;
      const Numbers next = budget.take(callers.outstanding);
      if (next.count == 0) return;
      list.clear();
      for (long i = 0; i < next.count; ++i) {
        bodies_.write(next.first + i, body);
        if (callers.outstanding > 1) append_frame(list, body);
      }
      const bool single = callers.outstanding == 1;
      ask(connection.out, "POST", "/messages", single ? "text/plain" : frames,
          single ? body : list);
      connection.asked();
      sent[connection.id()] = next.count;
    };
    const auto eat = [&](Connection& connection, std::string_view bytes) {
      const Answer answer = read_answer(bytes);
      if (answer.bytes == 0) return answer.bytes;
      latencies.add(connection.answered().took);
      stored += sent[connection.id()];
      return answer.bytes;
    };
    drive(connections, fill, eat, [&] { return budget.spent() && stored == budget.taken(); });
    return budget.measured(stored, std::move(latencies));
  }

  Measured settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) override {
    const bool batched = consumers == Consumers::one_in_batches;
    auto connections = connect(port_, batched ? 1 : workers);
    const int window = batched ? 2 * batches_ahead : 1;
    Latencies latencies;
    long settled = 0;
    std::vector<std::vector<long>> in_flight(connections.size());
    const auto fill = [&](Connection& connection) {
      while (connection.waiting() < window) {
        const Numbers wanted = budget.take(batched ? batch : 1);
        if (wanted.count == 0) return;
        ask(connection.out, "POST", "/receive?limit=" + std::to_string(wanted.count), "", "");
        connection.asked(receiving);
      }
    };
    const auto eat = [&](Connection& connection, std::string_view bytes) {
      const Answer answer = read_answer(bytes);
      if (answer.bytes == 0) return answer.bytes;
      const auto answered = connection.answered();
      latencies.add(answered.took);
      auto& ending = in_flight[connection.id()];
      if (answered.kind == settling) {
        settled += ending.front();
        ending.erase(ending.begin());
        return answer.bytes;
      }
      Endings endings(fate);
      long count = 0;
      for_each_frame(answer.body, [&](std::string_view lease, std::string_view body) {
        receipts.take(body);
        endings.add(lease);
        ++count;
      });
      if (count == 0) fail("nothing to receive where there should be enough");
      endings.send(connection.out);
      connection.asked(settling);
      ending.push_back(count);
      return answer.bytes;
    };
    drive(connections, fill, eat, [&] { return budget.spent() && settled == budget.taken(); });
    return budget.measured(settled, std::move(latencies));
  }

  Measured redrive() override { fail("a replay is a job, not a request", Exit::not_offered); }

  Measured end_to_end(Pace& pace, Receipts& receipts) override {
    auto connections = connect(port_, 2);  // 0 sends, 1 receives
    Latencies latencies;
    std::string body;
    long completed = 0;
    std::vector<long> ending;
    pace.start();
    const auto fill = [&](Connection& connection) {
      if (connection.id() == 0) {
        pace.send_due([&](long number) {
          bodies_.write(number, body);
          ask(connection.out, "POST", "/messages", "text/plain", body);
        });
      } else if (connection.waiting() == 0 && receipts.count() < pace.messages()) {
        ask(connection.out, "POST", "/receive?limit=100&wait_ms=5000", "", "");
        connection.asked(receiving);
      }
    };
    const auto eat = [&](Connection& connection, std::string_view bytes) {
      const Answer answer = read_answer(bytes);
      if (answer.bytes == 0 || connection.id() == 0) return answer.bytes;
      if (connection.answered().kind == settling) {
        completed += ending.front();
        ending.erase(ending.begin());
        return answer.bytes;
      }
      const Instant here = Clock::now();
      Endings endings(Fate::done);
      long count = 0;
      for_each_frame(answer.body, [&](std::string_view lease, std::string_view got) {
        latencies.add(here - pace.due(receipts.take(got)));
        endings.add(lease);
        ++count;
      });
      if (count > 0) {
        endings.send(connection.out);
        connection.asked(settling);
        ending.push_back(count);
      }
      return answer.bytes;
    };
    drive(
        connections, fill, eat, [&] { return completed == pace.messages(); },
        [&] { return pace.wake(); });
    return pace.measured(completed, std::move(latencies));
  }

  Tally tally() override {
    const std::string text = one("GET", "", "");
    const auto read = [&](const std::string& name) {
      const auto at = text.find("\"" + name + "\":");
      if (at == std::string::npos) fail("dlo says: " + text);
      const auto from = std::string_view{text}.substr(at + name.size() + 3);
      return number_in(from.substr(0, from.find_first_of(",}")));
    };
    return {read("ready"), read("delayed"), read("dead")};
  }

 private:
  /// One request and its answer.
  std::string one(std::string_view method, std::string_view target, std::string_view body) {
    auto connection = connect(port_, 1);
    ask(connection.front().out, method, target, body.empty() ? "" : "application/json", body);
    std::string text;
    drive(
        connection, [](Connection&) {},
        [&](Connection&, std::string_view bytes) {
          const Answer answer = read_answer(bytes);
          if (answer.bytes > 0) text = answer.body;
          return answer.bytes;
        },
        [&] { return !text.empty(); });
    return text;
  }

  int port_;
  const Bodies& bodies_;
};

}  // namespace
}  // namespace dlo::peers

int main(int argc, char** argv) {
  using namespace dlo::peers;
  return run_peer(argc, argv, [](const std::string& where, const Bodies& bodies) {
    return std::make_unique<HttpPeer>(port_of(where), bodies);
  });
}
