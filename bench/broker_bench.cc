// Claim: the memory broker costs well under 250 ns per message for receive + start + settle in
// batches, so that an engine with a no-op handler can pass a million messages a second on 2 cores.
// Printed beside it: the same batches through a plain locked deque, which keeps no promise at all.
#include <benchmark/benchmark.h>
#include <deque>
#include <mutex>
#include <thread>

#include "dlo/broker/memory/memory_broker.h"
#include "dlo/broker/timing.h"

namespace dlo {
namespace {

constexpr TimePoint start_of_time{Millis{1'772'366'400'000}};
constexpr std::size_t batch_size = 256;

MessagePtr sample(std::size_t number, bool keyed) {
  auto message = std::make_shared<Message>();
  message->id = "m-" + std::to_string(number);
  message->event_type = "OrderPlaced";
  if (keyed) message->key = "customer-" + std::to_string(number % 10'000);
  message->payload = std::string(100, 'x');
  return message;
}

std::vector<Publication> publications(std::size_t count, bool keyed, Millis delay = Millis{0}) {
  std::vector<Publication> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i].message = sample(i, keyed);
    out[i].delay = delay;
  }
  return out;
}

/// Receives a batch, marks it started, ends it as `ending` says. Answers how many there were.
template <typename MakeEnding>
std::size_t pass(Broker& broker, TimePoint now, const MakeEnding& ending) {
  const auto got = *broker.receive({batch_size, Millis{30'000}, Millis{0}}, now);
  std::vector<LeaseToken> leases;
  std::vector<Settlement> settlements;
  leases.reserve(got.size());
  settlements.reserve(got.size());
  for (const auto& delivery : got) {
    leases.push_back(delivery.lease);
    settlements.push_back({delivery.lease, ending(delivery, now)});
  }
  benchmark::DoNotOptimize(broker.start(leases, now));
  benchmark::DoNotOptimize(broker.settle(settlements, now));
  return got.size();
}

void count(benchmark::State& state, std::size_t messages) {
  state.SetItemsProcessed(static_cast<std::int64_t>(messages));
  state.counters["ns/message"] =
      benchmark::Counter(static_cast<double>(messages) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Refills outside the clock; `backlog` messages stand in the queue when it begins.
template <typename MakeEnding>
void drain(benchmark::State& state, bool keyed, const MakeEnding& ending) {
  const auto backlog = static_cast<std::size_t>(state.range(0));
  const auto source = publications(backlog, keyed);
  std::size_t done = 0;
  auto now = start_of_time;
  for (auto _ : state) {
    state.PauseTiming();
    auto broker = std::make_unique<MemoryBroker>();
    (void)*broker->publish(source, now);
    state.ResumeTiming();
    while (const auto passed = pass(*broker, now, ending)) {
      done += passed;
      now += Millis{1};
    }
    state.PauseTiming();
    broker.reset();
    state.ResumeTiming();
  }
  count(state, done);
}

void receive_start_complete(benchmark::State& state) {
  drain(state, false, [](const Delivery&, TimePoint) { return Ending{Completed{}}; });
}
BENCHMARK(receive_start_complete)->Arg(10'000)->Arg(300'000);

void receive_start_complete_keyed(benchmark::State& state) {
  drain(state, true, [](const Delivery&, TimePoint) { return Ending{Completed{}}; });
}
BENCHMARK(receive_start_complete_keyed)->Arg(10'000)->Arg(300'000);

/// Each message fails twice, waiting 5 ms, and completes at the third attempt.
void receive_start_fail_twice(benchmark::State& state) {
  drain(state, false, [](const Delivery& delivery, TimePoint now) {
    if (delivery.counters.attempt >= 2) return Ending{Completed{}};
    Failed failed;
    failed.counters = with_start(delivery.counters);
    failed.again_at = now + Millis{1};
    failed.error = "connection refused by payments.internal:443";
    return Ending{failed};
  });
}
BENCHMARK(receive_start_fail_twice)->Arg(10'000);

void publish_in_batches(benchmark::State& state) {
  const auto batch = publications(batch_size, false);
  std::size_t done = 0;
  MemoryBroker broker;
  for (auto _ : state) {
    (void)*broker.publish(batch, start_of_time);
    done += batch.size();
    if (done % (batch_size * 1024) == 0) {
      state.PauseTiming();
      (void)*broker.purge();
      state.ResumeTiming();
    }
  }
  count(state, done);
}
BENCHMARK(publish_in_batches);

/// One thread publishes while others pass messages on: the whole way, both cores.
void publish_and_pass_on(benchmark::State& state) {
  constexpr std::size_t total = 500'000;
  const auto batch = publications(batch_size, false);
  std::size_t done = 0;
  for (auto _ : state) {
    MemoryBroker broker;
    std::jthread publisher([&](const std::stop_token&) {
      for (std::size_t sent = 0; sent < total; sent += batch.size()) {
        (void)*broker.publish(batch, start_of_time);
      }
    });
    std::size_t passed = 0;
    while (passed < total) {
      passed += pass(broker, start_of_time, [](const Delivery&, TimePoint) { return Completed{}; });
    }
    done += passed;
  }
  count(state, done);
}
BENCHMARK(publish_and_pass_on)->UseRealTime()->Unit(benchmark::kMillisecond);

/// What a queue costs that promises nothing: the same batches through a locked deque.
void plain_locked_deque(benchmark::State& state) {
  const auto backlog = static_cast<std::size_t>(state.range(0));
  const auto source = publications(backlog, false);
  std::size_t done = 0;
  std::mutex mutex;
  std::deque<MessagePtr> queue;
  for (auto _ : state) {
    state.PauseTiming();
    for (const auto& each : source) queue.push_back(std::make_shared<const Message>(*each.message));
    state.ResumeTiming();
    while (true) {
      std::vector<MessagePtr> got;
      got.reserve(batch_size);
      {
        const std::lock_guard lock(mutex);
        while (!queue.empty() && got.size() < batch_size) {
          got.push_back(std::move(queue.front()));
          queue.pop_front();
        }
      }
      if (got.empty()) break;
      done += got.size();
    }
  }
  count(state, done);
}
BENCHMARK(plain_locked_deque)->Arg(10'000)->Arg(300'000);

/// A wheel with a million deadlines ahead and nothing due.
void advance_with_nothing_due(benchmark::State& state) {
  TimingWheel wheel;
  auto now = start_of_time;
  wheel.advance(now, [](auto, auto) {});
  for (TimingWheel::Item item = 0; item < 1'000'000; ++item) {
    wheel.set(item, now + std::chrono::hours{100} + Millis{item});
  }
  for (auto _ : state) {
    now += Millis{1};
    wheel.advance(now, [](auto, auto) {});
  }
}
BENCHMARK(advance_with_nothing_due)->Iterations(1'000'000);

void set_and_clear_a_deadline(benchmark::State& state) {
  TimingWheel wheel;
  wheel.advance(start_of_time, [](auto, auto) {});
  TimingWheel::Item item = 0;
  for (auto _ : state) {
    wheel.set(item, start_of_time + Millis{30'000 + item});
    wheel.clear((item + 1024) % 4096);
    item = (item + 1) % 4096;
  }
}
BENCHMARK(set_and_clear_a_deadline);

}  // namespace
}  // namespace dlo

BENCHMARK_MAIN();
