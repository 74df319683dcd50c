// Good messages of a RabbitMQ queue through the consumer, beside a bare rabbitmq-c consumer: same
// server, prefetch and acknowledgements in batches. `rabbitmq_bench ADDRESS [ROUNDS] [MESSAGES]`.
#include <algorithm>
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/deaths.h"

#include "dlo/broker/rabbitmq/rabbit_broker.h"
#include "dlo/broker/rabbitmq/rabbit_publisher.h"
#include "dlo/consumer/counting_broker.h"
#include "dlo/consumer/queue_consumer.h"

namespace dlo::bench {
namespace {

constexpr std::uint16_t prefetch = 256;
constexpr std::size_t body = 256;
constexpr std::size_t ack_every = 64;

struct Setting {
  RabbitServer server;
  std::string queue;
  int messages = 100'000;
};

void require(const amqp_rpc_reply_t& reply, const char* what) {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
  std::fprintf(stderr, "RabbitMQ refuses: %s\n", what);
  std::exit(1);
}

/// The least there is: one thread, one acknowledgement for 64.
class Bare {
 public:
  explicit Bare(const Setting& setting) : state_(amqp_new_connection()) {
    const auto place = must(rabbitmq::parse_address(setting.server.address));
    if (amqp_socket_open(amqp_tcp_socket_new(state_), place.host.c_str(), place.port) != 0) {
      std::fprintf(stderr, "nobody listens at %s\n", place.shown.c_str());
      std::exit(1);
    }
    require(amqp_login(state_, place.vhost.c_str(), 0, 131072, 0, AMQP_SASL_METHOD_PLAIN,
                       place.user.c_str(), place.password.c_str()),
            "login");
    amqp_channel_open(state_, 1);
    require(amqp_get_rpc_reply(state_), "channel");
  }
  ~Bare() {
    amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(state_);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void declare(const std::string& queue) {
    amqp_queue_declare(state_, 1, name(queue), 0, 1, 0, 0, amqp_empty_table);
    require(amqp_get_rpc_reply(state_), "queue");
  }
  void remove(const std::string& queue) {
    amqp_queue_delete(state_, 1, name(queue), 0, 0);
    require(amqp_get_rpc_reply(state_), "delete");
  }
  double consume(const Setting& setting) {
    amqp_basic_qos(state_, 1, 0, prefetch, 0);
    require(amqp_get_rpc_reply(state_), "prefetch");
    const auto began = Steady::now();
    amqp_basic_consume(state_, 1, name(setting.queue), amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    require(amqp_get_rpc_reply(state_), "consume");
    std::size_t bytes = 0;
    for (int i = 1; i <= setting.messages; ++i) {
      amqp_maybe_release_buffers(state_);
      amqp_envelope_t envelope{};
      require(amqp_consume_message(state_, &envelope, nullptr, 0), "message");
      bytes += envelope.message.body.len;
      const bool due = i % static_cast<int>(ack_every) == 0 || i == setting.messages;
      if (due) amqp_basic_ack(state_, 1, envelope.delivery_tag, 1);
      amqp_destroy_envelope(&envelope);
    }
    if (bytes != body * static_cast<std::size_t>(setting.messages)) std::abort();
    return setting.messages / since(began);
  }

 private:
  static amqp_bytes_t name(const std::string& text) {
    return {text.size(), const_cast<char*>(text.data())};
  }
  amqp_connection_state_t state_;
};

void fill(const Setting& setting) {
  RabbitPublisher publisher(setting.server);
  std::vector<RabbitPost> posts;
  for (int i = 0; i < setting.messages; ++i) {
    auto message = std::make_shared<Message>(*message_of("", body));
    message->id = "m-" + std::to_string(i);
    posts.push_back({"", setting.queue, std::move(message), nullptr});
    if (posts.size() < 2'000 && i + 1 < setting.messages) continue;
    for (const auto& each : must(publisher.send(posts))) {
      if (each) fail(*each);
    }
    posts.clear();
  }
}

double through_consumer(const Setting& setting, const std::string& directory) {
  const Scratch scratch(directory);
  auto office = must(SqliteOffice::open(scratch.path()));
  const SystemClock clock;
  DueTimer timer(clock);
  std::atomic<int> done{0};
  HandlerTable handlers;
  handlers.set_default(
      std::make_shared<FunctionHandler>([&done](const Message& message, const RunContext&) {
        if (message.payload->size() != body) std::abort();
        done.fetch_add(1, std::memory_order_relaxed);
        return Outcome{};
      }));
  RabbitOptions options;
  options.server = setting.server;
  options.queue = setting.queue;
  options.prefetch = prefetch;
  options.requeues = true;
  QueueConsumer::Parts parts{[&]() -> Result<std::unique_ptr<Broker>> {
                               return std::unique_ptr<Broker>(std::make_unique<CountingBroker>(
                                   must(RabbitBroker::open(options)), *office, setting.queue));
                             },
                             *office,
                             timer,
                             clock,
                             std::move(handlers),
                             {},
                             standard(),
                             {},
                             {setting.queue},
                             {},
                             {}};
  ConsumerOptions wanted;
  wanted.source = setting.queue;
  wanted.at_once = 1;
  QueueConsumer consumer(wanted, std::move(parts));
  const auto began = Steady::now();
  if (auto started = consumer.start(false); !started) fail(started.error());
  while (consumer.status().succeeded < static_cast<std::uint64_t>(setting.messages)) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  const double rate = setting.messages / since(began);
  consumer.stop();
  return rate;
}

int run(Setting setting, int rounds) {
  Bare(setting).declare(setting.queue);
  std::vector<double> bare;
  std::vector<double> ours;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    fill(setting);
    bare.push_back(Bare(setting).consume(setting));
    fill(setting);
    ours.push_back(through_consumer(setting, "."));
    ratios.push_back(ours.back() / bare.back());
    std::printf("round %d: bare %.0f/s, consumer %.0f/s, ratio %.2f\n", round + 1, bare.back(),
                ours.back(), ratios.back());
    std::fflush(stdout);
  }
  Bare(setting).remove(setting.queue);
  std::printf("good messages: bare %.0f/s, consumer %.0f/s, ratio %.2f (goal 0.90)\n", median(bare),
              median(ours), median(ratios));
  return 0;
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "rabbitmq_bench amqp://guest:guest@localhost:5672/ [ROUNDS] [MESSAGES]\n");
    return 0;
  }
  dlo::bench::Setting setting;
  setting.server.address = argv[1];
  setting.queue = "dlo-bench-" + std::to_string(::getpid());
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (argc > 3) setting.messages = std::atoi(argv[3]);
  return dlo::bench::run(setting, rounds);
}
