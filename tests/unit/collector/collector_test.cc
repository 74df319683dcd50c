#include "dlo/collector/collector.h"

#include <gtest/gtest.h>
#include <set>
#include <utility>

#include "support/eventually.h"
#include "support/must.h"
#include "unit/collector/dead_queue.h"
#include "unit/collector/wire.h"
#include "unit/engine/faults.h"

#include "dlo/broker/memory/memory_broker.h"
#include "dlo/core/identity.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::testing {
namespace {

constexpr std::uint64_t morning = 1'772'352'000;

Headers rejected_in(const std::string& queue) {
  return {wire::x_death({wire::death(queue, "rejected", 3, morning)})};
}

class CollectorTest : public ::testing::Test {
 protected:
  Collector& collector() {
    if (collector_ == nullptr) {
      CollectorOptions options;
      options.name = "shop";
      options.queue = "dead";
      options.source = "orders";
      options.batch = 8;
      Collector::Parts parts{
          *broker_,
          *kept_in_,
          clock_,
          {"node", "build"},
          std::make_shared<const RuleBook>(must(RuleBook::build(must(find_profile("booking"))))),
          [this](const CollectorStatus& status) { told_.push_back(status); }};
      collector_ = std::make_unique<Collector>(options, std::move(parts));
    }
    return *collector_;
  }
  /// Another process takes over: it remembers nothing, and the queue hands out again.
  void kill() {
    collector_.reset();
    queue_.cut();
  }
  std::vector<RecordDetail> kept() {
    std::vector<RecordDetail> all;
    for (const RecordHead& head : must(office_.list({})).rows)
      all.push_back(must(office_.get(head.id)));
    return all;
  }
  bool round() { return collector().round(Millis{0}); }
  void close_all() {
    for (const RecordDetail& each : kept()) {
      Transition close;
      close.id = each.record.id;
      close.to = Status::resolved;
      close.now = clock_.now();
      close.resolution = Resolution{clock_.now(), "ann", "manual", ""};
      const Change change = close;
      must(office_.apply({&change, 1}));
    }
  }

