// What a reported task brings along and what the configuration makes of it (document 002).

#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "unit/api/asking.h"

namespace dlo::api {
namespace {

using testing::eventually;
using namespace std::chrono_literals;

class TaskRules : public Asking {
 protected:
  Told report(const std::string& members, const std::string& profile = "workflow") {
    return say("POST", "/v1/dead-letters",
               R"({"source":"workflows","profile":")" + profile + "\"," + members + "}");
  }
  void run_by(FunctionHandler::Function run) {
    options_.retries.executors = std::make_shared<Executors>("llamaindex");
    options_.retries.executors->set("llamaindex",
                                    std::make_shared<FunctionHandler>(std::move(run)));
  }
};

TEST_F(TaskRules, TheTargetsOfAReportReachItsExecutor) {  // S2-17
  std::mutex mutex;
  std::vector<std::string> seen;
  std::string metadata;
  run_by([&](const Message& task, const RunContext& context) {
    const std::lock_guard lock(mutex);
    seen = targets_of(task);
    metadata = context.metadata;
    return Outcome{};
  });
  report(R"("task":{},"error":"busy","policy":"immediate","targets":["/a","/b"],)"
         R"("metadata":{"team":"data"})");
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return seen == std::vector<std::string>{"/a", "/b"} &&
           metadata.find("\"team\":\"data\"") != std::string::npos;
  }));
}

TEST_F(TaskRules, ATemplateSetsPolicyLimitAndMetadataInOneWord) {  // S2-31, S2-56
  const Told told = report(R"("task":{},"error":"who knows","template":"rate-limit")");
  ASSERT_EQ(told.status(), 201) << told;
  EXPECT_EQ(told.at("policy"), "exponential base=1m factor=2 cap=1h");
  EXPECT_EQ(told.at("limit"), "5");
  EXPECT_EQ(told.at("category"), "transient");
  const Told shown = get("/v1/dead-letters/" + told.at("id") + "?form=workflow");
  EXPECT_EQ(shown.at("metadata.template"), "rate-limit") << shown;
  const Told dead = report(R"("task":{},"error":"who knows","template":"permanent")");
  EXPECT_EQ(dead.at("policy"), "never") << "S2-32";
  EXPECT_EQ(dead.at("limit"), "0");
}

TEST_F(TaskRules, WhatAReportSaysItselfWinsOverItsTemplate) {  // S2-56
  RetryNames names;
  RetryTemplate& nightly = names.templates["nightly"];
  nightly.asked = {testing::must(parse_policy("fixed base=2m")), 7};
  nightly.category = "network";
  nightly.priority = Priority::high;
  nightly.tags = {"nightly"};
  nightly.metadata = testing::must(parse_text_tree("team: data\nsize: 15\n"));
  options_.rules.set_names(names);
  const Told told =
      report(R"("task":{},"error":"x","template":"nightly","max_retries":2,"priority":"low",)"
             R"("metadata":{"team":"web"},"targets":["/a"],"tags":["own"])");
  ASSERT_EQ(told.status(), 201) << told;
  EXPECT_EQ(told.at("policy"), "fixed base=2m");
  EXPECT_EQ(told.at("limit"), "2");
  EXPECT_EQ(told.at("category"), "network");
  const Told shown = get("/v1/dead-letters/" + told.at("id"));
  EXPECT_EQ(shown.at("metadata.team"), "web") << shown;
  EXPECT_EQ(shown.at("metadata.size"), "15");
  EXPECT_EQ(shown.at("metadata.targets.0"), "/a");
  EXPECT_EQ(shown.at("metadata.template"), "nightly");
  EXPECT_EQ(shown.at("message.priority"), "low");
  EXPECT_TRUE(shown.says(R"(["nightly","own"])")) << shown;
}

TEST_F(TaskRules, AnUnknownTemplateIsRefusedWithTheValidOnes) {  // S2-56
  const Told told = report(R"("error":"x","template":"ratelimit")");
  EXPECT_EQ(told.status(), 400);
  EXPECT_TRUE(told.says("rate-limit") && told.says("permanent")) << told;
}

TEST_F(TaskRules, ANamedScheduleIsKeptInFull) {  // S2-55
  RetryNames names;
  names.policies["fib"] = testing::must(parse_policy("expression delay=1m*fib(n)"));
  options_.rules.set_names(names);
  const Told told = report(R"("task":{},"error":"busy","policy":"fib","max_retries":9)");
  ASSERT_EQ(told.status(), 201) << told;
  EXPECT_EQ(told.at("policy"), "expression delay=1m*fib(n)");
  EXPECT_EQ(told.at("next_retry_at"), "2026-03-01T12:01:00.000Z");
  const Told wrong = report(R"("error":"busy","policy":"fibb")");
  EXPECT_EQ(wrong.status(), 400);
  EXPECT_TRUE(wrong.says("did you mean")) << wrong;
}

TEST_F(TaskRules, MediumIsTheUsualPriority) {  // S2-51
  const Told told = report(R"("task":{},"error":"busy","priority":"medium")");
  ASSERT_EQ(told.status(), 201) << told;
  EXPECT_EQ(get("/v1/dead-letters/" + told.at("id")).at("message.priority"), "normal");
  const Told wrong = report(R"("task":{},"error":"busy","priority":"urgent")");
  EXPECT_EQ(wrong.status(), 400);
  EXPECT_TRUE(wrong.says("low, medium, normal, high")) << wrong;
}

TEST_F(TaskRules, APolicyThatIsNamedKeepsTheJitterOfTheSafeProfile) {  // R12
  const Told told = report(R"("task":{},"error":"busy","policy":"exponential")", "workflow+safe");
  EXPECT_EQ(told.at("policy"), "exponential base=1m factor=2 cap=1h jitter=equal") << told;
  const Told exact =
      report(R"("task":{},"error":"busy","policy":"exponential base=1m factor=2 cap=1h")",
             "workflow+safe");
  EXPECT_EQ(exact.at("policy"), "exponential base=1m factor=2 cap=1h") << exact;
}

TEST_F(TaskRules, AnEventTypeMayHaveALimitOfItsOwn) {  // R12, S3-52
  options_.rules.set_source("workflows", {.limit = 4});
  options_.rules.set_event_type("Sweep", {.limit = 2});
  EXPECT_EQ(report(R"("task":{},"error":"busy","event_type":"Sweep")").at("limit"), "2");
  EXPECT_EQ(report(R"("task":{},"error":"busy","event_type":"Mop")").at("limit"), "4");
  EXPECT_EQ(report(R"("task":{},"error":"busy","event_type":"Sweep","max_retries":6)").at("limit"),
            "6")
      << "what the report names is narrower still";
}

}  // namespace
}  // namespace dlo::api
