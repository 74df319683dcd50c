// What a server can do to us: nothing that was answered is lost, nothing is doubled, and who asks
// is told at once.
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "support/eventually.h"
#include "unit/postgres_queue/support.h"

namespace dlo::testing {
namespace {

class PostgresQueueOutage : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(server_ = std::make_unique<PostgresServer>(settings_));
  }
  void open(const std::string& more = "") {
    queues_ = must(PostgresQueues::open(server_->address() + more, noon));
    queue_ = must(queues_->declare(named("orders")));
  }
  [[nodiscard]] Result<std::vector<PublishAnswer>> send(const std::string& id,
                                                        const std::string& key = "") {
    const Publication one = a_message(id, key);
    return queue_->publish({&one, 1}, noon);
  }
  std::vector<std::string> settings_;
  std::unique_ptr<PostgresServer> server_;
  std::unique_ptr<PostgresQueues> queues_;
  std::unique_ptr<PostgresQueue> queue_;
};

/// Sends and completes with four threads, and knows what was answered.
class Crew {
 public:
  explicit Crew(Broker& queue) : queue_(queue) {
    for (int thread = 0; thread < 4; ++thread) {
      threads_.emplace_back([this, thread](const std::stop_token& stop) {
        for (int n = 0; !stop.stop_requested(); ++n) work(thread, n);
      });
    }
  }
  void stop() { threads_.clear(); }
  [[nodiscard]] std::size_t done() {
    const std::lock_guard lock(mutex_);
    return completed_.size();
  }
  /// What was sent and not completed, by what was answered, is there; what was completed is not.
  void check(const std::set<std::string>& here) {
    for (const auto& [id, times] : completed_) {
      EXPECT_EQ(times, 1) << id;
      EXPECT_FALSE(here.contains(id)) << id << " was completed";
    }
    for (const auto& id : sent_) {
      EXPECT_TRUE(completed_.contains(id) || asked_to_end_.contains(id) || here.contains(id))
          << id << " is lost";
    }
  }

 private:
  void work(int thread, int n) {
    const std::string id = std::to_string(thread) + "/" + std::to_string(n);
    const Publication one = a_message(id, n % 2 == 0 ? "k" + std::to_string(n % 5) : "");
    if (queue_.publish({&one, 1}, noon)) {
      const std::lock_guard lock(mutex_);
      sent_.insert(id);
    }
    const auto got = queue_.receive({1, 1h, 0ms}, noon);
    if (!got || got->empty()) return;
    const std::string taken = got->front().message->id;
    {
      const std::lock_guard lock(mutex_);
      asked_to_end_.insert(taken);
    }
    const Settlement ending{got->front().lease, Completed{}};
    const auto answer = queue_.settle({&ending, 1}, noon);
    if (!answer || answer->front().settled != Settled::done) return;
    const std::lock_guard lock(mutex_);
    ++completed_[taken];
  }

  Broker& queue_;
  std::mutex mutex_;
  std::set<std::string> sent_;
  std::set<std::string> asked_to_end_;  // and maybe ended, if the answer was lost
  std::map<std::string, int> completed_;
  std::vector<std::jthread> threads_;
};

