// Eight threads of mixed load on three queues, until somebody kills this process. Everything that
// was answered, and everything that was asked for and not yet answered, goes to standard output
// first; a small letter asks, its capital was acknowledged:
//   s ID  to be sent                   k ID  (K alone) it was sent with an id for dedupe
//   c ID  to be completed              d ID  to be dead-lettered
//   j ID  to be sent into the junk     x -   all of the junk to be purged
//   m -   all of the spill to be moved to the jobs
//   v -   all dead jobs to be sent back
//   p -   jobs to be paused            r -   ... and resumed
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "crash/queue_worker/queues.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace {

using namespace dlo;
using namespace std::chrono_literals;

enum Exit { refused = 2, mute = 3, wrong_body = 4, not_a_duplicate = 5 };

TimePoint wall() {
  return std::chrono::floor<Millis>(std::chrono::system_clock::now());
}

/// One write call per list of lines: whole, however the process ends.
void tell(const std::string& lines) {
  if (::write(STDOUT_FILENO, lines.data(), lines.size()) < 0) std::_Exit(mute);
}

std::string lines(char sign, const std::vector<std::string>& ids) {
  std::string out;
  for (const auto& id : ids) out += std::string(1, sign) + " " + id + "\n";
  return out;
}

template <typename T>
T must(Result<T> result) {
  if (!result) std::_Exit(refused);
  return std::move(*result);
}
void must(const Result<void>& result) {
  if (!result) std::_Exit(refused);
}

/// Tells what is asked for, does it, and tells that it was answered.
template <typename Act>
void told(char asked, const Act& act) {
  const auto acknowledged = static_cast<char>(asked - 'a' + 'A');
  tell(lines(asked, {"-"}));
  must(act());
  tell(lines(acknowledged, {"-"}));
}

MessagePtr message_of(const std::string& id, std::size_t padding, std::string key = "") {
  auto message = std::make_shared<Message>();
  message->id = id;
  message->key = std::move(key);
  message->payload = id + std::string(padding, 'x');
  return message;
}

/// The same ids a second time, under other names: nobody may ever see those.
void send_again(EmbeddedQueue& queue, std::vector<Publication> list) {
  for (auto& each : list) each.message = message_of("again." + each.dedupe_id, 10);
  for (const auto& answer : must(queue.publish(list, wall()))) {
    if (!answer.duplicate) std::_Exit(not_a_duplicate);
  }
}

void send_for_ever(EmbeddedQueue& jobs, EmbeddedQueue& spill, const std::string& prefix) {
  for (std::uint64_t number = 0;; ++number) {
    const bool spills = number % 6 == 0;
    const bool dedupes = number % 3 == 1;
    std::vector<Publication> list;
    std::vector<std::string> ids;
    for (std::uint64_t i = 0; i <= number % 4; ++i) {
      const auto id = prefix + "." + std::to_string(number) + "." + std::to_string(i);
      ids.push_back(id);
      Publication publication;
      publication.message = message_of(id, number * 131 % 3000,
                                       number % 5 == 0 ? "k" + std::to_string(number % 3) : "");
      publication.delay = Millis{number % 7 == 0 ? 3 : number % 11 == 0 ? 60 : 0};
      if (dedupes) publication.dedupe_id = id;
      list.push_back(std::move(publication));
    }
    tell(lines('s', ids));
    must((spills ? spill : jobs).publish(list, wall()));
    tell(lines('S', ids) + (dedupes ? lines('K', ids) : ""));
    if (dedupes && number % 2 == 0) send_again(jobs, std::move(list));
  }
}

Failed failed(const Delivery& delivery) {
  Failed failed;
  failed.counters = with_start(delivery.counters);
  ++failed.counters.failure;
  failed.delay = 5ms;
  failed.again_at = wall() + 5ms;
  failed.error = "no";
  return failed;
}

