// Claim: a million scheduled retries cost what a million dead letters cost. Scheduled records are
// appended at 0.8 of the rate of plain ones or more, in the same run; while none is due they cost
// no CPU and no memory that grows with them; those that fall due begin within 100 ms (p99), at
// whatever rate the office sustains beside them.
//
// Rounds are interleaved, each side keeps its own file, medians of rates are compared. With --keep
// the office stays, and each part can be run by itself in a fresh process.
//   retries_bench [--part all|fill|idle|due] [--keep DIRECTORY] [--records 1000000] [--rounds 5]
//                 [--first 0] [--rate 200] [--for 8] [--waves 0] [--at-once 8] [--directory /tmp]
// --first goes on with a fill: so many are there already. --waves N measures --rate alone, N times.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
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
double insert(Office& plain, Office& office, std::uint64_t begin, std::uint64_t records,
              std::uint64_t rounds, TimePoint far) {
  std::vector<double> ratios;
  const std::size_t each = records / rounds;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    double ours = 0;
    double theirs = 0;
    for (std::size_t done = 0; done < each; done += 10'000) {
      const std::size_t count = std::min<std::size_t>(10'000, each - done);
      const std::uint64_t first = begin + round * each + done;
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

/// A retry processor over an office with many that wait.
class Room {
 public:
  Room(const std::string& directory, std::size_t at_once)
      : kept_(must(SqliteOffice::open(directory))), timer_(clock_), office_(*kept_, timer_) {
    executors_.set("default", std::make_shared<FunctionHandler>(
                                  [this](const Message& task, const RunContext& context) {
                                    note(task, context);
                                    return Outcome{};
                                  }));
    RetryOptions options;
    options.at_once = at_once;
    // The payload index follows in the background; its work is not that of retries.
    while (must(kept_->aggregate({})).unindexed_payloads > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    processor_ = must(RetryProcessor::make({office_, timer_, shelf_, executors_, clock_}, options));
  }
  ~Room() { processor_->stop(); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  void start() { processor_->start(); }

  struct Wave {
    std::size_t due = 0;
    std::size_t begun = 0;
    double overtime = 0;  // seconds from the moment the last was due to the last start
    std::vector<double> late;
    [[nodiscard]] bool is_sustained() const {
      return begun == due && percentile(late, 0.99) < 100 && overtime < 0.5;
    }
  };
  /// So many a second fall due, beside those that do not.
  Wave wave(std::uint64_t rate, std::uint64_t for_seconds, std::uint64_t first_number) {
    const std::size_t count = rate * for_seconds;
    // They are all there, and their words in the index, before the first is due: that is not what
    // is measured.
    const TimePoint first = clock_.now() + Millis{3'000 + count};
    std::vector<Change> soon = scheduled(first_number, count, first, Millis{0});
    for (std::size_t i = 0; i < soon.size(); ++i) {
      auto& append = std::get<Append>(soon[i]);
      auto record = std::make_shared<DeadLetter>(*append.record);
      record->next_retry_at = first + Millis{i * 1'000 / rate};
      auto task = std::make_shared<Message>(*record->message);
      task->id = std::to_string(record->next_retry_at->time_since_epoch().count());
      record->message = std::move(task);
      append.record = std::move(record);
    }
    {
      const std::lock_guard lock(waits_.mutex);
      waits_.late.clear();
    }
    append_all(office_, soon);
    if (clock_.now() > first) std::printf("appended too late: the first are late by that\n");
    const TimePoint last = first + Millis{for_seconds * 1'000};
    Wave seen;
    seen.due = count;
    while (clock_.now() < last + std::chrono::seconds{20}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const std::lock_guard lock(waits_.mutex);
      if (waits_.late.size() == count) break;
    }
    seen.overtime = static_cast<double>((clock_.now() - last).count()) / 1'000;
    const std::lock_guard lock(waits_.mutex);
    seen.late = waits_.late;
    seen.begun = seen.late.size();
    return seen;
  }

 private:
  void note(const Message& task, const RunContext& context) {
    const auto late = context.started.time_since_epoch().count() - std::stoll(task.id);
    const std::lock_guard lock(waits_.mutex);
    waits_.late.push_back(static_cast<double>(late));
  }

  const SystemClock clock_;
  std::unique_ptr<SqliteOffice> kept_;
  DueTimer timer_;
  SchedulingOffice office_;
  Waits waits_;
  Executors executors_{"default"};
  RuleShelf shelf_{ProfileBook{}};
  std::unique_ptr<RetryProcessor> processor_;
};

void fill(const std::string& below, std::uint64_t begin, std::uint64_t records,
          std::uint64_t rounds) {
  const SystemClock clock;
  std::filesystem::create_directories(below + "/plain");
  std::filesystem::create_directories(below + "/scheduled");
  auto plain = must(SqliteOffice::open(below + "/plain"));
  auto kept = must(SqliteOffice::open(below + "/scheduled"));
  DueTimer timer(clock);
  SchedulingOffice office(*kept, timer);
  const double before = resident();
  const double ratio =
      insert(*plain, office, begin, records, rounds, clock.now() + std::chrono::hours{24 * 30});
  std::printf("insert, of plain append (median): %.2f (goal >= 0.80); RssAnon %.1f MB, then %.1f\n",
              ratio, before, resident());
}

void rest(const std::string& below, std::size_t at_once) {
  const double fresh = resident();
  Room room(below + "/scheduled", at_once);
  const double opened = resident();
  room.start();
  std::this_thread::sleep_for(std::chrono::seconds(2));  // the first look
  const double from = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(20));
  std::printf("CPU while none is due: %.3f %% of a core over 20 s (goal ~0)\n",
              (cpu_seconds() - from) / 20 * 100);
  std::printf("RssAnon: %.1f MB before opening, %.1f opened, %.1f after that time\n", fresh, opened,
              resident());
}

/// Doubles the rate until it is not sustained, then goes back by eighths of the last step; with
/// `waves`, so many at this rate and no other.
void find_rate(const std::string& below, std::uint64_t rate, std::uint64_t for_seconds,
               std::size_t at_once, std::uint64_t waves) {
  Room room(below + "/scheduled", at_once);
  room.start();
  // No number twice, however often this is run on one office.
  auto number =
      static_cast<std::uint64_t>(SystemClock().now().time_since_epoch().count() / 1'000) * 100'000;
  std::uint64_t best = 0;
  const auto is_sustained = [&](std::uint64_t each) {
    const Room::Wave seen = room.wave(each, for_seconds, number);
    number += seen.due;
    std::printf("| %llu/s | %zu of %zu | p50 %.0f, p99 %.0f, most %.0f ms | %.2f s | %s |\n",
                static_cast<unsigned long long>(each), seen.begun, seen.due,
                percentile(seen.late, 0.5), percentile(seen.late, 0.99), percentile(seen.late, 1.0),
                seen.overtime, seen.is_sustained() ? "sustained" : "not sustained");
    std::fflush(stdout);
    if (seen.is_sustained()) best = std::max(best, each);
    return seen.is_sustained();
  };
  std::printf("| rate | begun | late | behind the last | |\n|---|---|---|---|---|\n");
  for (std::uint64_t wave = 0; wave < waves; ++wave) (void)is_sustained(rate);
  while (waves == 0 && is_sustained(rate)) rate *= 2;
  for (std::uint64_t each = rate - rate / 8; waves == 0 && each > rate / 2; each -= rate / 8) {
    if (is_sustained(each)) break;
  }
  std::printf("sustained with p99 < 100 ms: %llu/s; RssAnon %.1f MB\n",
              static_cast<unsigned long long>(best), resident());
}

int run(int argc, char** argv) {
  const std::uint64_t records = std::stoull(option(argc, argv, "records", "1000000"));
  const std::uint64_t rounds = std::stoull(option(argc, argv, "rounds", "5"));
  const std::string part = option(argc, argv, "part", "all");
  const std::size_t at_once = std::stoull(option(argc, argv, "at-once", "8"));
  const Scratch place(option(argc, argv, "directory", "/tmp"));
  const std::string below = option(argc, argv, "keep", place.path());
  if (part == "all" || part == "fill") {
    fill(below, std::stoull(option(argc, argv, "first", "0")), records, rounds);
  }
  if (part == "all" || part == "idle") rest(below, at_once);
  if (part == "all" || part == "due") {
    find_rate(below, std::stoull(option(argc, argv, "rate", "200")),
              std::stoull(option(argc, argv, "for", "8")), at_once,
              std::stoull(option(argc, argv, "waves", "0")));
  }
  return 0;
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  return dlo::bench::run(argc, argv);
}
