// Several programs on the queues of one database.
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "support/eventually.h"
#include "unit/postgres_queue/support.h"

namespace dlo::testing {
namespace {

class PostgresQueueNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<QueueSchema>());
    for (int i = 0; i < 3; ++i) add_node();
  }
  void add_node(Instant now = noon) {
    nodes_.push_back(schema_->open(now));
    queues_.push_back(must(nodes_.back()->declare(named("orders"))));
  }
  Broker& at(std::size_t node) { return *queues_[node]; }

  std::unique_ptr<QueueSchema> schema_;
  std::vector<std::unique_ptr<PostgresQueues>> nodes_;
  std::vector<std::unique_ptr<PostgresQueue>> queues_;
};

TEST_F(PostgresQueueNodes, NodesThatOpenAnEmptySchemaAtOnceMakeItOnce) {
  const QueueSchema fresh;
  std::atomic<int> opened{0};
  std::vector<std::jthread> crew;
  for (int i = 0; i < 3; ++i) {
    crew.emplace_back([&] {
      const auto queues = PostgresQueues::open(fresh.address(), noon, fresh.options());
      if (queues && (*queues)->declare(named("orders"))) opened.fetch_add(1);
    });
  }
  crew.clear();
  EXPECT_EQ(opened.load(), 3);
  EXPECT_EQ(fresh.open()->names(), std::vector<std::string>{"orders"});
}

TEST_F(PostgresQueueNodes, EightThreadsOnThreeNodesCompleteEachMessageOnce) {  // SQL-03, GEN-01
  constexpr int threads = 8;
  constexpr int each = 150;
  std::mutex mutex;
  std::map<std::string, int> completed;
  std::map<std::string, int> in_hand;
  int twice = 0;
  std::atomic<int> left{threads * each};
  std::vector<std::jthread> crew;
  for (int thread = 0; thread < threads; ++thread) {
    crew.emplace_back([&, thread] {
      Broker& queue = at(static_cast<std::size_t>(thread) % nodes_.size());
      std::mt19937_64 random(static_cast<std::uint64_t>(thread) + 1);
      for (int n = 0; n < each;) {
        std::vector<Publication> batch;
        for (int i = 0; i < 10 && n < each; ++i, ++n) {
          batch.push_back(a_message(std::to_string(thread) + "/" + std::to_string(n),
                                    n % 3 == 0 ? "k-" + std::to_string(n % 7) : ""));
        }
        must(queue.publish(batch, noon));
      }
      while (left.load() > 0) {
        const auto got = must(queue.receive({1 + random() % 5, 1h, 1ms}, noon));
        std::vector<Settlement> endings;
        {
          const std::lock_guard lock(mutex);
          for (const Delivery& delivery : got) twice += in_hand[delivery.message->id]++ != 0;
          for (const Delivery& delivery : got) --in_hand[delivery.message->id];
        }
        for (const Delivery& delivery : got) {
          endings.push_back(
              {delivery.lease, random() % 4 == 0 ? Ending{ReleasedUnrun{}} : Ending{Completed{}}});
        }
        const auto answers = must(queue.settle(endings, noon));
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < answers.size(); ++i) {
          if (answers[i].settled != Settled::done) ++twice;
          if (endings[i].ending.index() != 0) continue;
          ++completed[got[i].message->id];
          --left;
        }
      }
    });
  }
  crew.clear();
  EXPECT_EQ(twice, 0);
  EXPECT_EQ(completed.size(), static_cast<std::size_t>(threads * each));
  for (const auto& [id, times] : completed) EXPECT_EQ(times, 1) << id;
  const SourceStats stats = must(at(0).stats(noon));
  EXPECT_EQ(stats.published, static_cast<std::uint64_t>(threads * each));
  EXPECT_EQ(stats.completed, stats.published);
  EXPECT_EQ(stats.ready + stats.delayed + stats.leased + stats.held + stats.bytes, 0U);
  EXPECT_TRUE(schema_->person().ask("SELECT 1 FROM messages").empty());
}

TEST_F(PostgresQueueNodes, AKeyIsInOneHandAndInOrderWhicheverNodeHandsItOut) {  // R10
  constexpr int keys = 5;
  constexpr int each = 40;
  for (int n = 0; n < each; ++n) {
    for (int key = 0; key < keys; ++key) {
      publish(at(static_cast<std::size_t>(n) % 3), std::to_string(n), "k-" + std::to_string(key));
    }
  }
  std::array<std::atomic<int>, keys> in_hand{};
  std::array<std::atomic<int>, keys> next{};
  std::atomic<int> left{keys * each};
  std::atomic<int> wrong{0};
  std::vector<std::jthread> crew;
  for (std::size_t thread = 0; thread < 6; ++thread) {
    crew.emplace_back([&, thread] {
      Broker& queue = at(thread % 3);
      while (left.load() > 0) {
        for (const Delivery& got : must(queue.receive({2, 1h, 1ms}, noon))) {
          const auto key = static_cast<std::size_t>(got.message->key.back() - '0');
          wrong += in_hand[key].fetch_add(1) != 0;
          wrong += next[key].load() != std::stoi(got.message->id);
          ++next[key];
          --in_hand[key];
          wrong += settle(queue, got, Completed{}) != Settled::done;
          --left;
        }
      }
    });
  }
  crew.clear();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(PostgresQueueNodes, WhoeverWaitsIsToldByAnotherNode) {
  std::vector<Delivery> got;
  const auto began = std::chrono::steady_clock::now();
  std::jthread waiter([&] { got = must(at(1).receive({1, 30s, 60s}, noon)); });
  publish(at(0), "m-1");
  waiter.join();
  EXPECT_EQ(ids(got), std::vector<std::string>{"m-1"});
  EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);
}

