// Claims: with the memory broker and a handler that does nothing the engine processes at least a
// million messages a second on two cores; while poison comes in at half the rate at which the
// office can append, good messages lose less than 5 %; beyond that intake slows, memory stays
// bounded and nothing is dropped.
//
//   engine_bench [--messages 1000000] [--rounds 5] [--seconds 3] [--directory /tmp]
//
// How the second is measured. Good messages and poison share one source and one processor; the
// handler of a good one waits a millisecond, as for somebody's answer. Both are offered by the
// clock, whatever the engine does with them: the same number of good ones with and without poison.
// Once as many as the engine can take (`full`: there are always good ones waiting) and once three
// quarters of that (`steady`). Every round measures the office's append rate anew, then each load,
// one after another; medians over rounds are compared. The claim is about `steady`: an engine that
// keeps up goes on keeping up. `full` is printed beside it: there the handlers' threads have no
// time to spare, so whatever part of two cores the office takes for its half of the append rate
// (0.7 of a core here) delays their waking and is lost capacity.
//
// Memory: what malloc has handed out, without what it had before the engine was made and without
// the messages that still wait in the broker, whose weight is measured first. What is left belongs
// to engine and office, messages in flight included.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "support/deaths.h"
#include "support/measure.h"

#include "dlo/broker/memory/memory_broker.h"
#include "dlo/engine/processor.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::bench {
namespace {

constexpr std::size_t handler_threads = 16;
constexpr Millis handler_waits{1};
constexpr double megabyte = 1024.0 * 1024.0;

struct Settings {
  std::size_t messages = 1'000'000;
  std::size_t rounds = 5;
  double seconds = 3;
  std::string directory = "/tmp";
};

/// What malloc has handed out and not got back, in bytes.
double allocated() {
  const auto info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}
/// Seconds of processor time this process has used.
double processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

void publish(MemoryBroker& broker, std::size_t count, const MessagePtr& message) {
  const TimePoint now = SystemClock().now();
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
  publish(broker, messages, message_of("m", 100));
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
  publish(broker, messages, message_of("m", 100));
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

struct Load {
  double good = 0;    // offered a second; 0: there are always some waiting
  double poison = 0;  // offered a second
};

struct Seen {
  double good = 0;     // a second
  double dead = 0;     // a second
  double slow = 0;     // milliseconds from publication to its end: one good one in 100 took longer
  double memory = 0;   // MB of engine and office, at most
  double waiting = 0;  // MB of messages in the broker at the end
  double processor = 0;  // cores in use
  bool balanced = false;
};

/// How long good ones took, in milliseconds.
class Latencies {
 public:
  void add(Millis took) {
    const auto place = std::clamp<std::int64_t>(took.count(), 0, longest - 1);
    counts_[static_cast<std::size_t>(place)].fetch_add(1, std::memory_order_relaxed);
  }
  void clear() {
    for (auto& count : counts_) count.store(0);
  }
  [[nodiscard]] double percentile(double part) const {
    double all = 0;
    for (const auto& count : counts_) all += static_cast<double>(count.load());
    double below = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      below += static_cast<double>(counts_[i].load());
      if (below >= all * part) return static_cast<double>(i);
    }
    return longest;
  }

 private:
  static constexpr std::int64_t longest = 20'000;
  std::array<std::atomic<std::uint32_t>, longest> counts_{};
};

/// What one message that waits in the broker weighs.
double weight_of_one() {
  constexpr std::size_t many = 16 * 1'024;
  const double before = allocated();
  MemoryBroker broker(queue_named("orders"));
  publish(broker, many, message_of("poison", 1'000));
  return (allocated() - before) / many;
}

/// One source, one processor, one office, and somebody who sends.
class Mixed {
 public:
  Mixed(const Settings& settings, Load load)
      : settings_(settings),
        load_(load),
        weight_(weight_of_one()),
        before_(allocated()),
        scratch_(settings.directory),
        office_(must(SqliteOffice::open(scratch_.path()))) {
    handlers_.set_default(std::make_shared<FunctionHandler>(
        [this](const Message& m, const RunContext&) { return handle(m); }));
  }

  Seen run() {
    ProcessorOptions options;
    options.max_concurrency = handler_threads;
    Processor processor({broker_, *office_, standard(), handlers_, clock_}, options);
    std::jthread runner([&](std::stop_token stop) { processor.run(stop); });
    send_for(1);  // to warm up
    const std::uint64_t good_before = good_.load();
    const std::uint64_t dead_before = processor.stats().dead;
    const double worked_before = processor_time();
    latencies_.clear();
    const double took = send_for(settings_.seconds);

    Seen seen;
    seen.good = static_cast<double>(good_.load() - good_before) / took;
    seen.dead = static_cast<double>(processor.stats().dead - dead_before) / took;
    seen.processor = (processor_time() - worked_before) / took;
    seen.slow = latencies_.percentile(0.99);
    seen.memory = memory_ / megabyte;
    seen.waiting = waiting() * weight_ / megabyte;
    processor.stop(Millis{60'000});
    seen.balanced = books_balance();
    return seen;
  }

 private:
  Outcome handle(const Message& message) {
    if (message.id == "poison") return {OutcomeKind::failed, rejection()};
    std::this_thread::sleep_for(handler_waits);
    good_.fetch_add(1, std::memory_order_relaxed);
    latencies_.add(clock_.now() - message.enqueued_at);
    return {};
  }

  /// Sends by the clock; answers how long it really was.
  double send_for(double seconds) {
    constexpr std::uint64_t always_waiting = 1'000;
    const auto began = Steady::now();
    double good = 0;
    double poison = 0;
    for (double at = 0; at < seconds; at = since(began)) {
      const auto due = [at](double rate, double& sent) {
        const auto count = static_cast<std::size_t>(std::max(0.0, at * rate - sent));
        sent += static_cast<double>(count);
        return count;
      };
      std::size_t good_due = due(load_.good, good);
      if (load_.good == 0 && sent_ < good_.load() + always_waiting) {
        good_due = static_cast<std::size_t>(good_.load() + always_waiting - sent_);
      }
      sent_ += good_due;
      publish(broker_, good_due, good_one_);
      publish(broker_, due(load_.poison, poison), poison_);
      if (looks_++ % 64 == 0) memory_ = std::max(memory_, own_memory());
      std::this_thread::sleep_for(Millis{2});
    }
    return since(began);
  }

  [[nodiscard]] double waiting() {
    const auto stats = must(broker_.stats(clock_.now()));
    return static_cast<double>(stats.ready + stats.delayed);
  }
  [[nodiscard]] double own_memory() { return allocated() - before_ - waiting() * weight_; }

  [[nodiscard]] bool books_balance() {
    const auto books = must(broker_.stats(clock_.now()));
    std::uint64_t records = 0;
    for (const Tally& tally : must(office_->aggregate({})).tallies) records += tally.count;
    return records == books.dead_lettered &&
           books.published == books.completed + books.dead_lettered + books.ready + books.delayed +
                                  books.leased + books.held;
  }

  const Settings& settings_;
  const Load load_;
  const double weight_;
  const double before_;
  const Scratch scratch_;
  std::unique_ptr<SqliteOffice> office_;
  MemoryBroker broker_{queue_named("orders")};
  SystemClock clock_;
  HandlerTable handlers_;
  const MessagePtr good_one_ = message_of("good", 1'000);
  const MessagePtr poison_ = message_of("poison", 1'000);
  std::atomic<std::uint64_t> good_{0};
  std::uint64_t sent_ = 0;
  Latencies latencies_;
  double memory_ = 0;
  std::uint64_t looks_ = 0;
};

/// One kind of load over all rounds.
struct Rounds {
  std::vector<Seen> seen;

  [[nodiscard]] double of(double Seen::* number) const {
    std::vector<double> values;
    for (const Seen& one : seen) values.push_back(one.*number);
    return median(std::move(values));
  }
  [[nodiscard]] double most(double Seen::* number) const {
    double most = 0;
    for (const Seen& one : seen) most = std::max(most, one.*number);
    return most;
  }
  [[nodiscard]] bool balanced() const {
    return std::all_of(seen.begin(), seen.end(), [](const Seen& one) { return one.balanced; });
  }
  void print(const char* name) const {
    std::printf(
        "  %-32s %8.0f good/s  99 %% within %4.0f ms  %6.0f dead/s  %.2f cores  %4.0f MB "
        "(broker %4.0f MB)  books %s\n",
        name, of(&Seen::good), of(&Seen::slow), of(&Seen::dead), of(&Seen::processor),
        most(&Seen::memory), most(&Seen::waiting), balanced() ? "balance" : "DO NOT BALANCE");
  }
};

double loss(const Rounds& without, const Rounds& with) {
  return 100 * (1 - with.of(&Seen::good) / without.of(&Seen::good));
}

bool poisoned(const Settings& settings) {
  std::vector<double> appends;
  Rounds full, full_half, steady, steady_half, flood;
  for (std::size_t round = 0; round < settings.rounds; ++round) {
    const auto measure = [&](Rounds& rounds, Load load) {
      rounds.seen.push_back(Mixed(settings, load).run());
    };
    appends.push_back(append_rate(settings.directory, settings.seconds));
    const double rate = appends.back();
    measure(full, {0, 0});
    measure(full_half, {0, rate / 2});
    const double good = full.seen.back().good * 3 / 4;
    measure(steady, {good, 0});
    measure(steady_half, {good, rate / 2});
    measure(flood, {good, rate * 3});
  }
  std::printf("office appends                    %10.0f records/s\n", median(appends));
  std::printf("good messages, as many as can be: lose %.1f %% (of capacity; no goal)\n",
              loss(full, full_half));
  full.print("alone");
  full_half.print("poison at half the append rate");
  std::printf("good messages, three quarters of that: lose %.1f %% (goal < 5 %%)\n",
              loss(steady, steady_half));
  steady.print("alone");
  steady_half.print("poison at half the append rate");
  flood.print("poison at three times the rate");
  return full.balanced() && full_half.balanced() && steady.balanced() && steady_half.balanced() &&
         flood.balanced();
}

int main_of(const Settings& settings) {
  std::vector<double> alone;
  std::vector<double> engine;
  for (std::size_t i = 0; settings.messages > 0 && i < settings.rounds; ++i) {
    alone.push_back(broker_alone(settings.messages));
    engine.push_back(no_op(settings.messages, 2));
  }
  std::printf("memory broker alone, one thread   %10.0f messages/s\n", median(alone));
  std::printf("engine, no-op handler, 2 threads  %10.0f messages/s   (goal 1000000)\n",
              median(engine));
  if (settings.seconds <= 0) return 0;
  return poisoned(settings) ? 0 : 1;
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
