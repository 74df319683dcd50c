// Counts of messages that are given back as they are.
#include "dlo/consumer/counting_broker.h"

#include <gtest/gtest.h>

#include "plain_queue.h"
#include "support/must.h"

#include "dlo/store/memory/memory_office.h"
#include "dlo/store/passing_office.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;
using consumer::RequeuedCounts;

struct Counting : ::testing::Test {
  PlainQueue queue;
  MemoryOffice office;
  std::unique_ptr<CountingBroker> broker = connect();

  std::unique_ptr<CountingBroker> connect() {
    return std::make_unique<CountingBroker>(queue.connect(), office, "payments");
  }
  Delivery take() { return must(broker->receive({1, 1h}, noon)).at(0); }
  void settle(const Delivery& delivery, Ending ending, TimePoint now = noon) {
    const Settlement settlement{delivery.lease, std::move(ending)};
    must(broker->settle({&settlement, 1}, now));
  }
  static Failed failed(const Delivery& delivery, TimePoint now = noon) {
    Failed ending;
    ending.counters = with_start(delivery.counters);
    ++ending.counters.failure;
    ending.again_at = now;
    ending.error = "no";
    ending.trail = std::string("\0trail", 6);
    return ending;
  }
  std::size_t kept() {
    return must(office.extras().ledger->documents("requeued/payments", "", 100)).size();
  }
};

TEST_F(Counting, AFailureIsCountedBeforeItsMessageIsGivenBack) {  // S1-21
  queue.put("m-1");
  const Delivery first = take();
  must(broker->start({&first.lease, 1}, noon));
  settle(first, failed(first));
  EXPECT_EQ(queue.requeued(), 1U);
  const Delivery second = take();
  EXPECT_EQ(second.counters.failure, 1U);
  EXPECT_EQ(second.counters.attempt, 1U);
  EXPECT_EQ(second.counters.fetch, 2U);
  EXPECT_EQ(second.last_error, "no");
  EXPECT_EQ(second.trail, std::string("\0trail", 6));
  EXPECT_EQ(second.first_attempt_at, noon);
}

/// An office that takes nothing.
class Closed final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;
  Result<std::vector<Applied>> apply(std::span<const Change> /*changes*/) override {
    return Error{Code::unavailable, "test.office", "on holiday"};
  }
};

TEST_F(Counting, WhatCannotBeCountedIsNotGivenBack) {  // GEN-02
  queue.put("m-1");
  Closed closed(office);
  CountingBroker counting(queue.connect(), closed, "payments");
  const Delivery first = must(counting.receive({1, 1h}, noon)).at(0);
  const Settlement settlement{first.lease, failed(first)};
  const auto settled = counting.settle({&settlement, 1}, noon);
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().detail, "on holiday");
  EXPECT_EQ(queue.requeued(), 0U);
}

TEST_F(Counting, CountsSurviveTheProcess) {
  queue.put("m-1");
  settle(take(), failed(Delivery{}));
  broker = connect();
  EXPECT_EQ(take().counters.failure, 1U);
}

TEST_F(Counting, EachMessageHasItsOwnCount) {  // RMQ-01, S1-57
  queue.put("m-1");
  const Delivery first = take();
  settle(first, failed(first));
  queue.put("m-2");
  const auto both = must(broker->receive({2, 1h}, noon));
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].counters.failure, 1U);
  EXPECT_EQ(both[1].counters.failure, 0U);
}

TEST_F(Counting, ACrashOfOthersCostsAMessageThatHadNotBegunNothing) {  // RMQ-17
  queue.put("m-1");
  (void)take();
  broker = connect();
  const Delivery again = take();
  EXPECT_TRUE(again.may_be_repeat);
  EXPECT_EQ(again.counters.attempt, 0U);
  EXPECT_EQ(again.counters.failure, 0U);
}

TEST_F(Counting, IsForgottenWhenTheMessageHasEnded) {  // S1-18, S1-20: counter := 0
  for (const Ending& end : {Ending{Completed{}}, Ending{DeadLettered{}}}) {
    queue.put("m-1");
    const Delivery first = take();
    settle(first, failed(first));
    EXPECT_EQ(kept(), 1U);
    settle(take(), end);
    EXPECT_EQ(kept(), 0U);
    EXPECT_EQ(queue.left(), 0U);
  }
}

TEST_F(Counting, WhatHasNoIdIsLeftToItsBroker) {
  queue.put("");
  const Delivery first = take();
  settle(first, failed(first));
  EXPECT_EQ(kept(), 0U);
}

TEST_F(Counting, WhatIsOldIsSweptAway) {
  queue.put("m-1");
  const Delivery first = take();
  settle(first, failed(first));
  EXPECT_EQ(must(broker->sweep(noon + CountingBroker::kept_for - 1ms)), 0U);
  EXPECT_EQ(must(broker->sweep(noon + CountingBroker::kept_for)), 1U);
  EXPECT_EQ(kept(), 0U);
}

TEST(RequeuedCountsText, ReadsBackWhatItWrites) {
  RequeuedCounts counts;
  counts.counters = {.fetch = 3, .attempt = 2, .failure = 2, .retry = 1, .total = 9};
  counts.at = noon;
  counts.first_attempt_at = noon - 1s;
  counts.previous_delay = 7ms;
  counts.error = "a\nb";
  counts.trail = std::string("\0\xff", 2);
  EXPECT_EQ(consumer::parse_requeued(print(counts)), counts);
  counts.first_attempt_at.reset();
  counts.error.clear();
  counts.trail.clear();
  EXPECT_EQ(consumer::parse_requeued(print(counts)), counts);
  for (const char* bad :
       {"", "x", "attempt=1", "attempt=1\n1\n2\n3\n!\n", "attempt=-1\n1\n2\n3\n\n"}) {
    EXPECT_FALSE(consumer::parse_requeued(bad)) << bad;
  }
}

}  // namespace
}  // namespace dlo::testing
