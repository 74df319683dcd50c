// Mixed load for a long time, 5 % failing: at the end a message costs what it cost at the
// beginning, and the disk holds at most twice what is alive. Seconds here, an hour in `make soak`.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <mutex>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

std::chrono::milliseconds duration() {
  if (const char* asked = std::getenv("DLO_SOAK_SECONDS")) return 1s * std::atoi(asked);
  return std::getenv("DLO_SOAK") == nullptr ? 6s : 3600s;
}

TimePoint wall() {
  return std::chrono::floor<Millis>(std::chrono::system_clock::now());
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec) / 1e6;
}

/// Eight producers and eight consumers on one queue, which stays between empty and 20 000 deep.
class Load {
 public:
  explicit Load(EmbeddedQueue& queue) {
    for (unsigned i = 0; i < 8; ++i) {
      threads_.emplace_back([this, &queue, i] { produce(queue, i); });
      threads_.emplace_back([this, &queue, i] { consume(queue, i + 100); });
    }
  }
  ~Load() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    room_.notify_all();
  }

  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  void produce(EmbeddedQueue& queue, unsigned seed) {
    std::mt19937 random(seed);
    const auto body = std::make_shared<Message>();
    body->payload = std::string(1024, 'x');
    while (!over_) {
      std::vector<Publication> list(1 + random() % 64);
      for (auto& each : list) each.message = body;
      {
        // Asleep, not spinning: the time of those who wait is not what a message costs.
        std::unique_lock lock(mutex_);
        room_.wait(lock, [this] { return over_ || waiting_ <= 20'000; });
      }
      must(queue.publish(list, wall()));
      waiting_ += static_cast<std::int64_t>(list.size());
    }
  }
  void consume(EmbeddedQueue& queue, unsigned seed) {
    std::mt19937 random(seed);
    while (!over_) {
      const auto got = must(queue.receive({1 + random() % 64, 60s, 20ms}, wall()));
      std::vector<Settlement> endings;
      for (const auto& each : got) {
        Failed failed;
        failed.counters = with_start(each.counters);
        ++failed.counters.failure;
        failed.delay = Millis{1 + random() % 2000};
        failed.again_at = wall() + failed.delay;
        failed.error = "connection reset by peer";
        const bool fails = random() % 20 == 0;
        endings.push_back({each.lease, fails ? Ending(failed) : Ending(Completed{})});
        if (fails) continue;
        ++done_;
        --waiting_;
      }
      if (!endings.empty()) must(queue.settle(endings, wall()));
      const std::lock_guard lock(mutex_);
      room_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable room_;
  std::atomic<bool> over_ = false;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::int64_t> waiting_ = 0;
  std::vector<std::jthread> threads_;
};

struct Cost {
  double bytes = 0;  // written per message
  double cpu = 0;    // microseconds of user time per message
};

TEST(QueueSoak, AMessageCostsTheSameAtTheEndAndTheDiskStaysSmall) {
  const TemporaryDirectory directory;
  EmbeddedOptions options;
  options.journal.segment_size = 8U << 20U;
  options.checkpoint_every = 16U << 20U;
  auto queues = must(EmbeddedQueues::open(directory.path(), wall(), options));
  SourceOptions jobs;
  jobs.source = "jobs";
  auto queue = must(queues->declare(jobs));
  std::vector<Cost> tenths;
  std::uint64_t most_disk = 0;
  std::uint64_t most_alive = 0;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable nobody;
  {
    Load load(*queue);
    for (int tenth = 0; tenth < 10; ++tenth) {
      const auto until = Steady::now() + duration() / 10;
      const auto done = load.done();
      const auto written = queues->journal_stats().bytes_written;
      const double cpu = cpu_seconds();
      while (Steady::now() < until) {
        nobody.wait_until(lock, std::min(until, Steady::now() + 50ms));  // a look now and then
        most_disk = std::max(most_disk, queues->journal_stats().live_bytes);
        most_alive = std::max(most_alive, must(queue->stats(wall())).bytes);
      }
      const auto messages = static_cast<double>(load.done() - done);
      ASSERT_GT(messages, 0);
      tenths.push_back(
          {static_cast<double>(queues->journal_stats().bytes_written - written) / messages,
           (cpu_seconds() - cpu) * 1e6 / messages});
    }
    std::cout << load.done() << " messages; written per message " << tenths.front().bytes << " -> "
              << tenths.back().bytes << " bytes; user time " << tenths.front().cpu << " -> "
              << tenths.back().cpu << " us; at most " << most_disk << " bytes of segments for "
              << most_alive << " alive\n";
  }
  // In seconds a tenth sees a few rounds of housekeeping, more or less: then only growth would
  // show.
  const double allowed = duration() < 60s ? 1.5 : 1.1;
  EXPECT_LE(tenths.back().bytes, allowed * tenths.front().bytes);
  if (duration() >= 60s) {
    EXPECT_LE(tenths.back().cpu, allowed * tenths.front().cpu);
  }
  // Beside what is alive: four segments are not worth moving anything for, publishers wait when
  // housekeeping is four checkpoints behind, and what came while one was written is not yet freed.
  const std::uint64_t fixed = 4 * options.journal.segment_size + 6 * options.checkpoint_every;
  EXPECT_LE(most_disk, 2 * most_alive + fixed);
  const auto stats = must(queue->stats(wall()));
  EXPECT_EQ(stats.published, stats.completed + stats.ready + stats.delayed + stats.leased);
}

}  // namespace
}  // namespace dlo::testing
