// Messages that workers abandon: what is counted, what is remembered, and when it is enough.
#include "unit/core/always_failing.h"
#include "unit/engine/pull_room.h"

#include "dlo/engine/office_source.h"

namespace dlo::testing {
namespace {

class PullAbandon : public PullDeskTest {
 protected:
  static AbandonOptions counted(std::string error = "") {
    AbandonOptions options;
    options.increment_count = true;
    if (!error.empty()) options.error_message = std::move(error);
    return options;
  }
  static AbandonOptions forced() {
    AbandonOptions options;
    options.force_poison = true;
    return options;
  }

  struct Life {
    std::uint32_t executions = 0;
    RecordDetail record;  // what was left
  };
  /// Sends one and ends every execution of it with `ending_of(number)` until it is dead.
  template <typename EndingOf>
  Life live(const std::string& id, EndingOf ending_of) {
    send(id);
    Life life;
    std::optional<RecordId> dead;
    while (!dead && life.executions < 100) {
      const auto handed = receive();
      if (handed.empty()) break;  // dead before it could run again
      ++life.executions;
      dead = settle(handed[0].lease, ending_of(life.executions)).record;
      clock_.advance(1s);
    }
    if (!dead) {
      Query query;
      query.message_id = id;
      dead = must(kept_.list(query)).rows.at(0).id;
    }
    life.record = must(kept_.get(*dead));
    return life;
  }
  static std::vector<std::uint32_t> numbers(const RecordDetail& record) {
    std::vector<std::uint32_t> numbers;
    for (const Attempt& attempt : record.attempts) numbers.push_back(attempt.number);
    std::ranges::sort(numbers);
    return numbers;
  }
  static std::vector<std::uint32_t> up_to(std::uint32_t last) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t n = 1; n <= last; ++n) numbers.push_back(n);
    return numbers;
  }
};

