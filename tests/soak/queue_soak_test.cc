// Mixed load of bodies large and small for a long time, 5 % failing: at the end a message costs
// what it cost at the beginning, in instructions and bytes written, and the disk holds at most
// twice what is alive. Seconds here, an hour in `make soak`. User time is printed for orientation:
// it follows what else the machine does.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <linux/perf_event.h>
#include <mutex>
#include <random>
#include <span>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/broker/embedded/embedded_queues.h"

#if __has_include(<valgrind/callgrind.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <valgrind/callgrind.h>
#pragma GCC diagnostic pop
#endif

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

/// Instructions of this process and its threads in user space. Many virtual machines have no
/// counter: then it is absent, and scripts/soak-instructions counts with callgrind instead.
class Instructions {
 public:
  Instructions() {
    perf_event_attr what{};
    what.type = PERF_TYPE_HARDWARE;
    what.size = sizeof what;
    what.config = PERF_COUNT_HW_INSTRUCTIONS;
    what.exclude_kernel = 1;
    what.exclude_hv = 1;
    what.inherit = 1;
    counter_ = static_cast<int>(::syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
  }
  ~Instructions() {
    if (counter_ >= 0) ::close(counter_);
  }
  Instructions(const Instructions&) = delete;
  Instructions& operator=(const Instructions&) = delete;

  [[nodiscard]] bool counted() const { return counter_ >= 0; }
  [[nodiscard]] double now() const {
    std::uint64_t count = 0;
    const bool read = counted() && ::read(counter_, &count, sizeof count) == sizeof count;
    return read ? static_cast<double>(count) : 0;
  }

 private:
  int counter_ = -1;
};

/// Under callgrind every tenth becomes a file of its own; how many messages it had goes to the file
/// that scripts/soak-instructions names.
void begin_tenth() {
#if __has_include(<valgrind/callgrind.h>)
  CALLGRIND_ZERO_STATS;
#endif
}
void end_tenth(std::uint64_t messages) {
#if __has_include(<valgrind/callgrind.h>)
  CALLGRIND_DUMP_STATS;
#endif
  if (const char* file = std::getenv("DLO_SOAK_TENTHS")) {
    std::ofstream(file, std::ios::app) << messages << "\n";
  }
}

std::int64_t depth() {
  if (const char* asked = std::getenv("DLO_SOAK_DEPTH")) return std::atoi(asked);
  return duration() < 60s ? 20'000 : 120'000;
}

/// Four producers and four consumers on one queue, which stays about `depth` deep.
class Load {
 public:
  Load(EmbeddedQueue& queue, std::int64_t depth) : depth_(depth) {
    for (unsigned i = 0; i < 4; ++i) {
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
  [[nodiscard]] bool is_full() const { return full_; }

 private:
  void produce(EmbeddedQueue& queue, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<MessagePtr> bodies;
    for (const std::size_t size : {16U, 1024U, 1024U, 1024U, 8192U}) {
      auto body = std::make_shared<Message>();
      body->payload = std::string(size, 'x');
      bodies.push_back(std::move(body));
    }
    while (!over_) {
      std::vector<Publication> list(1 + random() % 64);
      for (auto& each : list) {
        each.message = bodies[random() % bodies.size()];
        // Half of the small ones wait longer than the large ones beside them are there.
        if (each.message == bodies.front() && random() % 2 == 0) each.delay = Millis{depth_ / 20};
      }
      {
        // Asleep, not spinning: the time of those who wait is not what a message costs.
        std::unique_lock lock(mutex_);
        full_ = full_ || waiting_ > depth_;
        room_.wait(lock, [this] { return over_ || waiting_ <= depth_; });
      }
      must(queue.publish(list, wall()));
      waiting_ += static_cast<std::int64_t>(list.size());
      const std::lock_guard lock(mutex_);
      room_.notify_all();
    }
  }
  void consume(EmbeddedQueue& queue, unsigned seed) {
    std::mt19937 random(seed);
    while (!over_) {
      {
        // They begin when it is as deep as it is to be, and leave it about so.
        std::unique_lock lock(mutex_);
        const auto enough = [this] { return full_ && waiting_ > depth_ - 5000; };
        room_.wait_for(lock, 20ms, [&] { return over_ || enough(); });
        if (!enough()) continue;
      }
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

  const std::int64_t depth_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::atomic<bool> over_ = false;
  std::atomic<bool> full_ = false;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::int64_t> waiting_ = 0;
  std::vector<std::jthread> threads_;
};

struct Cost {
  double messages = 0;
  double bytes = 0;         // written
  double cpu = 0;           // seconds of user time
  double instructions = 0;  // 0: not counted

  Cost& operator+=(const Cost& other) {
    messages += other.messages;
    bytes += other.bytes;
    cpu += other.cpu;
    instructions += other.instructions;
    return *this;
  }
};

/// A tenth ends after its time and not before so many messages were done: on a slow machine a
/// tenth of a few seconds would see one round of housekeeping or none, by chance.
std::uint64_t least_of_a_tenth() {
  const char* asked = std::getenv("DLO_SOAK_LEAST");
  return asked == nullptr ? 20'000 : std::strtoull(asked, nullptr, 10);
}

Cost sum(std::span<const Cost> tenths) {
  Cost all;
  for (const auto& each : tenths) all += each;
  return all;
}

std::uint64_t size_of(const std::string& directory) {
  std::uint64_t total = 0;
  for (const auto& each : std::filesystem::directory_iterator(directory)) {
    std::error_code gone;  // removed meanwhile
    const auto size = each.file_size(gone);
    if (!gone) total += size;
  }
  return total;
}

TEST(QueueSoak, AMessageCostsTheSameAtTheEndAndTheDiskStaysSmall) {
  const bool long_form = depth() >= 100'000;
  const Instructions instructions;  // before there are threads
  const TemporaryDirectory directory;
  EmbeddedOptions options;
  if (!long_form) {
    options.journal.segment_size = 1U << 20U;
    options.checkpoint_every = 2U << 20U;
  }
  auto queues = must(EmbeddedQueues::open(directory.path(), wall(), options));
  SourceOptions jobs;
  jobs.source = "jobs";
  auto queue = must(queues->declare(jobs));
  std::vector<Cost> tenths;
  double most_disk = 0;  // as a multiple of what is alive at the same moment
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable nobody;
  {
    Load load(*queue, depth());
    while (!load.is_full()) nobody.wait_for(lock, 20ms);
    for (int tenth = 0; tenth < 10; ++tenth) {
      begin_tenth();
      const auto until = Steady::now() + duration() / 10;
      const auto done = load.done();
      const auto written = queues->journal_stats().bytes_written;
      const double cpu = cpu_seconds();
      const double counted = instructions.now();
      while (Steady::now() < until || load.done() - done < least_of_a_tenth()) {
        nobody.wait_for(lock, 50ms);  // a look now and then
        const auto alive = static_cast<double>(must(queue->stats(wall())).bytes);
        most_disk = std::max(most_disk, static_cast<double>(size_of(directory.path())) / alive);
      }
      const auto messages = static_cast<double>(load.done() - done);
      end_tenth(load.done() - done);
      tenths.push_back({messages,
                        static_cast<double>(queues->journal_stats().bytes_written - written),
                        cpu_seconds() - cpu, instructions.now() - counted});
      const auto& cost = tenths.back();
      std::cout << "tenth " << tenth + 1 << ": " << messages << " messages, written "
                << cost.bytes / messages << " bytes each, user time " << cost.cpu * 1e6 / messages
                << " us, instructions " << cost.instructions / messages << "; disk at most "
                << most_disk << " x what is alive" << std::endl;
    }
  }
  // An hour is judged by its tenths. In seconds a tenth sees a few rounds of housekeeping, more or
  // less: there three of them together, and only growth would show.
  const std::size_t part = duration() >= 60s ? 1 : 3;
  const double allowed = duration() >= 60s ? 1.1 : 1.5;
  const Cost first = sum(std::span(tenths).first(part));
  const Cost last = sum(std::span(tenths).last(part));
  EXPECT_LE(last.bytes / last.messages, allowed * first.bytes / first.messages);
  if (instructions.counted()) {
    EXPECT_LE(last.instructions / last.messages, allowed * first.instructions / first.messages);
  }
  // Everything in the directory: segments, spare ones, checkpoints. Beside twenty megabytes that
  // are alive a few segments are a lot: they count from 200 on.
  EXPECT_LE(most_disk, long_form ? 2.0 : 2.5);
  const auto stats = must(queue->stats(wall()));
  EXPECT_EQ(stats.published, stats.completed + stats.ready + stats.delayed + stats.leased);
}

}  // namespace
}  // namespace dlo::testing
