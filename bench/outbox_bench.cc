// Claim: a relay sends the rows of an outbox table at half the rate or more of a bare rabbitmq-c
// publisher that waits for confirms (persistent, as many in flight) and reads and marks nothing.
//
// Both write to queues of one server, rounds are interleaved, medians of rates are compared. The
// servers are those of the tests; without them nothing is measured.
//   outbox_bench [--rows 20000] [--rounds 5] [--batch 500] [--bytes 512] [--keys 0]
// --keys N: rows have one of N keys, of which one is under way at a time; 0: none have.

#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/measure.h"
#include "support/postgres_server.h"
#include "support/rabbitmq_client.h"
#include "support/rabbitmq_server.h"
#include "support/require.h"

#include "dlo/broker/rabbitmq/rabbit_publisher.h"
#include "dlo/core/decide.h"
#include "dlo/outbox/relay.h"
#include "dlo/postgres/connection.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::bench {
namespace {

template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().where + ": " + result.error().detail);
  return std::move(*result);
}

/// Publishes `batch` at a time and waits until all of them are confirmed.
class BarePublisher {
 public:
  BarePublisher(const std::string& address, std::string queue)
      : state_(amqp_new_connection()), queue_(std::move(queue)) {
    const auto place = must(rabbitmq::parse_address(address));
    if (amqp_socket_open(amqp_tcp_socket_new(state_), place.host.c_str(), place.port) != 0) {
      throw std::runtime_error("no RabbitMQ at " + place.shown);
    }
    amqp_login(state_, place.vhost.c_str(), 0, 131072, 0, AMQP_SASL_METHOD_PLAIN,
               place.user.c_str(), place.password.c_str());
    amqp_channel_open(state_, 1);
    amqp_confirm_select(state_, 1);
  }
  ~BarePublisher() {
    amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(state_);
  }
  BarePublisher(const BarePublisher&) = delete;
  BarePublisher& operator=(const BarePublisher&) = delete;

  void send(std::size_t count, std::size_t batch, const std::string& body) {
    for (std::size_t left = count; left > 0;) {
      const std::size_t now = std::min(left, batch);
      for (std::size_t i = 0; i < now; ++i) publish(body);
      wait();
      left -= now;
    }
  }

 private:
  void publish(const std::string& body) {
    const std::string id = std::to_string(++sent_);
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG;
    properties.delivery_mode = 2;
    properties.message_id = testing::RabbitClient::bytes(id);
    amqp_basic_publish(state_, 1, amqp_empty_bytes, testing::RabbitClient::bytes(queue_), 1, 0,
                       &properties, testing::RabbitClient::bytes(body));
  }
  void wait() {
    while (confirmed_ < sent_) {
      amqp_frame_t frame{};
      if (amqp_simple_wait_frame(state_, &frame) != AMQP_STATUS_OK) {
        throw std::runtime_error("RabbitMQ is gone");
      }
      if (frame.frame_type != AMQP_FRAME_METHOD) continue;
      if (frame.payload.method.id != AMQP_BASIC_ACK_METHOD) continue;
      const auto* ack = static_cast<const amqp_basic_ack_t*>(frame.payload.method.decoded);
      confirmed_ = ack->multiple != 0 ? ack->delivery_tag : confirmed_ + 1;
      amqp_maybe_release_buffers(state_);
    }
  }

  amqp_connection_state_t state_;
  std::string queue_;
  std::uint64_t sent_ = 0;
  std::uint64_t confirmed_ = 0;  // a lower bound is enough: acks come in order
};

