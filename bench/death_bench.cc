// Claim: messages of the embedded queue die as fast as the office takes batches. The engine leases
// them, runs a handler that refuses each, appends their records to a SQLite office and settles the
// queue; the office alone takes like records in lists of 512 from one caller, on the same disk.
//
//   death_bench [--rounds 5] [--seconds 6] [--directory .]
//   death_bench --deaths N [--directory .]     kills N and ends, for callgrind
//
// Each round measures the office first, then the engine; the ratio is the median over rounds.
#include <algorithm>
#include <cstring>
#include <thread>

#include "support/deaths.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::bench {
namespace {

struct Settings {
  std::size_t rounds = 5;
  double seconds = 6;
  std::size_t deaths = 0;  // not 0: kill so many instead of measuring
  std::string directory = ".";
};

/// A queue of messages that are all refused, an office, and the engine between them.
struct Doomed {
  explicit Doomed(const Settings& settings)
      : office_at(settings.directory),
        queue_at(settings.directory),
        office(must(SqliteOffice::open(office_at.path()))),
        queues(must(EmbeddedQueues::open(queue_at.path(), clock.now()))) {
    SourceOptions options;
    options.source = "orders";
    queue = must(queues->declare(options));
    handlers.set_default(
        std::make_shared<FunctionHandler>([](const Message&, const RunContext&) -> Outcome {
          return {OutcomeKind::failed, rejection()};
        }));
  }

  void publish(std::size_t count) {
    const std::vector<Publication> batch(500, Publication{message_of("poison", 1'000), {}, {}, {}});
    for (std::size_t sent = 0; sent < count; sent += batch.size()) {
      must(queue->publish(batch, clock.instant()));
    }
  }

  Scratch office_at;
  Scratch queue_at;
  SystemClock clock;
  std::unique_ptr<SqliteOffice> office;
  std::unique_ptr<EmbeddedQueues> queues;
  std::shared_ptr<Broker> queue;
  HandlerTable handlers;
};

/// Deaths a second while there is always somebody left to die.
double death_rate(const Settings& settings, double office_rate) {
  Doomed doomed(settings);
  doomed.publish(static_cast<std::size_t>(office_rate * (settings.seconds + 1) * 2));
  Processor processor({*doomed.queue, *doomed.office, standard(), doomed.handlers, doomed.clock},
                      {});
  std::jthread runner([&](std::stop_token stop) { processor.run(stop); });
  const auto dead = [&] { return static_cast<double>(processor.stats().dead); };
  std::this_thread::sleep_for(std::chrono::seconds{1});  // to warm up
  const double before = dead();
  const auto began = Steady::now();
  while (since(began) < settings.seconds) std::this_thread::sleep_for(Millis{5});
  const double rate = (dead() - before) / since(began);
  const auto left = must(doomed.queue->stats(doomed.clock.instant())).ready;
  processor.stop(Millis{60'000});
  if (left == 0) {
    std::fprintf(stderr, "death_bench: all messages were dead before the time was over\n");
    std::exit(1);
  }
  return rate;
}

/// What so many deaths cost: two runs under callgrind differ by the deaths alone.
int kill(const Settings& settings) {
  Doomed doomed(settings);
  doomed.publish(settings.deaths);
  Processor processor({*doomed.queue, *doomed.office, standard(), doomed.handlers, doomed.clock},
                      {});
  std::jthread runner([&](std::stop_token stop) { processor.run(stop); });
  while (processor.stats().dead < settings.deaths) std::this_thread::sleep_for(Millis{50});
  return processor.stop(Millis{60'000}).clean() ? 0 : 1;
}

int main_of(const Settings& settings) {
  if (settings.deaths > 0) return kill(settings);
  std::vector<double> appends;
  std::vector<double> deaths;
  std::vector<double> ratios;
  for (std::size_t round = 0; round < settings.rounds; ++round) {
    appends.push_back(append_rate(settings.directory, settings.seconds));
    deaths.push_back(death_rate(settings, appends.back()));
    ratios.push_back(deaths.back() / appends.back());
    std::printf("office alone %8.0f/s   queue, engine and office %8.0f/s   ratio %.2f\n",
                appends.back(), deaths.back(), ratios.back());
    std::fflush(stdout);
  }
  std::printf(
      "medians      %8.0f/s                            %8.0f/s   ratio %.2f (goal >= 0.90)\n",
      median(appends), median(deaths), median(ratios));
  return 0;
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  dlo::bench::Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0) settings.rounds = std::stoul(argv[i + 1]);
    if (std::strcmp(argv[i], "--seconds") == 0) settings.seconds = std::stod(argv[i + 1]);
    if (std::strcmp(argv[i], "--deaths") == 0) settings.deaths = std::stoul(argv[i + 1]);
    if (std::strcmp(argv[i], "--directory") == 0) settings.directory = argv[i + 1];
  }
  return dlo::bench::main_of(settings);
}
