// Tasks that the office retries: reports, statistics, circuits (document 002).

#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "unit/api/asking.h"

namespace dlo::api {
namespace {

using testing::eventually;
using namespace std::chrono_literals;

class RetriesTest : public Asking {
 protected:
  Told report(const std::string& members, const std::string& profile = "workflow") {
    return say("POST", "/v1/dead-letters",
               R"({"source":"workflows","profile":")" + profile + "\"," + members + "}");
  }
  void run_by(FunctionHandler::Function run) {
    if (!options_.retries.executors) {
      options_.retries.executors = std::make_shared<Executors>("llamaindex");
    }
    HandlerOptions guarded;
    guarded.breaker = BreakerPolicy{};
    options_.retries.executors->set("llamaindex", std::make_shared<FunctionHandler>(std::move(run)),
                                    guarded);
  }
  void with_capacity(std::uint64_t records) {
    for (const char* name : {"workflow", "workflow+safe"}) {
      Profile profile = testing::must(find_profile(name));
      profile.capacity.records = records;
      options_.rules.set(profile);
    }
  }
  void with_strategy(Strategy strategy) {
    for (const char* name : {"workflow", "workflow+safe"}) {
      Profile profile = testing::must(find_profile(name));
      profile.strategy = strategy;
      options_.rules.set(profile);
    }
  }
  std::string status_of(const std::string& id) {
    return get("/v1/dead-letters/" + id).at("status");
  }
};

TEST_F(RetriesTest, AReportedTaskIsStoredAndItsNextRetryIsKnown) {  // S2-16, S2-18
  const Told told =
      report(R"("task_id":"wf_abc123","task":{"type":"code_sweep"},"repos":["/path/to/repo"],)"
             R"("error":"Connection timeout","policy":"exponential","max_retries":5,)"
             R"("metadata":{"priority":"high","slos":{"max_delay_minutes":15}})");
  ASSERT_EQ(told.status(), 201) << told;
  EXPECT_EQ(told.at("status"), "failed");
  EXPECT_EQ(told.at("dlq_enqueued"), "true");
  EXPECT_EQ(told.at("dlq_task_id"), "wf_abc123");
  EXPECT_EQ(told.at("stored"), "true");
  EXPECT_EQ(told.at("error"), "Connection timeout") << "the caller's own error, intact";
  EXPECT_EQ(told.at("policy"), "exponential base=1m factor=2 cap=1h");
  EXPECT_EQ(told.at("limit"), "5");
  EXPECT_EQ(told.at("next_retry_at"), "2026-03-01T12:01:00.000Z");
  const Told shown = get("/v1/dead-letters/" + told.at("id"));
  EXPECT_EQ(shown.at("status"), "pending") << "it is a dead letter from the beginning";
  EXPECT_EQ(shown.at("next_retry_at"), "2026-03-01T12:01:00.000Z");
  const Told form = get("/v1/dead-letters/" + told.at("id") + "?form=workflow");
  EXPECT_EQ(form.at("task_id"), "wf_abc123") << form;  // S2-37
  EXPECT_EQ(form.at("task.type"), "code_sweep");
  EXPECT_EQ(form.at("repos.0"), "/path/to/repo");
  EXPECT_EQ(form.at("max_retries"), "5");
  EXPECT_EQ(form.at("retry_policy"), "exponential");
  EXPECT_EQ(form.at("metadata.slos.max_delay_minutes"), "15");  // S2-44
}

TEST_F(RetriesTest, ATaskReportedAgainIsToldWhatIsKept) {  // S2-16, R2-6
  const Told first = report(R"("task_id":"t","error":"timeout","policy":"linear","max_retries":5)");
  ASSERT_EQ(first.status(), 201) << first;
  clock_.advance(1min);
  for (const bool keyed : {false, true}) {
    const Told again =
        say("POST", "/v1/dead-letters",
            R"({"source":"workflows","profile":"workflow","task_id":"t","error":"access denied",)"
            R"("policy":"immediate","max_retries":1})",
            keyed ? Headers{{"Idempotency-Key", "k"}} : Headers{});
    EXPECT_EQ(again.status(), 200) << again;
    EXPECT_EQ(again.at("effect"), "merged");
    EXPECT_EQ(again.at("verdict"), first.at("verdict"));
    EXPECT_EQ(again.at("category"), "network");
    EXPECT_EQ(again.at("policy"), "linear base=5m");
    EXPECT_EQ(again.at("limit"), "5");
    EXPECT_EQ(again.at("next_retry_at"), first.at("next_retry_at"));
    EXPECT_EQ(again.at("error"), "access denied") << "the caller's own";
  }
}

TEST_F(RetriesTest, ATaskWithoutANameGetsOne) {
  const Told told = report(R"("task":{},"error":"busy")");
  EXPECT_TRUE(told.at("dlq_task_id").starts_with("wf_")) << told;
  EXPECT_NE(told.at("dlq_task_id"), report(R"("task":{},"error":"busy")").at("dlq_task_id"));
}

TEST_F(RetriesTest, WhatIsWrongWithARequestIsSaid) {  // S2-11
  const Told policy = report(R"("error":"x","policy":"sometimes")");
  EXPECT_EQ(policy.status(), 400);
  EXPECT_TRUE(policy.says("sometimes") && policy.says("exponential")) << policy;
  EXPECT_TRUE(policy.says("policy cannot be used: unknown retry policy")) << policy;
  EXPECT_EQ(report(R"("error":"x","max_retries":-1)").status(), 400);
  EXPECT_EQ(report(R"("error":"x","task":{},"json":{})").status(), 400);
  EXPECT_EQ(report(R"("error":"x","targets":"all")").status(), 400);
  EXPECT_TRUE(report(R"("error":"x","targets":["a",1])").says("must be a list of strings"));
  EXPECT_EQ(report(R"("error":"x","repos":[null])").status(), 400);
}

TEST_F(RetriesTest, ACategoryThatIsGivenIsNotGuessed) {  // S2-18
  const Told told = report(R"("error":"who knows","category":"resource")");
  EXPECT_EQ(told.at("category"), "resource") << told;
  EXPECT_EQ(told.at("policy"), "linear base=5m");
}

TEST_F(RetriesTest, WhatIsNotTakenInIsToldWithTheCallersError) {  // S2-9, S2-33
  options_.retries.enabled = false;
  const Told told = report(R"("error":"busy")");
  EXPECT_EQ(told.status(), 409);
  EXPECT_EQ(told.at("code"), "dlq_disabled");
  EXPECT_EQ(told.at("error"), "busy");
  EXPECT_EQ(get("/v1/stats").at("open"), "0");
  EXPECT_EQ(get("/v1/retries").at("is_processor_running"), "false");
}

TEST_F(RetriesTest, EachLineOfABatchThatIsNotTakenInKeepsItsError) {  // S2-9
  options_.retries.enabled = false;
  const Told told = ask("POST", "/v1/dead-letters",
                        R"({"source":"w","profile":"workflow","error":"busy"})"
                        "\n{\n"
                        R"({"source":"w","profile":"workflow","error":"denied"})",
                        {{"Content-Type", "application/x-ndjson"}});
  EXPECT_EQ(told.status(), 207);
  EXPECT_TRUE(told.says(R"({"line":1,"status":409,"code":"dlq_disabled")")) << told;
  EXPECT_TRUE(told.says(R"("error":"busy"})")) << told;
  EXPECT_TRUE(told.says(R"({"line":2,"status":400)")) << told;
  EXPECT_TRUE(told.says(R"({"line":3,"status":409,"code":"dlq_disabled")")) << told;
  EXPECT_TRUE(told.says(R"("error":"denied"})")) << told;
  EXPECT_EQ(get("/v1/stats").at("open"), "0");
}

TEST_F(RetriesTest, AServerThatIsTooBusyKeepsTheCallersError) {  // S2-16
  options_.most_waiting = 0;
  for (const Headers& headers : {Headers{}, Headers{{"Idempotency-Key", "k1"}}}) {
    const Told told =
        say("POST", "/v1/dead-letters", R"({"source":"w","error":"Connection timeout"})", headers);
    EXPECT_EQ(told.status(), 503) << told;
    EXPECT_EQ(told.at("error"), "Connection timeout");
  }
}

TEST_F(RetriesTest, AFullOfficeRefusesTheNextAndSaysSo) {  // S2-10, S2-40
  with_capacity(5);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(report(R"("error":"busy")").status(), 201);
  EXPECT_EQ(get("/v1/retries").at("utilization_percent"), "80");
  EXPECT_FALSE(get("/v1/retries").says("nearly_full")) << "at 80 % all is well";
  const Told last = report(R"("error":"busy")");
  EXPECT_EQ(last.status(), 201);
  EXPECT_TRUE(get("/v1/retries").says("nearly_full"));
  const Told refused = report(R"("error":"busy","id":"t7")");
  EXPECT_EQ(refused.status(), 507) << refused;
  EXPECT_EQ(refused.at("code"), "full");
  EXPECT_EQ(refused.at("error"), "busy");
  EXPECT_EQ(get("/v1/stats").at("open"), "5");
  EXPECT_EQ(get("/v1/retries").at("intake.refused_full"), "1");
  say("POST", "/v1/dead-letters/" + last.at("id") + "/archive", "{}");
  EXPECT_EQ(report(R"("error":"busy")").status(), 201) << "an archived one makes room (S2-22)";
}

TEST_F(RetriesTest, OfABatchAsManyAreKeptAsThereIsRoomFor) {
  with_capacity(2);
  std::string lines;
  for (int i = 0; i < 4; ++i) {
    lines += R"({"source":"w","profile":"workflow","error":"busy"})"
             "\n";
  }
  const Told told =
      ask("POST", "/v1/dead-letters", lines, {{"Content-Type", "application/x-ndjson"}});
  EXPECT_EQ(told.status(), 207);
  EXPECT_TRUE(told.says(R"("line":2,"status":201)")) << told;
  EXPECT_TRUE(told.says(R"("line":3,"status":507,"code":"full")")) << told;
  EXPECT_EQ(get("/v1/stats").at("open"), "2");
}

TEST_F(RetriesTest, SelectiveKeepsWhatWaitingCanCure) {  // S2-27, R2-9
  with_strategy(Strategy::selective);
  EXPECT_EQ(report(R"("error":"rate limit")").at("policy"), "exponential base=1m factor=2 cap=1h");
  EXPECT_EQ(report(R"("error":"connection lost")").at("stored"), "true");
  EXPECT_EQ(report(R"("error":"out of memory")").at("policy"), "linear base=5m");
  for (const char* error : {"access denied", "invalid input", "who knows"}) {
    const Told told = report(R"("error":")" + std::string(error) + "\"");
    EXPECT_EQ(told.status(), 200);
    EXPECT_EQ(told.at("stored"), "false") << told;
    EXPECT_EQ(told.at("dlq_enqueued"), "false");
    EXPECT_EQ(told.at("error"), error);
    EXPECT_TRUE(told.says("strategy selective")) << told;
  }
  EXPECT_EQ(get("/v1/stats").at("open"), "3");
  const Told numbers = get("/v1/retries");
  EXPECT_EQ(numbers.at("intake.enqueued"), "3");
  EXPECT_EQ(numbers.at("intake.skipped_permission"), "1");
  EXPECT_EQ(numbers.at("intake.skipped_validation"), "1");
  EXPECT_EQ(numbers.at("intake.skipped_permanent"), "1");
}

