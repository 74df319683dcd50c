// What ran when a process died.
#include "dlo/consumer/start_marks.h"

#include <fstream>
#include <gtest/gtest.h>

#include "plain_queue.h"
#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/consumer/counting_broker.h"
#include "dlo/core/identity.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;
using consumer::StartMarks;

struct Marks : ::testing::Test {
  TemporaryDirectory place;
  PlainQueue queue;
  MemoryOffice office;
  std::unique_ptr<CountingBroker> broker;
  bool shared = false;

  [[nodiscard]] std::string path(const std::string& node = "a") const {
    return place.path() + "/" + node;
  }
  void connect(const std::string& node = "a") {
    broker = std::make_unique<CountingBroker>(
        queue.connect(), office, "payments",
        consumer::Starts{must(StartMarks::open(path(node), noon)), shared});
  }
  /// What it knew is what is in the file, or in the office.
  void die() {
    broker.reset();
    queue.cut();
  }
  Delivery take() { return must(broker->receive({1, 1h}, noon)).at(0); }
  Delivery begin() {
    const Delivery taken = take();
    EXPECT_TRUE(must(broker->start({&taken.lease, 1}, noon)).at(0));
    return taken;
  }
  void settle(const Delivery& delivery, Ending ending) {
    const Settlement settlement{delivery.lease, std::move(ending)};
    must(broker->settle({&settlement, 1}, noon));
  }
};

TEST_F(Marks, AMessageThatRanWhenItsProcessDiedIsInterrupted) {  // R6, R7
  queue.put("m-1");
  connect();
  EXPECT_FALSE(begin().interrupted);
  die();
  connect();
  const Delivery again = begin();
  EXPECT_TRUE(again.interrupted);
  EXPECT_EQ(again.interruptions, 1U);
  EXPECT_EQ(again.counters.attempt, 1U);
  EXPECT_EQ(again.counters.fetch, 2U);
  EXPECT_EQ(again.first_attempt_at, noon);
  die();
  connect();
  const Delivery third = take();
  EXPECT_EQ(third.interruptions, 2U);
  EXPECT_EQ(third.counters.attempt, 2U);
}

TEST_F(Marks, OnlyWhatWasBegunGainsAnAttempt) {  // RMQ-17
  queue.put("m-1");
  queue.put("m-2");
  connect();
  (void)begin();
  (void)take();
  die();
  connect();
  const auto both = must(broker->receive({2, 1h}, noon));
  ASSERT_EQ(both.size(), 2U);
  for (const Delivery& each : both) {
    EXPECT_EQ(each.interrupted, each.message->id == "m-1") << each.message->id;
    EXPECT_EQ(each.counters.attempt, each.message->id == "m-1" ? 1U : 0U) << each.message->id;
  }
}

TEST_F(Marks, WhatHasEndedIsNotInterrupted) {
  connect();
  for (const Ending& end :
       {Ending{Completed{}}, Ending{DeadLettered{}}, Ending{ReleasedUnrun{}}, Ending{Failed{}}}) {
    queue.put("m-1");
    settle(begin(), end);
    die();
    connect();
    if (queue.left() == 0) continue;
    const Delivery again = take();
    EXPECT_FALSE(again.interrupted) << end.index();
    settle(again, Completed{});
  }
}

TEST_F(Marks, WhatIsGivenBackUnrunIsStillASuspect) {
  queue.put("m-1");
  connect();
  (void)begin();
  die();
  connect();
  settle(begin(), ReleasedUnrun{});
  EXPECT_EQ(take().counters.attempt, 1U);
  die();
  connect();
  const Delivery again = take();
  EXPECT_TRUE(again.interrupted);
  EXPECT_EQ(again.counters.attempt, 1U);
}

TEST_F(Marks, ALostConnectionIsNoCrash) {
  queue.put("m-1");
  connect();
  const Delivery first = begin();
  queue.cut();
  EXPECT_FALSE(must(broker->renew({&first.lease, 1}, noon, 1h)).at(0));
  EXPECT_FALSE(take().interrupted);
  die();
  connect();
  EXPECT_FALSE(take().interrupted);
}