void serve_for_ever(EmbeddedQueue& queue, unsigned seed) {
  while (true) {
    const auto got = must(queue.receive({8, 500ms, 20ms}, wall()));
    std::vector<Settlement> endings;
    std::vector<std::pair<char, std::string>> asked;  // of each of them
    std::string about;
    for (const auto& each : got) {
      if (!each.message->payload->starts_with(each.message->id)) std::_Exit(wrong_body);
      seed = seed * 1103515245U + 12345U;
      const auto dice = (seed >> 16U) % 20;
      if (dice == 0) continue;  // kept until its lease ends
      if (dice == 1) {
        endings.push_back({each.lease, ReleasedUnrun{}});
        asked.emplace_back(' ', "");
        continue;
      }
      must(queue.start({&each.lease, 1}, wall()));
      if (dice < 5) {
        endings.push_back({each.lease, failed(each)});
        asked.emplace_back(' ', "");
      } else {
        const bool dies = dice < 7;
        endings.push_back({each.lease, Completed{}});
        if (dies) endings.back().ending = DeadLettered{dice == 5, "it had to"};
        asked.emplace_back(dies ? 'd' : 'c', each.message->id);
        about += lines(asked.back().first, {asked.back().second});
      }
    }
    if (endings.empty()) continue;
    tell(about);
    const auto answers = must(queue.settle(endings, wall()));
    std::string acknowledged;
    for (std::size_t i = 0; i < endings.size(); ++i) {
      if (asked[i].first == ' ' || answers[i].settled != Settled::done) continue;
      acknowledged += lines(asked[i].first == 'd' ? 'D' : 'C', {asked[i].second});
    }
    tell(acknowledged);
  }
}

/// What people do to whole queues.
void look_after_for_ever(EmbeddedQueue& jobs, EmbeddedQueue& spill) {
  for (unsigned round = 0;; ++round) {
    told('p', [&] { return jobs.pause(); });
    told('r', [&] { return jobs.resume(); });
    told('m', [&] { return spill.move_to(jobs); });
    must(jobs.free_key("k" + std::to_string(round % 3)));
    if (round % 3 == 0) told('v', [&] { return jobs.redrive(); });
  }
}

void litter_for_ever(EmbeddedQueue& junk, const std::string& prefix) {
  for (std::uint64_t number = 0;; ++number) {
    std::vector<Publication> list;
    std::vector<std::string> ids;
    for (std::uint64_t i = 0; i < 5; ++i) {
      ids.push_back(prefix + "." + std::to_string(number) + "." + std::to_string(i));
      Publication publication;
      publication.message = message_of(ids.back(), number * 131 % 1000, i % 2 == 0 ? "k" : "");
      publication.delay = Millis{i == 3 ? 1000 : 0};
      list.push_back(std::move(publication));
    }
    tell(lines('j', ids));
    must(junk.publish(list, wall()));
    tell(lines('J', ids));
    if (number % 4 == 3) told('x', [&] { return junk.purge(); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  EmbeddedOptions options;
  options.journal.segment_size = 256U << 10U;
  options.checkpoint_every = 512U << 10U;
  auto queues = must(EmbeddedQueues::open(argv[1], wall(), options));
  const auto queue = [&](const char* name) {
    return must(queues->declare(testing::queue_of_the_worker(name), testing::keeps_its_dead(name)));
  };
  const auto jobs = queue("jobs");
  const auto spill = queue("spill");
  const auto junk = queue("junk");
  const std::string life = argv[2];
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back(send_for_ever, std::ref(*jobs), std::ref(*spill),
                         life + "." + std::to_string(i));
    threads.emplace_back(serve_for_ever, std::ref(*jobs), static_cast<unsigned>(i + 1));
  }
  threads.emplace_back(look_after_for_ever, std::ref(*jobs), std::ref(*spill));
  threads.emplace_back(litter_for_ever, std::ref(*junk), life + ".junk");
  for (auto& thread : threads) thread.join();
  return 0;
}