TEST_F(RetriesTest, TheSafeProfileRecordsWhatAStrategyWouldSkip) {  // S2-1
  with_strategy(Strategy::selective);
  const Told told = report(R"("error":"access denied")", "workflow+safe");
  EXPECT_EQ(told.at("stored"), "true") << told;
  EXPECT_EQ(told.at("next_retry_at"), "?") << "recorded, and not retried";
  EXPECT_EQ(status_of(told.at("id")), "pending");
}

TEST_F(RetriesTest, ManualKeepsOnlyWhatIsAskedForAndDisabledNothing) {  // S2-28, S2-29
  with_strategy(Strategy::manual);
  EXPECT_EQ(report(R"("error":"busy")").at("stored"), "false");
  EXPECT_EQ(report(R"("error":"busy","requested":true)").at("stored"), "true");
  EXPECT_EQ(get("/v1/retries").at("intake.manually_enqueued"), "1");
  service_.reset();
  with_strategy(Strategy::disabled);
  EXPECT_EQ(report(R"("error":"busy","requested":true)").at("stored"), "false");
}

TEST_F(RetriesTest, DueTasksAreRunByTheirExecutorAndTheNumbersFollow) {  // S2-25
  std::atomic<bool> well{false};
  run_by([&](const Message&, const RunContext&) {
    if (well) return Outcome{};
    Outcome outcome{OutcomeKind::failed, {}};
    outcome.failure.text = "connection refused";
    return outcome;
  });
  const std::string good = report(R"("task":{},"error":"timeout")").at("id");
  const std::string never = report(R"("task":{},"error":"denied")").at("id");
  EXPECT_EQ(get("/v1/retries").at("is_processor_running"), "true");
  clock_.advance(1min);
  ASSERT_TRUE(
      eventually([&] { return get("/v1/retries").at("lifetime_stats.retry_failed") == "1"; }));
  well = true;
  clock_.advance(2min);
  ASSERT_TRUE(eventually([&] { return status_of(good) == "resolved"; }));
  say("POST", "/v1/dead-letters/" + never + "/retry", "{}");
  ASSERT_TRUE(eventually([&] { return status_of(never) == "resolved"; })) << "R2-5: by hand";
  const std::string last = report(R"("task":{},"error":"timeout","max_retries":0)").at("id");
  const Told numbers = get("/v1/retries");
  EXPECT_EQ(numbers.at("queue_size"), "1") << numbers;
  EXPECT_EQ(numbers.at("max_size"), "10000");
  EXPECT_EQ(numbers.at("utilization_percent"), "0.01");
  EXPECT_EQ(numbers.at("status_breakdown.pending"), "0");
  EXPECT_EQ(numbers.at("status_breakdown.retrying"), "0");
  EXPECT_EQ(numbers.at("status_breakdown.exhausted"), "1");
  EXPECT_EQ(numbers.at("error_categories.network"), "1");
  EXPECT_EQ(numbers.at("retry_policies.exponential"), "1");
  EXPECT_EQ(numbers.at("lifetime_stats.enqueued_total"), "3");
  EXPECT_EQ(numbers.at("lifetime_stats.retry_success"), "2");
  EXPECT_EQ(numbers.at("lifetime_stats.retry_failed"), "1");
  EXPECT_EQ(numbers.at("lifetime_stats.exhausted"), "1");
  EXPECT_EQ(numbers.at("lifetime_stats.manually_retried"), "1");
  EXPECT_EQ(numbers.at("lifetime_stats.archived"), "0");
  EXPECT_EQ(numbers.at("retry_interval_seconds"), "0");
}

