// POST …/retry?wait_ms=N: whoever asks for a retry is told what came of it (S2-21).

#include <atomic>
#include <gtest/gtest.h>
#include <string>

#include "support/eventually.h"
#include "unit/api/asking.h"

namespace dlo::api {
namespace {

using testing::eventually;
using namespace std::chrono_literals;

class RetryWaitsTest : public Asking {
 protected:
  RetryWaitsTest() {
    options_.retries.executors = std::make_shared<Executors>("llamaindex");
    options_.retries.executors->set(
        "llamaindex", std::make_shared<FunctionHandler>([this](const Message&, const RunContext&) {
          ++runs_;
          EXPECT_TRUE(eventually([this] { return let_go_.load(); }));
          Outcome outcome;
          if (well_) return outcome;
          outcome.kind = OutcomeKind::failed;
          outcome.failure.text = "the disk is on fire";
          return outcome;
        }));
  }
  void TearDown() override {
    let_go_ = true;
    service_.reset();
  }
  std::string task(const std::string& error = "access denied") {
    return say("POST", "/v1/dead-letters",
               R"({"source":"w","profile":"workflow","task":{},"error":")" + error + "\"}")
        .at("id");
  }
  std::shared_ptr<Asked> retry(const std::string& id, const std::string& wait = "?wait_ms=10000") {
    return begin("POST", "/v1/dead-letters/" + id + "/retry" + wait);
  }
  /// Time goes by until it is answered.
  Told told(const std::shared_ptr<Asked>& asked) {
    EXPECT_TRUE(eventually([&] {
      clock_.advance(50ms);
      return asked->answered();
    }));
    return {asked->answer()};
  }

  std::atomic<int> runs_{0};
  std::atomic<bool> well_{true};
  std::atomic<bool> let_go_{true};
};

TEST_F(RetryWaitsTest, TheAnswerSaysThatItWorked) {
  const Told answer = told(retry(task()));
  EXPECT_EQ(answer.status(), 200) << answer;
  EXPECT_EQ(answer.at("retry.outcome"), "worked") << answer;
  EXPECT_EQ(answer.at("retry.success"), "true");
  EXPECT_EQ(answer.at("retry.error"), "?");
  EXPECT_EQ(answer.at("status"), "resolved");
  EXPECT_NE(answer.header("ETag"), "");
}

TEST_F(RetryWaitsTest, TheAnswerSaysWhyItFailed) {
  well_ = false;
  const std::string id = task();
  const Told answer = told(retry(id));
  EXPECT_EQ(answer.status(), 200) << answer;
  EXPECT_EQ(answer.at("retry.outcome"), "failed") << answer;
  EXPECT_EQ(answer.at("retry.success"), "false");
  EXPECT_EQ(answer.at("retry.error"), "the disk is on fire");
  EXPECT_EQ(answer.at("status"), "pending");
  EXPECT_EQ(told(retry(id)).at("retry.outcome"), "failed") << "each retry by itself";
  EXPECT_EQ(runs_.load(), 2);
}

TEST_F(RetryWaitsTest, WhatIsNotOverInTimeIsSaidToBeAwaited) {
  let_go_ = false;
  const std::string id = task();
  const Told answer = told(retry(id, "?wait_ms=200"));
  EXPECT_EQ(answer.status(), 202) << answer;
  EXPECT_EQ(answer.at("retry.outcome"), "awaited");
  EXPECT_EQ(answer.at("retry.success"), "?");
  let_go_ = true;
  ASSERT_TRUE(eventually([&] { return get("/v1/dead-letters/" + id).at("status") == "resolved"; }));
}

TEST_F(RetryWaitsTest, WithoutAWaitTheAnswerComesAtOnceAndSaysNothingOfIt) {
  let_go_ = false;
  const Told answer{retry(task(), "")->answer()};
  EXPECT_EQ(answer.status(), 200) << answer;
  EXPECT_EQ(answer.at("retry"), "?");
}

TEST_F(RetryWaitsTest, WhatAPersonClosesFirstIsNeitherSuccessNorFailure) {
  let_go_ = false;
  const std::string id = task();
  const auto asked = retry(id);
  ASSERT_TRUE(eventually([&] { return runs_ > 0; }));
  EXPECT_EQ(say("POST", "/v1/dead-letters/" + id + "/archive", "{}").status(), 200);
  const Told answer = told(asked);
  EXPECT_EQ(answer.at("retry.outcome"), "taken_over") << answer;
  EXPECT_EQ(answer.at("retry.success"), "false");
}

TEST_F(RetryWaitsTest, AStopAnswersWhoeverWaits) {
  let_go_ = false;
  const auto asked = retry(task());
  ASSERT_TRUE(eventually([&] { return runs_ > 0; }));
  service_->stop_waiting();
  EXPECT_EQ(Told{asked->answer()}.at("retry.outcome"), "awaited");
}

TEST_F(RetryWaitsTest, WhatCannotBeRetriedIsRefusedAtOnce) {
  const std::string id = task();
  EXPECT_EQ(retry(id, "?wait_ms=60001")->answer().status, 400);
  EXPECT_EQ(say("POST", "/v1/dead-letters/" + id + "/archive", "{}").status(), 200);
  EXPECT_EQ(retry(id)->answer().status, 409);
  EXPECT_EQ(retry("wf_nope")->answer().status, 404);
  EXPECT_EQ(runs_.load(), 0);
}

}  // namespace
}  // namespace dlo::api