/// A table, and a relay to a queue.
class Relayed {
 public:
  Relayed(const std::string& database, const std::string& broker, const std::string& queue,
          std::size_t batch)
      : person_(database, ""), publisher_({broker, {}, Millis{30'000}}) {
    outbox::Shape shape = must(outbox::find_shape("own"));
    shape.table = "bench_" + std::to_string(::getpid());
    table_ = outbox::quoted(shape.table);
    person_.run(outbox::own_table_sql(shape));
    RelayOptions options;
    options.name = "bench";
    options.address = database;
    options.shape = shape;
    options.to = queue;
    options.batch = batch;
    auto rules = std::make_shared<const RuleBook>(
        must(RuleBook::build(must(find_profile("booking-outbox+safe")))));
    Relay::Parts parts{
        office_,
        clock_,
        {"bench", ""},
        [rules](const Message&) { return rules; },
        [this](std::span<const outbox::Post> posts, Instant) { return send(posts); }};
    relay_ = std::make_unique<Relay>(std::move(options), std::move(parts));
  }
  ~Relayed() { person_.run("DROP TABLE " + table_); }
  Relayed(const Relayed&) = delete;
  Relayed& operator=(const Relayed&) = delete;

  void fill(std::size_t rows, std::size_t bytes, std::size_t keys) {
    const std::string key = keys == 0 ? "NULL" : "'k' || n % " + std::to_string(keys);
    person_.run("TRUNCATE " + table_ + "; INSERT INTO " + table_ +
                " (event_type, key, payload) SELECT 'BookingCreated', " + key +
                ", to_jsonb(repeat('x', " + std::to_string(bytes) + ")) FROM generate_series(1, " +
                std::to_string(rows) + ") n; ANALYZE " + table_);
  }
  void drain(std::size_t rows) {
    const auto until = relay_->status().published + rows;
    while (relay_->status().published < until) {
      if (relay_->round() == Relay::After::trouble) {
        throw std::runtime_error(relay_->status().trouble);
      }
    }
    (void)relay_->round();  // the last marks
  }

 private:
  Result<std::vector<std::optional<Error>>> send(std::span<const outbox::Post> posts) {
    std::vector<RabbitPost> all;
    all.reserve(posts.size());
    for (const outbox::Post& each : posts) all.push_back({"", each.target, each.message});
    return publisher_.send(all);
  }

  postgres::Connection person_;
  RabbitPublisher publisher_;
  MemoryOffice office_;
  SystemClock clock_;
  std::string table_;
  std::unique_ptr<Relay> relay_;
};

int measure(int argc, char** argv) {
  const auto number = [&](const char* name, const char* usual) {
    return static_cast<std::size_t>(std::stoul(option(argc, argv, name, usual)));
  };
  const std::size_t rows = number("rows", "20000");
  const std::size_t batch = number("batch", "500");
  const std::size_t bytes = number("bytes", "512");
  const std::size_t keys = number("keys", "0");
  const std::string database = testing::shared_postgres();
  const std::string broker = testing::shared_rabbitmq();
  const testing::TemporaryQueue queue(broker);
  testing::RabbitClient client(broker);
  client.declare(queue.name());
  BarePublisher bare(broker, queue.name());
  Relayed relayed(database, broker, queue.name(), batch);
  const std::string body(bytes + 2, 'x');
  std::vector<double> ours;
  std::vector<double> theirs;
  const auto rate = [rows](double took) { return static_cast<double>(rows) / took; };
  for (std::size_t round = 0; round < number("rounds", "5"); ++round) {
    relayed.fill(rows, bytes, keys);
    theirs.push_back(rate(seconds([&] { bare.send(rows, batch, body); })));
    ours.push_back(rate(seconds([&] { relayed.drain(rows); })));
    std::printf("  %8.0f rows/s relayed, %8.0f messages/s bare\n", ours.back(), theirs.back());
    client.purge(queue.name());
  }
  const double ratio = median(ours) / median(theirs);
  std::printf("outbox relay : bare confirmed publisher  %.0f : %.0f  = %.2f (goal 0.50) %s\n",
              median(ours), median(theirs), ratio, ratio >= 0.5 ? "met" : "NOT MET");
  return 0;
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  try {
    return dlo::bench::measure(argc, argv);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "outbox_bench: %s\n", thrown.what());
  } catch (const dlo::postgres::Failed& failed) {
    std::fprintf(stderr, "outbox_bench: %s\n", failed.error.detail.c_str());
  }
  return 1;
}