TEST_F(RetriesTest, ATaskThatDependsOnAnotherWaitsForIt) {  // S2-54
  run_by([](const Message&, const RunContext&) { return Outcome{}; });
  const std::string first = report(R"("task_id":"a","error":"timeout")").at("id");
  const Told waits = report(R"("task_id":"b","error":"timeout","depends_on":["a"])");
  EXPECT_EQ(waits.status(), 201) << waits;
  EXPECT_EQ(waits.at("waits_for.0"), "a");
  EXPECT_EQ(waits.at("next_retry_at"), "?");
  report(R"("task_id":"c","error":"timeout","depends_on":["nobody"])");
  EXPECT_EQ(get("/v1/retries").at("dependencies.waiting"), "2");
  const Told cycle = report(R"("task_id":"nobody","error":"timeout","depends_on":["c"])");
  EXPECT_EQ(cycle.status(), 409);
  EXPECT_EQ(cycle.at("code"), "cycle") << cycle;
  EXPECT_EQ(cycle.at("error"), "timeout");
  EXPECT_EQ(report(R"("task_id":"d","error":"x","depends_on":[7])").status(), 400);
  clock_.advance(1min);
  ASSERT_TRUE(eventually([&] { return status_of(waits.at("id")) == "resolved"; }));
  EXPECT_EQ(status_of(first), "resolved");
  clock_.advance(24h);
  ASSERT_TRUE(eventually([&] { return get("/v1/retries").at("dependencies.blocked") == "1"; }));
  EXPECT_TRUE(get("/v1/dead-letters?q=reason:Blocked").says("\"c\""));
}

