// A queue of another broker, handled here.
#include "dlo/consumer/queue_consumer.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <variant>

#include "plain_queue.h"
#include "support/eventually.h"
#include "support/must.h"

#include "dlo/consumer/counting_broker.h"
#include "dlo/engine/office_behind.h"
#include "dlo/store/memory/memory_office.h"
#include "dlo/store/passing_office.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

/// An office that can be told to fail, and tells a timer.
class Shop final : public PassingOffice {
 public:
  Shop(Office& inner, DueTimer& timer) : PassingOffice(inner), timer_(timer) {}
  std::atomic<bool> down{false};
  std::atomic<bool> takes_no_marks{false};
  std::atomic<int> refused{0};
  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    const bool marks = std::ranges::any_of(
        changes, [](const Change& each) { return std::holds_alternative<SourceSettled>(each); });
    if (down || (marks && takes_no_marks)) {
      ++refused;
      return Error{Code::unavailable, "test.office", "on holiday"};
    }
    auto applied = PassingOffice::apply(changes);
    timer_.hurry();
    return applied;
  }

 private:
  DueTimer& timer_;
};

struct Consumed : ::testing::Test {
  SystemClock clock;
  DueTimer timer{clock};
  MemoryOffice kept;
  Shop office{kept, timer};
  PlainQueue queue;
  std::mutex mutex;
  std::map<std::string, int> ran;
  std::vector<std::string> copied;
  std::optional<Error> refuses;  // the dead-letter queue
  std::optional<Error> refuses_to_open;
  std::vector<std::string> said;
  std::vector<ConsumerState> states;
  bool copies = true;
  bool refuses_all = false;  // whatever comes is malformed
  std::function<void()> while_it_runs = [] {};

  std::unique_ptr<QueueConsumer> consumer;

  void start(const char* profile, bool paused = false) {
    HandlerTable handlers;
    handlers.set_default(
        std::make_shared<FunctionHandler>([this](const Message& message, const RunContext&) {
          const std::lock_guard lock(mutex);
          ++ran[message.id];
          while_it_runs();
          if (message.payload != "bad") return Outcome{};
          Outcome outcome{OutcomeKind::failed, {}};
          outcome.failure.text = "Balance not found";
          return outcome;
        }));
    Profile rules = must(find_profile(profile));
    if (rules.retry.kind != PolicyKind::immediate) rules.retry.base = 10ms;
    QueueConsumer::Parts parts{
        [this]() -> Result<std::unique_ptr<Broker>> {
          const std::lock_guard lock(mutex);
          if (refuses_to_open) return *refuses_to_open;
          return std::unique_ptr<Broker>(
              std::make_unique<CountingBroker>(queue.connect(), office, "payments"));
        },
        office,
        timer,
        clock,
        std::move(handlers),
        validators(),
        std::make_shared<const RuleBook>(must(RuleBook::build(std::move(rules)))),
        {},
        {"payments"},
        [this](const ConsumerStatus& status) {
          const std::lock_guard lock(mutex);
          states.push_back(status.state);
        },
        [this](const std::string& line) {
          const std::lock_guard lock(mutex);
          said.push_back(line);
        }};
    if (copies) {
      parts.copies = [this](std::span<const MessagePtr> all) {
        const std::lock_guard lock(mutex);
        std::vector<std::optional<Error>> outcomes(all.size(), refuses);
        for (const MessagePtr& each : all) {
          if (!refuses) copied.push_back(each->id);
        }
        return Result<std::vector<std::optional<Error>>>(outcomes);
      };
    }
    ConsumerOptions options;
    options.source = "payments";
    options.at_once = 2;
    options.grace = 300ms;
    options.seed = 7;
    consumer = std::make_unique<QueueConsumer>(options, std::move(parts));
    must(consumer->start(paused));
  }
  struct Nothing final : Validator {
    [[nodiscard]] Stage stage() const noexcept override { return Stage::decode; }
    [[nodiscard]] std::optional<Failure> check(const Message& /*message*/) const override {
      Failure failure;
      failure.text = "no data";
      return failure;
    }
  };
  Validators validators() const {
    if (!refuses_all) return {};
    return {std::make_shared<Nothing>()};
  }
  bool soon(const std::function<bool()>& condition) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return condition();
    });
  }
  std::size_t records(std::vector<Status> statuses = {}) {
    Query query;
    query.statuses = std::move(statuses);
    return must(kept.list(query)).rows.size();
  }
  std::size_t owed() {
    return must(kept.extras().ledger->documents("copy_owed/payments", "", 100)).size();
  }
};