TEST_F(PullAbandon, APoisonedMessageIsCalledWhatItIs) {  // S3-11, S3-12
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

TEST_F(PullAbandon, AnItemOfARuntimeIsPoisonHoweverItsCountWasUsedUp) {  // S3-12, S3-16
  owner_ = Owner{.instance = "i-1"};
  use("durable");
  const auto failing = live("fails", [](std::uint32_t) { return failed("no"); });
  EXPECT_EQ(failing.record.record.counters.abandon, 5U);
  EXPECT_EQ(failing.record.record.category, "poison");
  use("durable+safe");
  send("is lost");
  for (int i = 0; i < 8; ++i) {
    (void)receive();
    clock_.advance(1h);
  }
  Query query;
  query.message_id = "is lost";
  const auto lost = must(kept_.list(query)).rows;
  ASSERT_EQ(lost.size(), 1U);
  const DeadLetter record = must(kept_.get(lost[0].id)).record;
  EXPECT_GE(record.counters.abandon, 5U);
  EXPECT_EQ(record.counters.abandon,
            poison_count(must(find_profile("durable+safe")), record.counters))
      << "as the runtime tells its owner";
  EXPECT_EQ(record.category, "poison");
}

TEST_F(PullAbandon,
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

TEST_F(PullAbandon, AForcedPoisonWithoutAMessageKeepsTheLastError) {  // I9, S3-24
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

TEST_F(PullAbandon, AnAbandonThatDoesNotCountCostsNothingUnderAnyProfile) {  // S3-30, I8
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

TEST_F(PullAbandon, WhatWaitsInTheOfficeIsAbandonedUncountedAtNoCost) {  // S3-30, I8
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

TEST_F(PullAbandon, EveryExecutionIsCountedAndHasItsRowUnderEveryProfile) {
  for (const Profile& profile : builtin_profiles()) {
    SCOPED_TRACE(profile.name);
    use(profile.name);
    const Life life =
        live(profile.name, [](std::uint32_t n) { return counted("error " + std::to_string(n)); });
    const auto failing = live_failing(book_of(profile.name), failure_saying("connection reset"));
    EXPECT_EQ(life.executions, failing->executions) << "as one that fails (CONTRACT 3.3)";
    const DeadLetter& record = life.record.record;
    EXPECT_EQ(record.counters.total, life.executions);
    EXPECT_EQ(record.counters.attempt, life.executions);
    EXPECT_EQ(record.counters.retry, life.executions - 1);
    EXPECT_EQ(record.counters.abandon, life.executions);
    EXPECT_EQ(record.failure.text, "error " + std::to_string(life.executions)) << "I9";
    ASSERT_EQ(numbers(life.record), up_to(life.executions));
    for (const Attempt& attempt : life.record.attempts) {
      EXPECT_EQ(attempt.error_text, "error " + std::to_string(attempt.number));
      EXPECT_EQ(attempt.outcome, OutcomeKind::failed);
      EXPECT_EQ(attempt.node, "node");
    }
    EXPECT_EQ(record.first_failed_at,
              life.record.attempts.back().started_at + life.record.attempts.back().took);
  }
}

TEST_F(PullAbandon, TheRowsAreCappedAsThoseOfFailuresAre) {
  use("durable");
  AbandonOptions patient = counted("no");
  patient.max_abandon_count = 40;
  const Life life = live("1", [&](std::uint32_t) { return patient; });
  EXPECT_EQ(life.executions, 40U);
  EXPECT_EQ(life.record.attempts.size(), 21U) << "twenty that it carried, and the last";
  EXPECT_EQ(life.record.attempts.back().number, 1U);
}

TEST_F(PullAbandon, SecretsInAReasonAreHiddenInEveryRow) {  // R26
  use("durable");
  const Life life = live("1", [](std::uint32_t) { return counted("password=hunter2 refused"); });
  for (const Attempt& attempt : life.record.attempts) {
    EXPECT_EQ(attempt.error_text, "password=*** refused");
  }
}

/// An abandon that is no execution leaves no row, whatever kills it; see is_execution.
TEST_F(PullAbandon, CountsAndRowsAgreeHoweverItIsPoisoned) {
  struct Row {
    const char* name;
    AbandonOptions last;  // the third
    std::uint32_t abandons;
    std::uint32_t executions;
  };
  AbandonOptions uncounted;
  uncounted.max_abandon_count = 2;
  AbandonOptions at_once;
  at_once.max_abandon_count = 0;
  AbandonOptions counted_and_forced = counted("third");
  counted_and_forced.force_poison = true;
  AbandonOptions of_the_call = counted("third");
  of_the_call.max_abandon_count = 3;
  for (const Profile& profile : builtin_profiles()) {
    for (const Row& row : std::vector<Row>{{"uncounted, its limit reached before", uncounted, 2, 2},
                                           {"uncounted, a limit of none", at_once, 2, 2},
                                           {"forced, not counted", forced(), 2, 3},
                                           {"forced and counted", counted_and_forced, 3, 3},
                                           {"a limit of the call", of_the_call, 3, 3}}) {
      SCOPED_TRACE(profile.name + ": " + row.name);
      use(profile.name);
      AbandonOptions patient = counted("earlier");
      patient.max_abandon_count = 9;
      const Life life = live(profile.name + row.name,
                             [&](std::uint32_t n) { return n < 3 ? patient : row.last; });
      const DeadLetter& record = life.record.record;
      EXPECT_EQ(record.counters.abandon, row.abandons);
      EXPECT_EQ(record.counters.total, row.executions);
      EXPECT_EQ(record.counters.attempt, row.executions);
      EXPECT_EQ(numbers(life.record), up_to(row.executions));
      EXPECT_EQ(record.failure.text, row.last.error_message.value_or("earlier")) << "I9";
    }
  }
}

TEST_F(PullAbandon, AnAbandonWithoutAReasonHidesNoEarlierOne) {  // I9
  use("durable-fetch");
  const Life life = live("1", [](std::uint32_t n) -> PullEnding {
    if (n > 1) return counted();
    PullFailed first = failed("the true error");
    first.failure.type = "TimeoutException";
    return first;
  });
  EXPECT_EQ(life.executions, 10U);
  EXPECT_EQ(life.record.record.failure.text, "the true error");
  EXPECT_EQ(life.record.record.failure.type, "TimeoutException");
  EXPECT_EQ(life.record.record.category, "application");
  EXPECT_EQ(numbers(life.record), up_to(10));
}

TEST_F(PullAbandon, AnAbandonAfterACrashTellsOfBoth) {
  use("standard");
  send("1");
  ASSERT_EQ(receive().size(), 1U);
  clock_.advance(31s);  // never heard of again
  settle(receive()[0].lease, counted("busy"));
  const auto dead = settle(receive()[0].lease, forced());
  const auto found = must(kept_.get(*dead.record));
  ASSERT_EQ(numbers(found), up_to(3));
  EXPECT_EQ(found.attempts[2].outcome, OutcomeKind::crashed);
  EXPECT_EQ(found.attempts[1].error_text, "busy");
}

TEST_F(PullAbandon, WhatWaitsInTheOfficeKeepsACountedAbandonAsARow) {
  OfficeSource waiting(office_, "orders");
  PullDesk office_desk(
      {waiting, office_, rules_of("workflow"), clock_, {"node", "build"}, &waiting});
  use("workflow");
  send("1");
  const auto again = settle(receive()[0].lease, failed("connection reset"));
  clock_.advance_to(*again.next_at);
  for (std::uint32_t execution = 2; execution <= 4; ++execution) {
    const auto due = must(office_desk.receive(10, 30s));
    ASSERT_EQ(due.size(), 1U) << execution;
    EXPECT_EQ(due[0].counters.attempt, execution);
    std::vector<PullSettlement> one;
    one.push_back({due[0].lease, counted("abandon " + std::to_string(execution))});
    EXPECT_EQ(must(office_desk.settle(one)).front().fate,
              execution < 4 ? Fate::released : Fate::dead);
    const auto found = must(kept_.get(*again.record));
    EXPECT_EQ(numbers(found), up_to(execution)) << "and none that was cut off";
    EXPECT_EQ(found.attempts.front().error_text, "abandon " + std::to_string(execution));
    EXPECT_EQ(found.record.failure.text, "abandon " + std::to_string(execution));
    for (const Attempt& attempt : found.attempts) {
      EXPECT_EQ(attempt.outcome, OutcomeKind::failed);
    }
  }
}

}  // namespace
}  // namespace dlo::testing