TEST_F(RetriesTest, ATaskIsFoundByItsTaskId) {  // S2-20
  const std::string id = report(R"("task_id":"wf_abc123","task":{},"error":"busy")").at("id");
  EXPECT_EQ(get("/v1/dead-letters/wf_abc123").at("id"), id);
  EXPECT_EQ(get("/v1/dead-letters/wf_nope").status(), 404);
  EXPECT_EQ(say("POST", "/v1/dead-letters/wf_abc123/archive", "{}").at("status"), "archived");
  EXPECT_EQ(get("/v1/dead-letters/wf_abc123").status(), 404) << "of those that are open";
  report(R"("task_id":"wf_two","task":{"n":1},"error":"busy")");
  report(R"("task_id":"wf_two","task":{"n":2},"error":"busy")");
  const Told both = get("/v1/dead-letters/wf_two");
  EXPECT_EQ(both.status(), 409) << "none is guessed";
  EXPECT_TRUE(both.says("2 open dead letters")) << both;
}

TEST_F(RetriesTest, WithoutAProcessorTasksAreKeptAndWait) {  // S2-13, S2-34
  std::vector<std::string> lines;
  options_.retries.processor = false;
  options_.retries.log = [&](const std::string& line) { lines.push_back(line); };
  run_by([](const Message&, const RunContext&) { return Outcome{}; });
  const std::string id = report(R"("error":"timeout")").at("id");
  clock_.advance(1h);
  EXPECT_EQ(status_of(id), "pending");
  EXPECT_EQ(lines, std::vector<std::string>{"DLQ retry processor disabled in configuration"});
  const Told refused = say("POST", "/v1/dead-letters/" + id + "/retry", "{}");
  EXPECT_EQ(refused.status(), 409) << "nobody would run it";
  EXPECT_TRUE(refused.says("`workflow.retry_processor` is false")) << refused;
  EXPECT_FALSE(refused.says("declare")) << refused;
}

