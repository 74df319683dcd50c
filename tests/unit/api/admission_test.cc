#include "dlo/api/admission.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/api/asking.h"

namespace dlo::api {
namespace {

using namespace std::chrono_literals;
using testing::must;

TEST(Action, IsNamedAfterWhatARouteDoes) {
  EXPECT_EQ(action_of("GET", "/v1/dead-letters/{id}"), "read");
  EXPECT_EQ(action_of("POST", "/v1/dead-letters"), "dead-letters.report");
  EXPECT_EQ(action_of("POST", "/v1/dead-letters/{id}/resolve"), "dead-letters.resolve");
  EXPECT_EQ(action_of("POST", "/v1/queues/{queue}/messages"), "queues.send");
  EXPECT_EQ(action_of("POST", "/v1/tokens"), "tokens.create");
  EXPECT_EQ(action_of("DELETE", "/v1/poison/activities/{poison_id}"), "poison.remove");
  EXPECT_EQ(action_of("POST", "/v1/poison/activities/{poison_id}/retry"), "poison.retry");
}

class AdmissionTest : public Asking {
 protected:
  Headers a_token(NewToken wanted) {
    wanted.name = "billing";
    return {{"Authorization", "Bearer " + must(book_.create(wanted, "local", clock_.now())).text}};
  }
  /// An operator's for the source "orders", of a server that runs already.
  Headers narrow_token() {
    const Told made =
        say("POST", "/v1/tokens", R"({"name":"billing","role":"operator","sources":["orders"]})");
    return {{"Authorization", "Bearer " + made.at("secret")}};
  }
  static std::string path_of(std::string_view pattern) {
    std::string path(pattern);
    for (auto open = path.find('{'); open != std::string::npos; open = path.find('{')) {
      path.replace(open, path.find('}') - open + 1, std::string(32, '0'));
    }
    return path;
  }
  TokenBook book_{office_};
};

// Routes x scopes: a new route is closed to narrow tokens until somebody says how narrow it is.
TEST_F(AdmissionTest, EveryRouteIsClosedToATokenForOtherSourcesUnlessItKeepsThemApart) {
  const auto narrow = a_token({"", Role::admin, {}, {{"orders"}, {}}});
  start();
  std::size_t closed = 0;
  for (const Route& route : service_->router().routes()) {
    if (route.role == Role::nobody) continue;
    const Reach reach = reach_of(route.method, route.pattern);
    const auto asked = begin(std::string(route.method), path_of(route.pattern), "", narrow);
    const int status = asked->answered() ? asked->answer().status : 0;
    const bool refused = reach == Reach::everything || reach == Reach::path;
    EXPECT_EQ(status == 403, refused) << route.method << " " << route.pattern << ": " << status;
    if (refused) ++closed;
  }
  EXPECT_GT(closed, 10U);
}

TEST_F(AdmissionTest, EveryActionIsClosedToATokenForAnotherOne) {
  const auto looks = a_token({"", Role::admin, {}, {{}, {"read"}}});
  const auto resolves = a_token({"", Role::admin, {}, {{}, {"dead-letters.resolve"}}});
  start();
  for (const Route& route : service_->router().routes()) {
    if (route.role == Role::nobody || route.pattern == "/v1/me") continue;
    const std::string action = action_of(route.method, route.pattern);
    if (reach_of(route.method, route.pattern) == Reach::nothing) continue;
    for (const auto& [headers, allowed] :
         {std::pair{looks, std::string("read")}, {resolves, "dead-letters.resolve"}}) {
      const auto asked = begin(std::string(route.method), path_of(route.pattern), "", headers);
      const int status = asked->answered() ? asked->answer().status : 0;
      EXPECT_EQ(status == 403, action != allowed) << route.method << " " << route.pattern;
    }
  }
}

TEST_F(AdmissionTest, ATokenForOneSourceSeesAndReportsOnlyThat) {
  const std::string payment = dead();
  const Headers narrow = narrow_token();
  const Told order = say("POST", "/v1/dead-letters", R"({"source":"orders","error":"x"})", narrow);
  ASSERT_EQ(order.status(), 201) << order;
  const Told foreign =
      say("POST", "/v1/dead-letters", R"({"source":"payments","error":"x"})", narrow);
  EXPECT_EQ(foreign.status(), 403) << foreign;
  Headers batch = narrow;
  batch.push_back({"Content-Type", "application/x-ndjson"});
  const Told lines = ask("POST", "/v1/dead-letters",
                         "{\"source\":\"payments\",\"error\":\"x\"}\n"
                         "{\"source\":\"orders\",\"error\":\"y\"}\n",
                         batch);
  EXPECT_EQ(lines.status(), 207) << lines;
  EXPECT_TRUE(lines.says("not for the source")) << lines;

  const Told list = get("/v1/dead-letters", narrow);
  EXPECT_TRUE(list.says("orders")) << list;
  EXPECT_FALSE(list.says("payments")) << list;
  EXPECT_FALSE(get("/v1/dead-letters?q=source:payments", narrow).says(payment));
  EXPECT_EQ(get("/v1/dead-letters/" + order.at("id"), narrow).status(), 200);
  // Not even that it is there.
  EXPECT_EQ(get("/v1/dead-letters/" + payment, narrow).status(), 404);
  EXPECT_EQ(get("/v1/dead-letters/" + payment + "/payload", narrow).status(), 404);
  EXPECT_EQ(say("POST", "/v1/dead-letters/" + payment + "/resolve", "{}", narrow).status(), 404);
}

TEST_F(AdmissionTest, ATokenForOneSourceEditsWhatIsItsOwnAndNothingElse) {
  const std::string payment = dead();
  const Headers narrow = narrow_token();
  const std::string order =
      say("POST", "/v1/dead-letters", R"({"source":"orders","error":"x"})", narrow).at("id");
  const std::string edit = R"({"json":{"a":1},"reason":"mistyped"})";
  const std::string own = "/v1/dead-letters/" + order;
  const std::string other = "/v1/dead-letters/" + payment;
  EXPECT_EQ(say("POST", own + "/edit", edit, narrow).status(), 201);
  EXPECT_EQ(get(own + "/versions", narrow).status(), 200);
  EXPECT_EQ(get(own + "/diff", narrow).status(), 200);
  EXPECT_EQ(say("POST", own + "/attempts", R"({"error":"still"})", narrow).status(), 200);
  EXPECT_EQ(say("PUT", "/v1/schemas/orders", R"({"type":"object"})", narrow).status(), 200);
  EXPECT_EQ(say("POST", other + "/edit", edit, narrow).status(), 404);
  EXPECT_EQ(get(other + "/versions", narrow).status(), 404);
  EXPECT_EQ(get(other + "/diff", narrow).status(), 404);
  EXPECT_EQ(say("POST", other + "/attempts", R"({"error":"still"})", narrow).status(), 404);
  EXPECT_EQ(say("PUT", "/v1/schemas/payments", R"({"type":"object"})", narrow).status(), 403);
}

TEST_F(AdmissionTest, WhatIsRefusedForItsSourceIsInTheTrailWhoeverFoundOut) {
  const std::string payment = dead();
  const Headers narrow = narrow_token();
  Headers batch = narrow;
  batch.push_back({"Content-Type", "application/x-ndjson"});
  const std::string foreign = "{\"source\":\"payments\",\"error\":\"x\"}\n";
  say("POST", "/v1/dead-letters/" + payment + "/resolve", "{}", narrow);
  say("POST", "/v1/dead-letters", foreign, narrow);
  ask("POST", "/v1/dead-letters", foreign + foreign, batch);  // one entry for all of its lines
  get("/v1/dead-letters/" + payment, narrow);                 // looking is no act
  service_->stop();                                           // all is written by now
  std::vector<std::string> refused;
  for (const auto& entry : must(office_.extras().ledger->audit(0, 100))) {
    if (entry.act.act == "refused") refused.push_back(entry.act.subject);
  }
  std::sort(refused.begin(), refused.end());
  EXPECT_EQ(refused, (std::vector<std::string>{"POST /v1/dead-letters", "POST /v1/dead-letters",
                                               "POST /v1/dead-letters/" + payment + "/resolve"}));
}

TEST_F(AdmissionTest, ScopesAreMadeOverTheApiAndShown) {
  const Told made = say("POST", "/v1/tokens",
                        R"({"name":"w","role":"operator","sources":["orders"],)"
                        R"("actions":["read","dead-letters.*"],"rate":5,"max_body":100})");
  ASSERT_EQ(made.status(), 201) << made;
  EXPECT_TRUE(made.says(R"("sources":["orders"])")) << made;
  const Headers with = {{"Authorization", "Bearer " + made.at("secret")}};
  EXPECT_TRUE(get("/v1/me", with).says(R"("actions":["read","dead-letters.*"])"));
}

TEST_F(AdmissionTest, AnActionThatDoesNotExistIsRefusedWithTheNearest) {
  const Told wrong = say("POST", "/v1/tokens", R"({"name":"w","actions":["dead-letters.resolv"]})");
  EXPECT_EQ(wrong.status(), 400) << wrong;
  EXPECT_TRUE(wrong.says("dead-letters.resolve")) << wrong;
}

TEST_F(AdmissionTest, WhoAsksTooOftenIsToldWhenToComeBack) {
  const auto slow = a_token({"", Role::reader, {}, {}, 2});
  EXPECT_EQ(get("/v1/me", slow).status(), 200);
  EXPECT_EQ(get("/v1/me", slow).status(), 200);
  const Told stopped = get("/v1/me", slow);
  EXPECT_EQ(stopped.status(), 429) << stopped;
  EXPECT_TRUE(stopped.says("rate_exceeded")) << stopped;
  EXPECT_EQ(stopped.header("Retry-After"), "1");
  clock_.advance(Millis{600ms});
  EXPECT_EQ(get("/v1/me", slow).status(), 200);
}

TEST_F(AdmissionTest, TokensWithoutARateHaveTheServers) {
  options_.rate = 1;
  const auto usual = a_token({"", Role::reader, {}});
  const auto fast = a_token({"", Role::reader, {}, {}, 100});
  EXPECT_EQ(get("/v1/me", usual).status(), 200);
  EXPECT_EQ(get("/v1/me", usual).status(), 429);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(get("/v1/me", fast).status(), 200) << i;
}

TEST_F(AdmissionTest, ABodyThatIsTooLargeForItsTokenIsRefused) {
  const auto small = a_token({"", Role::operator_, {}, {}, {}, 40});
  const std::string report = R"({"source":"a","error":"x"})";
  EXPECT_EQ(say("POST", "/v1/dead-letters", report, small).status(), 201);
  EXPECT_EQ(say("POST", "/v1/dead-letters", report + std::string(40, ' '), small).status(), 413);
}

TEST_F(AdmissionTest, APageOfAnotherOriginMayNotAct) {
  const std::string report = R"({"source":"a","error":"x"})";
  const auto from = [&](Headers headers) {
    headers.push_back({"Host", "localhost:8080"});
    return say("POST", "/v1/dead-letters", report, headers).status();
  };
  EXPECT_EQ(from({}), 201);
  EXPECT_EQ(from({{"Origin", "http://localhost:8080"}}), 201);
  EXPECT_EQ(from({{"Origin", "https://evil.example"}}), 403);
  EXPECT_EQ(from({{"Origin", "null"}}), 403);
  EXPECT_EQ(from({{"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(from({{"Sec-Fetch-Site", "same-origin"}}), 201);
}

TEST_F(AdmissionTest, WithoutTokensAPageCannotComeUnderANameOfItsOwn) {
  EXPECT_EQ(get("/v1/me", {{"Host", "evil.example:8080"}}).status(), 403);
  for (const auto* host : {"localhost:8080", "127.0.0.1:8080", "[::1]:8080", "10.0.0.7", "x"}) {
    EXPECT_EQ(get("/v1/me", {{"Host", host}}).status(), 200) << host;
  }
}

TEST_F(AdmissionTest, WithATokenEveryNameWillDo) {
  auto with = a_token({"", Role::reader, {}});
  with.push_back({"Host", "dlo.example"});
  EXPECT_EQ(get("/v1/me", with).status(), 200);
}

}  // namespace
}  // namespace dlo::api
