// RabbitMQ: confirmed publishes, consumers with prefetch that acknowledge what came in one go,
// retries in a queue whose messages expire, the dead-letter exchange, and the shovel back.
//
// WHERE is PORT/classic or PORT/quorum. redrive_all needs RABBITMQCTL: the command that administers
// the node, with whatever environment it wants.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "peers/amqp_wire.h"
#include "peers/support/connection.h"
#include "peers/support/failure.h"
#include "peers/support/peer.h"
#include "peers/support/pipelined.h"

namespace dlo::peers {
namespace {

using amqp::Frame;
using amqp::Method;
using amqp::Writer;

constexpr std::string_view queue = "q";
constexpr std::string_view delayed = "q-delayed";
constexpr std::string_view dead = "q-dead";
constexpr std::string_view dead_letter_exchange = "q-dlx";
constexpr unsigned durable = 2;
constexpr unsigned passive = 1;

/// Which publishes of a connection are confirmed: one by one in any order, or all up to one of
/// them.
class Confirms {
 public:
  /// How many more are confirmed by this.
  long note(std::uint64_t tag, bool all_before) {
    if (confirmed_.size() <= tag) confirmed_.resize(tag + 1024);
    long news = 0;
    for (auto at = all_before ? first_open_ : tag; at <= tag; ++at) {
      if (!confirmed_[at]) ++news;
      confirmed_[at] = true;
    }
    while (first_open_ < confirmed_.size() && confirmed_[first_open_]) ++first_open_;
    return news;
  }

 private:
  std::vector<bool> confirmed_;
  std::uint64_t first_open_ = 1;
};

/// Subscribes with room for `prefetch` messages that are not acknowledged.
void consume(std::string& out, unsigned prefetch) {
  call(out, Method::basic_qos, Writer{}.u32(0).u16(prefetch).u8(0));
  call(out, Method::basic_consume, Writer{}.u16(0).short_text(queue).short_text("").u8(0).u32(0));
}

std::uint64_t tag_of_delivery(const Frame& deliver) {
  const auto consumer = 1 + static_cast<unsigned char>(deliver.contents.front());
  return amqp::number(deliver.contents.substr(static_cast<std::size_t>(consumer)), 8);
}

/// A consumer's connection: what was delivered and is not settled yet.
struct Consumer {
  std::uint64_t tag = 0;        // of the delivery whose body comes next
  std::uint64_t to_settle = 0;  // everything up to here may be settled; 0: nothing
  Instant last_delivery{};
  bool asked_for_end = false;
  bool ended = false;

  /// Settles what can be in one frame.
  void settle(std::string& out, Fate fate) {
    constexpr unsigned multiple = 1;
    if (to_settle == 0) return;
    const auto method = fate == Fate::done ? Method::basic_ack : Method::basic_nack;
    call(out, method, Writer{}.u64(to_settle).u8(multiple));
    to_settle = 0;
  }
  /// Asks something on the same channel: the answer says that all settlements were taken.
  void ask_for_end(std::string& out) {
    if (std::exchange(asked_for_end, true)) return;
    call(out, Method::queue_declare, Writer{}.u16(0).short_text(queue).u8(passive).u32(0));
  }
};

class RabbitmqPeer final : public Peer {
 public:
  RabbitmqPeer(int port, std::string type, const Bodies& bodies)
      : port_(port), type_(std::move(type)), bodies_(bodies), control_(amqp::open(port, 1, false)) {
    ask(control_, Method::exchange_declare,
        Writer{}.u16(0).short_text(dead_letter_exchange).short_text("direct").u8(durable).u32(0),
        Method::exchange_declare_ok);
    Writer to_exchange = dead_lettering(dead_letter_exchange);
    declare(queue, to_exchange);
    Writer expiring = dead_lettering("");
    expiring.entry("x-message-ttl",
                   std::int32_t{1000} * static_cast<std::int32_t>(retry_delay.count()));
    declare(delayed, expiring);
    declare(dead, Writer{}.entry("x-queue-type", type_));
  }

