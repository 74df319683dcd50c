#include "dlo/cli/client.h"

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>

#include "support/must.h"

namespace dlo::cli {
namespace {

using dlo::testing::must;

/// Answers what it was told to answer.
class Scripted final : public Client {
 public:
  explicit Scripted(HttpResponse answer) : answer_(std::move(answer)) {}
  Result<HttpResponse> ask(const Ask&) override { return answer_; }
  [[nodiscard]] std::string name() const override { return "the server at http://far"; }
  [[nodiscard]] bool is_server() const noexcept override { return true; }

 private:
  HttpResponse answer_;
};

Error error_for(HttpResponse answer) {
  Scripted client(std::move(answer));
  const auto reply = ask_for(client, {"GET", "/v1/stats"});
  EXPECT_FALSE(reply);
  return reply ? Error{} : reply.error();
}

bool says(const Error& error, const std::string& part) {
  return error.detail.find(part) != std::string::npos;
}

TEST(Client, AProblemBecomesAnErrorThatSaysWhatToDo) {
  const Error unknown = error_for(problem(401, "unauthorized", "This server needs a token."));
  EXPECT_EQ(unknown.code, Code::refused);
  EXPECT_TRUE(says(unknown, "needs a token.") && says(unknown, "DLO_TOKEN")) << unknown.detail;
  const Error role = error_for(problem(403, "role_too_low", "This needs the role operator."));
  EXPECT_TRUE(says(role, "role operator") && says(role, "dlo token create")) << role.detail;
  EXPECT_EQ(error_for(problem(404, "not_found", "gone")).code, Code::not_found);
  EXPECT_EQ(error_for(problem(400, "invalid_argument", "no")).code, Code::invalid_argument);
  EXPECT_EQ(error_for(problem(412, "version_changed", "no")).code, Code::conflict);
  EXPECT_EQ(error_for(problem(503, "busy", "later")).code, Code::unavailable);
}

TEST(Client, AServerOfAnotherVersionIsToldApartFromAMissingRecord) {
  const Error older = error_for(problem(404, "no_such_route", "There is nothing at /v1/new."));
  EXPECT_EQ(older.code, Code::unavailable);  // not "nothing matched"
  EXPECT_TRUE(says(older, "another version") && says(older, "dlo doctor")) << older.detail;
}

TEST(Client, WhateverElseAnswersThereIsNamed) {
  HttpResponse proxy;
  proxy.status = 502;
  proxy.content_type = "text/html";
  proxy.body = "<html>Bad Gateway</html>";
  EXPECT_TRUE(says(error_for(proxy), "not dlo answers for the server at http://far (status 502)"));
  proxy.status = 200;
  EXPECT_TRUE(says(error_for(proxy), "not JSON"));
}

TEST(Client, AnAddressIsEncoded) {
  EXPECT_EQ(Address("/v1/queues").step("a/b c").with("q", "x&y=ü").with_some("z", "").text(),
            "/v1/queues/a%2Fb%20c?q=x%26y%3D%C3%BC");
}

TEST(Client, AnswersAreReadWithTolerance) {
  const std::string text =
      R"({"n":7,"s":"a\u0041","b":true,"x":null,"p":"AP8=","p_encoding":"base64","q":"AP8="})";
  const JsonValue value = must(parse_json(text));
  EXPECT_EQ(number_of(value, "n"), 7U);
  EXPECT_EQ(text_of(value, "n"), "7");
  EXPECT_EQ(text_of(value, "s"), "aA");
  EXPECT_TRUE(is_true(value, "b") && !is_true(value, "n"));
  EXPECT_EQ(text_of(value, "x") + text_of(value, "missing"), "");
  EXPECT_EQ(bytes_of(value, "p"), std::string("\0\xFF", 2));
  EXPECT_EQ(bytes_of(value, "q"), "AP8=");
  EXPECT_EQ(bytes_of(value, "x"), std::nullopt);
}

}  // namespace
}  // namespace dlo::cli
