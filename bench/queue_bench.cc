// The embedded queue by itself: what a message costs in instructions, memory, disk and time.
//   queue_bench                     every claim, printed beside its goal
//   queue_bench keys N              memory, with N messages to a key
//   queue_bench restarts N          restart with N messages waiting
//   queue_bench fill DIR N          ... the two halves of that: N messages and kill -9
//   queue_bench restart DIR         ... and how long the next start takes, for profilers
//   queue_bench sizes [LIST]        memory and disk, a million messages in lists of LIST
//   queue_bench moves|idling|lateness|dedupe|stalls          one claim, in a process of its own
//   queue_bench cycles N [BATCH]    N messages through publish, receive, settle: for callgrind
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/measure.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace {

using namespace dlo;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "queue_bench: %s\n", result.error().detail.c_str());
    std::exit(1);
  }
  return std::move(*result);
}
void must(const Result<void>& result) {
  if (!result) {
    std::fprintf(stderr, "queue_bench: %s\n", result.error().detail.c_str());
    std::exit(1);
  }
}

TimePoint wall() {
  return std::chrono::floor<Millis>(std::chrono::system_clock::now());
}

double seconds_since(Steady::time_point began) {
  return std::chrono::duration<double>(Steady::now() - began).count();
}

/// Anonymous memory of this process, in bytes.
double anonymous() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) * 1024;
  }
  return 0;
}

MessagePtr kilobyte(std::size_t number) {
  auto message = std::make_shared<Message>();
  message->id = std::to_string(number);
  message->payload = std::string(1024, static_cast<char>('a' + number % 26));
  return message;
}

/// On the disk of the current directory: memory would flatter us.
bench::Scratch folder_here() {
  return bench::Scratch(std::filesystem::current_path().string());
}

SourceOptions jobs() {
  SourceOptions options;
  options.source = "jobs";
  return options;
}

void fill(EmbeddedQueue& queue, std::size_t count, Millis delay = 0ms, std::size_t list = 512) {
  std::vector<Publication> batch;
  for (std::size_t i = 0; i < count;) {
    batch.clear();
    for (; batch.size() < list && i < count; ++i) {
      Publication publication;
      publication.message = kilobyte(i);
      publication.delay = delay;
      batch.push_back(std::move(publication));
    }
    must(queue.publish(batch, wall()));
  }
}

std::size_t drain(EmbeddedQueue& queue, std::size_t batch, std::size_t limit = SIZE_MAX) {
  std::size_t done = 0;
  while (done < limit) {
    const auto got = must(queue.receive({std::min(batch, limit - done), 60s, 0ms}, wall()));
    if (got.empty()) break;
    std::vector<Settlement> settlements;
    settlements.reserve(got.size());
    for (const auto& each : got) settlements.emplace_back(each.lease, Completed{});
    must(queue.settle(settlements, wall()));
    done += got.size();
  }
  return done;
}

void cycles(std::size_t count, std::size_t batch) {
  const bench::Scratch folder = folder_here();
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto queue = must(queues->declare(jobs()));
  std::vector<Publication> publications(batch);
  for (std::size_t i = 0; i < batch; ++i) publications[i].message = kilobyte(i);
  for (std::size_t done = 0; done < count; done += batch) {
    must(queue->publish(publications, wall()));
    if (drain(*queue, batch) != batch) std::exit(1);
  }
}

void say(const char* what, double value, const char* unit, const char* goal) {
  std::printf("%-46s %12.1f %-10s %s\n", what, value, unit, goal);
  std::fflush(stdout);
}

/// What the files of a directory take on the disk.
double allocated(const std::string& path) {
  double total = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    struct stat file{};
    if (::stat(entry.path().c_str(), &file) == 0)
      total += static_cast<double>(file.st_blocks) * 512;
  }
  return total;
}

void sizes(std::size_t list) {
  const bench::Scratch folder = folder_here();
  const std::size_t count = 1'000'000;
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto queue = must(queues->declare(jobs()));
  fill(*queue, 1000, 0ms, list);
  const double before = anonymous();
  const auto began = Steady::now();
  fill(*queue, count, 0ms, list);
  say(("enqueue, one caller, lists of " + std::to_string(list)).c_str(),
      static_cast<double>(count) / seconds_since(began), "/s", "");
  say("memory per waiting message", (anonymous() - before) / static_cast<double>(count), "bytes",
      "<= 40");
  auto stats = queues->journal_stats();
  const auto messages = static_cast<double>(count + 1000);
  say("disk per message", static_cast<double>(stats.live_bytes) / messages, "bytes", "<= 1080");
  say("... with the checkpoint and the next segment", allocated(folder.path()) / messages, "bytes",
      "");
  const auto drained = Steady::now();
  drain(*queue, 512);
  say("lease + complete, one caller, lists of 512", messages / seconds_since(drained), "/s", "");
  say("memory that is left when all are gone", (anonymous() - before) / (1U << 20U), "MB", "");
  stats = queues->journal_stats();
  say("written per body byte, enqueue to completion",
      static_cast<double>(stats.bytes_written) / (messages * 1024), "x", "<= 1.15");
}

