// Claim: messages of the embedded queue die as fast as the office takes batches. The engine leases
// them, runs a handler that refuses each, appends their records to a SQLite office and settles the
// queue; the office alone takes like records in lists of 512 from one caller, on the same disk.
//
//   death_bench [--rounds 5] [--seconds 6] [--directory .]
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
  std::string directory = ".";
};

/// Deaths a second while there is always somebody left to die.
double death_rate(const Settings& settings, double office_rate) {
  const Scratch office_at(settings.directory);
  const Scratch queue_at(settings.directory);
  SystemClock clock;
  auto office = must(SqliteOffice::open(office_at.path()));
  auto queues = must(EmbeddedQueues::open(queue_at.path(), clock.now()));
  SourceOptions options;
  options.source = "orders";
  auto queue = must(queues->declare(options));
  const auto enough = static_cast<std::size_t>(office_rate * (settings.seconds + 1) * 2);
  const std::vector<Publication> batch(500, Publication{message_of("poison", 1'000), {}, {}, {}});
  for (std::size_t sent = 0; sent < enough; sent += batch.size()) {
    must(queue->publish(batch, clock.instant()));
  }
  HandlerTable handlers;
  handlers.set_default(
      std::make_shared<FunctionHandler>([](const Message&, const RunContext&) -> Outcome {
        return {OutcomeKind::failed, rejection()};
      }));
  Processor processor({*queue, *office, standard(), handlers, clock}, {});
  std::jthread runner([&](std::stop_token stop) { processor.run(stop); });
  const auto dead = [&] { return static_cast<double>(processor.stats().dead); };
  std::this_thread::sleep_for(std::chrono::seconds{1});  // to warm up
  const double before = dead();
  const auto began = Steady::now();
  while (since(began) < settings.seconds) std::this_thread::sleep_for(Millis{5});
  const double rate = (dead() - before) / since(began);
  const auto left = must(queue->stats(clock.instant())).ready;
  processor.stop(Millis{60'000});
  if (left == 0) {
    std::fprintf(stderr, "death_bench: all messages were dead before the time was over\n");
    std::exit(1);
  }
  return rate;
}

int main_of(const Settings& settings) {
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
    if (std::strcmp(argv[i], "--directory") == 0) settings.directory = argv[i + 1];
  }
  return dlo::bench::main_of(settings);
}
