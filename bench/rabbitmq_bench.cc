// Claims, all on one RabbitMQ server in one run (the tests' own, private to this program):
//   good     good messages through the consumer (in-process handler) : a bare rabbitmq-c consumer
//   with
//            the same prefetch, one handler thread, acknowledgements in batches              >=
//            0.90
//   failing  the same while a share dies, offered at half the rate at which the office
//            appends: good messages a second, of the bare consumer's on the same mix        >= 0.85
//   drain    a collector, of the lesser of half the bare consumer's rate and the office's
//            rate for such records                                                          >= 1
//   replay   dead letters sent back by a job : the shovel plugin, which moves as many
//            messages from queue to queue, confirmed                                        >= 1.50
// Rounds are interleaved; medians are compared.
//   rabbitmq_bench [--rounds 5] [--messages 50000] [--only good] [--directory /dev/shm]

#include <atomic>
#include <thread>
#include <unistd.h>

#include "support/bare_rabbitmq.h"
#include "support/rabbitmq_server.h"
#include "support/require.h"

#include "dlo/broker/rabbitmq/rabbit_broker.h"
#include "dlo/broker/rabbitmq/rabbit_outlet.h"
#include "dlo/collector/collector.h"
#include "dlo/consumer/queue_consumer.h"
#include "dlo/jobs/job_runner.h"

namespace dlo::bench {
namespace {

constexpr std::size_t body = 256;
const std::string queue = "dlo-bench";
const std::string other_queue = "dlo-bench-moved";
constexpr const char* bad = "OrderRefused";

struct Setting {
  RabbitServer server;
  int messages = 50'000;
  std::string directory;
};

struct Round {
  double peer = 0;
  double ours = 0;
};

void pause() {
  std::this_thread::sleep_for(Millis{1});
}

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
  BareRabbit peer(setting.server);
  const auto began = Steady::now();
  const std::size_t bytes = peer.consume(queue, setting.messages);
  const double took = since(began);
  if (bytes != body * static_cast<std::size_t>(setting.messages)) std::abort();
  return took;
}

Round mixed(const Setting& setting, int every) {
  Round round;
  const double good = setting.messages - (every > 0 ? (setting.messages + every - 1) / every : 0);
  fill_mixed(setting, every);
  round.peer = good / bare(setting);
  fill_mixed(setting, every);
  round.ours = good / through_consumer(setting);
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

/// Moves what is in the queue to the other one. From its first message on, since the plugin takes
/// its time to begin.
double shovelled(const Setting& setting, testing::RabbitNode& node) {
  BareRabbit peer(setting.server);
  std::string address = setting.server.address;
  address.pop_back();  // a slash at the end is a vhost without a name, to the plugin
  node.ctl("set_parameter shovel bench '{\"src-protocol\":\"amqp091\",\"src-uri\":\"" + address +
           "\",\"src-queue\":\"" + queue + "\",\"dest-protocol\":\"amqp091\",\"dest-uri\":\"" +
           address + "\",\"dest-queue\":\"" + other_queue +
           "\",\"ack-mode\":\"on-confirm\",\"src-delete-after\":\"queue-length\"}'");
  std::uint32_t before = 0;
  while ((before = peer.ready(other_queue)) == 0) pause();
  const auto began = Steady::now();
  const auto all = static_cast<std::uint32_t>(setting.messages);
  if (before == all) {
    std::fprintf(stderr, "the shovel was done before anybody looked: more --messages\n");
    std::exit(1);
  }
  while (peer.ready(other_queue) < all) pause();
  return (all - before) / since(began);
}

/// An office full of dead letters, sent to the other queue by a job as the server runs it.
class Replay {
 public:
  explicit Replay(const Setting& setting)
      : setting_(setting),
        scratch_(setting.directory),
        office_(must(SqliteOffice::open(scratch_.path()))),
        outlet_(setting.server, {}),
        book_(*office_),
        runner_(*office_, book_, clock_, targets()) {
    std::vector<Change> changes;
    for (int i = 0; i < setting.messages; ++i) {
      const auto number = static_cast<std::uint64_t>(i) + 1;
      auto message = std::make_shared<Message>(*message_of("", body));
      message->id = "m-" + std::to_string(i);
      message->source = queue;
      auto record = std::make_shared<DeadLetter>();
      record->id = RecordId{Id128{number * 0x9E3779B97F4A7C15ULL, number}};
      record->message = std::move(message);
      record->failure = rejection();
      record->died_at = clock_.now();
      record->fingerprint.hash = Id128{1, 1};
      changes.emplace_back(Append{std::move(record), {}});
      if (changes.size() < 1'000 && i + 1 < setting.messages) continue;
      must(office_->apply(changes));
      changes.clear();
    }
  }
  double run() {
    JobSpec spec;
    spec.replay = ReplaySpec{};
    spec.replay->target = "amqp:" + other_queue;
    spec.query = "status:pending";
    const auto began = Steady::now();
    must(book_.plan(spec, "job", "bench", clock_.now()));
    must(book_.change("job", JobVerb::start, "bench", clock_.now()));
    runner_.wake();
    const auto all = static_cast<std::uint64_t>(setting_.messages);
    while (must(book_.progress("job")).counts.total() < all) {
      const Job job = must(book_.get("job"));
      if (job.state == JobState::running) {
        std::this_thread::sleep_for(Millis{10});  // as often as anybody looks: it costs the job
        continue;
      }
      std::fprintf(stderr, "the job ended early: %s\n", job.problem.c_str());
      std::exit(1);
    }
    const double took = since(began);
    if (must(book_.progress("job")).counts.ok != all) std::abort();
    must(book_.change("job", JobVerb::cancel, "bench", clock_.now()));  // nobody awaits outcomes
    return setting_.messages / took;
  }

 private:
  ReplayTargets targets() {
    ReplayTargets made;
    made.check = [](const std::string&) -> Result<void> { return {}; };
    made.outside.covers = [](const std::string&) { return true; };
    made.outside.check = [](const std::string&) -> Result<void> { return {}; };
    made.outside.send = [this](const std::string& target, std::span<const Publication> messages,
                               TimePoint) { return outlet_.send(target, messages); };
    return made;
  }

  const Setting& setting_;
  const SystemClock clock_;
  const Scratch scratch_;
  std::unique_ptr<SqliteOffice> office_;
  RabbitOutlet outlet_;
  JobBook book_;
  JobRunner runner_;
};

Round replay(const Setting& setting, testing::RabbitNode& node) {
  Round round;
  fill_mixed(setting, 0);
  round.peer = shovelled(setting, node);
  BareRabbit(setting.server).purge(other_queue);
  round.ours = Replay(setting).run();
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
