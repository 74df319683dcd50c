// Claims, all on one RabbitMQ server in one run (the tests' own, private to this program):
//   good     good messages through the consumer (in-process handler) : a bare rabbitmq-c consumer
//            with the same prefetch, one handler thread, acknowledgements in batches; both connect
//            within their time                                                            >= 0.90
//   failing  the same while a share dies, offered at half the rate at which the office appends on
//            an idle machine: good messages a second, of the bare consumer's on the same mix. The
//            queue is full, so that everybody takes what there is of the processors       >= 0.85
//   offered  the same, offered by a publisher at three quarters of what a bare consumer takes from
//            it, dying at half the rate at which the office appends beside that            >= 0.85
//   drain    a collector, of the lesser of half the bare consumer's rate and the office's
//            rate for such records                                                        >= 1
//   replay   dead letters sent back by a job : the shovel plugin, which moves as many messages from
//            queue to queue, confirmed; beside what a bare publisher does that reads and writes
//            nothing, persistent, mandatory and confirmed                                 >= 1.50
// Rounds are interleaved; medians are compared.
//   rabbitmq_bench [--rounds 5] [--messages 50000] [--only good] [--directory /dev/shm]

#include <atomic>
#include <thread>
#include <unistd.h>

#include "support/bare_rabbitmq.h"
#include "support/rabbitmq_replay.h"
#include "support/rabbitmq_server.h"
#include "support/require.h"

#include "dlo/broker/rabbitmq/rabbit_broker.h"
#include "dlo/collector/collector.h"
#include "dlo/consumer/queue_consumer.h"

namespace dlo::bench {
namespace {

struct Round {
  double peer = 0;
  double ours = 0;
};

/// Of `messages` every `every`-th fails for good; 0: none.
void fill_mixed(const Setting& setting, int every) {
  fill(setting.server, queue, setting.messages, [&](int i) {
    auto made = std::make_shared<Message>(*message_of("", body));
    if (every > 0 && i % every == 0) made->event_type = bad;
    return made;
  });
}

Outcome handle(const Message& message) {
  if (message.payload->size() != body) std::abort();
  if (message.event_type == bad) return {OutcomeKind::failed, rejection()};
  return {};
}

/// Seconds until all of them are done or dead.
double through_consumer(const Setting& setting) {
  const Scratch scratch(setting.directory);
  auto office = must(SqliteOffice::open(scratch.path()));
  const SystemClock clock;
  DueTimer timer(clock);
  HandlerTable handlers;
  handlers.set_default(std::make_shared<FunctionHandler>(
      [](const Message& message, const RunContext&) { return handle(message); }));
  RabbitOptions options;
  options.server = setting.server;
  options.queue = queue;
  options.prefetch = prefetch;
  QueueConsumer::Parts parts{[&]() -> Result<std::unique_ptr<Broker>> {
                               return std::unique_ptr<Broker>(must(RabbitBroker::open(options)));
                             },
                             *office,
                             timer,
                             clock,
                             std::move(handlers),
                             {},
                             standard(),
                             {},
                             {queue},
                             {},
                             {}};
  ConsumerOptions wanted;
  wanted.source = queue;
  wanted.at_once = 1;
  wanted.in_flight = prefetch;
  QueueConsumer consumer(wanted, std::move(parts));
  const auto began = Steady::now();
  if (auto started = consumer.start(false); !started) fail(started.error());
  const auto all = static_cast<std::uint64_t>(setting.messages);
  for (auto now = consumer.status(); now.succeeded + now.dead < all; now = consumer.status()) {
    pause();
  }
  const double took = since(began);
  consumer.stop();
  return took;
}

double bare(const Setting& setting) {
  const auto began = Steady::now();
  BareRabbit peer(setting.server);
  const std::size_t bytes = peer.consume(queue, setting.messages);
  const double took = since(began);
  if (bytes != body * static_cast<std::size_t>(setting.messages)) std::abort();
  return took;
}

int good_of(const Setting& setting, int every) {
  return setting.messages - (every > 0 ? (setting.messages + every - 1) / every : 0);
}

Round mixed(const Setting& setting, int every) {
  Round round;
  fill_mixed(setting, every);
  round.peer = good_of(setting, every) / bare(setting);
  fill_mixed(setting, every);
  round.ours = good_of(setting, every) / through_consumer(setting);
  return round;
}

/// Whatever fails once is offered half as often as the office can append.
Round failing(const Setting& setting) {
  const double office = append_rate(setting.directory, 2);
  fill_mixed(setting, 0);
  const double rate = setting.messages / bare(setting);
  const int every = std::max(2, static_cast<int>(rate / (office / 2) + 0.5));
  std::printf("  office %.0f/s, bare %.0f/s: one of %d fails\n", office, rate, every);
  return mixed(setting, every);
}

/// Publishes on a thread of its own while others take.
class Offer {
 public:
  Offer(const Setting& setting, int every, double rate)
      : thread_([&setting, every, rate] {
          BareRabbit(setting.server)
              .publish(queue, setting.messages, [&](int i) { return post_of(i, every); }, rate);
        }) {}
  ~Offer() { thread_.join(); }
  Offer(const Offer&) = delete;
  Offer& operator=(const Offer&) = delete;

