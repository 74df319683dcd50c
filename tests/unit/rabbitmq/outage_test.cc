// A server that dies, comes back, or only stops answering.
#include <set>
#include <thread>

#include "unit/rabbitmq/support.h"

namespace dlo::testing {
namespace {

constexpr std::chrono::seconds long_patience{240};  // a node on a busy machine takes its time

class RabbitOutageTest : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_SERVER(node_ = std::make_unique<RabbitNode>()); }

  [[nodiscard]] RabbitOptions options(QueueKind kind) const {
    RabbitOptions made;
    made.server.address = node_->address();
    made.server.heartbeat = std::chrono::seconds{2};
    made.server.confirm_within = Millis{5'000};
    made.queue = "orders";
    made.kind = kind;
    return made;
  }
  std::unique_ptr<RabbitNode> node_;
};

TEST_F(RabbitOutageTest, NothingConfirmedIsLostWhenTheServerDies) {  // GEN-01, R5
  const auto broker = must(RabbitBroker::open(options(QueueKind::classic)));
  node_->remember();
  std::set<std::string> confirmed;
  std::atomic<bool> enough{false};
  std::atomic<int> sent{0};
  std::jthread publisher([&] {
    for (int i = 0; !enough.load(); ++i) {
      const auto publication = publication_of("m-" + std::to_string(i));
      if (broker->publish({&publication, 1}, noon)) confirmed.insert(publication.message->id);
      ++sent;
    }
  });
  ASSERT_TRUE(eventually([&] { return sent.load() > 200; }, long_patience));
  std::set<std::string> completed;
  const auto complete = [&](const Delivery& delivery) {
    const Settlement settlement{delivery.lease, Completed{}};
    const auto answer = broker->settle({&settlement, 1}, noon);
    if (answer && answer->at(0).settled == Settled::done) completed.insert(delivery.message->id);
  };
  const auto in_hand = must(broker->receive({50, 1h, 1s}, noon));
  ASSERT_FALSE(in_hand.empty());
  node_->crash();
  ASSERT_TRUE(eventually([&] { return !broker->receive({0, 1h, 0ms}, noon); }, long_patience));
  for (const auto& delivery : in_hand) {
    const Settlement late{delivery.lease, Completed{}};
    EXPECT_EQ(must(broker->settle({&late, 1}, noon)).at(0).settled, Settled::lease_lost);
  }
  node_->start();
  const int before = sent.load();
  ASSERT_TRUE(eventually([&] { return broker->stats(noon).has_value(); }, long_patience));
  ASSERT_TRUE(eventually([&] { return sent.load() > before + 50; }, long_patience));
  enough = true;
  publisher.join();
  ASSERT_TRUE(eventually(
      [&] {
        const auto got = broker->receive({1000, 1h, 100ms}, noon);
        if (got) std::for_each(got->begin(), got->end(), complete);
        return std::includes(completed.begin(), completed.end(), confirmed.begin(),
                             confirmed.end());
      },
      long_patience))
      << confirmed.size() << " confirmed, " << completed.size() << " completed";
}

TEST_F(RabbitOutageTest, AServerThatStopsAnsweringIsGivenUpAndFoundAgain) {
  const auto broker = must(RabbitBroker::open(options(QueueKind::classic)));
  const auto publication = publication_of("m-1");
  must(broker->publish({&publication, 1}, noon));
  const auto held = must(broker->receive({1, 1h, 60s}, noon));
  ASSERT_EQ(held.size(), 1U);
  node_->freeze();
  const auto doubtful = broker->publish({&publication, 1}, noon);
  ASSERT_FALSE(doubtful);
  EXPECT_EQ(doubtful.error().code, Code::timed_out) << doubtful.error().detail;
  EXPECT_TRUE(eventually([&] { return !broker->receive({1, 1h, 1ms}, noon); }, long_patience));
  node_->thaw();
  ASSERT_TRUE(eventually(
      [&] {
        const auto stats = broker->stats(noon);
        return stats && stats->ready >= 1;
      },
      long_patience));
  const Settlement late{held.front().lease, Completed{}};
  EXPECT_EQ(must(broker->settle({&late, 1}, noon)).at(0).settled, Settled::lease_lost);
  ASSERT_TRUE(eventually([&] { return broker->publish({&publication, 1}, noon).has_value(); },
                         long_patience));
}

}  // namespace
}  // namespace dlo::testing
