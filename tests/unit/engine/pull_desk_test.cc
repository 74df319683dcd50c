#include "dlo/engine/pull_desk.h"

#include "unit/engine/pull_room.h"

#include "dlo/engine/office_source.h"

namespace dlo::testing {
namespace {

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

TEST_F(PullDeskTest, WhatHasExpiredIsDeadThoughNobodyReceives) {
  send("young");
  for (int i = 0; i < 300; ++i) send("old-" + std::to_string(i), noon + 10s);
  must(broker_->pause());
  desk_->bury_expired();
  EXPECT_EQ(stats().ready, 301U);
  clock_.advance(10s);
  office_.down = true;
  desk_->bury_expired();
  EXPECT_EQ(stats().dead_lettered, 0U);  // nothing leaves before its record is there (I1)
  office_.down = false;
  clock_.advance(30s);
  desk_->bury_expired();
  EXPECT_EQ(stats().dead_lettered, 300U);
  EXPECT_EQ(stats().ready, 1U);
  const auto dead = must(kept_.list({}));
  ASSERT_FALSE(dead.rows.empty());
  EXPECT_EQ(dead.rows.front().reason, "Expired");
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
  EXPECT_EQ(record.category, "rejected");
  send("2");
  const auto known = settle(receive().at(0).lease, PullCondemned{"Refused", "bad request"});
  const auto classified = must(kept_.get(*known.record)).record;
  EXPECT_NE(classified.rule, "") << "a rule knows these words";
  EXPECT_NE(classified.category, "rejected");
}

TEST_F(PullDeskTest, ADeathLetsTheNextOfItsKeyGoOn) {  // on_death: continue, the default (ADR 0029)
  for (const char* id : {"1", "2"}) {
    auto message = std::make_shared<Message>();
    message->id = id;
    message->key = "ann";
    Publication publication;
    publication.message = std::move(message);
    must(broker_->publish({&publication, 1}, clock_.instant()));
  }
  const auto first = receive();
  ASSERT_EQ(first.size(), 1U) << "one of a key at a time";
  EXPECT_EQ(settle(first[0].lease, PullCondemned{"Bad", "it is"}).fate, Fate::dead);
  const auto second = receive();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].message->id, "2");
}

TEST_F(PullDeskTest, ASecretInAWorkersReasonIsHidden) {  // R26
  send("1");
  const auto dead = settle(receive().at(0).lease, PullCondemned{"bad password=hunter2", "no"});
  const auto record = must(kept_.get(*dead.record)).record;
  EXPECT_EQ(record.reason, "bad password=***");
  EXPECT_EQ(record.failure.type, "bad password=***");
}

TEST_F(PullDeskTest, TheMarkComesOffOnceTheSourceIsSettled) {  // R3
  send("1");
  const auto handed = receive();
  const auto dead = settle(handed[0].lease, failed("bad request"));
  EXPECT_TRUE(must(kept_.get(*dead.record)).record.source_unsettled);
  desk_->tidy();
  EXPECT_FALSE(must(kept_.get(*dead.record)).record.source_unsettled);
}

TEST_F(PullDeskTest, AStopGivesBackWhatWorkersHaveAndCountsNothing) {  // I8
  send("1");
  settle(receive()[0].lease, failed("network down"));
  clock_.advance(1h);
  send("2");
  const auto handed = receive();
  ASSERT_EQ(handed.size(), 2U);
  desk_->give_all_back();
  EXPECT_EQ(desk_->held(), 0U);
  EXPECT_EQ(settle(handed[0].lease, PullCompleted{}).fate, Fate::lease_lost);
  const auto again = receive();
  ASSERT_EQ(again.size(), 2U);
  for (const PullDesk::Handed& each : again) {
    const std::uint32_t run = each.message->id == "1" ? 2 : 1;
    EXPECT_EQ(each.counters.attempt, run) << each.message->id;
    EXPECT_EQ(each.counters.fetch, run) << each.message->id;
    EXPECT_EQ(each.counters.failure, run - 1) << each.message->id;
  }
}

TEST_F(PullDeskTest, AStopForgivesNoWorkerThatWasLostBefore) {
  send("1");
  receive();
  clock_.advance(30s);  // its lease is over
  desk_->give_all_back();
  const auto again = receive();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].counters.attempt, 2U);
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
  const auto before_a_stop = must(office_desk.receive(10, 30s));
  ASSERT_EQ(before_a_stop.size(), 1U);
  office_desk.give_all_back();
  const auto due = must(office_desk.receive(10, 30s));
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].counters, before_a_stop[0].counters) << "a stop costs nothing";
  EXPECT_EQ(due[0].message->id, "1");
  std::vector<PullSettlement> one;
  one.push_back({due[0].lease, PullCompleted{}});
  EXPECT_EQ(must(office_desk.settle(one)).front().fate, Fate::completed);
  EXPECT_EQ(must(kept_.get(*again.record)).record.status, Status::resolved);
}

}  // namespace
}  // namespace dlo::testing