TEST_F(Consumed, DiesAtItsSourceAfterThreeRunsAndIsCopiedBeforeItIsSettled) {  // S1-15, S1-20
  queue.put("m-1", "bad");
  queue.put("m-2", "good");
  start("booking");
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  consumer->stop();
  EXPECT_EQ(ran["m-1"], 3);
  EXPECT_EQ(queue.requeued(), 2U);
  EXPECT_EQ(copied, std::vector<std::string>{"m-1"});
  EXPECT_EQ(records(), 1U);
  EXPECT_EQ(consumer->status().dead, 1U);
  EXPECT_EQ(consumer->status().succeeded, 1U);
}

TEST_F(Consumed, AFullDeadLetterQueueKeepsTheOriginalAndIsSaidOnce) {  // RMQ-08
  refuses = Error{Code::full, "test", "there is no room"};
  queue.put("m-1", "bad");
  start("booking");
  ASSERT_TRUE(soon([&] { return consumer->status().state == ConsumerState::copies_refused; }));
  EXPECT_EQ(consumer->status().trouble, "there is no room");
  EXPECT_EQ(records(), 1U);
  EXPECT_EQ(queue.left(), 1U);
  {
    const std::lock_guard lock(mutex);
    refuses.reset();
  }
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  ASSERT_TRUE(eventually([&] { return consumer->status().state == ConsumerState::working; }));
  consumer->stop();
  EXPECT_EQ(copied, std::vector<std::string>{"m-1"});
  EXPECT_EQ(std::ranges::count(states, ConsumerState::copies_refused), 1);
}

TEST_F(Consumed, WhatWaitsLeavesItsQueueAndDiesFromTheOffice) {
  queue.put("m-1", "bad");
  start("booking+safe");
  ASSERT_TRUE(soon([&] { return copied.size() == 1; }));
  ASSERT_TRUE(eventually([&] { return owed() == 0; }));
  consumer->stop();
  EXPECT_EQ(ran["m-1"], 3);
  EXPECT_EQ(queue.requeued(), 0U) << "nothing is sent back to make it wait";
  EXPECT_EQ(records(), 1U);
}

TEST_F(Consumed, ARunThatWasCutOffIsCountedWhileTheNextOneRuns) {  // R1
  auto message = std::make_shared<Message>();
  message->id = "m-1";
  message->source = "payments";
  auto record = std::make_shared<DeadLetter>();
  record->id = RecordId{Id128{1, 1}};
  record->message = message;
  record->status = Status::waiting;
  record->next_retry_at = clock.now();
  record->counters = with_start(with_start({}));
  record->counters.failure = 1;  // the second one was never heard of again
  Attempt first;
  first.number = 1;
  must(kept.apply(std::vector<Change>{Append{record, {first}}}));
  RecordDetail meanwhile;
  while_it_runs = [&] { meanwhile = must(kept.get(record->id)); };
  start("booking+safe");
  ASSERT_TRUE(soon([&] { return ran["m-1"] == 1; }));
  consumer->stop();
  EXPECT_EQ(meanwhile.record.counters.attempt, 3U);
  EXPECT_EQ(meanwhile.record.counters.failure, 2U);
  EXPECT_EQ(meanwhile.attempts.size(), 2U);
}

TEST_F(Consumed, ACopyThatIsOwedIsSentByTheNextServer) {  // its source cannot repeat it
  refuses = Error{Code::unavailable, "test", "down"};
  queue.put("m-1", "bad");
  start("booking+safe");
  ASSERT_TRUE(eventually([&] { return owed() == 1; }));
  consumer->stop();
  EXPECT_EQ(queue.left(), 0U);
  EXPECT_EQ(owed(), 1U);
  refuses.reset();
  start("booking+safe");
  ASSERT_TRUE(eventually([&] { return owed() == 0; }));
  consumer->stop();
  EXPECT_EQ(copied, std::vector<std::string>{"m-1"});
  EXPECT_EQ(ran["m-1"], 3);
}

TEST_F(Consumed, WhileTheOfficeIsDownNothingIsSettledAndIntakeStops) {  // GEN-02, R20
  office.down = true;
  queue.put("m-1", "bad");
  start("booking+safe");
  ASSERT_TRUE(eventually([&] { return consumer->status().state == ConsumerState::office_down; }));
  EXPECT_EQ(consumer->status().trouble, "on holiday");
  EXPECT_EQ(queue.left(), 1U);
  office.down = false;
  ASSERT_TRUE(eventually([&] { return records() == 1; }));
  consumer->stop();
  EXPECT_EQ(queue.left(), 0U);
}

