#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "support/eventually.h"
#include "support/must.h"
#include "unit/engine/faults.h"

#include "dlo/broker/memory/memory_broker.h"
#include "dlo/collector/collector.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::testing {
namespace {

/// Runs by itself, on a queue that counts what is handed out and an office that can be held.
class RunningCollectorTest : public ::testing::Test {
 protected:
  static constexpr std::size_t batch = 8;

  RunningCollectorTest() {
    SourceOptions named;
    named.source = "dead";
    broker_ = std::make_unique<MemoryBroker>(named);
  }
  void publish(std::size_t count, bool with_ids) {
    std::vector<Publication> all(count);
    for (std::size_t i = 0; i < count; ++i) {
      auto message = std::make_shared<Message>();
      if (with_ids) message->id = "m" + std::to_string(i);
      message->payload = "body";
      all[i].message = message;
    }
    must(broker_->publish(all, clock_.instant()));
  }
  void start() {
    CollectorOptions options;
    options.source = "orders";
    options.batch = batch;
    Collector::Parts parts{
        *broker_,
        held_,
        clock_,
        {},
        std::make_shared<const RuleBook>(must(RuleBook::build(must(find_profile("standard")))))};
    collector_ = std::make_unique<Collector>(options, std::move(parts));
    collector_->start();
  }
  std::size_t leased() { return must(broker_->stats(clock_.instant())).leased; }

  const SystemClock clock_;
  MemoryOffice office_;
  std::unique_ptr<MemoryBroker> broker_;
  std::atomic<bool> go_{false};
  std::atomic<std::size_t> written_{0};
  FlakyOffice held_{office_, Look([this](std::span<const Change>) -> std::optional<Error> {
                      go_.wait(false);
                      ++written_;
                      return std::nullopt;
                    })};
  std::unique_ptr<Collector> collector_;
};

TEST_F(RunningCollectorTest, WhileABatchIsWrittenTheNextIsReadAndNoMore) {
  publish(4 * batch, true);
  start();
  EXPECT_TRUE(eventually([&] { return leased() == 2 * batch; }));
  EXPECT_EQ(written_, 0U);
  EXPECT_EQ(collector_->status().collected, 0U) << "nothing is settled that is not durable";
  go_ = true;
  go_.notify_all();
  EXPECT_TRUE(eventually([&] { return collector_->status().collected == 4 * batch; }));
  EXPECT_EQ(leased(), 0U);
  collector_->stop();
  EXPECT_EQ(must(office_.list({})).rows.size(), 4 * batch);
}

TEST_F(RunningCollectorTest, IdenticalMessagesWithoutIdsInManyBatchesAreAsManyRecords) {  // R3
  go_ = true;
  publish(4 * batch, false);
  start();
  EXPECT_TRUE(eventually([&] { return collector_->status().collected == 4 * batch; }));
  collector_->stop();
  EXPECT_EQ(must(office_.list({})).rows.size(), 4 * batch);
}

TEST_F(RunningCollectorTest, AStopWhileTheOfficeIsHeldWaitsForWhatIsWritten) {
  publish(2 * batch, true);
  start();
  EXPECT_TRUE(eventually([&] { return leased() == 2 * batch; }));
  std::thread stopping([&] { collector_->stop(); });
  go_ = true;
  go_.notify_all();
  stopping.join();
  const std::size_t kept = must(office_.list({})).rows.size();
  EXPECT_EQ(collector_->status().collected, kept) << "what is durable is settled";
}

}  // namespace
}  // namespace dlo::testing
