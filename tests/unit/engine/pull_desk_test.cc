#include "dlo/engine/pull_desk.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "support/must.h"

#include "dlo/broker/memory/memory_broker.h"
#include "dlo/engine/office_source.h"
#include "dlo/store/memory/memory_office.h"
#include "dlo/store/passing_office.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::must;
using testing::noon;
using Fate = PullAnswer::Fate;

std::shared_ptr<const RuleBook> rules_of(const std::string& profile) {
  return std::make_shared<const RuleBook>(must(RuleBook::build(must(find_profile(profile)))));
}

/// An office that answers no writes while it is down.
class FailingOffice final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;
  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (down) return Error{Code::unavailable, "test", "the office is down"};
    return inner().apply(changes);
  }
  bool down = false;
};

class PullDeskTest : public ::testing::Test {
 protected:
  PullDeskTest() {
    SourceOptions options;
    options.source = "orders";
    broker_ = std::make_unique<MemoryBroker>(options);
    use("service-bus");
  }
  void use(const std::string& profile) {
    desk_ = std::make_unique<PullDesk>(
        PullDesk::Parts{*broker_, office_, rules_of(profile), clock_, {"node", "build"}});
  }
  void send(const std::string& id, std::optional<TimePoint> expires = {}) {
    auto message = std::make_shared<Message>();
    message->id = id;
    message->payload = "x";
    message->expires_at = expires;
    Publication publication;
    publication.message = std::move(message);
    must(broker_->publish({&publication, 1}, clock_.instant()));
  }
  std::vector<PullDesk::Handed> receive(std::size_t limit = 10) {
    return must(desk_->receive(limit, 30s));
  }
  PullAnswer settle(const LeaseToken& lease, PullEnding ending) {
    std::vector<PullSettlement> one;
    one.push_back({lease, std::move(ending)});
    return must(desk_->settle(std::move(one))).front();
  }
  static PullFailed failed(const std::string& text) {
    PullFailed failed;
    failed.failure.text = text;
    return failed;
  }
  SourceStats stats() { return must(broker_->stats(clock_.instant())); }

  ManualClock clock_{noon};
  MemoryOffice kept_;
  FailingOffice office_{kept_};
  std::unique_ptr<MemoryBroker> broker_;
  std::unique_ptr<PullDesk> desk_;
};

TEST_F(PullDeskTest, AClockThatIsSetForwardTakesNothingFromAWorker) {
  send("done");
  send("dead");
  auto handed = receive();
  ASSERT_EQ(handed.size(), 2U);
  EXPECT_EQ(handed[0].leased_until, noon + 30s);
  clock_.set_forward(1h);
  EXPECT_TRUE(receive().empty());
  desk_->tidy();
  clock_.advance(29s);
  EXPECT_EQ(settle(handed[0].lease, PullCompleted{}).fate, Fate::completed);
  EXPECT_EQ(must(desk_->renew({{handed[1].lease}}, 30s)), std::vector<bool>{true});
  clock_.advance(29s);
  EXPECT_EQ(settle(handed[1].lease, PullCondemned{"Bad", "it is"}).fate, Fate::dead);
}

TEST_F(PullDeskTest, ReceivingIsTheStartAndCompletingTheEnd) {  // R1
  send("1");
  const auto handed = receive();
  ASSERT_EQ(handed.size(), 1U);
  EXPECT_EQ(handed[0].message->id, "1");
  EXPECT_EQ(handed[0].counters.attempt, 1U);
  EXPECT_EQ(desk_->held(), 1U);
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(settle(handed[0].lease, PullCompleted{}).fate, Fate::completed);
  EXPECT_EQ(stats().completed, 1U);
  EXPECT_EQ(desk_->held(), 0U);
}

