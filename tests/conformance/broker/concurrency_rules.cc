// Many threads at once: one winner per token, no message twice, books that balance.
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "conformance/broker/broker_suite.h"

namespace dlo::testing {
namespace {

constexpr int thread_count = 8;

void on_all_threads(const std::function<void(int)>& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(work, i);
}

TEST_P(BrokerSuite, OfEightThreadsThatSettleOneTokenOneWins) {  // S3-50
  for (int round = 0; round < 40; ++round) {
    open();
    publish("m-1");
    const auto held = take_one();
    std::array<SettleAnswer, thread_count> answers;
    std::atomic<int> ready{0};
    on_all_threads([&](int i) {
      const Settlement settlement{held.lease, Abandoned{true, noon, std::to_string(i)}};
      for (++ready; ready.load() < thread_count;) std::this_thread::yield();
      answers[static_cast<std::size_t>(i)] = must(broker().settle({&settlement, 1}, noon)).at(0);
    });
    int winner = -1;
    for (int i = 0; i < thread_count; ++i) {
      const auto& answer = answers[static_cast<std::size_t>(i)];
      if (answer.settled != Settled::done) continue;
      EXPECT_EQ(winner, -1) << "two winners";
      EXPECT_EQ(answer.abandon_count, 1U);
      winner = i;
    }
    ASSERT_NE(winner, -1);
    const auto again = take_one();
    EXPECT_EQ(again.counters.abandon, 1U);
    EXPECT_EQ(again.last_error, std::to_string(winner));
  }
}

/// What became of each message, as those who settled it were told.
class Books {
 public:
  void sent(const std::string& id) {
    const std::lock_guard lock(mutex_);
    sent_.insert(id);
  }
  void ended(const std::string& id, bool completed) {
    const std::lock_guard lock(mutex_);
    auto& entry = ended_[id];
    ++(completed ? entry.first : entry.second);
  }
  /// Each message sent is completed, dead or among `left`, and only one of these.
  void balance(const std::vector<std::string>& left) const {
    std::map<std::string, int> seen;
    for (const auto& [id, times] : ended_) seen[id] += times.first + times.second;
    for (const auto& id : left) ++seen[id];
    for (const auto& id : sent_) EXPECT_EQ(seen[id], 1) << id;
    EXPECT_EQ(seen.size(), sent_.size());
  }
  std::uint64_t count(bool completed) const {
    std::uint64_t sum = 0;
    for (const auto& [id, times] : ended_) {
      sum += static_cast<std::uint64_t>(completed ? times.first : times.second);
    }
    return sum;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> sent_;
  std::map<std::string, std::pair<int, int>> ended_;
};

TEST_P(BrokerSuite, UnderEightThreadsTheBooksBalance) {  // GEN-01, R5
  Broker& source = broker();
  Books books;
  std::atomic<std::int64_t> clock{0};  // every call takes a millisecond
  const auto tick = [&] { return noon + Millis{clock.fetch_add(1)}; };
  on_all_threads([&](int thread) {
    std::mt19937_64 random(static_cast<std::uint64_t>(thread) + 1);
    for (int round = 0; round < 400; ++round) {
      std::vector<Publication> batch(random() % 4);
      for (auto& publication : batch) {
        Message made;
        made.id = std::to_string(thread) + "/" + std::to_string(random());
        made.key = random() % 2 ? "" : "k-" + std::to_string(random() % 20);
        made.priority = static_cast<Priority>(random() % 3);
        publication.delay = Millis{random() % 3 ? 0 : static_cast<int>(random() % 50)};
        publication.message = std::make_shared<const Message>(made);
        books.sent(made.id);
      }
      must(source.publish(batch, tick()));
      const Millis lease_for{1 + static_cast<int>(random() % 60)};  // many run out
      const auto got = must(source.receive({random() % 6, lease_for, 0ms}, tick()));
      std::vector<LeaseToken> tokens;
      std::vector<Settlement> endings;
      for (const auto& delivery : got) {
        if (random() % 2) tokens.push_back(delivery.lease);
        switch (random() % 6) {
          case 0:
            endings.emplace_back(delivery.lease, DeadLettered{false});
            break;
          case 1:
            endings.emplace_back(delivery.lease, failed(delivery, tick(), 5ms));
            break;
          case 2:
            endings.emplace_back(delivery.lease, Abandoned{true, tick(), "busy"});
            break;
          case 3:
            endings.emplace_back(delivery.lease, ReleasedUnrun{});
            break;
          default:
            endings.emplace_back(delivery.lease, Completed{});
        }
      }
      must(source.start(tokens, tick()));
      if (random() % 4 == 0) must(source.renew(tokens, tick(), 20ms));
      if (random() % 8 == 0) continue;  // this worker forgot them
      const auto answers = must(source.settle(endings, tick()));
      for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].settled != Settled::done) continue;
        const auto kind = endings[i].ending.index();
        if (kind == 0 || kind == 4) books.ended(got[i].message->id, kind == 0);
      }
    }
  });
  const auto counted = stats(noon + 1h);
  EXPECT_EQ(counted.leased, 0U);
  EXPECT_EQ(counted.completed, books.count(true));
  EXPECT_EQ(counted.dead_lettered, books.count(false));
  EXPECT_EQ(counted.published, counted.completed + counted.dead_lettered + counted.ready +
                                   counted.delayed + counted.held);
  Ids left;
  for (auto now = noon + 1h;; now += 1s) {
    const auto got = take(10'000, now);
    if (got.empty()) break;
    for (const auto& delivery : got) {
      left.push_back(delivery.message->id);
      settle(delivery, Completed{}, now);
    }
  }
  books.balance(left);
}

TEST_P(BrokerSuite, UnderEightThreadsAKeyIsInOneHandAndInOrder) {  // R10
  NEEDS(key_order);
  constexpr int keys = 10;
  constexpr int each = 60;
  Broker& source = broker();
  for (int n = 0; n < each; ++n) {
    for (int key = 0; key < keys; ++key) {
      publish(std::to_string(n), noon, "k-" + std::to_string(key));
    }
  }
  std::array<std::atomic<int>, keys> in_hand{};
  std::array<std::atomic<int>, keys> next{};
  std::atomic<int> left{keys * each};
  std::atomic<int> wrong{0};
  on_all_threads([&](int thread) {
    std::mt19937_64 random(static_cast<std::uint64_t>(thread) + 1);
    while (left.load() > 0) {
      for (const auto& delivery : must(source.receive({1 + random() % 3, 1h, 1ms}, noon))) {
        const auto key = static_cast<std::size_t>(delivery.message->key.back() - '0');
        wrong += in_hand[key].fetch_add(1) != 0;
        wrong += next[key].load() != std::stoi(delivery.message->id);
        const bool done = random() % 3 != 0;
        if (done) ++next[key];
        --in_hand[key];
        Settlement settlement{delivery.lease, Completed{}};
        if (!done) settlement.ending = failed(delivery, noon, 0ms);
        wrong += must(source.settle({&settlement, 1}, noon)).at(0).settled != Settled::done;
        left -= done;
      }
    }
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(stats().completed, static_cast<std::uint64_t>(keys * each));
}

TEST_P(BrokerSuite, UnderEightThreadsNoMessageIsInTwoHands) {  // SQL-03
  constexpr int count = 4'000;
  Broker& source = broker();
  for (int i = 0; i < count; ++i) publish(std::to_string(i));
  std::vector<std::atomic<int>> handed(count);
  on_all_threads([&](int) {
    while (true) {
      const auto got = must(source.receive({7, 1h, 0ms}, noon));
      if (got.empty()) return;
      for (const auto& delivery : got) {
        ++handed[static_cast<std::size_t>(std::stoi(delivery.message->id))];
      }
    }
  });
  for (int i = 0; i < count; ++i) ASSERT_EQ(handed[static_cast<std::size_t>(i)].load(), 1) << i;
}

TEST_P(BrokerSuite, ConcurrentDuplicatesAreAcceptedOnce) {
  NEEDS(dedupe);
  auto options = orders();
  options.dedupe_window = 10min;
  Broker& source = open(options);
  std::atomic<int> accepted{0};
  on_all_threads([&](int) {
    for (int i = 0; i < 200; ++i) {
      Publication publication;
      publication.message = std::make_shared<const Message>(message(std::to_string(i)));
      publication.dedupe_id = std::to_string(i);
      accepted += !must(source.publish({&publication, 1}, noon)).at(0).duplicate;
    }
  });
  EXPECT_EQ(accepted.load(), 200);
  EXPECT_EQ(stats().ready, 200U);
}

}  // namespace
}  // namespace dlo::testing
