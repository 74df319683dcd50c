// Claim: a replay job sends dead letters back to the embedded queue, each taken, published and
// written down as sent, at 0.35 or more of the rate at which the office changes states in the same
// run, in lists of the size a job writes.
//
// Rounds are interleaved on one office; medians are compared.
//   jobs_bench [--rounds 5] [--records 20000] [--directory /tmp]
//
// Claim: the memory of a job does not depend on how many items it has. Each kind of job runs over
// an office of so many records with small payloads, and the anonymous memory of the process is
// watched.
//   jobs_bench --memory 10000,1000000 [--directory /tmp]

#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>

#include "support/measure.h"
#include "support/sample.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/engine/clock.h"
#include "dlo/jobs/job_runner.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::bench {
namespace {

constexpr std::size_t list = JobRunner::Options{}.batch;
const std::string target = "back";

template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "jobs_bench: %s: %s\n", result.error().where.c_str(),
                 result.error().detail.c_str());
    std::exit(1);
  }
  return std::move(*result);
}

class Bench {
 public:
  explicit Bench(const std::string& directory)
      : place_(directory),
        office_(must(SqliteOffice::open(place_.path() + "/office"))),
        queues_(must(EmbeddedQueues::open(place_.path() + "/queues", clock_.now()))),
        queue_(must(queues_->declare(settings()))),
        book_(*office_),
        runner_(*office_, book_, clock_, targets()) {}

  struct Round {
    double changes = 0;  // states a second
    double replays = 0;  // messages a second
  };
  Round round(std::size_t records) {
    append(records);
    const double changing = seconds([&] { resolve(records); });
    append(records);
    const double replaying = seconds([&] { replay(records); });
    const auto count = static_cast<double>(records);
    return {count / changing, count / replaying};
  }

 private:
  static SourceOptions settings() {
    SourceOptions options;
    options.source = target;
    options.dedupe_window = std::chrono::minutes{10};  // a repeat of a replay is dropped there
    return options;
  }
  ReplayTargets targets() {
    return {[](const std::string&) -> Result<void> { return {}; },
            [this](const std::string&, std::span<const Publication> messages,
                   TimePoint now) -> Result<void> {
              const auto sent = queue_->publish(messages, now);
              return sent ? Result<void>{} : sent.error();
            }};
  }

  void append(std::size_t records) {
    const auto changes = samples(next_, records);
    fresh_.clear();
    for (const Change& change : changes) fresh_.push_back(std::get<Append>(change).record->id);
    next_ += records;
    apply(changes);
  }
  void resolve(std::size_t records) {
    std::vector<Change> changes;
    changes.reserve(records);
    for (const RecordId& id : fresh_) {
      Transition transition;
      transition.id = id;
      transition.expected_version = 1;
      transition.to = Status::resolved;
      transition.resolution = Resolution{{}, "ops", "manual", "retried by hand"};
      changes.emplace_back(std::move(transition));
    }
    apply(changes);
  }
  void apply(const std::vector<Change>& changes) {
    for (std::size_t at = 0; at < changes.size(); at += list) {
      must(office_->apply(std::span(changes).subspan(at, std::min(list, changes.size() - at))));
    }
  }

  [[noreturn]] static void refuse(std::string_view state, const JobCounts& counts,
                                  const std::string& problem) {
    std::fprintf(stderr,
                 "jobs_bench: the job %.*s: sent %lu, changed %lu, refused %lu, looped %lu. %s\n",
                 static_cast<int>(state.size()), state.data(), counts.ok, counts.changed,
                 counts.refused, counts.looped, problem.c_str());
    std::exit(1);
  }

  /// From the start of the job until the last was sent and written down.
  void replay(std::size_t records) {
    JobSpec spec;
    spec.replay = ReplaySpec{};
    spec.replay->target = target;
    spec.query = "status:pending,exhausted";
    const std::string id = "job-" + std::to_string(++jobs_);
    must(book_.plan(spec, id, "bench", clock_.now()));
    must(book_.change(id, JobVerb::start, "bench", clock_.now()));
    runner_.wake();
    JobCounts counts;
    while ((counts = must(book_.progress(id)).counts).total() < records) {
      const Job job = must(book_.get(id));
      if (job.state != JobState::running) refuse(name_of(job.state), counts, job.problem);
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    if (counts.ok != records) refuse("has seen all", counts, "");
    must(book_.change(id, JobVerb::cancel, "bench", clock_.now()));  // nobody awaits the outcomes
  }

  SystemClock clock_;
  Scratch place_;
  std::unique_ptr<SqliteOffice> office_;
  std::unique_ptr<EmbeddedQueues> queues_;
  std::unique_ptr<EmbeddedQueue> queue_;
  JobBook book_;
  JobRunner runner_;
  std::uint64_t next_ = 1;
  std::vector<RecordId> fresh_;
  int jobs_ = 0;
};

/// Kilobytes that no file stands behind.
std::size_t anonymous_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoul(line.substr(8));
  }
  return 0;
}

