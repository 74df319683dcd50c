// The hall of queues behind the routes: who makes a queue, and what its profile makes of it.
#include "dlo/api/queue_hall.h"

#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::api {
namespace {

using namespace std::chrono_literals;
using testing::must;

class QueueHallTest : public ::testing::Test {
 protected:
  QueueHallTest() { open(); }
  void open() {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    hall_ = std::make_unique<QueueHall>(
        QueueHall::Parts{*queues_, office_, clock_, pool_, {"node", "build"}});
  }
  void restart() {
    hall_.reset();
    must(queues_->close());
    queues_.reset();
    open();
  }
  void TearDown() override { hall_.reset(); }

  AddAudit audit() { return {clock_.now(), "test", "declare", "queue/orders", "{}"}; }
  void declare(const std::string& profile) {
    QueueSettings settings = usual_queue_settings("orders");
    settings.profile = profile;
    must(hall_->declare(settings, audit()));
  }
  std::size_t declarations() { return must(office_.extras().ledger->audit(0, 100)).size(); }

  void send() {
    Publication publication;
    publication.message = std::make_shared<const Message>(Message{.id = "m-1", .payload = "x"});
    must(must(queues_->find("orders"))->publish({&publication, 1}, clock_.instant()));
  }
  /// Claimed by somebody who never starts it, and whose lease runs out.
  bool claim_in_vain() {
    const auto queue = must(queues_->find("orders"));
    const bool got = !must(queue->receive({.limit = 1}, clock_.instant())).empty();
    clock_.advance(31s);
    must(queue->stats(clock_.instant()));  // which notices
    return got;
  }

  testing::TemporaryDirectory place_;
  ManualClock clock_{testing::noon};
  MemoryOffice office_;
  WorkerPool pool_{2, 100};
  std::unique_ptr<EmbeddedQueues> queues_;
  std::unique_ptr<QueueHall> hall_;
};

TEST_F(QueueHallTest, WhoeverComesSecondFindsTheQueueAsTheFirstMadeIt) {
  declare("service-bus");  // between somebody's look for it and his wish to make it
  const auto declared = hall_->find("orders");
  const auto found = must(hall_->get_or_make("orders", audit()));
  EXPECT_EQ(found, declared);
  EXPECT_EQ(hall_->find("orders")->settings().profile, "service-bus") << "not the usual settings";
  EXPECT_EQ(declarations(), 1U);
}

TEST_F(QueueHallTest, OfEightWhoMakeOneQueueAtOnceOneDoes) {
  for (int round = 0; round < 10; ++round) {
    const std::string name = "orders-" + std::to_string(round);
    std::mutex mutex;
    std::set<std::shared_ptr<QueueWindow>> windows;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
          auto made = must(hall_->get_or_make(name, audit()));
          const std::lock_guard lock(mutex);
          windows.insert(std::move(made));
        });
      }
    }
    EXPECT_EQ(windows.size(), 1U);
    EXPECT_EQ(declarations(), static_cast<std::size_t>(round + 1));
  }
}

TEST_F(QueueHallTest, AQueueCountsClaimsIfItsProfileDoes) {  // R1, R3-1
  declare("durable-fetch");
  send();
  for (int n = 1; n <= 10; ++n) {
    ASSERT_TRUE(claim_in_vain()) << n;
    if (n == 5) restart();
  }
  const auto queue = must(queues_->find("orders"));
  PullDesk desk({*queue, office_, hall_->find("orders")->rules(), clock_, {"node", "build"}});
  EXPECT_TRUE(must(desk.receive(10, 30s)).empty()) << "poisoned at fetch 11";
  const auto dead = must(office_.list({})).rows;
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].reason, "Poison");
  EXPECT_EQ(dead[0].counters.fetch, 11U);
}

TEST_F(QueueHallTest, AQueueGivesUnstartedClaimsBackIfItsProfileSaysNothing) {
  declare("durable-fetch");
  send();
  for (int n = 1; n <= 5; ++n) ASSERT_TRUE(claim_in_vain());
  declare("standard");  // from now on
  for (int n = 1; n <= 20; ++n) ASSERT_TRUE(claim_in_vain());
  const auto queue = must(queues_->find("orders"));
  const auto got = must(queue->receive({.limit = 1}, clock_.instant()));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].counters.fetch, 6U);
}

}  // namespace
}  // namespace dlo::api
