// Settling at a source that can put off its wait for the disk.
#include "unit/engine/pull_room.h"

#include "dlo/core/identity.h"

namespace dlo::testing {
namespace {

/// Has it done at once and says so when somebody waits, or says that it failed.
class SlowDisk final : public EagerBroker {
 public:
  explicit SlowDisk(Broker& broker) : broker_(broker) {}
  Pending<std::vector<PublishAnswer>> publish_soon(std::span<const Publication> messages,
                                                   Instant now) override {
    return broker_.publish(messages, now);
  }
  Pending<std::vector<SettleAnswer>> settle_soon(std::span<const Settlement> settlements,
                                                 Instant now) override {
    using Answers = std::vector<SettleAnswer>;
    auto settled = fails ? Result<Answers>(Error{Code::unavailable, "test", "no disk"})
                         : broker_.settle(settlements, now);
    return Pending<Answers>([this, settled] {
      ++waits;
      return settled;
    });
  }
  bool places_at_once() override { return true; }
  void flush() override {}
  bool fails = false;
  int waits = 0;

 private:
  Broker& broker_;
};

class PullSoonTest : public PullDeskTest {
 protected:
  PullSoonTest() {
    desk_ = std::make_unique<PullDesk>(PullDesk::Parts{
        *broker_, office_, rules_of("service-bus"), clock_, {"node", "build"}, nullptr, &disk_});
  }
  static std::vector<PullSettlement> one(const LeaseToken& lease, PullEnding ending) {
    std::vector<PullSettlement> all;
    all.push_back({lease, std::move(ending)});
    return all;
  }
  SlowDisk disk_{*broker_};
};

TEST_F(PullSoonTest, NobodyHearsOfASettlementBeforeTheDiskHasIt) {
  send("1");
  const auto handed = receive();
  ASSERT_EQ(handed.size(), 1U);
  auto pending = desk_->settle_soon(one(handed[0].lease, PullCompleted{}));
  EXPECT_EQ(disk_.waits, 0);
  EXPECT_EQ(desk_->held(), 0U) << "a second settlement of it is too late";
  EXPECT_EQ(must(std::move(pending).wait()).front().fate, Fate::completed);
  EXPECT_EQ(disk_.waits, 1);
}

TEST_F(PullSoonTest, WhatTheDiskDidNotTakeIsStillInTheWorkersHands) {
  send("1");
  const auto handed = receive();
  ASSERT_EQ(handed.size(), 1U);
  disk_.fails = true;
  auto pending = desk_->settle_soon(one(handed[0].lease, PullCompleted{}));
  EXPECT_EQ(std::move(pending).wait().error().code, Code::unavailable);
  EXPECT_EQ(desk_->held(), 1U);
  disk_.fails = false;
  EXPECT_EQ(settle(handed[0].lease, PullCompleted{}).fate, Fate::completed);
}

TEST_F(PullSoonTest, ADeathIsInTheOfficeBeforeTheSourceIsWaitedFor) {  // I1
  send("1");
  const auto handed = receive();
  ASSERT_EQ(handed.size(), 1U);
  auto pending = desk_->settle_soon(one(handed[0].lease, PullCondemned{"Bad", "it is"}));
  EXPECT_EQ(disk_.waits, 0);
  EXPECT_EQ(must(kept_.list({})).rows.size(), 1U);
  EXPECT_EQ(must(std::move(pending).wait()).front().fate, Fate::dead);
}

TEST_F(PullSoonTest, TheOfficeIsNeededForWhateverIsMoreThanDone) {
  send("plain");
  auto replayed = std::make_shared<Message>();
  replayed->id = "replayed";
  replayed->payload = "x";
  stamp_lineage(replayed->headers, {RecordId{Id128{1, 1}}, 1});
  Publication publication;
  publication.message = std::move(replayed);
  must(broker_->publish({&publication, 1}, clock_.instant()));
  const auto handed = receive();
  ASSERT_EQ(handed.size(), 2U);
  const LeaseToken plain = handed[0].lease;
  const LeaseToken again = handed[1].lease;
  EXPECT_FALSE(desk_->needs_office(one(plain, PullCompleted{})));
  EXPECT_FALSE(desk_->needs_office(one(plain, PullReleased{})));
  EXPECT_FALSE(desk_->needs_office(one(LeaseToken{{9, 9}}, PullCompleted{}))) << "nobody's lease";
  EXPECT_TRUE(desk_->needs_office(one(plain, failed("boom"))));
  EXPECT_TRUE(desk_->needs_office(one(plain, PullCondemned{"Bad", "it is"})));
  EXPECT_TRUE(desk_->needs_office(one(plain, AbandonOptions{})));
  EXPECT_TRUE(desk_->needs_office(one(again, PullCompleted{}))) << "its record is resolved";
  EXPECT_FALSE(desk_->needs_office(one(again, PullReleased{})));
}

}  // namespace
}  // namespace dlo::testing