TEST_F(PullDeskTest, TheProfileDecidesAboutAFailure) {
  send("1");
  auto handed = receive();
  const auto again = settle(handed[0].lease, failed("network down"));
  EXPECT_EQ(again.fate, Fate::retried);
  ASSERT_TRUE(again.next_at);
  EXPECT_FALSE(again.record);
  clock_.advance(1h);
  handed = receive();
  EXPECT_EQ(handed[0].counters.attempt, 2U);
  EXPECT_EQ(handed[0].last_error, "network down");
  const auto dead = settle(handed[0].lease, failed("bad request"));
  EXPECT_EQ(dead.fate, Fate::dead);
  EXPECT_EQ(dead.reason, "NonRetryableError");
  const auto record = must(kept_.get(*dead.record));
  EXPECT_EQ(record.attempts.size(), 2U) << "the earlier one came along";
  EXPECT_EQ(record.record.handler, "worker");
  EXPECT_EQ(stats().dead_lettered, 1U);
}

TEST_F(PullDeskTest, AMessageAtItsLimitIsADeadLetterAndTheOthersAreHandedOut) {
  send("1");
  for (int i = 0; i < 2; ++i) {
    const auto handed = receive();
    settle(handed[0].lease, failed("network down"));
    clock_.advance(1h);
  }
  const auto handed = receive();
  EXPECT_EQ(settle(handed[0].lease, failed("network down")).reason, "MaxDeliveryCountExceeded");
  send("gone", clock_.now() + 1s);
  clock_.advance(2s);
  send("2");
  const auto next = receive();
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].message->id, "2");
  EXPECT_EQ(must(kept_.list({})).rows.size(), 2U) << "the expired one is a dead letter";
}

TEST_F(PullDeskTest, NothingIsSettledBeforeItsRecordIsDurable) {  // I1
  send("1");
  const auto handed = receive();
  office_.down = true;
  std::vector<PullSettlement> one;
  one.push_back({handed[0].lease, failed("bad request")});
  const auto refused = desk_->settle(one);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_EQ(stats().leased, 1U) << "it is still in the worker's hands";
  office_.down = false;
  EXPECT_EQ(must(desk_->settle(one)).front().fate, Fate::dead);
}

TEST_F(PullDeskTest, ALeaseIsSettledOnceAndNotAfterItsEnd) {
  send("1");
  const auto handed = receive();
  EXPECT_EQ(settle(handed[0].lease, PullReleased{}).fate, Fate::released);
  EXPECT_EQ(settle(handed[0].lease, PullCompleted{}).fate, Fate::lease_lost);
  const auto again = receive();
  EXPECT_EQ(again[0].counters.attempt, 1U) << "releasing costs no attempt";
  clock_.advance(31s);
  const auto other = receive();
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(settle(again[0].lease, PullCompleted{}).fate, Fate::lease_lost);
  EXPECT_EQ(settle(other[0].lease, PullCompleted{}).fate, Fate::completed);
  desk_->tidy();
  EXPECT_EQ(desk_->held(), 0U);
}

TEST_F(PullDeskTest, WhateverIsSaidAfterTheEndOfALeaseTheOfficeHearsNothing) {  // R5
  AbandonOptions forced;
  forced.force_poison = true;
  for (const PullEnding& late :
       {PullEnding{failed("bad request")}, PullEnding{PullCondemned{"Policy", "not today"}},
        PullEnding{forced}}) {
    send("1");
    const auto handed = receive();
    clock_.advance(31s);
    const auto other = receive();
    ASSERT_EQ(other.size(), 1U);
    EXPECT_EQ(settle(handed[0].lease, late).fate, Fate::lease_lost);
    EXPECT_TRUE(must(kept_.list({})).rows.empty()) << "done and dead at once";
    EXPECT_EQ(settle(other[0].lease, PullCompleted{}).fate, Fate::completed);
  }
}

TEST_F(PullDeskTest, ALeaseThatWasTakenAwayLeavesNoRecord) {
  send("1");
  const auto handed = receive();
  clock_.advance(26s);  // not over by our clock, but nearly: the source is asked
  must(broker_->receive({10, 30s, {}}, clock_.now() + 5s));
  EXPECT_EQ(settle(handed[0].lease, failed("bad request")).fate, Fate::lease_lost);
  EXPECT_TRUE(must(kept_.list({})).rows.empty());
}

