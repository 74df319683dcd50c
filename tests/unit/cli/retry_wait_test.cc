// `dlo retry ID --wait`: whoever asks is told whether it worked (S2-21).
#include "dlo/cli/retry_wait.h"

#include <deque>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace dlo::cli {
namespace {

/// Answers what it was told to, one after another.
class Scripted final : public Client {
 public:
  Result<HttpResponse> ask(const Ask& ask) override {
    asked.push_back(ask.method + " " + ask.target);
    HttpResponse response;
    response.status = 200;
    response.body = answers.front();
    response.headers.push_back({"Content-Type", "application/json"});
    answers.pop_front();
    return response;
  }
  [[nodiscard]] std::string name() const override { return "a server"; }
  [[nodiscard]] bool is_server() const noexcept override { return true; }

  std::deque<std::string> answers;
  std::vector<std::string> asked;
};

std::string seen(const std::string& status, int failures, const std::string& error = "busy") {
  const std::string how = status == "resolved" ? R"({"how":"retried"})" : "null";
  return R"({"id":"r1","occurrence":1,"status":")" + status + R"(","counters":{"failure":)" +
         std::to_string(failures) + R"(},"failure":{"text":")" + error + R"("},"resolution":)" +
         how + "}";
}

class RetryWait : public ::testing::Test {
 protected:
  int wait() {
    Context context{out_, err_};
    context.pause = [this](Millis) { ++pauses_; };
    return retry_and_wait(context, client_, {"wf_1"}, "{}");
  }
  std::string out() const { return out_.str(); }

  Scripted client_;
  int pauses_ = 0;

 private:
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(RetryWait, LooksUntilTheRunIsOver) {
  client_.answers = {seen("pending", 1), seen("pending", 1), seen("retrying", 1),
                     seen("resolved", 1)};
  EXPECT_EQ(wait(), exit_ok);
  EXPECT_EQ(pauses_, 2);
  EXPECT_EQ(client_.asked,
            (std::vector<std::string>{"POST /v1/dead-letters/wf_1/retry?wait_ms=0",
                                      "GET /v1/dead-letters/r1", "GET /v1/dead-letters/r1",
                                      "GET /v1/dead-letters/r1"}));
  EXPECT_NE(out().find("resolved"), std::string::npos) << out();
  EXPECT_NE(out().find("yes"), std::string::npos) << out();
}

TEST_F(RetryWait, SaysWhyItFailedAgain) {
  client_.answers = {seen("pending", 1), seen("retrying", 1), seen("pending", 2, "disk on fire")};
  EXPECT_EQ(wait(), exit_error);
  EXPECT_NE(out().find("disk on fire"), std::string::npos) << out();
  EXPECT_NE(out().find("no"), std::string::npos) << out();
}

TEST_F(RetryWait, OneThatIsExhaustedNowIsOver) {
  client_.answers = {seen("pending", 3), seen("exhausted", 4, "still down")};
  EXPECT_EQ(wait(), exit_error);
  EXPECT_NE(out().find("still down"), std::string::npos) << out();
}

TEST_F(RetryWait, OneThatWasOverBeforeTheAnswerIsNotWaitedFor) {
  std::string over = seen("pending", 2, "disk on fire");
  over.pop_back();
  client_.answers = {over + R"(,"retry":{"outcome":"failed","success":false}})"};
  EXPECT_EQ(wait(), exit_error);
  EXPECT_EQ(client_.asked.size(), 1U);
  EXPECT_NE(out().find("disk on fire"), std::string::npos) << out();
}

TEST_F(RetryWait, OneThatSomebodyElseClosedDidNotWork) {
  client_.answers = {seen("pending", 3), seen("archived", 3)};
  EXPECT_EQ(wait(), exit_error);
  EXPECT_NE(out().find("somebody else dealt with it first"), std::string::npos) << out();
}

}  // namespace
}  // namespace dlo::cli
