// Our queue, measured as its peers are: bench/peers/README.md has the workloads and the protocol.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "peers/support/callers.h"
#include "peers/support/failure.h"
#include "peers/support/peer.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::peers {
namespace {

constexpr std::size_t batch = 1000;

template <typename T>
T must(Result<T> result) {
  if (!result) fail(result.error().detail);
  return std::move(*result);
}

TimePoint wall() {
  return std::chrono::floor<dlo::Millis>(std::chrono::system_clock::now());
}

class QueuePeer final : public Peer {
 public:
  QueuePeer(const std::string& folder, const Bodies& bodies)
      : queues_(must(EmbeddedQueues::open(folder, wall()))), bodies_(bodies) {
    SourceOptions options;
    options.source = "jobs";
    queue_ = must(queues_->declare(options, true));
  }

  Measured enqueue(Callers callers, Budget& budget) override {
    auto latencies = run_callers(callers.count, [&](int, Latencies& own) {
      std::vector<Publication> list;
      while (true) {
        const Numbers next = budget.take(callers.outstanding);
        if (next.count == 0) return;
        list.clear();
        for (long i = 0; i < next.count; ++i) list.push_back(publication(next.first + i));
        const Instant before = Clock::now();
        must(queue_->publish(list, wall()));
        own.add(Clock::now() - before);
      }
    });
    return budget.measured(budget.taken(), std::move(latencies));
  }

  Measured settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) override {
    const bool batched = consumers == Consumers::one_in_batches;
    auto latencies = run_callers(batched ? 1 : workers, [&](int, Latencies& own) {
      while (true) {
        const Numbers wanted = budget.take(batched ? static_cast<long>(batch) : 1);
        if (wanted.count == 0) return;
        const Instant before = Clock::now();
        const auto limit = static_cast<std::size_t>(wanted.count);
        const auto got =
            must(queue_->receive({limit, std::chrono::seconds{120}, dlo::Millis{0}}, wall()));
        const Instant leased = Clock::now();
        std::vector<Settlement> endings;
        for (const Delivery& each : got) {
          receipts.take(*each.message->payload);
          endings.push_back({each.lease, ending(fate, each)});
        }
        const Instant ending_began = Clock::now();
        must(queue_->settle(endings, wall()));
        own.add(leased - before);
        own.add(Clock::now() - ending_began);
      }
    });
    return budget.measured(receipts.count(), std::move(latencies));
  }

  Measured redrive() override {
    return time_one_request([this] { return static_cast<long>(must(queue_->redrive())); });
  }

  Measured end_to_end(Pace& pace, Receipts& receipts) override {
    Latencies latencies;
    std::jthread consumer([&] {
      while (receipts.count() < pace.messages()) {
        const auto got =
            must(queue_->receive({batch, std::chrono::seconds{60}, dlo::Millis{200}}, wall()));
        const Instant here = Clock::now();
        std::vector<Settlement> endings;
        for (const Delivery& each : got) {
          latencies.add(here - pace.due(receipts.take(*each.message->payload)));
          endings.push_back({each.lease, Completed{}});
        }
        if (!endings.empty()) must(queue_->settle(endings, wall()));
      }
    });
    pace.start();
    for (long sent = 0; sent < pace.messages();) {
      std::this_thread::sleep_until(pace.wake());
      std::vector<Publication> due;
      pace.send_due([&](long number) {
        due.push_back(publication(number));
        ++sent;
      });
      if (!due.empty()) must(queue_->publish(due, wall()));
    }
    consumer.join();
    return pace.measured(receipts.count(), std::move(latencies));
  }

  Tally tally() override {
    const auto stats = must(queue_->stats(wall()));
    return {static_cast<long>(stats.ready), static_cast<long>(stats.delayed),
            static_cast<long>(queue_->dead())};
  }

 private:
  [[nodiscard]] Publication publication(long number) const {
    auto message = std::make_shared<Message>();
    bodies_.write(number, message->payload.emplace());
    Publication made;
    made.message = std::move(message);
    return made;
  }

  [[nodiscard]] static Ending ending(Fate fate, const Delivery& delivery) {
    switch (fate) {
      case Fate::done:
        return Completed{};
      case Fate::dead:
        return DeadLettered{};
      case Fate::retry:
        break;
    }
    Failed failed;
    failed.counters = with_start(delivery.counters);
    ++failed.counters.failure;
    failed.delay = retry_delay;
    failed.again_at = wall() + retry_delay;
    failed.error = "Timeout";
    return failed;
  }

  std::unique_ptr<EmbeddedQueues> queues_;
  std::unique_ptr<EmbeddedQueue> queue_;
  const Bodies& bodies_;
};

}  // namespace
}  // namespace dlo::peers

int main(int argc, char** argv) {
  using namespace dlo::peers;
  return run_peer(argc, argv, [](const std::string& where, const Bodies& bodies) {
    return std::make_unique<QueuePeer>(where, bodies);
  });
}
