// What clients send and settle at the same time waits for the disk once.
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"
#include "unit/api/round.h"

#include "dlo/api/queue_hall.h"
#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::api {
namespace {

using namespace std::chrono_literals;
using testing::must;

class QueueTurnTest : public ::testing::Test {
 protected:
  QueueTurnTest() {
    QueueSettings settings = usual_queue_settings("orders");
    settings.source.max_messages = 4;
    window_ = must(hall_.declare(settings, {clock_.now(), "test", "declare", "queue/orders", "{}"}))
                  .window;
  }

  void TearDown() override { pool_.close(); }  // whoever was answered, a thread may still be at it

  /// The turn that answered is over, too.
  void quiet() {
    while (pool_.idle() < 2) std::this_thread::yield();
  }
  static std::vector<Publication> messages(const std::string& id, std::size_t count = 1) {
    std::vector<Publication> all(count);
    for (Publication& each : all) {
      each.message = std::make_shared<const Message>(Message{.id = id, .payload = "x"});
    }
    return all;
  }
  using Sent = std::future<Result<std::vector<PublishAnswer>>>;
  Sent send(std::vector<Publication> all) {
    auto promise = std::make_shared<std::promise<Result<std::vector<PublishAnswer>>>>();
    window_->send(std::move(all), round_,
                  [promise](const auto& sent) { promise->set_value(sent); });
    return promise->get_future();
  }
  using Settled = std::future<Result<std::vector<PullAnswer>>>;
  Settled settle(const LeaseToken& lease, PullEnding ending) {
    auto promise = std::make_shared<std::promise<Result<std::vector<PullAnswer>>>>();
    std::vector<PullSettlement> one;
    one.push_back({lease, std::move(ending)});
    window_->settle(std::move(one), round_, [promise](auto done) { promise->set_value(done); });
    return promise->get_future();
  }
  std::vector<PullDesk::Handed> receive(std::size_t limit) {
    const auto promise = std::make_shared<std::promise<std::vector<PullDesk::Handed>>>();
    auto handed = promise->get_future();
    const auto exchange = std::make_shared<Round>();
    window_->receive({.limit = limit}, exchange, [promise](const QueueWindow::Handed& all) {
      promise->set_value(all);
      return HttpResponse{};
    });
    exchange->over();
    auto all = handed.get();
    quiet();
    return all;
  }
  std::uint64_t syncs() { return queues_->journal_stats().syncs; }

  testing::TemporaryDirectory place_;
  ManualClock clock_{testing::noon};
  MemoryOffice office_;
  WorkerPool pool_{2, 100};
  std::unique_ptr<EmbeddedQueues> queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
  QueueHall hall_{{*queues_, office_, clock_, pool_, {"node", "build"}}};
  std::shared_ptr<QueueWindow> window_;
  Round round_;
};

TEST_F(QueueTurnTest, WhatIsSentAndWhatIsDoneShareOneSync) {
  auto first = send(messages("a", 2));
  round_.over();
  must(first.get());
  quiet();
  const auto handed = receive(2);
  ASSERT_EQ(handed.size(), 2U);
  const auto before = syncs();
  auto sent = send(messages("b"));
  auto done = settle(handed[0].lease, PullCompleted{});
  auto back = settle(handed[1].lease, PullReleased{});
  auto lost = settle(LeaseToken{{1, 1}}, PullCompleted{});
  EXPECT_EQ(round_.asked(), 1U) << "one thread is asked for, once";
  round_.over();
  EXPECT_EQ(must(sent.get()).size(), 1U);
  EXPECT_EQ(must(done.get()).front().fate, PullAnswer::Fate::completed);
  EXPECT_EQ(must(back.get()).front().fate, PullAnswer::Fate::released);
  EXPECT_EQ(must(lost.get()).front().fate, PullAnswer::Fate::lease_lost);
  EXPECT_EQ(syncs(), before + 1);
}

TEST_F(QueueTurnTest, WhatMayHaveToWaitForTheOfficeHoldsUpNobodyWhoSends) {
  auto first = send(messages("a"));
  round_.over();
  must(first.get());
  quiet();
  const auto handed = receive(1);
  ASSERT_EQ(handed.size(), 1U);
  auto sent = send(messages("b"));
  auto dead = settle(handed[0].lease, PullCondemned{"Bad", "it is"});
  EXPECT_EQ(round_.asked(), 2U) << "a thread each";
  round_.over();
  must(sent.get());
  EXPECT_EQ(must(dead.get()).front().fate, PullAnswer::Fate::dead);
}

TEST_F(QueueTurnTest, OneThatDoesNotFitTakesNobodyDownWhoCameBesideIt) {
  auto first = send(messages("a"));
  round_.over();
  must(first.get());
  quiet();
  const auto handed = receive(1);
  ASSERT_EQ(handed.size(), 1U);
  auto fits = send(messages("b", 2));
  auto does_not = send(messages("c", 3));
  auto done = settle(handed[0].lease, PullCompleted{});
  round_.over();
  EXPECT_EQ(must(fits.get()).size(), 2U);
  EXPECT_EQ(does_not.get().error().code, Code::full);
  EXPECT_EQ(must(done.get()).front().fate, PullAnswer::Fate::completed);
}

}  // namespace
}  // namespace dlo::api
