// The library's calls for those who hold a message themselves.

#include "world.h"

#include "dlo/engine/breaker_guard.h"
#include "dlo/store/death_audit.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

struct Calls : ::testing::Test {
  World world;
  MessagePtr message = std::make_shared<Message>(Message{.id = "held", .source = "mine"});

  Calls() {
    Profile profile = must(find_profile("service-bus"));
    profile.rules.insert(profile.rules.begin(), Rule{.name = "not-ours",
                                                     .match = MatchKind::substring,
                                                     .values = {"not ours"},
                                                     .category = "foreign"});
    profile.categories["foreign"] = {.action = Action::reject_to_caller, .reason = "NotOurs"};
    world.rules = rules_of(profile);
    world.on_every([](const Message&, const RunContext&) { return failed("E", "not ours"); });
  }
};

/// As after so many starts and failures.
Counters counted(std::uint32_t times) {
  Counters counters;
  counters.fetch = counters.attempt = counters.total = counters.failure = times;
  return counters;
}

TEST_F(Calls, ARejectedReportIsAnsweredAndNotStored) {
  auto processor = world.processor();
  const Processed answer = must(
      processor->route_failure(message, failed("E", "not ours").failure, RuleBook::started({})));
  EXPECT_EQ(answer.decision.verdict, Verdict(RejectToCaller{"NotOurs"}));
  EXPECT_EQ(answer.record, std::nullopt);
  EXPECT_TRUE(world.records().empty());
}

TEST_F(Calls, WhoDiesByACallIsInTheAuditTrail) {  // R25
  auto processor = world.processor();
  must(processor->route_failure(message, failed("E", "x").failure, counted(10)));
  world.on_every([](const Message&, const RunContext&) { return failed("E", "x"); });
  const auto other = std::make_shared<Message>(Message{.id = "other", .source = "mine"});
  must(world.processor()->process_one(other, counted(9)));
  ASSERT_EQ(world.records().size(), 2U);
  const auto audit = must(world.office.extras().ledger->audit(0, 10));
  ASSERT_EQ(audit.size(), 2U);
  for (const AuditEntry& entry : audit) EXPECT_EQ(entry.act.act, death_act);
}

TEST_F(Calls, ARejectedRunIsAnsweredAndNotStored) {
  auto processor = world.processor();
  const Processed answer = must(processor->process_one(message));
  EXPECT_EQ(answer.decision.verdict, Verdict(RejectToCaller{"NotOurs"}));
  EXPECT_EQ(answer.record, std::nullopt);
  EXPECT_TRUE(world.records().empty());
}

TEST_F(Calls, ARejectedMessageOfASourceHasNobodyToBeToldSoItIsKept) {
  world.publish("m");
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(world.only_record().reason, "NotOurs");
  EXPECT_EQ(world.source_stats().dead_lettered, 1U);
}

TEST_F(Calls, ARejectionIsAnAnswerAndOpensNoCircuit) {
  BreakerPolicy policy;
  policy.consecutive = 1;
  world.on_every([](const Message&, const RunContext&) { return failed("E", "not ours"); },
                 {.breaker = policy});
  auto processor = world.processor();
  for (int i = 0; i < 5; ++i) must(processor->process_one(message));
}

TEST_F(Calls, ADeathThatIsReportedIsRecordedWithItsId) {
  auto processor = world.processor();
  const Processed answer = must(
      processor->route_failure(message, failed("E", "forbidden").failure, RuleBook::started({})));
  ASSERT_TRUE(std::holds_alternative<DeadLetterAs>(answer.decision.verdict));
  ASSERT_TRUE(answer.record);
  const DeadLetter record = must(world.office.get(*answer.record)).record;
  EXPECT_EQ(record.reason, "NonRetryableError");
  EXPECT_FALSE(record.source_unsettled) << "whoever reported it holds the message";
  EXPECT_EQ(record.message->id, "held");
}

TEST_F(Calls, AFailureWorthRetryingIsAnsweredWithTheTimeAndNotStored) {
  auto processor = world.processor();
  const Processed answer = must(processor->route_failure(
      message, failed("E", "network unreachable").failure, RuleBook::started({})));
  EXPECT_TRUE(std::holds_alternative<RetryAt>(answer.decision.verdict));
  EXPECT_EQ(answer.record, std::nullopt);
  EXPECT_TRUE(world.records().empty());
}

TEST_F(Calls, TheSameReportTwiceIsOneRecord) {  // I4
  auto processor = world.processor();
  const auto report = [&] {
    return must(processor->route_failure(message, failed("E", "forbidden").failure,
                                         RuleBook::started({})))
        .record;
  };
  const auto first = report();
  EXPECT_EQ(report(), first);
  EXPECT_EQ(world.records().size(), 1U);
}

TEST_F(Calls, ClassifySaysWhichRuleFired) {
  auto processor = world.processor();
  const Classification found = processor->classify(failed("E", "this is not ours").failure);
  EXPECT_EQ(found.category, "foreign");
  EXPECT_EQ(found.rule, "not-ours");
}

}  // namespace
}  // namespace dlo::testing