std::set<std::string> everything_in(PostgresQueue& queue) {
  std::set<std::string> ids;
  std::size_t count = 0;
  // Leases that were lost with their answers run out.
  for (const auto& each : must(queue.receive({20'000, 1h, 0ms}, noon + 25h))) {
    ids.insert(each.message->id);
    ++count;
    const Settlement ending{each.lease, Completed{}};
    must(queue.settle({&ending, 1}, noon + 25h));
  }
  EXPECT_EQ(ids.size(), count) << "a message was there twice";
  return ids;
}

std::set<std::string> drain(PostgresQueue& queue) {
  std::set<std::string> all;
  for (auto some = everything_in(queue); !some.empty(); some = everything_in(queue)) {
    all.merge(some);
  }
  return all;
}

void expect_balanced(PostgresQueue& queue) {
  const SourceStats stats = must(queue.stats(noon + 25h));
  EXPECT_EQ(stats.published, stats.completed);
  EXPECT_EQ(stats.ready + stats.delayed + stats.leased + stats.held + stats.bytes, 0U);
}

TEST_F(PostgresQueueOutage, AServerThatCrashedIsFoundAgainWithEverythingItAnswered) {
  open();
  must(send("before"));
  server_->crash();
  EXPECT_FALSE(send("meanwhile"));
  EXPECT_EQ(queue_->receive({1, 30s, 0ms}, noon).error().code, Code::unavailable);
  EXPECT_EQ(queue_->stats(noon).error().code, Code::unavailable);
  EXPECT_TRUE(eventually([&] { return !queues_->health().works; }));
  server_->start();
  EXPECT_TRUE(eventually([&] { return send("after").has_value(); }));
  EXPECT_TRUE(eventually([&] { return queues_->health().works; }));
  std::vector<std::string> got;
  EXPECT_TRUE(eventually([&] {
    const auto some = queue_->receive({10, 30s, 0ms}, noon);
    if (some) got = ids(*some);
    return !got.empty();
  }));
  EXPECT_EQ(got, (std::vector<std::string>{"before", "after"}));
}

TEST_F(PostgresQueueOutage, ACrashUnderLoadLosesAndDoublesNothing) {
  open();
  Crew crew(*queue_);
  EXPECT_TRUE(eventually([&] { return crew.done() > 100; }));
  server_->crash();
  server_->start();
  const std::size_t before = crew.done();
  EXPECT_TRUE(eventually([&] { return crew.done() > before + 50; }));
  crew.stop();
  crew.check(drain(*queue_));
  expect_balanced(*queue_);
}

TEST_F(PostgresQueueOutage, ConnectionsThatAreCutWhileTheyCommitLoseAndDoubleNothing) {
  open();
  auto person = postgres::Connection(server_->address(), "");
  std::atomic<bool> stop{false};
  Crew crew(*queue_);
  std::jthread cutter([&] {
    while (!stop) {
      (void)person.ask(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dlo' "
          "AND pid <> pg_backend_pid()");
      const std::size_t seen = crew.done();
      while (!stop && crew.done() < seen + 3) std::this_thread::yield();
    }
  });
  EXPECT_TRUE(eventually([&] { return crew.done() > 80; }));
  stop = true;
  cutter.join();
  crew.stop();
  std::set<std::string> here;
  EXPECT_TRUE(eventually([&] { return queue_->stats(noon).has_value(); }));
  EXPECT_TRUE(eventually([&] { return send("last").has_value(); }));
  here = drain(*queue_);
  crew.check(here);
  EXPECT_TRUE(here.contains("last"));
  expect_balanced(*queue_);
}

TEST_F(PostgresQueueOutage, AReadOnlyServerIsUnavailableWithItsReasonUntilItTakesWrites) {
  open();
  must(send("before"));
  const auto opened = PostgresQueues::open(
      server_->address() + "?options=-c%20default_transaction_read_only%3Don", noon);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::unavailable) << opened.error().detail;
  auto person = postgres::Connection(server_->address(), "");
  person.run("ALTER SYSTEM SET default_transaction_read_only = on");
  person.run("SELECT pg_reload_conf()");
  EXPECT_TRUE(eventually([&] {
    const auto answer = send("meanwhile");
    return !answer && answer.error().code == Code::unavailable &&
           answer.error().detail.find("takes no writes") != std::string::npos;
  }));
  person.run("SET default_transaction_read_only = off");
  person.run("ALTER SYSTEM RESET default_transaction_read_only");
  person.run("SELECT pg_reload_conf()");
  EXPECT_TRUE(eventually([&] { return send("after").has_value(); }));
}

class PostgresQueueWithFewConnections : public PostgresQueueOutage {
 protected:
  PostgresQueueWithFewConnections() {
    settings_ = {"max_connections=5", "superuser_reserved_connections=0"};
  }
};

TEST_F(PostgresQueueWithFewConnections, WithoutAFreeConnectionItIsUnavailableUntilThereIsOne) {
  std::vector<std::unique_ptr<postgres::Connection>> others;
  try {
    for (int i = 0; i < 5; ++i) {
      others.push_back(std::make_unique<postgres::Connection>(server_->address(), ""));
    }
  } catch (const postgres::Failed&) {
  }
  const auto refused = PostgresQueues::open(server_->address(), noon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unavailable) << refused.error().detail;
  others.clear();
  EXPECT_TRUE(eventually([&] {
    auto opened = PostgresQueues::open(server_->address(), noon);
    if (opened) queues_ = std::move(*opened);
    return queues_ != nullptr;
  }));
  EXPECT_TRUE(eventually([&] {
    auto declared = queues_->declare(named("orders"));
    if (declared) queue_ = std::move(*declared);
    return queue_ != nullptr;
  }));
  EXPECT_TRUE(eventually([&] { return send("m-1").has_value(); }));
  EXPECT_TRUE(eventually([&] {
    const auto got = queue_->receive({1, 30s, 0ms}, noon);
    return got && got->size() == 1;
  }));
}

}  // namespace
}  // namespace dlo::testing
