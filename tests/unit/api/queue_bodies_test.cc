#include "dlo/api/queue_bodies.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace dlo::api {
namespace {

const std::string lease = "00112233445566778899aabbccddeeff";

Result<std::vector<SettleWish>> read(std::string body) {
  Request request;
  request.http.headers.push_back({"Content-Type", "application/json"});
  request.http.body = std::move(body);
  return read_settle_wishes(request, Millis{1000});
}

TEST(SettleWishes, ThatItIsCompleteIsReadHoweverItIsWritten) {
  for (const std::string& body : {
           R"({"lease":")" + lease + R"(","outcome":"complete"})",
           R"({"outcome":"complete","lease":")" + lease + R"("})",
           R"( { "outcome" : "complete", "lease" : ")" + lease + "\" }\n",
           R"({"outcome":"comple\u0074e","lease":")" + lease + R"("})",
       }) {
    const auto wishes = read(body);
    ASSERT_TRUE(wishes) << body << wishes.error().detail;
    ASSERT_EQ(wishes->size(), 1U);
    EXPECT_EQ(to_string(wishes->front().settlement.lease), lease);
    EXPECT_TRUE(std::holds_alternative<PullCompleted>(wishes->front().settlement.ending)) << body;
    EXPECT_FALSE(wishes->front().renew_for);
  }
}

TEST(SettleWishes, WhatNearlySaysSoIsRefused) {
  for (const std::string& body : {
           R"({"lease":")" + lease + R"("})",
           std::string(R"({"outcome":"complete"})"),
           R"({"lease":")" + lease + R"(","lease":")" + lease + R"("})",
           std::string(R"({"outcome":"complete","outcome":"complete"})"),
           R"({"outcome":"complete","lease":")" + lease + R"(","lease":")" + lease + R"("})",
           R"({"outcome":"complete","lease":")" + lease + R"(","why":"x"})",
           R"({"outcome":"complete","lease":")" + lease + R"("}})",
           R"({"outcome":"complete","lease":")" + lease + R"(")",
           R"({"outcome":"complete","lease":")" + lease.substr(1) + R"("})",
           R"({"outcome":"completed","lease":")" + lease + R"("})",
       }) {
    EXPECT_FALSE(read(body)) << body;
  }
}

TEST(SettleWishes, OtherEndingsAreNotTakenForIt) {
  const auto failed = read(R"({"outcome":"fail","lease":")" + lease + R"("})");
  ASSERT_TRUE(failed);
  EXPECT_TRUE(std::holds_alternative<PullFailed>(failed->front().settlement.ending));
  const auto renewed = read(R"({"outcome":"renew","lease":")" + lease + R"("})");
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->front().renew_for, Millis{1000});
}

}  // namespace
}  // namespace dlo::api
