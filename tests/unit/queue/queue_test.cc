// The queue alone, as a program uses it.
#include "dlo/queue/queue.h"

#include <gtest/gtest.h>

#include "support/must.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

class QueueAlone : public ::testing::Test {
 protected:
  QueueAlone() { open(); }
  void open() {
    queue_.reset();
    queue_ = must(Queue::open(directory_.path(), {}, &clock_));
  }
  ManualClock clock_{noon};
  TemporaryDirectory directory_;
  std::unique_ptr<Queue> queue_;
};

TEST_F(QueueAlone, HandsOutWhatWasSentAndForgetsWhatIsDone) {
  must(queue_->send("a"));
  must(queue_->send_all(std::vector<std::string>{"b", "c"}));
  std::string bodies;
  while (auto job = must(queue_->receive())) {
    bodies += job->body();
    EXPECT_EQ(job->attempt(), 1U);
    must(job->complete());
  }
  EXPECT_EQ(bodies, "abc");
  open();
  EXPECT_EQ(must(queue_->receive()), nullptr);
}

TEST(AFullQueueAlone, HasRoomAgainWhenWhatIsInItHasExpired) {
  for (const bool drops : {true, false}) {
    ManualClock clock{noon};
    TemporaryDirectory directory;
    QueueSettings settings;
    settings.options.max_messages = 2;
    settings.options.ttl = 10s;
    settings.options.drop_expired = drops;
    const auto queue = must(Queue::open(directory.path(), settings, &clock));
    must(queue->send("a"));
    must(queue->send("b"));
    ASSERT_FALSE(queue->send("c"));
    clock.advance(10s);
    must(queue->send("c"));
    EXPECT_EQ(queue->dead(), drops ? 0U : 2U);
    clock.advance(10s);
    const auto stats = must(queue->stats());
    EXPECT_EQ(stats.ready, 0U);
    EXPECT_EQ(stats.expired, drops ? 3U : 0U);
    EXPECT_EQ(queue->dead(), drops ? 0U : 3U);
  }
}

TEST_F(QueueAlone, TriesAgainLaterAndThenKeepsItInItsDeadSetWithTheLastError) {
  must(queue_->send("bad", {.id = "b-1"}));
  int attempts = 0;
  bool dead = false;
  while (!dead) {
    auto job = must(queue_->receive());
    if (job == nullptr) {
      clock_.advance(10min);
      continue;
    }
    EXPECT_EQ(job->attempt(), static_cast<std::uint32_t>(++attempts));
    const auto fate = must(job->fail("attempt " + std::to_string(attempts)));
    dead = fate.dead;
    EXPECT_EQ(fate.next_at.has_value(), !dead);
  }
  EXPECT_EQ(attempts, 5);  // R12
  EXPECT_EQ(queue_->dead(), 1U);
  open();
  const auto letters = must(queue_->dead_letters(10));
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].message->id, "b-1");
  EXPECT_EQ(letters[0].error, "attempt 5");
  EXPECT_EQ(letters[0].counters.attempt, 5U);
}

TEST_F(QueueAlone, TriesTheWholeDeadSetAgainWhenAsked) {
  for (int i = 0; i < 20; ++i) must(queue_->send("j" + std::to_string(i)));
  std::uint64_t died = 0;
  for (int round = 0; round < 200 && died < 20; ++round) {
    clock_.advance(10min);
    while (auto job = must(queue_->receive())) died += must(job->fail("no")).dead;
  }
  EXPECT_EQ(queue_->dead(), 20U);
  EXPECT_EQ(must(queue_->redrive()), 20U);
  EXPECT_EQ(queue_->dead(), 0U);
  EXPECT_EQ(must(queue_->stats()).ready, 20U);
  open();
  std::size_t ran = 0;
  while (auto job = must(queue_->receive())) {
    EXPECT_EQ(job->attempt(), 1U);
    must(job->complete());
    ++ran;
  }
  EXPECT_EQ(ran, 20U);
}

TEST_F(QueueAlone, AJobThatIsDroppedCountsAsFailed) {
  must(queue_->send("forgotten"));
  must(queue_->receive()).reset();
  clock_.advance(10min);
  const auto job = must(queue_->receive());
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->attempt(), 2U);
  must(job->release());
}

TEST_F(QueueAlone, AJobHeldTooLongIsSomebodyElses) {
  must(queue_->send("slow"));
  auto slow = must(queue_->receive());
  clock_.advance(31s);
  auto second = must(queue_->receive());
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(slow->complete().error().code, Code::lease_lost);
  must(second->renew());
  must(second->complete());
}

TEST_F(QueueAlone, AProfileThatDoesNotExistIsRefusedWithTheNearestName) {
  TemporaryDirectory other;
  QueueSettings settings;
  settings.profile = "standart";
  const auto opened = Queue::open(other.path(), settings);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().detail.find("\"standard\""), std::string::npos);
}

TEST_F(QueueAlone, ASecondProcessIsRefusedWithThePidOfTheFirst) {
  const auto second = Queue::open(directory_.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::refused);
  EXPECT_NE(second.error().detail.find("pid " + std::to_string(::getpid())), std::string::npos);
}

}  // namespace
}  // namespace dlo::testing
