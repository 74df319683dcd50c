// Several threads at once, checkpoints in between, and then the power goes.
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "unit/embedded/shop.h"

namespace dlo::testing {
namespace {

/// What was asked for and what was answered; any thread.
class Books {
 public:
  void asked(const std::string& id) { set(id, 1); }
  void acknowledged(const std::string& id) { set(id, 2); }
  void finishing(const std::string& id) { set(id, 4); }
  void done(const std::string& id) { set(id, 8); }

  std::string compare(const std::vector<MessagePtr>& here) {
    std::map<std::string, MessagePtr> found;
    for (const auto& each : here) {
      if (!found.emplace(each->id, each).second) return each->id + " is there twice";
      const int known = known_[each->id];
      if (known == 0) return each->id + " was never sent";
      if ((known & 8) != 0) return each->id + " was done and is back";
      if (!each->payload || !each->payload->starts_with(each->id)) return each->id + " is damaged";
    }
    for (const auto& [id, known] : known_) {
      if ((known & 2) != 0 && (known & 4) == 0 && !found.contains(id)) return id + " is lost";
    }
    return {};
  }

 private:
  void set(const std::string& id, int bit) {
    const std::lock_guard lock(mutex_);
    known_[id] |= bit;
  }
  std::mutex mutex_;
  std::map<std::string, int> known_;
};

void send(Shop& shop, Books& books, const std::string& prefix, std::atomic<bool>& over) {
  for (int number = 0; !over; ++number) {
    auto message = std::make_shared<Message>();
    message->id = prefix + std::to_string(number);
    if (number % 4 == 0) message->key = "k" + std::to_string(number % 3);
    message->payload = message->id + std::string(static_cast<std::size_t>(number % 700), '.');
    books.asked(message->id);
    const std::string id = message->id;
    Publication publication;
    publication.message = std::move(message);
    if (shop.queue->publish({&publication, 1}, noon)) books.acknowledged(id);
  }
}

void serve(Shop& shop, Books& books, unsigned seed, std::atomic<bool>& over) {
  std::mt19937 random(seed);
  while (!over) {
    const auto got = shop.queue->receive({4, 30s, 1ms}, noon);
    if (!got) continue;
    for (const auto& each : *got) {
      const bool fails = random() % 4 == 0;
      if (!fails) books.finishing(each.message->id);
      const Settlement settlement{
          each.lease, fails ? Ending(Shop::failed(each, noon, 0ms)) : Ending(Completed{})};
      const auto settled = shop.queue->settle({&settlement, 1}, noon);
      const bool done = settled && settled->front().settled == Settled::done;
      if (done && !fails) books.done(each.message->id);
    }
  }
}

TEST(PowerCut, UnderSeveralThreadsLosesNothingThatWasAcknowledged) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    Shop shop;
    Books books;
    for (int life = 0; life < 3; ++life) {
      shop.open(noon + Millis{life});
      must(shop.queue->stats(noon + Millis{life}));
      ASSERT_EQ(books.compare(must(shop.queue->peek(1'000'000))), "") << seed << "." << life;
      std::atomic<bool> over = false;
      std::atomic<int> left = 200 + static_cast<int>(seed) * 37;
      // After so many syncs and writes the disk answers nothing any more: the power is gone.
      shop.disk->set_fault([&](FaultFileSystem::Op, const std::string&) {
        return --left <= 0 ? std::optional(Code::unavailable) : std::nullopt;
      });
      {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 3; ++i) {
          const std::string prefix =
              std::to_string(seed) + "/" + std::to_string(life) + "/" + std::to_string(i) + "/";
          threads.emplace_back([&, prefix] { send(shop, books, prefix, over); });
          threads.emplace_back(
              [&, i] { serve(shop, books, seed + static_cast<unsigned>(i), over); });
        }
        while (left > 0) (void)shop.queues->tidy();
        over = true;
      }
      shop.cut_power(seed * 7 + static_cast<unsigned>(life));
    }
    shop.open(noon + 1s);
    must(shop.queue->stats(noon + 1s));
    ASSERT_EQ(books.compare(must(shop.queue->peek(1'000'000))), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace dlo::testing
