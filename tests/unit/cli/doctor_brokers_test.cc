#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dlo/cli/findings.h"

namespace dlo::cli {
namespace {

/// Answers what it was told to, and remembers what it was asked.
class Scripted final : public Client {
 public:
  explicit Scripted(std::map<std::string, std::string> answers) : answers_(std::move(answers)) {}
  Result<HttpResponse> ask(const Ask& ask) override {
    asked.push_back(ask.method + " " + ask.target);
    HttpResponse answer;
    const auto found = answers_.find(asked.back());
    answer.status = found == answers_.end() ? 404 : 200;
    answer.body =
        found == answers_.end() ? R"({"detail":"There is no such source."})" : found->second;
    return answer;
  }
  [[nodiscard]] std::string name() const override { return "the server"; }
  [[nodiscard]] bool is_server() const noexcept override { return true; }

  std::vector<std::string> asked;

 private:
  std::map<std::string, std::string> answers_;
};

struct Looked {
  int code = 0;
  std::string out;
  std::vector<std::string> asked;
  [[nodiscard]] bool says(const std::string& text) const {
    return out.find(text) != std::string::npos;
  }
};

Looked look(std::map<std::string, std::string> answers, const std::vector<std::string>& only = {}) {
  std::ostringstream out;
  std::ostringstream err;
  Context context{out, err};
  Findings findings(context);
  Scripted client(std::move(answers));
  check_brokers(findings, client, only);
  const int code = findings.end();
  return {code, out.str(), client.asked};
}

const std::string collected = R"({"source":"orders","collectors":[{"name":"orders"}]})";

std::string tested(const std::string& ok, const std::string& text) {
  return R"({"works":)" + ok + R"(,"checks":[{"ok":)" + ok + R"(,"text":")" + text + R"("}]})";
}

std::map<std::string, std::string> with(const std::string& sources, const std::string& test) {
  return {{"GET /v1/sources", R"({"sources":[)" + sources + "]}"},
          {"GET /v1/sources/orders", sources},
          {"POST /v1/sources/orders/test", test}};
}

TEST(DoctorBrokers, ABrokerThatIsAwayIsAProblemWithSomethingToDo) {
  const Looked seen =
      look(with(collected, tested("false", "Collector orders: broker_down: nobody answers")));
  EXPECT_EQ(seen.code, exit_error) << seen.out;
  EXPECT_TRUE(seen.says("broker_down: nobody answers")) << seen.out;
  EXPECT_TRUE(seen.says("is its address right")) << seen.out;
  EXPECT_TRUE(seen.says("dlo source test orders")) << seen.out;
}

TEST(DoctorBrokers, ABrokerThatRefusesIsToldApartFromOneThatIsAway) {
  const Looked seen = look(with(
      collected, tested("false", "give the user the right to it (rabbitmqctl set_permissions)")));
  EXPECT_EQ(seen.code, exit_error) << seen.out;
  EXPECT_TRUE(seen.says("rights that docs/rabbitmq.md lists")) << seen.out;
}

TEST(DoctorBrokers, WhatWorksIsCountedAndWhatIsReportedByOthersIsNotAsked) {
  const Looked seen =
      look(with(collected + R"(,{"source":"app","kind":"reported"})", tested("true", "fine")));
  EXPECT_EQ(seen.code, exit_ok) << seen.out;
  EXPECT_TRUE(seen.says("sources without trouble: 1")) << seen.out;
  EXPECT_EQ(seen.asked,
            (std::vector<std::string>{"GET /v1/sources", "POST /v1/sources/orders/test"}));
}

TEST(DoctorBrokers, WhatAPersonPausedIsAWarning) {
  const Looked seen = look(with(
      R"({"source":"orders","paused":true,"consumer":{"state":"paused"}})", tested("false", "x")));
  EXPECT_EQ(seen.code, exit_partial) << seen.out;
  EXPECT_TRUE(seen.says("dlo source resume orders")) << seen.out;
}

TEST(DoctorBrokers, ATokenForSingleSourcesLooksAtThese) {
  const Looked seen = look(with(collected, tested("false", "away")), {"orders", "unheard-of"});
  EXPECT_EQ(seen.code, exit_error) << seen.out;
  ASSERT_FALSE(seen.asked.empty());
  EXPECT_EQ(seen.asked.front(), "GET /v1/sources/orders") << "the list is closed to it";
}

}  // namespace
}  // namespace dlo::cli
