// Claims: with the memory broker and a handler that does nothing the engine processes at least a
// million messages a second on two cores; while poison comes in at half the rate at which the
// office can append, good messages lose less than 5 %; beyond that intake slows, memory stays
// bounded and nothing is dropped.
//
//   engine_bench [--messages 1000000] [--rounds 5] [--seconds 3] [--directory /tmp]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "support/measure.h"

#include "dlo/broker/memory/memory_broker.h"
#include "dlo/engine/processor.h"
#include "dlo/store/memory/memory_office.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::bench {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::duration;

struct Settings {
  std::size_t messages = 1'000'000;
  std::size_t rounds = 5;
  double seconds = 3;
  std::string directory = "/tmp";
};

[[noreturn]] void fail(const Error& error) {
  std::fprintf(stderr, "%s: %s\n", error.where.c_str(), error.detail.c_str());
  std::exit(1);
}
template <typename T>
T must(Result<T> result) {
  if (!result) fail(result.error());
  return std::move(*result);
}

double since(Steady::time_point began) {
  return duration<double>(Steady::now() - began).count();
}
/// Memory of this process that is its own, in MB.
double own_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::atof(line.c_str() + 8) / 1024;
  }
  return 0;
}

std::shared_ptr<const RuleBook> standard() {
  return std::make_shared<const RuleBook>(
      must(RuleBook::build(must(find_profile(default_profile_name)))));
}

void fill(MemoryBroker& broker, std::size_t count, const char* id, std::size_t size) {
  const TimePoint now = SystemClock().now();
  auto message = std::make_shared<Message>();
  message->id = id;
  message->event_type = "OrderPlaced";
  message->payload = std::string(size, 'x');
  std::vector<Publication> batch(std::min<std::size_t>(count, 1'000),
                                 Publication{message, {}, {}, {}});
  for (std::size_t sent = 0; sent < count; sent += batch.size()) {
    batch.resize(std::min(batch.size(), count - sent));
    must(broker.publish(batch, now));
  }
}

SourceOptions queue_named(const char* name) {
  SourceOptions options;
  options.source = name;
  return options;
}

/// What the broker alone costs: the same calls in batches, by one thread, and no engine.
double broker_alone(std::size_t messages) {
  MemoryBroker broker(queue_named("orders"));
  fill(broker, messages, "m", 100);
  SystemClock clock;
  const auto began = Steady::now();
  std::vector<LeaseToken> leases;
  std::vector<Settlement> endings;
  for (std::size_t done = 0; done < messages;) {
    const auto got = must(broker.receive({1'024, Millis{30'000}, Millis{0}}, clock.now()));
    leases.clear();
    endings.clear();
    for (const Delivery& delivery : got) {
      leases.push_back(delivery.lease);
      endings.push_back({delivery.lease, Completed{}});
    }
    must(broker.start(leases, clock.now()));
    must(broker.settle(endings, clock.now()));
    done += got.size();
  }
  return static_cast<double>(messages) / since(began);
}