TEST_F(PostgresQueueNodes, WhoeverWaitsLooksByHimselfIfNobodyTellsHim) {  // NOTIFY is a hint only
  publish(at(0), "m-1");
  const auto held = must(at(0).receive({1, 1h, 0ms}, noon));
  ASSERT_EQ(held.size(), 1U);
  std::vector<Delivery> got;
  const auto began = std::chrono::steady_clock::now();
  std::jthread waiter([&] { got = must(at(1).receive({1, 30s, 60s}, noon)); });
  auto person = schema_->person();
  person.run("UPDATE messages SET state = 0");  // without a word
  waiter.join();
  EXPECT_EQ(ids(got), std::vector<std::string>{"m-1"});
  EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);
}

TEST_F(PostgresQueueNodes, TheLeasesOfAKilledNodeEndWhenTheNextOneOpens) {  // R5, R7
  publish(at(0), "started");
  publish(at(0), "only claimed");
  const auto lost = must(at(0).receive({2, 1h, 0ms}, noon));
  ASSERT_EQ(lost.size(), 2U);
  must(at(0).start({&lost[0].lease, 1}, noon));
  publish(at(1), "of a living one");
  const auto kept = must(at(1).receive({1, 1h, 0ms}, noon));
  ASSERT_EQ(ids(kept), std::vector<std::string>{"of a living one"});
  nodes_[0]->abandon();
  EXPECT_TRUE(must(at(2).receive({5, 1h, 0ms}, noon)).empty()) << "nobody has looked yet";
  EXPECT_TRUE(eventually([&] {
    return must(schema_->open()->end_leases_of_the_dead(noon)) == 0 &&
           must(at(2).stats(noon)).ready == 2;
  }));
  const auto again = must(at(2).receive({5, 1h, 0ms}, noon));
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].message->id, "started");
  EXPECT_TRUE(again[0].interrupted);
  EXPECT_FALSE(again[1].interrupted);
  EXPECT_EQ(again[1].counters.fetch, 1U);
  EXPECT_EQ(settle(at(1), lost[0], Completed{}), Settled::lease_lost);
  EXPECT_EQ(settle(at(1), kept[0], Completed{}), Settled::done) << "who lives keeps its leases";
}

TEST_F(PostgresQueueNodes, ANodeThatClosesGivesItsLeasesBackAtOnce) {
  publish(at(0), "m-1");
  ASSERT_EQ(must(at(0).receive({1, 1h, 0ms}, noon)).size(), 1U);
  must(nodes_[0]->close());
  EXPECT_EQ(must(at(1).receive({1, 1h, 0ms}, noon)).size(), 1U);
}

TEST_F(PostgresQueueNodes, ALeaseThatRanOutIsAnotherNodesAndTheFirstCannotSettle) {  // SQL-02
  publish(at(0), "m-1");
  const auto slow = must(at(0).receive({1, 30s, 0ms}, noon)).at(0);
  EXPECT_TRUE(must(at(1).receive({1, 30s, 0ms}, noon + 30s - 1ms)).empty());
  const auto next = must(at(1).receive({1, 30s, 0ms}, noon + 30s)).at(0);
  EXPECT_EQ(settle(at(0), slow, Completed{}, noon + 31s), Settled::lease_lost);
  EXPECT_EQ(settle(at(1), next, Completed{}, noon + 31s), Settled::done);
}

TEST_F(PostgresQueueNodes, ARowThatSomebodyHoldsIsPassedOver) {
  publish(at(0), "held by a person");
  publish(at(0), "free");
  auto person = schema_->person();
  person.run("BEGIN; SELECT 1 FROM messages ORDER BY place LIMIT 1 FOR UPDATE");
  EXPECT_EQ(ids(must(at(1).receive({5, 1h, 0ms}, noon))), std::vector<std::string>{"free"});
  person.run("ROLLBACK");
  EXPECT_EQ(must(at(1).receive({5, 1h, 0ms}, noon)).size(), 1U);
}

TEST_F(PostgresQueueNodes, ALimitIsKeptByAllNodesTogether) {
  auto options = named("few");
  options.max_messages = 10;
  std::vector<std::unique_ptr<PostgresQueue>> few;
  for (const auto& node : nodes_) few.push_back(must(node->declare(options)));
  std::atomic<int> taken{0};
  std::atomic<int> refused{0};
  std::vector<std::jthread> crew;
  for (auto& queue : few) {
    crew.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const Publication one = a_message("m");
        const auto answer = queue->publish({&one, 1}, noon);
        if (answer) ++taken;
        if (!answer && answer.error().code == Code::full) ++refused;
      }
    });
  }
  crew.clear();
  EXPECT_EQ(taken.load(), 10);
  EXPECT_EQ(refused.load(), 20);
}

// The clocks of two machines are an hour apart, and neither is the server's.
TEST_F(PostgresQueueNodes, NodesWhoseClocksDifferAgreeByTheServersClock) {  // R22
  auto options = schema_->options();
  options.by_servers_clock = true;
  const auto early = must(PostgresQueues::open(schema_->address(), noon, options));
  const auto late = must(PostgresQueues::open(schema_->address(), noon + 1h, options));
  const auto one = must(early->declare(named("clocks")));
  const auto two = must(late->declare(named("clocks")));
  publish(*one, "m-1");
  EXPECT_EQ(must(one->receive({1, 10min, 0ms}, noon)).size(), 1U);
  EXPECT_TRUE(must(two->receive({1, 10min, 0ms}, noon + 1h + 8min)).empty());
  EXPECT_EQ(must(two->receive({1, 10min, 0ms}, noon + 1h + 12min)).size(), 1U);
}

}  // namespace
}  // namespace dlo::testing