/// The order of keys costs something for each key that is in use, and nothing for a message.
void keys(std::size_t messages_a_key) {
  const bench::Scratch folder = folder_here();
  const std::size_t count = 500'000;
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto queue = must(queues->declare(jobs()));
  fill(*queue, 1000);
  const double before = anonymous();
  std::vector<Publication> batch;
  for (std::size_t i = 0; i < count;) {
    batch.clear();
    for (; batch.size() < 512 && i < count; ++i) {
      auto message = std::make_shared<Message>();
      message->key = std::to_string(100'000'000 + i / messages_a_key);  // nine bytes
      message->payload = "x";
      batch.emplace_back().message = std::move(message);
    }
    must(queue->publish(batch, wall()));
  }
  say("memory per waiting message with a key of 9 bytes",
      (anonymous() - before) / static_cast<double>(count), "bytes", "<= 40 and the key");
}

/// How long it takes from opening the directory to the first lease.
double restart_millis(const std::string& path, bool expects_one) {
  const auto began = Steady::now();
  auto queues = must(EmbeddedQueues::open(path, wall()));
  auto queue = must(queues->declare(jobs()));
  const auto got = must(queue->receive({1, 60s, 0ms}, wall()));
  const double took = seconds_since(began) * 1000;
  if (got.empty() == expects_one) std::exit(1);
  return took;
}

/// Fills a directory and dies without a word, as kill -9 would have it.
void fill_and_die(const std::string& path, std::size_t count) {
  const auto child = ::fork();
  if (child == 0) {
    auto queues = must(EmbeddedQueues::open(path, wall()));
    auto queue = must(queues->declare(jobs()));
    fill(*queue, count);
    ::raise(SIGKILL);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) std::exit(1);
}

void restarts(std::size_t count, const char* goal) {
  const bench::Scratch folder = folder_here();
  fill_and_die(folder.path(), count);
  const std::string what = "restart to first lease, " + std::to_string(count) + " waiting";
  say((what + ", killed").c_str(), restart_millis(folder.path(), count > 0), "ms", goal);
  must(must(EmbeddedQueues::open(folder.path(), wall()))->close());
  say(what.c_str(), restart_millis(folder.path(), count > 0), "ms", goal);
}

