// How long it takes to start again, to wake up, and to do something to a whole queue.
#include <atomic>
#include <csignal>
#include <ctime>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "queue_claims.h"

namespace dlo::bench {
namespace {

/// Leases so many and settles them as `ending` says.
void end_all(EmbeddedQueue& queue, std::size_t count, const Ending& ending) {
  for (std::size_t done = 0; done < count;) {
    const auto got = must(queue.receive({512, 60s, 0ms}, wall()));
    if (got.empty()) std::exit(1);
    std::vector<Settlement> settlements;
    settlements.reserve(got.size());
    for (const auto& each : got) settlements.push_back({each.lease, ending});
    must(queue.settle(settlements, wall()));
    done += got.size();
  }
}

}  // namespace

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

void restarts(std::size_t count) {
  const char* const goal = count == 0            ? "<= 50"
                           : count == 1'000'000  ? "<= 300"
                           : count == 10'000'000 ? "<= 2000"
                                                 : "";
  const Scratch folder = folder_here();
  fill_and_die(folder.path(), count);
  const std::string what = "restart to first lease, " + std::to_string(count) + " waiting";
  say((what + ", killed").c_str(), restart_millis(folder.path(), count > 0), "ms", goal);
  must(must(EmbeddedQueues::open(folder.path(), wall()))->close());
  say(what.c_str(), restart_millis(folder.path(), count > 0), "ms", goal);
}

/// A million delays that end within twenty seconds: how late is the consumer that waits for them?
void lateness() {
  const Scratch folder = folder_here();
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
  const Scratch folder = folder_here();
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

/// Between ready and held: by pausing the queue, which holds everything in it, and behind the dead
/// head of a key, one key for a thousand messages.
void holding() {
  const Scratch folder = folder_here();
  const std::size_t count = 1'000'000;
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto queue = must(queues->declare(jobs()));
  fill(*queue, count);
  constexpr int turns = 20;
  const auto began = Steady::now();
  for (int i = 0; i < turns; ++i) {
    must(queue->pause());
    if (!must(queue->receive({1, 60s, 0ms}, wall())).empty()) std::exit(1);
    must(queue->resume());
  }
  say("ready to held and back by pausing a queue",
      2.0 * turns * static_cast<double>(count) / seconds_since(began), "/s", ">= 1000000");

  SourceOptions options;
  options.source = "keyed";
  auto keyed = must(queues->declare(options));
  constexpr std::size_t keys = 1000;
  std::vector<Publication> batch;
  for (std::size_t i = 0; i < count; ++i) {
    auto message = std::make_shared<Message>();
    message->key = "key-" + std::to_string(i % keys);
    message->payload = "x";
    batch.emplace_back().message = std::move(message);
    if (batch.size() < 500 && i + 1 < count) continue;
    must(keyed->publish(batch, wall()));
    batch.clear();
  }
  const auto held = Steady::now();
  end_all(*keyed, keys, DeadLettered{true, "dead"});
  if (must(keyed->stats(wall())).held != count - keys) std::exit(1);
  const auto freed = Steady::now();
  for (std::size_t i = 0; i < keys; ++i) must(keyed->free_key("key-" + std::to_string(i)));
  if (must(keyed->stats(wall())).ready != keys) std::exit(1);
  const auto over = Steady::now();
  const auto rate = [](std::size_t messages, Steady::duration took) {
    return static_cast<double>(messages) / std::chrono::duration<double>(took).count();
  };
  say("held behind the dead head of its key, 1000 a key", rate(count, freed - held), "/s",
      ">= 1000000");
  say("freed by its key, one call a key", rate(count - keys, over - freed), "/s", ">= 1000000");
}

/// A whole dead set is ready again.
void redriving() {
  const Scratch folder = folder_here();
  const std::size_t count = 1'000'000;
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto queue = must(queues->declare(jobs(), true));
  fill(*queue, count);
  const auto dying = Steady::now();
  end_all(*queue, count, DeadLettered{false, "no such customer"});
  say("dead-lettering into the own set, lists of 512",
      static_cast<double>(count) / seconds_since(dying), "/s", "");
  const auto began = Steady::now();
  if (must(queue->redrive()) != count) std::exit(1);
  say("sending a whole dead set back", static_cast<double>(count) / seconds_since(began), "/s",
      ">= 1000000");
}

/// How long others wait at most for a call that writes nothing while a million messages are moved,
/// purged, fall due or lose their lease at once, and while the clock is set back. Without sleeping:
/// a busy machine makes it worse, never better.
void stalls() {
  const Scratch folder = folder_here();
  const std::size_t count = 1'000'000;
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto from = must(queues->declare(jobs()));
  SourceOptions options;
  options.source = "other";
  auto to = must(queues->declare(options));
  options.source = "idle";
  auto idle = must(queues->declare(options));
  std::atomic<Millis::rep> offset = 0;
  std::atomic<Millis::rep> set_by = 0;  // the wall clock alone
  const auto now = [&] {
    const auto at = wall() + Millis{offset};
    return Instant{at + Millis{set_by}, at};
  };
  const auto watch = [&](const char* what, const auto& act) {
    std::atomic<bool> over = false;
    std::atomic<int> calls = 0;
    double longest = 0;
    std::thread other([&] {
      while (!over) {
        const auto began = Steady::now();
        must(idle->receive({1, 60s, 0ms}, now()));
        longest = std::max(longest, seconds_since(began) * 1000);
        ++calls;
      }
    });
    const auto wait_for = [&](int more) {
      for (const int last = calls + more; calls < last;) std::this_thread::yield();
    };
    wait_for(1);
    act();
    wait_for(100);  // what is over in no time is seen, too
    over = true;
    other.join();
    say(what, longest, "ms", "< 10");
  };
  watch("longest wait of others: filling, for comparison", [&] { fill(*from, count, 3600s); });
  watch("longest wait of others: the clock is slowed down by a minute, a second at a time", [&] {
    for (int i = 0; i < 60; ++i) {
      set_by -= 1001;
      must(from->stats(now()));
    }
  });
  watch("longest wait of others: the clock is set forward an hour", [&] {
    set_by += Millis{1h}.count();
    for (int i = 0; i < 1000; ++i) must(from->stats(now()));
  });
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

/// Processor time of a process that has 100 000 messages and nothing to do.
void idling() {
  const Scratch folder = folder_here();
  auto queues = must(EmbeddedQueues::open(folder.path(), wall()));
  auto queue = must(queues->declare(jobs()));
  fill(*queue, 100'000, 3600s);
  const auto before = std::clock();
  must(queue->receive({1, 60s, 10'000ms}, wall()));
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  say("idle with 100 000 delayed, one receiver waiting", used / 10 * 100, "% CPU", "<= 0.1");
}

}  // namespace dlo::bench