TEST_F(RetriesTest, StartSaysTheIntervalAndStopSaysThatItStopped) {  // S2-36
  std::vector<std::string> lines;
  options_.retries.interval = 60s;
  options_.retries.log = [&](const std::string& line) { lines.push_back(line); };
  run_by([](const Message&, const RunContext&) { return Outcome{}; });
  EXPECT_EQ(get("/v1/retries").at("retry_interval_seconds"), "60");
  service_.reset();
  EXPECT_EQ(lines, (std::vector<std::string>{"DLQ retry processor started (interval=1m)",
                                             "DLQ retry processor stopped"}));
}

TEST_F(RetriesTest, ACircuitIsOpenedAndClosedByHand) {
  std::atomic<int> runs{0};
  run_by([&](const Message&, const RunContext&) {
    ++runs;
    return Outcome{};
  });
  EXPECT_EQ(get("/v1/retries").at("circuits.0.state"), "closed");
  const Told opened = ask("POST", "/v1/retries/circuits/llamaindex/open");
  EXPECT_EQ(opened.at("circuits.0.state"), "open") << opened;
  EXPECT_EQ(opened.at("circuits.0.forced"), "true");
  const std::string id = report(R"("task":{},"error":"timeout")").at("id");
  clock_.advance(1min);
  for (int looks = 0; looks < 20; ++looks) {
    EXPECT_EQ(get("/v1/dead-letters/" + id).at("counters.retry"), "0") << "no attempt is burnt";
  }
  EXPECT_EQ(runs.load(), 0);
  EXPECT_EQ(ask("POST", "/v1/retries/circuits/llamaindex/close").at("circuits.0.state"), "closed");
  ASSERT_TRUE(eventually([&] { return status_of(id) == "resolved"; })) << "no time has passed";
  const Told unknown = ask("POST", "/v1/retries/circuits/lamaindex/open");
  EXPECT_EQ(unknown.status(), 404);
  EXPECT_TRUE(unknown.says("llamaindex")) << unknown;
  bool both = false;
  for (const AuditEntry& each : testing::must(office_.extras().ledger->audit(0, 100))) {
    both = both || (each.act.act == "circuit.close" &&
                    each.act.detail == R"({"before":"open","after":"closed"})");
  }
  EXPECT_TRUE(both);
}

