// The hall of queues behind the routes: who makes a queue.
#include "dlo/api/queue_hall.h"

#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/store/memory/memory_office.h"

namespace dlo::api {
namespace {

using testing::must;

class QueueHallTest : public ::testing::Test {
 protected:
  QueueHallTest() { open(); }
  void open() {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    hall_ = std::make_unique<QueueHall>(
        QueueHall::Parts{*queues_, office_, clock_, pool_, {"node", "build"}});
  }
  void TearDown() override { hall_.reset(); }

  AddAudit audit() { return {clock_.now(), "test", "declare", "queue/orders", "{}"}; }
  void declare(const std::string& profile) {
    QueueSettings settings = usual_queue_settings("orders");
    settings.profile = profile;
    must(hall_->declare(settings, audit()));
  }
  std::size_t declarations() { return must(office_.extras().ledger->audit(0, 100)).size(); }

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

}  // namespace
}  // namespace dlo::api