/// The most there was while somebody worked.
class Peak {
 public:
  Peak() : watcher_([this] { watch(); }) {}
  ~Peak() { (void)end(); }
  Peak(const Peak&) = delete;
  Peak& operator=(const Peak&) = delete;
  std::size_t end() {
    over_ = true;
    if (watcher_.joinable()) watcher_.join();
    return most_;
  }

 private:
  void watch() {
    while (!over_) {
      most_ = std::max(most_, anonymous_memory());
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
  }
  std::atomic<bool> over_{false};
  std::size_t most_ = 0;
  std::thread watcher_;
};

/// Jobs over one office of many small records; what is sent goes nowhere.
class MemoryBench {
 public:
  explicit MemoryBench(const std::string& directory)
      : place_(directory),
        office_(must(SqliteOffice::open(place_.path() + "/office"))),
        book_(*office_),
        runner_(*office_, book_, clock_, targets()) {}

  void run(std::size_t records) {
    fill(records);
    JobSpec tag;
    tag.query = "source:orders";
    tag.act = Act::tag;
    tag.tags = {"seen"};
    work("tag", tag, records);
    JobSpec replay;
    replay.query = "source:orders";
    replay.replay = ReplaySpec{};
    replay.replay->canary = 1'000;
    replay.replay->watch = std::chrono::seconds{2};
    const std::string replayed = work("replay, canary 1000", replay, records);
    JobSpec again;
    again.act = Act::archive;
    again.from_job = replayed;
    again.outcome = "presumed";
    work("archive, from the job", again, records);
  }

 private:
  static ReplayTargets targets() {
    return {[](const std::string&) -> Result<void> { return {}; },
            [](const std::string&, std::span<const Publication>, TimePoint) -> Result<void> {
              return {};
            }};
  }

  void fill(std::size_t records) {
    std::vector<Change> changes;
    for (std::size_t i = 0; i < records; ++i) {
      auto message = std::make_shared<Message>();
      message->source = "orders";
      message->id = std::to_string(i);
      message->payload = "{}";
      auto record = std::make_shared<DeadLetter>();
      record->id = RecordId{Id128{(i + 1) * 0x9E3779B97F4A7C15ULL, i}};  // in no order
      record->message = std::move(message);
      record->died_at = clock_.now();
      record->fingerprint.hash = Id128{1, 1};
      changes.emplace_back(Append{std::move(record), {}});
      if (changes.size() == 1'000 || i + 1 == records) {
        must(office_->apply(changes));
        changes.clear();
      }
    }
  }

  std::string work(const char* name, const JobSpec& spec, std::size_t records) {
    const std::string id = "job-" + std::to_string(++jobs_);
    const std::size_t before = anonymous_memory();
    Peak peak;
    const double took = seconds([&] {
      must(book_.plan(spec, id, "bench", clock_.now()));
      must(book_.change(id, JobVerb::start, "bench", clock_.now()));
      runner_.wake();
      while (must(book_.get(id)).state == JobState::running) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
      }
    });
    const std::size_t most = peak.end();
    const auto ok = must(book_.progress(id)).counts.ok;
    const bool whole = ok == records && must(book_.get(id)).state == JobState::done;
    std::printf("%9zu items  %-22s %7.1f s %8.0f/s   RssAnon %6.1f MB before, %6.1f MB at most%s\n",
                records, name, took, static_cast<double>(records) / took,
                static_cast<double>(before) / 1024, static_cast<double>(most) / 1024,
                whole ? "" : "   NOT ALL WERE DONE");
    std::fflush(stdout);
    return id;
  }

  SystemClock clock_;
  Scratch place_;
  std::unique_ptr<SqliteOffice> office_;
  JobBook book_;
  JobRunner runner_;
  int jobs_ = 0;
};

int run_memory(const std::string& counts, const std::string& directory) {
  for (std::size_t at = 0; at < counts.size();) {
    const std::size_t comma = std::min(counts.find(',', at), counts.size());
    MemoryBench(directory).run(std::stoul(counts.substr(at, comma - at)));
    at = comma + 1;
  }
  return 0;
}

int run(int argc, char** argv) {
  const std::string memory = option(argc, argv, "memory", "");
  if (!memory.empty()) return run_memory(memory, option(argc, argv, "directory", "/tmp"));
  const auto rounds = static_cast<std::size_t>(std::stoul(option(argc, argv, "rounds", "5")));
  const auto records = static_cast<std::size_t>(std::stoul(option(argc, argv, "records", "20000")));
  Bench bench(option(argc, argv, "directory", "/tmp"));
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto round = bench.round(records);
    ratios.push_back(round.replays / round.changes);
    std::printf("state changes %8.0f/s   replayed %8.0f/s   %.2f\n", round.changes, round.replays,
                ratios.back());
    std::fflush(stdout);
  }
  std::printf("replay / state changes: %.2f, median of %zu (goal 0.35)\n", median(ratios), rounds);
  return 0;
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  return dlo::bench::run(argc, argv);
}