  ~RabbitmqPeer() override {
    for (const auto name : {queue, delayed, dead}) {
      ask(control_, Method::queue_delete, Writer{}.u16(0).short_text(name).u8(0),
          Method::queue_delete_ok);
    }
  }
  RabbitmqPeer(const RabbitmqPeer&) = delete;
  RabbitmqPeer& operator=(const RabbitmqPeer&) = delete;

  Measured enqueue(Callers callers, Budget& budget) override {
    auto connections = amqp::open(port_, callers.count, true);
    std::vector<Confirms> confirms(connections.size());
    return enqueue_pipelined(
        connections, callers.outstanding, bodies_, budget,
        [](Connection& connection, const std::string& body) {
          amqp::publish(connection.out, queue, body);
        },
        [&](Connection& connection, std::string_view bytes) {
          const Frame frame = amqp::read(bytes);
          if (frame.is(Method::basic_nack)) fail("rabbitmq refused a message");
          if (!frame.is(Method::basic_ack)) return Eaten{frame.bytes, 0};
          const bool all_before = (frame.contents[8] & 1) != 0;
          return Eaten{frame.bytes,
                       confirms[connection.id()].note(amqp::number(frame.contents, 8), all_before)};
        });
  }

  Measured settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) override;
  Measured redrive() override;
  Measured end_to_end(Pace& pace, Receipts& receipts) override;

  Tally tally() override { return {depth(queue), depth(delayed), depth(dead)}; }

 private:
  [[nodiscard]] Writer dead_lettering(std::string_view exchange) const {
    Writer table;
    table.entry("x-queue-type", type_).entry("x-dead-letter-exchange", exchange);
    table.entry("x-dead-letter-routing-key", queue);
    if (type_ == "quorum") {
      table.entry("x-dead-letter-strategy", "at-least-once").entry("x-overflow", "reject-publish");
    }
    return table;
  }

  void declare(std::string_view name, const Writer& table) {
    ask(control_, Method::queue_declare,
        Writer{}.u16(0).short_text(name).u8(durable).long_text(table.bytes()),
        Method::queue_declare_ok);
  }

  /// Rejected messages go to `target` from now on.
  void dead_letter_to(std::string_view target) {
    Writer arguments;
    arguments.u16(0).short_text(target).short_text(dead_letter_exchange).short_text(queue);
    ask(control_, Method::queue_bind, arguments.u8(0).u32(0), Method::queue_bind_ok);
  }

  /// How many are ready in a queue; the answer repeats its name first.
  long depth(std::string_view name) {
    const auto answer =
        ask(control_, Method::queue_declare, Writer{}.u16(0).short_text(name).u8(passive).u32(0),
            Method::queue_declare_ok);
    return static_cast<long>(amqp::number(std::string_view{answer}.substr(1 + name.size()), 4));
  }

