// What a message costs in memory, disk and bytes written.
#include <atomic>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "queue_claims.h"

namespace dlo::bench {
namespace {

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

}  // namespace

void cycles(std::size_t count, std::size_t batch) {
  const Scratch folder = folder_here();
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto queue = must(queues->declare(jobs()));
  std::vector<Publication> publications(batch);
  for (std::size_t i = 0; i < batch; ++i) publications[i].message = kilobyte(i);
  for (std::size_t done = 0; done < count; done += batch) {
    must(queue->publish(publications, wall()));
    if (drain(*queue, batch) != batch) std::exit(1);
  }
}

void sizes(std::size_t list) {
  const Scratch folder = folder_here();
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
void keys(std::size_t messages_a_key, bool expire) {
  const Scratch folder = folder_here();
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
      if (expire) message->expires_at = wall() + 3600s;
      batch.emplace_back().message = std::move(message);
    }
    must(queue->publish(batch, wall()));
  }
  say(expire ? "memory per waiting message with a key of 9 bytes that can expire"
             : "memory per waiting message with a key of 9 bytes",
      (anonymous() - before) / static_cast<double>(count), "bytes", "<= 40 and the key");
}

/// What the ids of a dedupe window cost: the same messages with and without.
void dedupe() {
  const std::size_t count = 1'000'000;
  const auto bytes = [&](bool remembers) {
    const Scratch folder = folder_here();
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

/// Eight threads with 64 in flight each, from publication to completion.
void writes() {
  constexpr std::size_t threads = 8;
  constexpr std::size_t in_flight = 64;
  constexpr std::size_t lists = 500;  // of each thread
  const Scratch folder = folder_here();
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto queue = must(queues->declare(jobs()));
  const auto together = [&](const auto& work) {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i) all.emplace_back(work);
  };
  const auto before = queues->journal_stats().bytes_written;
  together([&] { fill(*queue, lists * in_flight, 0ms, in_flight); });
  const auto between = queues->journal_stats().bytes_written;
  together([&] { drain(*queue, in_flight); });
  const auto after = queues->journal_stats().bytes_written;
  const auto bodies = static_cast<double>(threads * lists * in_flight * 1024);
  say("written per body byte at 8 x 64, enqueue", static_cast<double>(between - before) / bodies,
      "x", "");
  say("written per body byte at 8 x 64, to completion",
      static_cast<double>(after - before) / bodies, "x", "<= 1.15");
}

}  // namespace dlo::bench