TEST_F(RetriesTest, WithoutExecutorsThereIsNoCircuitToOpen) {
  const Told none = ask("POST", "/v1/retries/circuits/llamaindex/open");
  EXPECT_EQ(none.status(), 404);
  EXPECT_TRUE(none.says("none is configured")) << none;
}

TEST_F(RetriesTest, WhatIsQuarantinedIsInEveryBreakdown) {  // S2-25
  const std::string id = report(R"("task":{},"error":"timeout")").at("id");
  EXPECT_EQ(ask("POST", "/v1/dead-letters/" + id + "/quarantine").status(), 200);
  const Told numbers = get("/v1/retries");
  EXPECT_EQ(numbers.at("queue_size"), "1") << numbers;
  EXPECT_EQ(numbers.at("retry_policies.exponential"), "1") << numbers;
  EXPECT_EQ(numbers.at("error_categories.network"), "1") << numbers;
  EXPECT_EQ(numbers.at("status_breakdown.quarantined"), "1") << numbers;
  EXPECT_EQ(get("/v1/dead-letters/" + id + "?form=workflow").at("status"), "quarantined");
}

TEST_F(RetriesTest, TheNumbersAndCircuitsAreThereForPrometheusToo) {  // S2-2, R2-10, issue 5
  with_capacity(10);
  run_by([](const Message&, const RunContext&) { return Outcome{}; });
  for (int i = 0; i < 9; ++i) report(R"("task":{},"error":"timeout")");
  const Told told = get("/metrics");
  EXPECT_EQ(told.status(), 200) << told;
  for (const char* line :
       {"# TYPE dlo_dead_letters gauge\n", "\ndlo_dead_letters{status=\"pending\"} 9\n",
        "\ndlo_dlq_size 9\n", "\ndlo_dlq_max_size 10\n", "\ndlo_dlq_utilization_percent 90\n",
        "# TYPE dlo_dlq_enqueued_total counter\ndlo_dlq_enqueued_total 9\n",
        "\ndlo_dlq_fallback_total{outcome=\"persisted\"} 9\n",
        "\ndlo_dlq_fallback_total{outcome=\"in_memory\"} 0\n", "\ndlo_retry_processor_running 1\n",
        "\ndlo_retry_circuit_state{executor=\"llamaindex\",state=\"closed\"} 1\n",
        "\ndlo_retry_circuit_state{executor=\"llamaindex\",state=\"open\"} 0\n",
        "\ndlo_retry_alert{code=\"nearly_full\"} 1\n"}) {
    EXPECT_TRUE(told.says(line)) << line << "is not in\n" << told;
  }
  ask("POST", "/v1/retries/circuits/llamaindex/open");
  EXPECT_TRUE(
      get("/metrics").says("dlo_retry_circuit_state{executor=\"llamaindex\",state=\"open\"} 1\n"));
}

}  // namespace
}  // namespace dlo::api
