// Eight threads of mixed load on one queue, until somebody kills this process. Everything that was
// answered, and everything that was asked for and not yet answered, goes to standard output first:
//   s ID    is about to be sent        S ID    was acknowledged
//   c ID    is about to be completed   C ID    was acknowledged
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "dlo/broker/embedded/embedded_queues.h"

namespace {

using namespace dlo;
using namespace std::chrono_literals;

TimePoint wall() {
  return std::chrono::floor<Millis>(std::chrono::system_clock::now());
}

/// One write call per list of lines: whole, however the process ends.
void tell(const std::string& lines) {
  if (::write(STDOUT_FILENO, lines.data(), lines.size()) < 0) std::_Exit(3);
}

std::string lines(char sign, const std::vector<std::string>& ids) {
  std::string out;
  for (const auto& id : ids) out += std::string(1, sign) + " " + id + "\n";
  return out;
}

void send_for_ever(EmbeddedQueue& queue, const std::string& prefix) {
  for (std::uint64_t number = 0;; ++number) {
    std::vector<Publication> list;
    std::vector<std::string> ids;
    for (std::uint64_t i = 0; i <= number % 4; ++i) {
      auto message = std::make_shared<Message>();
      message->id = prefix + "." + std::to_string(number) + "." + std::to_string(i);
      if (number % 5 == 0) message->key = "k" + std::to_string(number % 3);
      message->payload = message->id + std::string(number * 131 % 3000, 'x');
      ids.push_back(message->id);
      Publication publication;
      publication.delay = Millis{number % 7 == 0 ? 3 : 0};
      publication.message = std::move(message);
      list.push_back(std::move(publication));
    }
    tell(lines('s', ids));
    if (!queue.publish(list, wall())) std::_Exit(2);
    tell(lines('S', ids));
  }
}

void serve_for_ever(EmbeddedQueue& queue, unsigned seed) {
  while (true) {
    const auto got = queue.receive({8, 500ms, 20ms}, wall());
    if (!got) std::_Exit(2);
    std::vector<Settlement> endings;
    std::vector<std::string> done;
    for (const auto& each : *got) {
      if (!each.message->payload->starts_with(each.message->id)) std::_Exit(4);
      seed = seed * 1103515245U + 12345U;
      const auto dice = (seed >> 16U) % 20;
      if (dice == 0) continue;  // kept until its lease ends
      (void)queue.start({&each.lease, 1}, wall());
      if (dice < 4) {
        Failed failed;
        failed.counters = with_start(each.counters);
        ++failed.counters.failure;
        failed.delay = 5ms;
        failed.again_at = wall() + 5ms;
        failed.error = "no";
        endings.push_back({each.lease, failed});
      } else {
        done.push_back(each.message->id);
        endings.push_back({each.lease, Completed{}});
      }
    }
    if (endings.empty()) continue;
    tell(lines('c', done));
    const auto answers = queue.settle(endings, wall());
    if (!answers) std::_Exit(2);
    std::vector<std::string> acknowledged;
    std::size_t at = 0;
    for (std::size_t i = 0; i < endings.size(); ++i) {
      if (!std::holds_alternative<Completed>(endings[i].ending)) continue;
      if ((*answers)[i].settled == Settled::done) acknowledged.push_back(done[at]);
      ++at;
    }
    tell(lines('C', acknowledged));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  EmbeddedOptions options;
  options.journal.segment_size = 256U << 10U;
  options.checkpoint_every = 512U << 10U;
  auto queues = EmbeddedQueues::open(argv[1], wall(), options);
  if (!queues) return 2;
  SourceOptions jobs;
  jobs.source = "jobs";
  auto queue = (*queues)->declare(jobs);
  if (!queue) return 2;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(send_for_ever, std::ref(**queue),
                         std::string(argv[2]) + "." + std::to_string(i));
    threads.emplace_back(serve_for_ever, std::ref(**queue), static_cast<unsigned>(i + 1));
  }
  for (auto& thread : threads) thread.join();
  return 0;
}
