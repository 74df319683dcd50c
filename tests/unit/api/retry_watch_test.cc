// What a server says of scheduled retries without being asked.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "unit/api/asking.h"
#include "unit/engine/faults.h"

namespace dlo::api {
namespace {

using testing::eventually;
using namespace std::chrono_literals;

class RetryWatchTest : public Asking {
 protected:
  void start() override {
    options_.retries.watched = true;
    options_.retries.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    };
    service_ = std::make_unique<Service>(flaky_, nullptr, clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  std::size_t logged(const std::string& part) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(
        log_.begin(), log_.end(),
        [&](const std::string& line) { return line.find(part) != std::string::npos; }));
  }
  /// Acts of the trail, in order, that begin like that.
  std::string trail(const std::string& beginning) {
    std::string acts;
    for (const auto& entry : testing::must(office_.extras().ledger->audit(0, 1000))) {
      if (!entry.act.act.starts_with(beginning)) continue;
      acts += entry.act.act + " " + entry.act.subject + " by " + entry.act.actor + "\n";
    }
    return acts;
  }
  void small() {
    Profile profile = testing::must(find_profile("workflow"));
    profile.capacity.records = 10;
    options_.rules.set(profile);
  }
  std::string report(const std::string& members = "") {
    return say("POST", "/v1/dead-letters",
               R"({"source":"w","profile":"workflow","task":{},"error":"timeout")" + members + "}")
        .at("id");
  }

  std::atomic<bool> down_{false};
  std::mutex mutex_;
  std::vector<std::string> log_;
  testing::FlakyOffice flaky_{office_, [this](std::span<const Change>) -> std::optional<Error> {
                                if (!down_) return std::nullopt;
                                return Error{Code::unavailable, "disk", "no luck with the disk"};
                              }};
};

TEST_F(RetryWatchTest, AnAlertIsToldOnceWhenItBeginsAndOnceWhenItEnds) {  // S2-43
  small();
  std::vector<std::string> ids;
  for (int i = 0; i < 9; ++i) ids.push_back(report());
  EXPECT_EQ(trail("alert."), "") << "it looks every five minutes";
  clock_.advance(5min);
  ASSERT_TRUE(eventually([&] { return logged("Alert nearly_full: More than 80 %") == 1; }));
  ASSERT_TRUE(eventually([&] { return trail("alert.") == "alert.begin nearly_full by office\n"; }));
  clock_.advance(5min);
  for (const std::string& id : ids) say("POST", "/v1/dead-letters/" + id + "/archive", "{}");
  clock_.advance(5min);
  ASSERT_TRUE(eventually([&] { return logged("Alert nearly_full is over.") == 1; }));
  ASSERT_TRUE(eventually([&] {
    return trail("alert.") ==
           "alert.begin nearly_full by office\nalert.end nearly_full by office\n";
  }));
  EXPECT_EQ(logged("Alert nearly_full"), 2U);
}

TEST_F(RetryWatchTest, WhatTheTrailCannotTakeIsWrittenThereLater) {
  small();
  for (int i = 0; i < 9; ++i) report();
  down_ = true;
  clock_.advance(5min);
  ASSERT_TRUE(eventually([&] { return logged("Alert nearly_full") == 1; }));
  EXPECT_EQ(trail("alert."), "");
  down_ = false;
  EXPECT_TRUE(eventually([&] {
    clock_.advance(1s);
    return trail("alert.") == "alert.begin nearly_full by office\n";
  }));
  EXPECT_EQ(logged("Alert nearly_full"), 1U);
}

TEST_F(RetryWatchTest, ACircuitThatMovesByItselfIsToldStepByStep) {  // issue 5, S2-41
  std::atomic<bool> well{false};
  options_.retries.executors = std::make_shared<Executors>("llamaindex");
  HandlerOptions guarded;
  guarded.breaker = BreakerPolicy{};
  guarded.breaker->consecutive = 2;
  options_.retries.executors->set(
      "llamaindex", std::make_shared<FunctionHandler>([&](const Message&, const RunContext&) {
        Outcome outcome;
        if (well) return outcome;
        outcome.kind = OutcomeKind::failed;
        outcome.failure.text = "connection refused";
        return outcome;
      }),
      guarded);
  const auto asked = begin("GET", "/v1/events?types=circuit");
  report(R"(,"policy":"immediate","max_retries":9)");
  const std::string open = "circuit.open llamaindex by office\n";
  ASSERT_TRUE(eventually([&] { return trail("circuit.") == open; })) << trail("");
  EXPECT_TRUE(eventually([&] { return logged("llamaindex is open") == 1; }));
  well = true;
  const std::string closed =
      open + "circuit.half_open llamaindex by office\ncircuit.close llamaindex by office\n";
  ASSERT_TRUE(eventually([&] {
    clock_.advance(1s);
    return trail("circuit.") == closed;
  })) << trail("circuit.");
  EXPECT_EQ(logged("llamaindex is half open"), 1U);
  EXPECT_EQ(logged("llamaindex is closed"), 1U);
  EXPECT_TRUE(eventually([&] {
    clock_.advance(options_.events.look);
    return asked->so_far().find(R"("act":"circuit.close","subject":"llamaindex")") !=
           std::string::npos;
  })) << asked->so_far();
  EXPECT_NE(asked->so_far().find("event: circuit\n"), std::string::npos);
  service_->stop_waiting();
}

}  // namespace
}  // namespace dlo::api
