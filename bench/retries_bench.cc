// Claim: a million scheduled retries cost what a million dead letters cost. Scheduled records are
// appended at 0.8 of the rate of plain ones or more, in the same run; while none is due they cost
// no CPU and no memory that grows with them; those that fall due begin within 100 ms (p99).
//
// Rounds are interleaved, each side keeps its own file, medians of rates are compared.
//   retries_bench [--records 1000000] [--rounds 5] [--due 3000] [--directory /tmp]

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "support/measure.h"
#include "support/sample.h"

#include "dlo/core/encoding.h"
#include "dlo/retries/retry_processor.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::bench {
namespace {

constexpr std::size_t list = 500;

template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s: %s\n", result.error().where.c_str(), result.error().detail.c_str());
    std::abort();
  }
  return std::move(*result);
}

/// Megabytes of memory that belong to this process alone.
double resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) / 1024;
  }
  return 0;
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

std::vector<Change> scheduled(std::uint64_t first, std::size_t count, TimePoint due, Millis apart) {
  std::vector<Change> changes = samples(first, count);
  for (Change& change : changes) {
    auto& append = std::get<Append>(change);
    auto record = std::make_shared<DeadLetter>(*append.record);
    record->status = Status::pending;
    record->profile = "workflow";
    record->next_retry_at = due;
    append.record = std::move(record);
    due += apart;
  }
  return changes;
}

double append_all(Office& office, const std::vector<Change>& changes) {
  return seconds([&] {
    for (std::size_t at = 0; at < changes.size(); at += list) {
      must(office.apply(std::span(changes).subspan(at, std::min(list, changes.size() - at))));
    }
  });
}

struct Waits {
  std::mutex mutex;
  std::vector<double> late;  // milliseconds
};

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.empty() ? 0 : values.size() - 1);
  return values.empty() ? 0 : values[static_cast<std::size_t>(share * last)];
}

/// Inserts both kinds in turns; answers scheduled / plain.
double insert(Office& plain, Office& office, std::uint64_t records, std::uint64_t rounds,
              TimePoint far) {
  std::vector<double> ratios;
  const std::size_t each = records / rounds;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    double ours = 0;
    double theirs = 0;
    for (std::size_t done = 0; done < each; done += 10'000) {
      const std::size_t count = std::min<std::size_t>(10'000, each - done);
      const std::uint64_t first = round * each + done;
      std::vector<Change> unscheduled = samples(first, count);
      theirs += append_all(plain, unscheduled);
      ours += append_all(office, scheduled(first, count, far + Millis{first}, Millis{1}));
    }
    std::printf("round %llu: %.0f scheduled/s, %.0f plain/s, ratio %.2f\n",
                static_cast<unsigned long long>(round + 1), static_cast<double>(each) / ours,
                static_cast<double>(each) / theirs, theirs / ours);
    std::fflush(stdout);
    ratios.push_back(theirs / ours);
  }
  return median(ratios);
}

int run(int argc, char** argv) {
  const std::uint64_t records = std::stoull(option(argc, argv, "records", "1000000"));
  const std::uint64_t rounds = std::stoull(option(argc, argv, "rounds", "5"));
  const std::size_t due = std::stoull(option(argc, argv, "due", "3000"));
  const std::string below = option(argc, argv, "directory", "/tmp");
  const Scratch plain_place(below);
  const Scratch place(below);
  const SystemClock clock;
  auto plain = must(SqliteOffice::open(plain_place.path()));
  auto kept = must(SqliteOffice::open(place.path()));
  DueTimer timer(clock);
  SchedulingOffice office(*kept, timer);
  const double ratio = insert(*plain, office, records, rounds, clock.now() + std::chrono::hours{1});
  plain.reset();

  Waits waits;
  Executors executors("default");
  executors.set("default", std::make_shared<FunctionHandler>([&](const Message& task,
                                                                 const RunContext& context) {
                  const auto planned = std::stoll(task.id);
                  const auto late = context.started.time_since_epoch().count() - planned;
                  const std::lock_guard lock(waits.mutex);
                  waits.late.push_back(static_cast<double>(late));
                  return Outcome{};
                }));
  RuleShelf shelf{ProfileBook{}};
  RetryOptions options;
  options.at_once = 8;
  auto processor = must(RetryProcessor::make({office, timer, shelf, executors, clock}, options));
  // The payload index follows in the background; its work is not that of retries.
  while (must(kept->aggregate({})).unindexed_payloads > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const double before = resident();
  processor->start();
  const double idle_from = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(10));
  const double idle = (cpu_seconds() - idle_from) / 10 * 100;
  const double after = resident();

  // They fall due one after the other, beside the million that do not.
  const TimePoint first = clock.now() + std::chrono::seconds{5};
  std::vector<Change> soon = scheduled(records + 1, due, first, Millis{5});
  for (Change& change : soon) {
    auto& append = std::get<Append>(change);
    auto record = std::make_shared<DeadLetter>(*append.record);
    auto task = std::make_shared<Message>(*record->message);
    task->id = std::to_string(record->next_retry_at->time_since_epoch().count());
    record->message = std::move(task);
    append.record = std::move(record);
  }
  append_all(office, soon);
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes{2};
  for (std::size_t seen = 0; seen < due && std::chrono::steady_clock::now() < patience;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::lock_guard lock(waits.mutex);
    seen = waits.late.size();
  }
  processor->stop();
  std::printf("\n| %llu scheduled | | goal |\n|---|---|---|\n",
              static_cast<unsigned long long>(records));
  std::printf("| insert, of plain append (median) | %.2f | >= 0.80 |\n", ratio);
  std::printf("| CPU while none is due | %.2f %% | ~0 |\n", idle);
  std::printf("| memory for it | %.1f MB | bounded |\n", after - before);
  std::printf("| due, %zu at 200/s: begun | %zu | all |\n", due, waits.late.size());
  std::printf("| late, p50 / p99 / most | %.0f / %.0f / %.0f ms | p99 < 100 |\n",
              percentile(waits.late, 0.5), percentile(waits.late, 0.99),
              percentile(waits.late, 1.0));
  return 0;
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  return dlo::bench::run(argc, argv);
}