TEST_F(Marks, WhoIsStoppedWhileItRunsIsNoCrash) {  // I8
  queue.put("m-1");
  connect();
  (void)begin();
  broker->close();
  die();
  connect();
  EXPECT_FALSE(take().interrupted);
}

TEST_F(Marks, MessagesWithoutAnIdAreKnownByTheirContent) {
  queue.put("", "one");
  queue.put("", "two");
  connect();
  (void)begin();
  die();
  connect();
  for (const Delivery& each : must(broker->receive({2, 1h}, noon))) {
    EXPECT_EQ(each.interrupted, each.message->payload == "one");
  }
}

TEST_F(Marks, AnotherNodeFindsInTheOfficeWhatWasHandedOutBefore) {  // R6: after another node's end
  shared = true;
  queue.put("m-1");
  connect("a");
  (void)begin();  // the first time nothing is written to the office
  die();
  connect("b");
  EXPECT_FALSE(begin().interrupted);
  die();
  connect("c");
  const Delivery third = begin();
  EXPECT_TRUE(third.interrupted);
  EXPECT_EQ(third.counters.attempt, 1U);
  die();
  connect("d");
  const Delivery fourth = begin();
  EXPECT_EQ(fourth.interruptions, 2U);
  settle(fourth, Completed{});
  EXPECT_TRUE(must(office.extras().ledger->documents("requeued/payments", "", 9)).empty());
}

TEST_F(Marks, ANoteInTheOfficeIsTakenBackByAStop) {
  shared = true;
  queue.put("m-1");
  queue.hand_out_and_cut();
  connect("a");
  (void)begin();
  EXPECT_EQ(must(office.extras().ledger->documents("requeued/payments", "", 9)).size(), 1U);
  broker->close();
  EXPECT_TRUE(must(office.extras().ledger->documents("requeued/payments", "", 9)).empty());
}

TEST_F(Marks, AnEndThatIsKnownElsewhereWins) {  // killed between the count and the requeue
  queue.put("m-1");
  connect();
  const Delivery first = begin();
  {
    CountingBroker other(queue.connect(), office, "payments");
    consumer::RequeuedCounts counts;
    counts.counters = with_start(first.counters);
    counts.counters.failure = 1;
    must(office.apply({{PutDocument{"requeued/payments", to_string(identify(*first.message)),
                                    print(counts), std::nullopt}}}));
  }
  die();
  connect();
  const Delivery again = take();
  EXPECT_FALSE(again.interrupted);
  EXPECT_EQ(again.counters.attempt, 1U);
}

TEST_F(Marks, AnotherProcessIsRefused) {
  const auto mine = must(StartMarks::open(path(), noon));
  const auto other = StartMarks::open(path(), noon);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().detail.find("another server has it"), std::string::npos);
}

TEST_F(Marks, AForeignFileIsStartedAnew) {
  std::ofstream(path()) << "something else";
  EXPECT_FALSE(must(StartMarks::open(path(), noon))->any_left());
}

TEST_F(Marks, OldOnesAreForgotten) {
  EXPECT_TRUE(must(StartMarks::open(path(), noon))->put({1, 2}, 1, noon));
  EXPECT_TRUE(must(StartMarks::open(path(), noon + StartMarks::kept_for - 1ms))->any_left());
  EXPECT_FALSE(must(StartMarks::open(path(), noon + StartMarks::kept_for))->any_left());
}

TEST_F(Marks, AFullFileTakesNoMore) {
  const auto marks = must(StartMarks::open(path(), noon));
  std::optional<StartMarks::Place> last;
  for (std::uint64_t i = 0; i < StartMarks::places; ++i) {
    last = marks->put({i, 1}, 1, noon);
    ASSERT_TRUE(last);
  }
  EXPECT_FALSE(marks->put({1, 1}, 1, noon));
  marks->remove(*last);
  EXPECT_TRUE(marks->put({1, 1}, 1, noon));
}

}  // namespace
}  // namespace dlo::testing