 private:
  static BarePost post_of(int number, int every) {
    static const std::string text(body, 'x');
    return {text, every > 0 && number % every == 0 ? bad : good};
  }
  std::thread thread_;
};

double taken(const Setting& setting, int every, double rate, double (*take)(const Setting&)) {
  const Offer offer(setting, every, rate);
  return take(setting);
}

/// What the office appends while a bare consumer takes what is offered.
double append_rate_beside(const Setting& setting, double rate) {
  double office = 0;
  const double lasts = setting.messages / rate;
  std::thread beside([&] { office = append_rate(setting.directory, lasts * 0.8); });
  (void)taken(setting, 0, rate, bare);
  beside.join();
  return office;
}

Round offered(const Setting& setting) {
  const double most = setting.messages / taken(setting, 0, 0, bare);
  const double rate = most * 3 / 4;
  const double office = append_rate_beside(setting, rate);
  const int every = std::max(2, static_cast<int>(rate / (office / 2) + 0.5));
  std::printf("  office %.0f/s beside %.0f/s of %.0f/s: one of %d fails\n", office, rate, most,
              every);
  Round round;
  const double good_ones = good_of(setting, every);
  round.peer = good_ones / taken(setting, every, rate, bare);
  round.ours = good_ones / taken(setting, every, rate, through_consumer);
  return round;
}

double collected(const Setting& setting) {
  const Scratch scratch(setting.directory);
  auto office = must(SqliteOffice::open(scratch.path()));
  const SystemClock clock;
  RabbitOptions options;
  options.server = setting.server;
  options.queue = queue;
  options.prefetch = 512;  // as the configuration has it
  auto broker = must(RabbitBroker::open(options));
  CollectorOptions wanted;
  wanted.name = wanted.queue = wanted.source = queue;
  wanted.batch = options.prefetch / 2;
  Collector collector(wanted, {*broker, *office, clock, {"bench", ""}, standard()});
  const auto began = Steady::now();
  collector.start();
  const auto all = static_cast<std::uint64_t>(setting.messages);
  while (collector.status().collected < all) pause();
  const double took = since(began);
  collector.stop();
  return took;
}

/// With the headers of a death, as RabbitMQ and Spring write them.
void fill_dead(const Setting& setting) {
  fill(setting.server, queue, setting.messages, [](int) {
    auto made = std::make_shared<Message>(*message_of("", body));
    made->headers = {
        {"x-exception-message", "the order names a customer we do not have"},
        {"x-exception-stacktrace", "shop.Refused: no customer\n\tat shop.Orders.place"},
        {"x-original-exchange", "shop"},
        {"x-original-routingKey", "orders"}};
    return made;
  });
}

/// What it is compared with is the lesser of two.
Round drain(const Setting& setting) {
  Round round;
  const double office = append_rate(setting.directory, 2);
  fill_dead(setting);
  const double rate = setting.messages / bare(setting);
  round.peer = std::min(rate / 2, office);
  fill_dead(setting);
  round.ours = setting.messages / collected(setting);
  std::printf("  office %.0f/s, bare %.0f/s, collector %.0f/s: %.2f of the bare one\n", office,
              rate, round.ours, round.ours / rate);
  return round;
}

/// The least that a replay does: seconds.
double published(const Setting& setting) {
  const std::string text(body, 'x');
  const auto began = Steady::now();
  BareRabbit(setting.server)
      .publish(other_queue, setting.messages, [&](int) { return BarePost{text, good}; }, 0);
  return since(began);
}

Round replay(const Setting& setting, testing::RabbitNode& node) {
  Round round;
  fill_mixed(setting, 0);
  round.peer = shovelled(setting, node);
  BareRabbit(setting.server).purge(other_queue);
  const double publisher = setting.messages / published(setting);
  BareRabbit(setting.server).purge(other_queue);
  round.ours = Replay(setting).run();
  std::printf("  a bare publisher %.0f/s: %.2f of the shovel; replay %.2f of the publisher\n",
              publisher, publisher / round.peer, round.ours / publisher);
  if (BareRabbit(setting.server).ready(other_queue) < static_cast<unsigned>(setting.messages)) {
    std::abort();
  }
  BareRabbit(setting.server).purge(other_queue);
  return round;
}

struct Claim {
  const char* name;
  const char* peer;
  double goal;
  std::function<Round()> measure;
  std::vector<double> peers{};
  std::vector<double> ours{};
  std::vector<double> ratios{};
};

int run(int argc, char** argv) {
  testing::RabbitNode node({}, "rabbitmq_shovel");
  Setting setting;
  setting.server.address = node.address();
  setting.messages = std::stoi(option(argc, argv, "messages", "50000"));
  setting.directory = option(argc, argv, "directory", "/dev/shm");
  const int rounds = std::stoi(option(argc, argv, "rounds", "5"));
  const std::string only = option(argc, argv, "only", "");
  BareRabbit(setting.server).declare(queue);
  BareRabbit(setting.server).declare(other_queue);
  std::vector<Claim> claims = {
      {"good", "bare consumer", 0.90, [&] { return mixed(setting, 0); }},
      {"failing", "bare consumer", 0.85, [&] { return failing(setting); }},
      {"offered", "bare consumer", 0.85, [&] { return offered(setting); }},
      {"drain", "half the bare consumer, or the office", 1.00, [&] { return drain(setting); }},
      {"replay", "shovel", 1.50, [&] { return replay(setting, node); }},
  };
  if (!only.empty()) std::erase_if(claims, [&](const Claim& each) { return each.name != only; });
  for (int i = 0; i < rounds; ++i) {
    for (Claim& each : claims) {
      const Round round = each.measure();
      each.peers.push_back(round.peer);
      each.ours.push_back(round.ours);
      each.ratios.push_back(round.ours / round.peer);
      std::printf("round %d %-8s %8.0f/s of %8.0f/s  %.2f\n", i + 1, each.name, round.ours,
                  round.peer, each.ratios.back());
      std::fflush(stdout);
    }
  }
  for (const Claim& each : claims) {
    const double ratio = median(each.ratios);
    std::printf("%-8s %8.0f/s : %s %.0f/s = %.2f (goal %.2f) %s\n", each.name, median(each.ours),
                each.peer, median(each.peers), ratio, each.goal,
                ratio >= each.goal ? "met" : "NOT MET");
  }
  return 0;
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  try {
    return dlo::bench::run(argc, argv);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "rabbitmq_bench: %s\n", thrown.what());
  }
  return 1;
}
