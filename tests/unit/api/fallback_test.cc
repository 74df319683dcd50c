// Reports while the office cannot be written, over HTTP (S2-2, R2-10).
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "unit/api/asking.h"
#include "unit/engine/faults.h"

namespace dlo::api {
namespace {

using testing::eventually;
using namespace std::chrono_literals;

class FallbackTest : public Asking {
 protected:
  void start() override {
    options_.retries.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    };
    service_ = std::make_unique<Service>(flaky_, nullptr, clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  Told report(const std::string& task, const std::string& profile = "workflow") {
    return say("POST", "/v1/dead-letters", body(task, profile));
  }
  static std::string body(const std::string& task, const std::string& profile) {
    return R"({"source":"w","profile":")" + profile + R"(","task_id":")" + task +
           R"(","task":{"card":"4711"},"error":"busy"})";
  }
  std::string number(const std::string& path) { return get("/v1/retries").at(path); }

  std::atomic<std::optional<Code>> fault_{std::nullopt};
  std::mutex mutex_;
  std::vector<std::string> log_;
  testing::FlakyOffice flaky_{office_, [this](std::span<const Change>) -> std::optional<Error> {
                                const auto met = fault_.load();
                                if (!met) return std::nullopt;
                                return Error{*met, "disk", "no luck with the disk"};
                              }};
};

TEST_F(FallbackTest, AFullDiskHasACodeOfItsOwn) {  // issue 5, R20
  fault_ = Code::disk_full;
  const Told told = report("t1", "workflow+safe");
  EXPECT_EQ(told.status(), 503) << told;
  EXPECT_EQ(told.at("code"), "disk_full");
  EXPECT_EQ(told.at("error"), "busy");
  const Told lines =
      say("POST", "/v1/dead-letters", body("t2", "workflow+safe"), {{"Idempotency-Key", "k"}});
  EXPECT_EQ(lines.at("code"), "disk_full") << lines;
}

TEST_F(FallbackTest, AReportInMemoryIsAnsweredAsSuchAndWrittenWhenTheOfficeIsBack) {
  EXPECT_EQ(report("t0").at("durable"), "true");
  fault_ = Code::unavailable;
  const Told told = report("t1");
  EXPECT_EQ(told.status(), 202) << told;
  EXPECT_EQ(told.at("stored"), "true");
  EXPECT_EQ(told.at("durable"), "false");
  EXPECT_EQ(told.at("dlq_task_id"), "t1");
  EXPECT_EQ(told.at("error"), "busy");
  EXPECT_EQ(told.at("next_retry_at"), "2026-03-01T12:01:00.000Z");
  EXPECT_EQ(number("fallback.in_memory_now"), "1");
  EXPECT_EQ(number("intake.in_memory"), "1");
  EXPECT_EQ(number("queue_size"), "2") << "it counts";
  EXPECT_EQ(number("status_breakdown.pending"), "2") << "everywhere";
  EXPECT_EQ(number("error_categories.transient"), "2");
  EXPECT_EQ(number("retry_policies.exponential"), "2");
  EXPECT_EQ(number("alerts.0.code"), "in_memory");
  fault_ = std::nullopt;
  clock_.advance(1s);  // nobody else writes
  ASSERT_TRUE(eventually([&] { return number("fallback.in_memory_now") == "0"; }));
  const Told shown = get("/v1/dead-letters/t1");
  EXPECT_EQ(shown.at("id"), told.at("id"));
  EXPECT_EQ(shown.at("durable"), "?") << "like any other";
  EXPECT_EQ(number("alerts.0.code"), "?");
  EXPECT_EQ(number("queue_size"), "2");
  EXPECT_EQ(number("fallback.in_memory"), "1");
  EXPECT_EQ(number("fallback.persisted_later"), "1");
  EXPECT_EQ(number("intake.persisted"), "1");
  EXPECT_EQ(number("intake.persisted_later"), "1");
}

TEST_F(FallbackTest, SomebodyElsesWriteBringsThemInAtOnce) {
  fault_ = Code::unavailable;
  EXPECT_EQ(report("t1").status(), 202);
  fault_ = std::nullopt;
  EXPECT_EQ(get("/readyz").status(), 200);
  EXPECT_TRUE(eventually([&] { return number("fallback.in_memory_now") == "0"; }));
  EXPECT_EQ(get("/v1/dead-letters/t1").at("status"), "pending");
}

TEST_F(FallbackTest, ATaskInMemoryIsSeenAsNotDurable) {
  fault_ = Code::disk_full;
  options_.masked = {testing::must(FieldPath::parse("body.card"))};
  const std::string id = report("t1").at("id");
  for (const std::string& name : {id, std::string("t1")}) {
    const Told shown = get("/v1/dead-letters/" + name);
    EXPECT_EQ(shown.status(), 200) << shown;
    EXPECT_EQ(shown.at("durable"), "false") << shown;
    EXPECT_EQ(shown.at("status"), "pending");
    EXPECT_FALSE(shown.says("4711")) << "behind the curtain";
  }
  const Told form = get("/v1/dead-letters/t1?form=workflow");
  EXPECT_EQ(form.at("task_id"), "t1") << form;
  EXPECT_EQ(form.at("durable"), "false");
  const Told list = get("/v1/dead-letters");
  EXPECT_EQ(list.at("dead_letters.0"), "?") << list;
  EXPECT_EQ(list.at("in_memory.0.id"), id) << list;
  EXPECT_EQ(list.at("in_memory.0.durable"), "false");
  EXPECT_EQ(get("/v1/dead-letters/t2").status(), 404);
  for (const std::string& name : {id, std::string("t1")}) {
    for (const char* act : {"/archive", "/retry"}) {
      const Told refused = say("POST", "/v1/dead-letters/" + name + act, "{}");
      EXPECT_EQ(refused.status(), 409) << "it is there, and nothing can be done with it yet";
      EXPECT_TRUE(refused.says("in memory only")) << refused;
    }
  }
}

TEST_F(FallbackTest, LinesOfABatchAreKeptOrRefusedOneByOne) {
  fault_ = Code::unavailable;
  const Told lines = ask("POST", "/v1/dead-letters",
                         body("t1", "workflow") + "\n" + body("t2", "workflow+safe") + "\n" +
                             body("t1", "workflow") + "\n",
                         {{"Content-Type", "application/x-ndjson"}});
  EXPECT_EQ(lines.status(), 207) << lines;
  EXPECT_TRUE(lines.says(R"("line":1,"status":202,)")) << lines;
  EXPECT_TRUE(lines.says(R"("line":2,"status":503,"code":"unavailable")")) << lines;
  EXPECT_TRUE(lines.says(R"("line":3,"status":202,)")) << lines;
  EXPECT_EQ(number("fallback.in_memory_now"), "1") << "one task";
  EXPECT_EQ(number("fallback.rejected"), "1");
}

TEST_F(FallbackTest, WhoCanAskAgainUnderAKeyIsToldTo) {
  fault_ = Code::unavailable;
  const Told told =
      say("POST", "/v1/dead-letters", body("t1", "workflow"), {{"Idempotency-Key", "k1"}});
  EXPECT_EQ(told.status(), 503) << told;
  EXPECT_EQ(told.at("error"), "busy");
  EXPECT_EQ(number("fallback.in_memory_now"), "0");
}

TEST_F(FallbackTest, WhatAServerTakesWithItIsInItsLog) {
  fault_ = Code::unavailable;
  EXPECT_EQ(report("t1").status(), 202);
  service_->stop();
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("Task \"t1\" of \"w\""), std::string::npos) << log_[0];
}

}  // namespace
}  // namespace dlo::api
