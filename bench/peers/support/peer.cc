#include "peers/support/peer.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "peers/support/failure.h"

namespace dlo::peers {
namespace {

struct Arguments {
  std::string workload;
  long messages;
  long body_size;
  std::string where;
  long seconds = 2;
};

long number(std::string_view text, const char* what, long least) {
  long value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || value < least) {
    fail(std::string{what} + " is '" + std::string{text} + "', not a number of at least " +
             std::to_string(least),
         Exit::wrong_use);
  }
  return value;
}

/// Runs one workload on a peer whose queue is empty.
class Run {
 public:
  Run(Peer& peer, const Bodies& bodies, const Arguments& arguments)
      : peer_(peer),
        bodies_(bodies),
        messages_(arguments.messages),
        limit_(static_cast<double>(arguments.seconds)) {}

  Measured enqueue(Callers callers) {
    Budget budget{messages_, limit_};
    auto measured = peer_.enqueue(callers, budget);
    expect({.ready = measured.messages});
    return measured;
  }

  Measured settle(Consumers consumers, Fate fate) {
    filled_ = fill();
    return settle_filled(consumers, fate, limit_);
  }

  Measured redrive() {
    filled_ = fill();
    const long dead = settle_filled(Consumers::one_in_batches, Fate::dead, 2 * limit_).messages;
    auto measured = peer_.redrive();
    if (measured.messages != dead) {
      fail("redrive: " + std::to_string(measured.messages) + " of " + std::to_string(dead));
    }
    expect({.ready = filled_});
    return measured;
  }

  Measured end_to_end() {
    constexpr long rate = 1000;
    const long messages = std::min(messages_, rate * static_cast<long>(limit_.count()));
    Receipts receipts{bodies_, messages};
    Pace pace{messages, Duration{std::chrono::seconds{1}} / rate};
    auto measured = peer_.end_to_end(pace, receipts);
    require(receipts.count(), messages);
    expect({});
    return measured;
  }

 private:
  /// Not timed, but bounded: a queue that syncs every message by itself gets fewer of them.
  long fill() {
    Budget budget{messages_, 2 * limit_};
    const long filled = peer_.enqueue({.count = 8, .outstanding = 64}, budget).messages;
    expect({.ready = filled});
    return filled;
  }

  Measured settle_filled(Consumers consumers, Fate fate, Seconds limit) {
    Budget budget{filled_, limit};
    Receipts receipts{bodies_, filled_};
    auto measured = peer_.settle(consumers, fate, budget, receipts);
    const long settled = measured.messages;
    require(receipts.count(), settled);
    expect({.ready = filled_ - settled,
            .delayed = fate == Fate::retry ? settled : 0,
            .dead = fate == Fate::dead ? settled : 0});
    return measured;
  }

  static void require(long received, long settled) {
    if (received == settled && settled > 0) return;
    fail("received " + std::to_string(received) + " messages, settled " + std::to_string(settled));
  }

  /// Some peers count a moment after they acknowledge: the right answer has some time to appear.
  void expect(const Tally& expected) {
    const Instant deadline = Clock::now() + std::chrono::seconds{20};
    Tally found = peer_.tally();
    while (found != expected && Clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      found = peer_.tally();
    }
    if (found != expected) fail("the queue holds " + text(found) + "; expected " + text(expected));
  }

  static std::string text(const Tally& tally) {
    return std::to_string(tally.ready) + " ready, " + std::to_string(tally.delayed) + " delayed, " +
           std::to_string(tally.dead) + " dead";
  }

  Peer& peer_;
  const Bodies& bodies_;
  long messages_;
  Seconds limit_;
  long filled_ = 0;
};

struct Workload {
  std::string_view name;
  Measured (*run)(Run&);
};
constexpr auto batches = Consumers::one_in_batches;
constexpr auto one_by_one = Consumers::many_one_by_one;
// clang-format off
constexpr std::array<Workload, 9> workloads{{
    {"enq_sync1",       [](Run& run) { return run.enqueue({.count = 1, .outstanding = 1}); }},
    {"enq_32c",         [](Run& run) { return run.enqueue({.count = 32, .outstanding = 1}); }},
    {"enq_8x64",        [](Run& run) { return run.enqueue({.count = 8, .outstanding = 64}); }},
    {"lease_done_pipe", [](Run& run) { return run.settle(batches, Fate::done); }},
    {"lease_done_32c",  [](Run& run) { return run.settle(one_by_one, Fate::done); }},
    {"retry_delay",     [](Run& run) { return run.settle(batches, Fate::retry); }},
    {"dead_letter",     [](Run& run) { return run.settle(batches, Fate::dead); }},
    {"redrive_all",     [](Run& run) { return run.redrive(); }},
    {"e2e",             [](Run& run) { return run.end_to_end(); }},
}};
// clang-format on

const Workload& workload_named(std::string_view name) {
  std::string known;
  for (const auto& workload : workloads) {
    if (workload.name == name) return workload;
    known += ' ' + std::string{workload.name};
  }
  fail("there is no workload '" + std::string{name} + "'; there are:" + known, Exit::wrong_use);
}

Arguments parse(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    fail("usage: " + std::string{argv[0]} + " WORKLOAD MESSAGES BODY_SIZE WHERE [SECONDS]",
         Exit::wrong_use);
  }
  Arguments arguments{.workload = argv[1],
                      .messages = number(argv[2], "MESSAGES", 1),
                      .body_size = number(argv[3], "BODY_SIZE", Bodies::shortest),
                      .where = argv[4]};
  if (argc == 6) arguments.seconds = number(argv[5], "SECONDS", 1);
  return arguments;
}

}  // namespace

int run_peer(int argc, char** argv, const MakePeer& make) {
  const Arguments arguments = parse(argc, argv);
  const Workload& workload = workload_named(arguments.workload);
  const Bodies bodies{static_cast<std::size_t>(arguments.body_size)};
  const auto peer = make(arguments.where, bodies);
  if (workload.name == "e2e" && !peer->can_push()) {
    fail("this peer does not push to a waiting consumer", Exit::not_offered);
  }
  Run run{*peer, bodies, arguments};
  const Measured measured = workload.run(run);
  std::printf("%s %.0f %.3f\n", arguments.workload.c_str(),
              static_cast<double>(measured.messages) / measured.took.count(),
              measured.latencies.percentile(0.99).count());
  return static_cast<int>(Exit::fine);
}

int port_of(const std::string& where) {
  return static_cast<int>(number(where, "the port", 1));
}

}  // namespace dlo::peers