TEST_F(Consumed, WhileTheOfficeIsDownNothingMoreIsTakenToBeTriedAtOnce) {  // R20
  start("booking");
  ASSERT_TRUE(eventually([&] { return consumer->status().state == ConsumerState::working; }));
  office.down = true;
  constexpr int many = 3000;
  for (int i = 0; i < many; ++i) queue.put("m-" + std::to_string(i), "bad");
  ASSERT_TRUE(eventually([&] { return consumer->status().state == ConsumerState::office_down; }));
  EXPECT_EQ(consumer->status().trouble, "on holiday");
  EXPECT_EQ(queue.left(), std::size_t{many});
  // By the sixth refusal it would have had time to take everything.
  ASSERT_TRUE(eventually([&] { return office.refused >= 6; }));
  EXPECT_LT(consumer->status().received, std::uint64_t{many});
  office.down = false;
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  consumer->stop();
  EXPECT_EQ(consumer->status().dead, std::uint64_t{many});
  EXPECT_EQ(std::ranges::count(states, ConsumerState::office_down), 1) << "said once";
  EXPECT_EQ(std::ranges::count(states, ConsumerState::broker_down), 0);
}

TEST_F(Consumed, ASourceThatCouldNotBeOpenedIsOpenedByAndBy) {
  refuses_to_open = Error{Code::unavailable, std::string(office_behind_source), "on holiday"};
  queue.put("m-1", "good");
  start("booking");
  ASSERT_TRUE(soon([&] { return consumer->status().state == ConsumerState::office_down; }));
  EXPECT_EQ(consumer->status().trouble, "on holiday");
  {
    const std::lock_guard lock(mutex);
    refuses_to_open->where = "test.queue";
  }
  ASSERT_TRUE(soon([&] { return consumer->status().state == ConsumerState::broker_down; }));
  {
    const std::lock_guard lock(mutex);
    refuses_to_open.reset();
  }
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  consumer->stop();
  EXPECT_EQ(consumer->status().state, ConsumerState::stopped);
}

TEST_F(Consumed, AMessageThatIsHandedOutAgainIsOneRecord) {  // S1-56
  refuses = Error{Code::unavailable, "test", "down"};
  queue.put("m-1", "bad");
  start("booking");
  ASSERT_TRUE(eventually([&] { return records() == 1; }));
  consumer->stop();
  EXPECT_EQ(queue.left(), 1U) << "its copy was not confirmed";
  refuses.reset();
  start("booking");
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  consumer->stop();
  EXPECT_EQ(records(), 1U);
  EXPECT_EQ(ran["m-1"], 3) << "it is not run again";
  EXPECT_EQ(copied, std::vector<std::string>{"m-1"});
}

TEST_F(Consumed, IdenticalMessagesWithoutIdsThatComeAgainAreAsManyRecords) {  // R3
  for (int i = 0; i < 12; ++i) queue.put("", "bad");
  queue.hand_out_and_cut();
  start("booking+safe");
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  ASSERT_TRUE(eventually([&] { return records({Status::waiting}) == 0; }));
  consumer->stop();
  EXPECT_EQ(records(), 12U);
  EXPECT_EQ(ran[""], 36);
  EXPECT_EQ(consumer->status().repeated, 0U);
}

TEST_F(Consumed, WhatDiedWithoutAnIdMeetsItsRecordAsLongAsNobodyAcknowledgedIt) {  // R3
  refuses_all = true;
  refuses = Error{Code::unavailable, "test", "down"};
  for (int i = 0; i < 5; ++i) queue.put("", "bad");
  start("booking+safe");
  ASSERT_TRUE(eventually([&] { return records() == 5; }));
  consumer->stop();
  EXPECT_EQ(queue.left(), 5U) << "their copies were not confirmed";
  start("booking+safe");
  queue.put("", "bad");
  ASSERT_TRUE(eventually([&] { return records() == 6; })) << "five came again, one is new";
  {
    const std::lock_guard lock(mutex);
    refuses.reset();
  }
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  consumer->stop();
  EXPECT_EQ(records(), 6U);
  EXPECT_EQ(copied.size(), 6U);
}