/// A million delays that end within two seconds: how late is the consumer that waits for them?
void lateness() {
  const bench::Scratch folder = folder_here();
  const std::size_t count = 1'000'000;
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto queue = must(queues->declare(jobs()));
  const auto begins = wall() + 20s;  // enough to publish them
  std::vector<Publication> batch;
  for (std::size_t i = 0; i < count;) {
    batch.clear();
    const auto now = wall();
    for (; batch.size() < 512 && i < count; ++i) {
      auto message = std::make_shared<Message>();
      const auto due = begins + Millis{i % 20'000};  // fifty fall due every millisecond
      message->payload = std::to_string(due.time_since_epoch().count());
      Publication publication;
      publication.message = std::move(message);
      publication.delay = due - now;
      batch.push_back(std::move(publication));
    }
    must(queue->publish(batch, now));
  }
  std::vector<double> late;
  late.reserve(count);
  while (late.size() < count) {
    const auto got = must(queue->receive({5000, 600s, 10'000ms}, wall()));
    const auto here = wall();
    std::vector<Settlement> settlements;
    for (const auto& each : got) {
      const Millis due{std::stoll(*each.message->payload)};
      late.push_back(static_cast<double>((here.time_since_epoch() - due).count()));
      settlements.push_back({each.lease, Completed{}});
    }
    must(queue->settle(settlements, wall()));
  }
  std::sort(late.begin(), late.end());
  say("1 M delayed: lateness p99", late[count / 100 * 99], "ms", "<= 10");
}

void moves() {
  const bench::Scratch folder = folder_here();
  const std::size_t count = 1'000'000;
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto from = must(queues->declare(jobs()));
  SourceOptions options;
  options.source = "other";
  auto to = must(queues->declare(options));
  const double before = anonymous();
  fill(*from, count);
  const auto began = Steady::now();
  if (must(from->move_to(*to)) != count) std::exit(1);
  say("moving a whole queue into another", static_cast<double>(count) / seconds_since(began), "/s",
      ">= 1000000");
  say("memory per waiting message after the move",
      (anonymous() - before) / static_cast<double>(count), "bytes", "<= 40");
}

/// What `measure` answers in a process of its own: memory that was used once and is kept for later
/// would flatter the next.
template <typename F>
double apart(F&& measure) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(1);
  const auto child = ::fork();
  if (child == 0) {
    const double value = measure();
    std::exit(::write(ends[1], &value, sizeof value) == sizeof value ? 0 : 1);
  }
  double value = 0;
  if (child < 0 || ::read(ends[0], &value, sizeof value) != sizeof value) std::exit(1);
  ::waitpid(child, nullptr, 0);
  return value;
}

/// What the ids of a dedupe window cost: the same messages with and without.
void dedupe() {
  const std::size_t count = 1'000'000;
  const auto bytes = [&](bool remembers) {
    const bench::Scratch folder = folder_here();
    auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
    SourceOptions options = jobs();
    if (remembers) options.dedupe_window = 3600s;
    auto queue = must(queues->declare(options));
    const double before = anonymous();
    std::vector<Publication> batch;
    for (std::size_t i = 0; i < count;) {
      batch.clear();
      for (; batch.size() < 512 && i < count; ++i) {
        auto message = std::make_shared<Message>();
        message->payload = "x";
        Publication& each = batch.emplace_back();
        each.message = std::move(message);
        each.dedupe_id = "order-" + std::to_string(i);
      }
      must(queue->publish(batch, wall()));
    }
    return (anonymous() - before) / static_cast<double>(count);
  };
  const double without = apart([&] { return bytes(false); });
  const double with = apart([&] { return bytes(true); });
  say("memory per id remembered for dedupe", with - without, "bytes", "<= 24");
}

/// How long others wait at most for a call that writes nothing while a million messages are moved,
/// purged, fall due or lose their lease at once, and while the clock is set back. Without sleeping:
/// a busy machine makes it worse, never better.
void stalls() {
  const bench::Scratch folder = folder_here();
  const std::size_t count = 1'000'000;
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto from = must(queues->declare(jobs()));
  SourceOptions options;
  options.source = "other";
  auto to = must(queues->declare(options));
  options.source = "idle";
  auto idle = must(queues->declare(options));
  std::atomic<Millis::rep> offset = 0;
  const auto now = [&] { return wall() + Millis{offset}; };
  const auto watch = [&](const char* what, const auto& act) {
    std::atomic<bool> over = false;
    double longest = 0;
    std::thread other([&] {
      while (!over) {
        const auto began = Steady::now();
        must(idle->receive({1, 60s, 0ms}, now()));
        longest = std::max(longest, seconds_since(began) * 1000);
      }
    });
    act();
    over = true;
    other.join();
    say(what, longest, "ms", "< 10");
  };
  watch("longest wait of others: filling, for comparison", [&] { fill(*from, count, 3600s); });
  watch("longest wait of others: a million fall due", [&] {
    offset += Millis{2h}.count();
    while (must(from->stats(now())).delayed > 0) {
    }
  });
  watch("longest wait of others: the clock is set back", [&] {
    offset -= Millis{2h}.count();
    must(from->stats(now()));
  });
  watch("longest wait of others: a million leases run out", [&] {
    offset += Millis{2h}.count();
    while (must(from->stats(now())).delayed > 0) {
    }
    for (auto got = must(from->receive({512, 60s, 0ms}, now())); !got.empty();) {
      got = must(from->receive({512, 60s, 0ms}, now()));
    }
    offset += Millis{1h}.count();
    while (must(from->stats(now())).leased > 0) {
    }
  });
  watch("longest wait of others: a million are moved", [&] { must(from->move_to(*to)); });
  watch("longest wait of others: a million are purged", [&] { must(to->purge()); });
}

/// Processor time of a process that has a million messages and nothing to do.
void idling() {
  const bench::Scratch folder = folder_here();
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto queue = must(queues->declare(jobs()));
  fill(*queue, 100'000, 3600s);
  const auto before = std::clock();
  must(queue->receive({1, 60s, 10'000ms}, wall()));
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  say("idle with 100 000 delayed, one receiver waiting", used / 10 * 100, "% CPU", "<= 0.1");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "cycles") {
    cycles(std::stoul(argv[2]), argc > 3 ? std::stoul(argv[3]) : 64);
    return 0;
  }
  if (what == "keys") {
    keys(std::stoul(argv[2]));  // in a process of its own: memory once used would flatter it
    return 0;
  }
  if (what == "sizes") {
    sizes(argc > 2 ? std::stoul(argv[2]) : 512);
    return 0;
  }
  const std::pair<std::string_view, void (*)()> claims[] = {
      {"moves", moves},   {"idling", idling}, {"lateness", lateness},
      {"dedupe", dedupe}, {"stalls", stalls},
  };
  for (const auto& [name, measure] : claims) {
    if (what != name) continue;
    measure();
    return 0;
  }
  if (what == "fill") {
    fill_and_die(argv[2], std::stoul(argv[3]));
    return 0;
  }
  if (what == "restart") {
    say("restart to first lease", restart_millis(argv[2], true), "ms", "");
    return 0;
  }
  if (what == "restarts") {
    restarts(std::stoul(argv[2]), "");
    return 0;
  }
  sizes(512);
  restarts(0, "<= 50");
  restarts(1'000'000, "<= 300");
  if (std::getenv("BENCH_LARGE") != nullptr) restarts(10'000'000, "<= 2000");
  moves();
  idling();
  lateness();
  return 0;
}