TEST_F(PullDeskTest, APoisonedMessageIsCalledWhatItIs) {  // S3-11, S3-12
  use("durable");
  send("1");
  AbandonOptions forced;
  forced.force_poison = true;
  const auto dead = settle(receive()[0].lease, forced);
  EXPECT_EQ(dead.abandon_count, 0U);
  const auto record = must(kept_.get(*dead.record)).record;
  EXPECT_EQ(record.category, "poison");
  EXPECT_TRUE(record.description.starts_with("poison: message was")) << record.description;
}

TEST_F(PullDeskTest, ARenewedLeaseLastsLonger) {
  send("1");
  const auto handed = receive();
  clock_.advance(20s);
  EXPECT_EQ(must(desk_->renew(std::vector{handed[0].lease}, 30s)), std::vector<bool>{true});
  clock_.advance(20s);
  desk_->tidy();
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(settle(handed[0].lease, PullCompleted{}).fate, Fate::completed);
  EXPECT_EQ(must(desk_->renew(std::vector{handed[0].lease}, 30s)), std::vector<bool>{false});
}

TEST_F(PullDeskTest, AWorkerCanCondemnAMessage) {  // S0-36
  send("1");
  const auto handed = receive();
  const auto dead =
      settle(handed[0].lease, PullCondemned{"CustomBusinessRule", "violates policy XYZ"});
  EXPECT_EQ(dead.fate, Fate::dead);
  const auto record = must(kept_.get(*dead.record)).record;
  EXPECT_EQ(record.reason, "CustomBusinessRule");
  EXPECT_EQ(record.description, "violates policy XYZ");
}

TEST_F(PullDeskTest,
       AnAbandonedMessageComesBackAfterItsDelayAndIsPoisonedWhenForced) {  // S3-22..26
  use("durable");
  send("1");
  auto handed = receive();
  AbandonOptions later;
  later.increment_count = true;
  later.delay = 10s;
  EXPECT_EQ(settle(handed[0].lease, later).fate, Fate::released);
  EXPECT_TRUE(receive().empty());
  clock_.advance(10s);
  handed = receive();
  ASSERT_EQ(handed.size(), 1U);
  AbandonOptions forced;
  forced.force_poison = true;
  forced.error_message = "cannot be read";
  const auto dead = settle(handed[0].lease, forced);
  EXPECT_EQ(dead.fate, Fate::dead);
  EXPECT_EQ(dead.abandon_count, 1U);
  EXPECT_EQ(must(kept_.get(*dead.record)).record.failure.text, "cannot be read");
}

TEST_F(PullDeskTest, AForcedPoisonWithoutAMessageKeepsTheLastError) {  // I9, S3-24
  use("durable");
  for (const std::optional<std::string>& message :
       {std::optional<std::string>(), std::optional<std::string>("")}) {
    send(message ? "empty" : "none");
    AbandonOptions counted;
    counted.increment_count = true;
    counted.error_message = "the true error";
    EXPECT_EQ(settle(receive()[0].lease, counted).fate, Fate::released);
    AbandonOptions forced;
    forced.force_poison = true;
    forced.error_message = message;
    const auto dead = settle(receive()[0].lease, forced);
    const auto found = must(kept_.get(*dead.record));
    EXPECT_EQ(found.record.failure.text, "the true error");
    EXPECT_TRUE(found.record.description.ends_with(": the true error")) << found.record.description;
    EXPECT_EQ(found.attempts.back().error_text, "the true error");
  }
}