  DeadQueue queue_;
  MemoryOffice office_;
  ManualClock clock_{noon};
  Broker* broker_ = &queue_;
  Office* kept_in_ = &office_;
  std::vector<CollectorStatus> told_;
  std::unique_ptr<Collector> collector_;
};

TEST_F(CollectorTest, ADeadMessageBecomesARecordThatTellsWhereItCameFrom) {
  Headers headers = rejected_in("orders.eu");
  headers.push_back({"tenant", "acme", HeaderType::text});
  queue_.put("m1", "{}", headers);
  EXPECT_TRUE(round());
  EXPECT_EQ(queue_.left(), 0U);
  const auto all = kept();
  ASSERT_EQ(all.size(), 1U);
  const DeadLetter& record = all[0].record;
  EXPECT_EQ(record.status, Status::pending);
  EXPECT_EQ(record.message->source, "orders");
  EXPECT_EQ(record.message->payload, "{}");
  EXPECT_EQ(record.profile, "booking");
  EXPECT_EQ(record.failure.type, "Rejected");
  EXPECT_EQ(record.counters.attempt, 3U);
  EXPECT_EQ(record.died_at, noon);
  EXPECT_EQ(record.last_failed_at, TimePoint{std::chrono::seconds{morning}});
  EXPECT_EQ(record.handler, "collector shop");
  EXPECT_EQ(find_header(record.message->headers, "dlo-origin")->value, "orders.eu");
  EXPECT_EQ(find_header(record.message->headers, "tenant")->value, "acme");
  EXPECT_NE(record.metadata.find(R"("from":"dead")"), std::string::npos) << record.metadata;
  EXPECT_NE(record.metadata.find(R"("routing_key":"order.placed")"), std::string::npos);
  EXPECT_EQ(collector().status().collected, 1U);
}

TEST_F(CollectorTest, WhenItWasFirstTriedIsTakenFromWhoeverTellsIt) {  // S1-50
  queue_.put("m1", "{}",
             {{"x-error-message", "Card declined", HeaderType::text},
              {"x-first-attempt", "2026-03-01T07:59:00Z", HeaderType::text},
              {"x-failed-at", "2026-03-01T08:00:00Z", HeaderType::text},
              {"x-retry-count", "3", HeaderType::integer}});
  round();
  const DeadLetter record = kept().at(0).record;
  EXPECT_EQ(record.counters.attempt, 3U);
  EXPECT_EQ(record.last_failed_at, TimePoint{std::chrono::seconds{morning}});
  EXPECT_EQ(record.first_attempt_at, TimePoint{std::chrono::seconds{morning - 60}});
}

TEST_F(CollectorTest, ACrashAfterTheRecordAndBeforeTheAcknowledgementLeavesOneRecord) {
  queue_.loses_settlements = true;
  for (int i = 0; i < 20; ++i) queue_.put("m" + std::to_string(i), "body", rejected_in("q"));
  for (int i = 0; i < 3; ++i) round();
  ASSERT_EQ(kept().size(), 20U);
  kill();
  queue_.loses_settlements = false;
  for (int i = 0; i < 4; ++i) round();
  EXPECT_EQ(queue_.left(), 0U);
  EXPECT_EQ(kept().size(), 20U);
  EXPECT_EQ(collector().status().repeats, 20U);
}

TEST_F(CollectorTest, MessagesWithoutIdsAreRatherDoubledThanLostByACrash) {  // R3
  queue_.loses_settlements = true;
  for (int i = 0; i < 5; ++i) queue_.put("", "same", rejected_in("q"));
  round();
  ASSERT_EQ(kept().size(), 5U) << "each may be meant";
  kill();
  queue_.loses_settlements = false;
  queue_.put("", "same", rejected_in("q"));
  for (int i = 0; i < 3; ++i) round();
  EXPECT_EQ(kept().size(), 11U) << "nobody knows whether they had been acknowledged";
  EXPECT_EQ(queue_.left(), 0U);
}

TEST_F(CollectorTest, IdenticalMessagesWithoutIdsThatComeAgainAreAsManyRecords) {  // R3
  constexpr std::size_t count = 24;                                                // three batches
  for (std::size_t i = 0; i < count; ++i) queue_.put("", "tick", rejected_in("q"));
  ReceiveRequest all;
  all.limit = count;
  must(queue_.receive(all, clock_.instant()));
  queue_.cut();  // somebody had them all in hand
  round();
  EXPECT_EQ(kept().size(), 8U);
  kill();  // eight were acknowledged: those that come now are others
  for (int i = 0; i < 3; ++i) round();
  EXPECT_EQ(queue_.left(), 0U);
  EXPECT_EQ(kept().size(), count);
  EXPECT_EQ(collector().status().repeats, 0U);
}

TEST_F(CollectorTest, WhatComesAgainAfterALostConnectionMeetsItsRecordWithoutAnId) {
  bool cut = true;
  FlakyOffice office(office_, Look([&](std::span<const Change>) -> std::optional<Error> {
                       if (std::exchange(cut, false)) queue_.cut();
                       return std::nullopt;
                     }));
  kept_in_ = &office;
  for (int i = 0; i < 3; ++i) queue_.put("", "same", rejected_in(i == 0 ? "p" : "q"));
  round();  // durable, and then there was nobody to be told
  EXPECT_EQ(queue_.left(), 3U);
  queue_.put("", "same", rejected_in("q"));
  round();
  EXPECT_EQ(queue_.left(), 0U);
  EXPECT_EQ(kept().size(), 4U) << "three came again, one is new";
  EXPECT_EQ(collector().status().repeats, 3U);
}

TEST_F(CollectorTest, ARecordThatAnotherLifeLeftBehindStandsForOneMessage) {  // R3
  auto message = std::make_shared<Message>();
  message->source = "orders";
  message->payload = "same";
  message->headers = rejected_in("q");
  message->headers.push_back({"dlo-origin", "q", HeaderType::text});
  auto record = std::make_shared<DeadLetter>();
  record->id = RecordId{Id128{1, 1}};
  record->message = message;
  record->status = Status::pending;
  record->source_unsettled = true;
  must(office_.apply(std::vector<Change>{Append{record, {}}}));
  for (int i = 0; i < 3; ++i) queue_.put("", "same", rejected_in("q"));
  ReceiveRequest all;
  all.limit = 3;
  must(queue_.receive(all, clock_.instant()));
  queue_.cut();
  round();
  EXPECT_EQ(queue_.left(), 0U);
  EXPECT_EQ(kept().size(), 3U);
  for (const RecordDetail& each : kept()) EXPECT_FALSE(each.record.source_unsettled);
}

TEST_F(CollectorTest, OneMessageThatFailedAtTwoConsumersIsTwoRecords) {
  queue_.put("m1", "body", rejected_in("billing"));
  queue_.put("m1", "body", rejected_in("shipping"));
  round();
  EXPECT_EQ(kept().size(), 2U);
}

TEST_F(CollectorTest, WhatSomebodyClosedIsNotOpenedByADeliveryOfBefore) {
  queue_.loses_settlements = true;
  queue_.put("m1", "body", rejected_in("q"));
  round();
  close_all();
  kill();
  queue_.loses_settlements = false;
  clock_.advance(Millis{1'000});
  round();
  EXPECT_EQ(kept().at(0).record.status, Status::resolved);
  queue_.put("m1", "body", rejected_in("q"));
  round();
  round();
  EXPECT_EQ(kept().at(0).record.status, Status::pending) << "it failed again after that";
  EXPECT_EQ(kept().at(0).record.occurrence, 2U);
}

TEST_F(CollectorTest, WhatWasSentBackAndDiesAgainIsTheSameRecord) {  // GEN-07
  queue_.put("m1", "body", rejected_in("q"));
  round();
  const DeadLetter record = kept().at(0).record;
  std::vector<Change> sent;
  Transition replaying;
  replaying.id = record.id;
  replaying.to = Status::replaying;
  replaying.lease_for = Millis{1'000};
  replaying.now = noon;
  replaying.counters = record.counters;
  ++replaying.counters->replay;
  sent.emplace_back(replaying);
  replaying.to = Status::replayed;
  replaying.lease_for.reset();
  sent.emplace_back(replaying);
  must(office_.apply(sent));
  Headers headers = rejected_in("q");
  stamp_lineage(headers, {record.id, record.occurrence});
  queue_.put("m1", "body", headers);
  clock_.advance(Millis{1'000});
  round();
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0].record.occurrence, 2U);
  EXPECT_EQ(kept()[0].record.status, Status::pending);
}

TEST_F(CollectorTest, AnOfficeThatFailsLeavesEverythingInItsQueue) {  // GEN-02
  bool broken = true;
  FlakyOffice flaky(office_, [&](const char*) -> std::optional<Fault> {
    return broken ? std::optional(Fault{down("office")}) : std::nullopt;
  });
  kept_in_ = &flaky;
  for (int i = 0; i < 3; ++i) queue_.put("m" + std::to_string(i), "body", rejected_in("q"));
  EXPECT_FALSE(round());
  EXPECT_EQ(queue_.left(), 3U);
  EXPECT_EQ(collector().status().state, CollectorState::office_down);
  EXPECT_NE(collector().status().trouble.find("plug it in"), std::string::npos);
  broken = false;
  EXPECT_TRUE(round());
  EXPECT_EQ(queue_.left(), 0U);
  EXPECT_EQ(kept().size(), 3U);
  EXPECT_EQ(collector().status().state, CollectorState::collecting);
  EXPECT_EQ(told_.size(), 2U) << "that it began and that it ended, once each";
}

TEST_F(CollectorTest, ABatchIsWrittenInOneListAndMarksGoWithTheNext) {
  std::vector<std::size_t> lists;
  FlakyOffice watched(office_, Look([&](std::span<const Change> changes) -> std::optional<Error> {
                        lists.push_back(changes.size());
                        return std::nullopt;
                      }));
  kept_in_ = &watched;
  for (int i = 0; i < 16; ++i) queue_.put("m" + std::to_string(i), "body", rejected_in("q"));
  round();
  round();
  round();
  EXPECT_EQ(lists, (std::vector<std::size_t>{9, 17, 8})) << "8 records, their audit entry, 8 marks";
  for (const RecordDetail& each : kept()) EXPECT_FALSE(each.record.source_unsettled);
}

TEST_F(CollectorTest, OneRecordThatIsRefusedDoesNotKeepTheOthersOut) {
  FlakyOffice picky(office_, Look([&](std::span<const Change> changes) -> std::optional<Error> {
                      for (const Change& each : changes) {
                        const auto* append = std::get_if<Append>(&each);
                        if (append != nullptr && append->record->message->id == "m1") {
                          return Error{Code::invalid_argument, "test", "too big for a page"};
                        }
                      }
                      return std::nullopt;
                    }));
  kept_in_ = &picky;
  for (int i = 0; i < 3; ++i) queue_.put("m" + std::to_string(i), "body", rejected_in("q"));
  EXPECT_TRUE(round());
  EXPECT_EQ(kept().size(), 2U);
  EXPECT_EQ(queue_.left(), 1U);
  EXPECT_TRUE(round());
  const CollectorStatus status = collector().status();
  EXPECT_EQ(status.refused, 1U);
  EXPECT_NE(status.trouble.find("too big for a page"), std::string::npos) << "still told";
}

TEST_F(CollectorTest, ABrokerThatIsGoneIsToldOnceAndAskedAgain) {
  queue_.down = down("broker");
  EXPECT_FALSE(round());
  EXPECT_FALSE(round());
  EXPECT_EQ(collector().status().state, CollectorState::broker_down);
  ASSERT_EQ(told_.size(), 1U);
  queue_.down.reset();
  EXPECT_TRUE(round());
  EXPECT_EQ(told_.size(), 2U);
  EXPECT_EQ(collector().status().trouble, "");
}

TEST_F(CollectorTest, HeadersThatAreOursAreNotBelievedWhenOthersWriteThem) {
  queue_.put("m1", "body", {{"dlo-origin", "elsewhere", HeaderType::text}});
  round();
  EXPECT_EQ(find_header(kept().at(0).record.message->headers, "dlo-origin"), nullptr);
}

TEST_F(CollectorTest, SecretsInWhatOthersToldAreNotKeptInTheError) {
  queue_.put("m1", "body", {{"x-exception-message", "no: password=hunter2", HeaderType::text}});
  round();
  EXPECT_EQ(kept().at(0).record.failure.text.find("hunter2"), std::string::npos);
}

TEST_F(CollectorTest, ItWorksByItselfUntilItIsStopped) {
  const SystemClock clock;
  SourceOptions named;
  named.source = "dead";
  MemoryBroker broker(named);
  Collector::Parts parts{
      broker,
      office_,
      clock,
      {},
      std::make_shared<const RuleBook>(must(RuleBook::build(must(find_profile("standard")))))};
  CollectorOptions options;
  options.source = "orders";
  Collector collecting(options, std::move(parts));
  collecting.start();
  Publication publication;
  auto message = std::make_shared<Message>();
  message->id = "m1";
  publication.message = message;
  must(broker.publish({&publication, 1}, clock.instant()));
  EXPECT_TRUE(eventually([&] { return collecting.status().collected == 1; }));
  collecting.stop();
  EXPECT_EQ(collecting.status().state, CollectorState::stopped);
  EXPECT_FALSE(kept().at(0).record.source_unsettled) << "what is known at the end is written";
}

}  // namespace
}  // namespace dlo::testing