double no_op(std::size_t messages, std::size_t threads) {
  MemoryBroker broker(queue_named("orders"));
  fill(broker, messages, "m", 100);
  MemoryOffice office;
  SystemClock clock;
  HandlerTable handlers;
  handlers.set_default(std::make_shared<FunctionHandler>(
      [](const Message&, const RunContext&) { return Outcome{}; }));
  ProcessorOptions options;
  options.max_concurrency = threads;
  Processor processor({broker, office, standard(), handlers, clock}, options);
  const auto began = Steady::now();
  std::jthread runner([&](std::stop_token stop) { processor.run(stop); });
  while (processor.stats().succeeded < messages) std::this_thread::sleep_for(Millis{1});
  const double rate = static_cast<double>(messages) / since(began);
  processor.stop(Millis{1'000});
  return rate;
}

struct Mixed {
  double good = 0;    // a second
  double dead = 0;    // a second
  double memory = 0;  // MB, at most
  bool balanced = false;
};

/// Good messages whose handler waits for something for a millisecond, as many as can be had, and
/// poison at `poison_rate` a second in between.
Mixed mixed_load(const Settings& settings, double poison_rate) {
  const Scratch scratch(settings.directory);
  auto office = must(SqliteOffice::open(scratch.path()));
  MemoryBroker broker(queue_named("orders"));
  SystemClock clock;
  std::atomic<std::uint64_t> good{0};
  HandlerTable handlers;
  handlers.set_default(std::make_shared<FunctionHandler>([&](const Message& m, const RunContext&) {
    if (m.id == "poison") {
      Outcome outcome{OutcomeKind::failed, {}};
      outcome.failure.type = "OrderRejected";
      outcome.failure.text = "422 unprocessable: the order names a customer we do not have";
      outcome.failure.status = 422;
      return outcome;
    }
    std::this_thread::sleep_for(Millis{1});
    good.fetch_add(1, std::memory_order_relaxed);
    return Outcome{};
  }));
  ProcessorOptions options;
  options.max_concurrency = 16;
  Processor processor({broker, *office, standard(), handlers, clock}, options);
  std::jthread runner([&](std::stop_token stop) { processor.run(stop); });

  Mixed result;
  const auto began = Steady::now();
  double sent = 0;
  std::uint64_t good_before = 0;
  std::uint64_t dead_before = 0;
  double warm = 0;
  while (since(began) < settings.seconds + 1) {
    const auto stats = must(broker.stats(clock.now()));
    const auto due = static_cast<std::size_t>(std::max(0.0, since(began) * poison_rate - sent));
    if (due > 0) fill(broker, due, "poison", 1'000);
    sent += static_cast<double>(due);
    if (stats.ready < 2'000 + static_cast<std::size_t>(poison_rate / 10))
      fill(broker, 200, "good", 1'000);
    if (warm == 0 && since(began) > 1) {
      good_before = good.load();
      dead_before = processor.stats().dead;
      warm = since(began);
    }
    result.memory = std::max(result.memory, own_memory());
    std::this_thread::sleep_for(Millis{2});
  }
  const double took = since(began) - warm;
  result.good = static_cast<double>(good.load() - good_before) / took;
  result.dead = static_cast<double>(processor.stats().dead - dead_before) / took;
  processor.stop(Millis{60'000});
  const auto books = must(broker.stats(clock.now()));
  std::uint64_t records = 0;
  for (const Tally& tally : must(office->aggregate({})).tallies) records += tally.count;
  result.balanced = records == books.dead_lettered &&
                    books.published == books.completed + books.dead_lettered + books.ready +
                                           books.delayed + books.leased + books.held;
  return result;
}

/// Full records in lists, as the engine writes them.
double append_rate(const Settings& settings) {
  const Scratch scratch(settings.directory);
  auto office = must(SqliteOffice::open(scratch.path()));
  std::uint64_t number = 0;
  const auto began = Steady::now();
  while (since(began) < settings.seconds) {
    std::vector<Change> changes;
    for (int i = 0; i < 512; ++i) {
      auto record = std::make_shared<DeadLetter>();
      auto message = std::make_shared<Message>();
      message->source = "orders";
      message->id = std::to_string(++number);
      message->payload = std::string(1'000, 'x');
      record->message = message;
      record->id = RecordId{{number * 0x9E3779B97F4A7C15ULL, number}};
      record->failure.type = "OrderRejected";
      record->failure.text = "422 unprocessable: the order names a customer we do not have";
      record->fingerprint.hash = {1, 1};
      record->reason = "NonRetryableError";
      changes.emplace_back(Append{record, {Attempt{}}});
    }
    must(office->apply(changes));
  }
  const double rate = static_cast<double>(number) / since(began);
  return rate;
}

int main_of(const Settings& settings) {
  std::vector<double> alone;
  std::vector<double> engine;
  for (std::size_t i = 0; i < settings.rounds; ++i) {
    alone.push_back(broker_alone(settings.messages));
    engine.push_back(no_op(settings.messages, 2));
  }
  std::printf("memory broker alone, one thread   %10.0f messages/s\n", median(alone));
  std::printf("engine, no-op handler, 2 threads  %10.0f messages/s   (goal 1000000)\n",
              median(engine));
  if (settings.seconds <= 0) return 0;

  const double appends = append_rate(settings);
  std::printf("office appends                    %10.0f records/s\n", appends);
  const Mixed clean = mixed_load(settings, 0);
  std::printf("good messages alone               %10.0f /s\n", clean.good);
  const Mixed half = mixed_load(settings, appends / 2);
  std::printf(
      "  with poison at half that rate   %10.0f /s   lose %.1f %% (goal < 5 %%)   %.0f dead/s, "
      "%.0f MB, books %s\n",
      half.good, 100 * (1 - half.good / clean.good), half.dead, half.memory,
      half.balanced ? "balance" : "DO NOT BALANCE");
  const Mixed flood = mixed_load(settings, appends * 3);
  std::printf("  with poison at three times it   %10.0f /s   %.0f dead/s, %.0f MB, books %s\n",
              flood.good, flood.dead, flood.memory, flood.balanced ? "balance" : "DO NOT BALANCE");
  return half.balanced && flood.balanced ? 0 : 1;
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  using dlo::bench::option;
  dlo::bench::Settings settings;
  settings.messages = std::stoull(option(argc, argv, "messages", "1000000"));
  settings.rounds = std::stoull(option(argc, argv, "rounds", "5"));
  settings.seconds = std::stod(option(argc, argv, "seconds", "3"));
  settings.directory = option(argc, argv, "directory", "/tmp");
  return dlo::bench::main_of(settings);
}