TEST_F(PullDeskTest, ARecordOfAnAbandonedMessageCountsEveryExecutionUnderEveryProfile) {
  AbandonOptions counted;
  counted.increment_count = true;
  AbandonOptions forced;
  forced.force_poison = true;
  for (const Profile& profile : builtin_profiles()) {
    SCOPED_TRACE(profile.name);
    use(profile.name);
    send(profile.name);
    std::optional<RecordId> dead;
    std::uint32_t executions = 0;
    while (!dead) {
      const auto handed = receive();
      if (handed.empty()) break;  // dead before it could run again
      ++executions;
      dead = settle(handed[0].lease, executions < 12 ? counted : forced).record;
    }
    if (!dead) continue;
    const auto found = must(kept_.get(*dead));
    EXPECT_EQ(found.record.counters.total, executions);
    EXPECT_EQ(found.record.counters.attempt, executions);
    EXPECT_EQ(found.record.counters.retry, executions - 1);
    EXPECT_EQ(found.attempts.back().number, executions);
  }
}

TEST_F(PullDeskTest, AnAbandonThatDoesNotCountCostsNothingUnderAnyProfile) {  // S3-30, I8
  for (const Profile& profile : builtin_profiles()) {
    SCOPED_TRACE(profile.name);
    use(profile.name);
    send(profile.name);
    const auto first = receive();
    ASSERT_EQ(first.size(), 1U);
    LeaseToken lease = first[0].lease;
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(settle(lease, AbandonOptions{}).fate, Fate::released);
      const auto again = receive();
      ASSERT_EQ(again.size(), 1U) << "after " << i + 1 << " abandons";
      EXPECT_EQ(again[0].counters, first[0].counters);
      lease = again[0].lease;
    }
    EXPECT_EQ(settle(lease, PullCompleted{}).fate, Fate::completed);
  }
  EXPECT_TRUE(must(kept_.list({})).rows.empty());
}

TEST_F(PullDeskTest, WhatWaitsInTheOfficeIsAbandonedUncountedAtNoCost) {  // S3-30, I8
  OfficeSource waiting(office_, "orders");
  PullDesk office_desk(
      {waiting, office_, rules_of("workflow"), clock_, {"node", "build"}, &waiting});
  use("workflow");
  send("1");
  const auto again = settle(receive()[0].lease, failed("connection reset"));
  clock_.advance_to(*again.next_at);
  for (int i = 0; i < 6; ++i) {
    const auto due = must(office_desk.receive(10, 30s));
    ASSERT_EQ(due.size(), 1U) << "after " << i << " abandons";
    EXPECT_EQ(due[0].counters.attempt, 2U);
    std::vector<PullSettlement> one;
    one.push_back({due[0].lease, AbandonOptions{}});
    EXPECT_EQ(must(office_desk.settle(one)).front().fate, Fate::released);
  }
}

TEST_F(PullDeskTest, TheMarkComesOffOnceTheSourceIsSettled) {  // R3
  send("1");
  const auto handed = receive();
  const auto dead = settle(handed[0].lease, failed("bad request"));
  EXPECT_TRUE(must(kept_.get(*dead.record)).record.source_unsettled);
  desk_->tidy();
  EXPECT_FALSE(must(kept_.get(*dead.record)).record.source_unsettled);
}

TEST_F(PullDeskTest, WhatWaitsInTheOfficeIsHandedOutFromThere) {
  use("workflow");
  OfficeSource waiting(office_, "orders");
  PullDesk office_desk(
      {waiting, office_, rules_of("workflow"), clock_, {"node", "build"}, &waiting});
  send("1");
  const auto handed = receive();
  const auto again = settle(handed[0].lease, failed("connection reset"));
  EXPECT_EQ(again.fate, Fate::retried);
  ASSERT_TRUE(again.record) << "it waits in the office";
  clock_.advance_to(*again.next_at);
  const auto due = must(office_desk.receive(10, 30s));
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].message->id, "1");
  std::vector<PullSettlement> one;
  one.push_back({due[0].lease, PullCompleted{}});
  EXPECT_EQ(must(office_desk.settle(one)).front().fate, Fate::completed);
  EXPECT_EQ(must(kept_.get(*again.record)).record.status, Status::resolved);
}

}  // namespace
}  // namespace dlo