TEST_F(Consumed, ARecordIsUsedUpBeforeItsMessageIsAcknowledged) {  // or a kill in between loses one
  refuses_all = true;
  office.takes_no_marks = true;
  queue.put("", "bad");
  start("booking+safe");
  ASSERT_TRUE(eventually([&] { return office.refused > 0; }));
  consumer->stop();
  EXPECT_EQ(copied.size(), 1U);
  EXPECT_EQ(queue.left(), 1U);
  office.takes_no_marks = false;
  queue.put("", "bad");
  queue.hand_out_and_cut();
  start("booking+safe");
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  consumer->stop();
  EXPECT_EQ(records(), 2U) << "it stands for one of them, whichever";
}

TEST_F(Consumed, APausedOneHoldsNothingAndGoesOn) {
  start("booking", true);
  queue.put("m-1", "good");
  ASSERT_TRUE(eventually([&] { return consumer->status().state == ConsumerState::paused; }));
  EXPECT_EQ(queue.left(), 1U);
  consumer->pause(false);
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  consumer->pause(true);
  ASSERT_TRUE(eventually([&] { return consumer->status().state == ConsumerState::paused; }));
  EXPECT_EQ(consumer->status().succeeded, 1U) << "what was done stays counted";
  consumer->stop();
  EXPECT_EQ(consumer->status().state, ConsumerState::stopped);
}

TEST_F(Consumed, ABrokerThatIsGoneIsSaidOnceAndOnceMoreWhenItIsBack) {
  start("booking");
  ASSERT_TRUE(eventually([&] { return consumer->status().state == ConsumerState::working; }));
  queue.down = true;
  ASSERT_TRUE(eventually([&] { return consumer->status().state == ConsumerState::broker_down; }));
  EXPECT_EQ(consumer->status().trouble, "nobody answers");
  queue.put("m-1");
  queue.down = false;
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  ASSERT_TRUE(eventually([&] { return consumer->status().state == ConsumerState::working; }));
  consumer->stop();
  EXPECT_EQ(states, (std::vector<ConsumerState>{ConsumerState::working, ConsumerState::broker_down,
                                                ConsumerState::working, ConsumerState::stopped}));
}

TEST_F(Consumed, AnEventThatIsMalformedIsSaidToBeAndRunsNever) {  // S1-16
  for (const char* profile : {"booking", "booking+safe"}) {
    said.clear();
    refuses_all = true;
    queue.put(profile);
    start(profile);
    ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
    consumer->stop();
    ASSERT_FALSE(said.empty());
    EXPECT_TRUE(said[0].starts_with("warning: Invalid event format - not requeuing")) << said[0];
  }
  EXPECT_TRUE(ran.empty());
  EXPECT_EQ(records(), 1U) << "the safe one keeps it";
}

TEST_F(Consumed, TheLogTellsTheStoryOfTheDocument) {  // S1-19, S1-20, S1-21, S1-24
  queue.put("m-1", "bad");
  start("booking");
  ASSERT_TRUE(eventually([&] { return queue.left() == 0; }));
  consumer->stop();
  ASSERT_EQ(said.size(), 8U);
  EXPECT_EQ(said[0], "error: message m-1 failed: Balance not found");
  EXPECT_EQ(said[1], "warning: Requeuing message. Attempt 1/3");
  EXPECT_EQ(said[3], "warning: Requeuing message. Attempt 2/3");
  EXPECT_EQ(said[5], "error: Message failed after 3 attempts. Moving to DLQ.");
  EXPECT_TRUE(said[6].starts_with("info: Dead letter message created with Id: ")) << said[6];
  EXPECT_TRUE(said[7].starts_with("error: Message moved to DLQ. DLQId: ")) << said[7];
  EXPECT_TRUE(said[7].ends_with(", SourceQueue: payments, Error: Balance not found")) << said[7];
}

TEST_F(Consumed, WhatWaitsInTheOfficeIsNotSaidToBeRequeued) {
  queue.put("m-1", "bad");
  start("booking+safe");
  ASSERT_TRUE(soon([&] { return copied.size() == 1; }));
  consumer->stop();
  EXPECT_EQ(std::ranges::count(said, "warning: Message waits in the office. Attempt 1/3"), 1);
  EXPECT_EQ(std::ranges::count(said, "warning: Message waits in the office. Attempt 2/3"), 1);
  for (const std::string& line : said) EXPECT_EQ(line.find("Requeuing"), std::string::npos) << line;
}

}  // namespace
}  // namespace dlo::testing
