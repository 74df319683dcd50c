// The client of ceiling_server: the bound, measured like a peer.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peers/ceiling_wire.h"
#include "peers/support/connection.h"
#include "peers/support/failure.h"
#include "peers/support/peer.h"
#include "peers/support/pipelined.h"

namespace dlo::peers {
namespace {

using ceiling::append;
using ceiling::Id;
using ceiling::Length;
using ceiling::Op;
using ceiling::whole_frame;

void request(std::string& out, Op op, std::string_view data) {
  append(out, static_cast<Length>(data.size() + 1));
  append(out, op);
  out += data;
}

void put(Connection& connection, const std::string& body) {
  request(connection.out, Op::put, body);
}

Op op_for(Fate fate) {
  switch (fate) {
    case Fate::done:
      return Op::done;
    case Fate::retry:
      return Op::retry;
    case Fate::dead:
      return Op::dead;
  }
  fail("no such fate");
}

class CeilingPeer final : public Peer {
 public:
  CeilingPeer(int port, const Bodies& bodies) : port_(port), bodies_(bodies) {}

  Measured enqueue(Callers callers, Budget& budget) override {
    auto connections = connect(port_, callers.count);
    return enqueue_pipelined(
        connections, callers.outstanding, bodies_, budget, put,
        [](Connection&, std::string_view bytes) { return Eaten{whole_frame(bytes), 1}; });
  }

  Measured settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) override;

  Measured redrive() override {
    return time_one_request([this] { return static_cast<long>(ask(Op::redrive, 1).front()); });
  }

  [[nodiscard]] bool can_push() const override { return false; }
  Measured end_to_end(Pace&, Receipts&) override { return {}; }

  Tally tally() override {
    const auto counts = ask(Op::tally, 3);
    return {static_cast<long>(counts[0]), static_cast<long>(counts[1]),
            static_cast<long>(counts[2])};
  }

 private:
  /// One request without data, answered with `count` numbers.
  std::vector<Id> ask(Op op, std::size_t count) {
    auto connection = connect(port_, 1);
    request(connection.front().out, op, "");
    std::vector<Id> numbers;
    drive(
        connection, [](Connection&) {},
        [&](Connection&, std::string_view bytes) {
          const auto size = whole_frame(bytes);
          if (size == 0) return size;
          if (size != sizeof(Length) + count * sizeof(Id)) fail("a reply of the wrong size");
          bytes.remove_prefix(sizeof(Length));
          while (numbers.size() < count) numbers.push_back(ceiling::take<Id>(bytes));
          return size;
        },
        [&] { return !numbers.empty(); });
    return numbers;
  }

  int port_;
  const Bodies& bodies_;
};

Measured CeilingPeer::settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) {
  const bool batched = consumers == Consumers::one_in_batches;
  auto connections = connect(port_, batched ? 1 : workers);
  const int most_in_flight = batched ? 16 : 1;  // batches asked for and not yet settled
  std::vector<int> in_flight(connections.size(), 0);
  Latencies latencies;
  std::string ids;
  const auto fill = [&](Connection& connection) {
    while (in_flight[connection.id()] < most_in_flight) {
      const auto wanted = static_cast<Length>(budget.take(batched ? 100 : 1).count);
      if (wanted == 0) return;
      std::string data;
      append(data, wanted);
      request(connection.out, Op::lease, data);
      connection.asked(static_cast<int>(Op::lease));
      ++in_flight[connection.id()];
    }
  };
  const auto eat = [&](Connection& connection, std::string_view bytes) {
    const auto size = whole_frame(bytes);
    if (size == 0) return size;
    const auto answered = connection.answered();
    latencies.add(answered.took);
    if (answered.kind != static_cast<int>(Op::lease)) {
      --in_flight[connection.id()];
      return size;
    }
    ids.clear();
    std::string_view rest = bytes.substr(sizeof(Length), size - sizeof(Length));
    while (!rest.empty()) {
      append(ids, ceiling::take<Id>(rest));
      const auto length = ceiling::take<Length>(rest);
      receipts.take(rest.substr(0, length));
      rest.remove_prefix(length);
    }
    request(connection.out, op_for(fate), ids);
    connection.asked(static_cast<int>(op_for(fate)));
    return size;
  };
  drive(connections, fill, eat, [&] {
    return budget.spent() && std::all_of(in_flight.begin(), in_flight.end(), std::logical_not{});
  });
  return budget.measured(receipts.count(), std::move(latencies));
}

}  // namespace
}  // namespace dlo::peers

int main(int argc, char** argv) {
  using namespace dlo::peers;
  return run_peer(argc, argv, [](const std::string& where, const Bodies& bodies) {
    return std::make_unique<CeilingPeer>(port_of(where), bodies);
  });
}
