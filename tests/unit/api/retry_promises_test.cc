// What whoever runs scheduled retries can find out and may do (document 002).

#include <gtest/gtest.h>
#include <string>

#include "support/eventually.h"
#include "unit/api/asking.h"

namespace dlo::api {
namespace {

using testing::eventually;
using namespace std::chrono_literals;

class RetryPromisesTest : public Asking {
 protected:
  std::string report(const std::string& task_id, const std::string& members) {
    return say("POST", "/v1/dead-letters",
               R"({"source":"workflows","profile":"workflow","task":{},"task_id":")" + task_id +
                   "\"," + members + "}")
        .at("id");
  }
  std::string status_of(const std::string& id, const Headers& headers = {}) {
    return get("/v1/dead-letters/" + id, headers).at("status");
  }
};

TEST_F(RetryPromisesTest, WhyRetriesDoNotRunCanBeSeenAndOneCanBeRunByHand) {  // S2-41
  EXPECT_EQ(get("/v1/retries").at("is_processor_running"), "false") << "nobody runs them here";
  options_.retries.executors = std::make_shared<Executors>("llamaindex");
  options_.retries.executors->set("llamaindex",
                                  std::make_shared<FunctionHandler>(
                                      [](const Message&, const RunContext&) { return Outcome{}; }),
                                  {});
  options_.retries.interval = 1h;
  service_.reset();  // the next question starts it again
  const Told numbers = get("/v1/retries");
  EXPECT_EQ(numbers.at("is_processor_running"), "true") << numbers;
  EXPECT_EQ(numbers.at("retry_interval_seconds"), "3600");
  const std::string id = report("t-1", R"("error":"permission denied")");
  EXPECT_EQ(say("POST", "/v1/dead-letters/" + id + "/retry", "{}").status(), 200);
  clock_.advance(1h);
  EXPECT_TRUE(eventually([&] { return status_of(id) == "resolved"; }));
}

TEST_F(RetryPromisesTest, ATaskWhoseRunWasKilledIsPendingAgainThoughNobodyRunsAnything) {  // I7
  const auto with_executor = [this] {
    HandlerOptions guarded;
    guarded.breaker = BreakerPolicy{};
    options_.retries.executors = std::make_shared<Executors>("llamaindex");
    options_.retries.executors->set(
        "llamaindex", std::make_shared<FunctionHandler>([](const Message&, const RunContext&) {
          return Outcome{};
        }),
        guarded);
  };
  const auto is_taken_back = [this](const std::string& task) {
    const std::string id = report(task, R"("error":"timeout","policy":"immediate")");
    ASSERT_EQ(testing::must(office_.claim(1, clock_.now(), 30s, {})).size(), 1U) << task;
    EXPECT_EQ(status_of(id), "retrying");
    clock_.advance(1min);
    EXPECT_TRUE(eventually([&] { return status_of(id) == "pending"; })) << task;
    ask("POST", "/v1/dead-letters/" + id + "/archive");
    service_.reset();  // the next question starts it again
  };
  is_taken_back("without executors");
  with_executor();
  options_.retries.processor = false;
  is_taken_back("without a processor");
  options_.retries.processor = true;
  EXPECT_EQ(ask("POST", "/v1/retries/circuits/llamaindex/open").status(), 200);
  is_taken_back("with a circuit that is open by hand");
}

TEST_F(RetryPromisesTest, WhoeverIsRefusedIsToldThatNothingWasKeptAndHisErrorComesBack) {  // S2-16
  const auto is_told = [](const Told& told) {
    EXPECT_EQ(told.at("stored"), "false") << told;
    EXPECT_EQ(told.at("dlq_enqueued"), "false") << told;
    EXPECT_EQ(told.at("dlq_task_id"), "null") << told;
    EXPECT_EQ(told.at("error"), "busy") << told;
  };
  const auto report_of = [this](const std::string& members) {
    return say("POST", "/v1/dead-letters",
               R"({"source":"workflows","profile":"workflow","error":"busy",)" + members + "}");
  };
  const Told cycle = report_of(R"("task_id":"a","depends_on":["a"])");
  EXPECT_EQ(cycle.status(), 409);
  is_told(cycle);
  for (const char* members : {R"("policy":"sometimes")", R"("template":"nightly")"}) {
    const Told unreadable = report_of(members);
    EXPECT_EQ(unreadable.status(), 400);
    is_told(unreadable);
  }
  const Told lines = ask("POST", "/v1/dead-letters",
                         R"({"source":"w","profile":"workflow","error":"busy","policy":"fixed"})",
                         {{"Content-Type", "application/x-ndjson"}});
  EXPECT_TRUE(
      lines.says(R"("stored":false,"dlq_enqueued":false,"dlq_task_id":null,"error":"busy")"))
      << lines;
  options_.retries.enabled = false;
  service_.reset();
  const Told disabled = report_of(R"("task_id":"b")");
  EXPECT_EQ(disabled.at("code"), "dlq_disabled");
  is_told(disabled);
}

TEST_F(RetryPromisesTest, ARefusedRetryByHandNamesWhatIsInItsWay) {  // S2-41
  const std::string id = report("t-1", R"("error":"timeout")");
  const auto refused = [&] {
    service_.reset();
    return say("POST", "/v1/dead-letters/" + id + "/retry", "{}");
  };
  options_.retries.enabled = false;
  options_.retries.processor = false;
  EXPECT_TRUE(refused().says("`workflow.enabled` is false"));
  options_.retries.enabled = true;
  EXPECT_TRUE(refused().says("`workflow.retry_processor` is false"));
  options_.owner_asks = true;
  EXPECT_TRUE(refused().says("Retries are run by a server, and none was asked"));
}

TEST_F(RetryPromisesTest, WhatAStrategyWouldNotKeepIsRecordedAndTheAnswerSaysWhy) {  // S2-27
  Profile selective = testing::must(find_profile("workflow+safe"));
  selective.strategy = Strategy::selective;
  options_.rules.set(selective);
  const Told told =
      say("POST", "/v1/dead-letters",
          R"({"source":"w","profile":"workflow+safe","error":"permission denied","task":{}})");
  EXPECT_EQ(told.at("stored"), "true") << told;
  EXPECT_EQ(told.at("reason"),
            "strategy selective keeps transient, network and resource failures, not permission; "
            "recorded all the same, and not retried");
}

TEST_F(RetryPromisesTest, ManyExhaustedAreSeenByCategory) {  // S2-42, S2-38
  for (int i = 0; i < 3; ++i) {
    report("n-" + std::to_string(i), R"("error":"connection reset","max_retries":0)");
  }
  report("m", R"("error":"out of memory","max_retries":0)");
  const Told numbers = get("/v1/retries");
  EXPECT_EQ(numbers.at("status_breakdown.exhausted"), "4") << numbers;
  EXPECT_EQ(numbers.at("error_categories.network"), "3");
  EXPECT_EQ(numbers.at("error_categories.resource"), "1");
  const Told network = get("/v1/dead-letters?q=status:exhausted+category:network");
  EXPECT_NE(network.at("dead_letters.2.id"), "?") << network;
  EXPECT_EQ(network.at("dead_letters.3"), "?");
}

TEST_F(RetryPromisesTest, WhoMayArchiveMayNotRetryUnlessThatIsGrantedToo) {  // S2-50
  const std::string id = report("t-1", R"("error":"timeout")");
  const auto token = [&](const std::string& name, const std::string& actions, Headers by) {
    const Told made =
        say("POST", "/v1/tokens",
            R"({"name":")" + name + R"(","role":"operator","actions":[)" + actions + "]}",
            std::move(by));
    EXPECT_EQ(made.status(), 201) << made;
    return Headers{{"Authorization", "Bearer " + made.at("secret")}};
  };
  const Told first = say("POST", "/v1/tokens", R"({"name":"admin","role":"admin"})");
  const Headers admin = {{"Authorization", "Bearer " + first.at("secret")}};
  const Headers archivist = token("archivist", R"("read","dead-letters.archive")", admin);
  const Headers retrier = token("retrier", R"("read","dead-letters.retry")", admin);
  const std::string path = "/v1/dead-letters/" + id;
  EXPECT_EQ(say("POST", path + "/retry", "{}", archivist).status(), 403);
  EXPECT_EQ(say("POST", path + "/archive", "{}", retrier).status(), 403);
  EXPECT_EQ(status_of(id, admin), "pending") << "nothing has happened";
  EXPECT_EQ(say("POST", path + "/archive", "{}", archivist).status(), 200);
  EXPECT_EQ(status_of(id, admin), "archived");
}

}  // namespace
}  // namespace dlo::api