  void wait_for_depth(std::string_view name, long expected) {
    const Instant deadline = Clock::now() + std::chrono::seconds{60};
    while (depth(name) < expected) {
      if (Clock::now() > deadline) fail(std::string{name} + " never got all messages");
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
  }

  int port_;
  std::string type_;
  const Bodies& bodies_;
  std::vector<Connection> control_;
};

Measured RabbitmqPeer::settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) {
  const bool batched = consumers == Consumers::one_in_batches;
  if (fate != Fate::done) dead_letter_to(fate == Fate::retry ? delayed : dead);
  auto connections = amqp::open(port_, batched ? 1 : workers, false);
  std::vector<Consumer> all(connections.size());
  Latencies latencies;
  budget.start();
  for (auto& connection : connections) {
    consume(connection.out, batched ? 1000 : 1);
    all[connection.id()].last_delivery = Clock::now();
  }
  const auto fill = [&](Connection& connection) {
    Consumer& consumer = all[connection.id()];
    consumer.settle(connection.out, fate);
    if (budget.spent()) consumer.ask_for_end(connection.out);
  };
  const auto eat = [&](Connection& connection, std::string_view bytes) {
    const Frame frame = amqp::read(bytes);
    Consumer& consumer = all[connection.id()];
    if (frame.is(Method::basic_deliver)) consumer.tag = tag_of_delivery(frame);
    if (frame.is(Method::queue_declare_ok)) consumer.ended = true;
    // Beyond the budget a delivery is left alone; it goes back when the connection closes.
    if (frame.bytes == 0 || frame.type != Frame::Type::body || budget.take().count == 0) {
      return frame.bytes;
    }
    receipts.take(frame.contents);
    consumer.to_settle = consumer.tag;
    latencies.add(Clock::now() - std::exchange(consumer.last_delivery, Clock::now()));
    return frame.bytes;
  };
  drive(connections, fill, eat, [&] {
    return std::all_of(all.begin(), all.end(), [](const Consumer& one) { return one.ended; });
  });
  if (fate != Fate::done) wait_for_depth(fate == Fate::retry ? delayed : dead, receipts.count());
  return budget.measured(receipts.count(), std::move(latencies));
}

/// Timed from the first message that arrives: setting up a shovel takes seconds, once.
Measured RabbitmqPeer::redrive() {
  const char* const rabbitmqctl = std::getenv("RABBITMQCTL");
  if (rabbitmqctl == nullptr) fail("redrive_all needs RABBITMQCTL", Exit::wrong_use);
  const std::string uri = "amqp://127.0.0.1:" + std::to_string(port_);
  const std::string settings =
      R"({"src-protocol":"amqp091","src-uri":")" + uri + R"(","src-queue":")" + std::string{dead} +
      R"(","dest-protocol":"amqp091","dest-uri":")" + uri + R"(","dest-queue":")" +
      std::string{queue} +
      R"(","ack-mode":"on-confirm","src-delete-after":"queue-length","src-prefetch-count":1000})";
  const std::string command =
      std::string{rabbitmqctl} + " -q set_parameter shovel back '" + settings + "' >/dev/null";
  const long before = depth(queue);
  const long messages = depth(dead);
  const std::jthread administrator{[&command] {
    if (std::system(command.c_str()) != 0) fail("rabbitmqctl could not start the shovel");
  }};
  wait_for_depth(queue, before + 1);
  return time_one_request([&] {
    wait_for_depth(queue, before + messages);
    return messages;
  });
}

Measured RabbitmqPeer::end_to_end(Pace& pace, Receipts& receipts) {
  auto connections = amqp::open(port_, 2, true);  // 0 sends, 1 receives
  Consumer consumer;
  Latencies latencies;
  std::string body;
  consume(connections[1].out, 100);
  pace.start();
  const auto fill = [&](Connection& connection) {
    if (connection.id() == 0) {
      pace.send_due([&](long number) {
        bodies_.write(number, body);
        amqp::publish(connection.out, queue, body);
      });
    } else {
      consumer.settle(connection.out, Fate::done);
      if (receipts.count() == pace.messages()) consumer.ask_for_end(connection.out);
    }
  };
  const auto eat = [&](Connection& connection, std::string_view bytes) {
    const Frame frame = amqp::read(bytes);
    if (connection.id() == 0 || frame.bytes == 0) return frame.bytes;
    if (frame.is(Method::basic_deliver)) consumer.tag = tag_of_delivery(frame);
    if (frame.is(Method::queue_declare_ok)) consumer.ended = true;
    if (frame.type == Frame::Type::body) {
      latencies.add(Clock::now() - pace.due(receipts.take(frame.contents)));
      consumer.to_settle = consumer.tag;
    }
    return frame.bytes;
  };
  drive(connections, fill, eat, [&] { return consumer.ended; }, [&] { return pace.wake(); });
  return pace.measured(receipts.count(), std::move(latencies));
}

}  // namespace
}  // namespace dlo::peers

int main(int argc, char** argv) {
  using namespace dlo::peers;
  return run_peer(argc, argv, [](const std::string& where, const Bodies& bodies) {
    const auto slash = where.find('/');
    const std::string type = slash == std::string::npos ? "" : where.substr(slash + 1);
    if (type != "classic" && type != "quorum") {
      fail("WHERE is '" + where + "', not PORT/classic or PORT/quorum", Exit::wrong_use);
    }
    return std::make_unique<RabbitmqPeer>(port_of(where.substr(0, slash)), type, bodies);
  });
}
