#include "dlo/api/tokens.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "unit/api/asking.h"

namespace dlo::api {
namespace {

using namespace std::chrono_literals;
using testing::must;

class TokensTest : public Asking {
 protected:
  IssuedToken issue(const std::string& name, Role role) {
    return must(book_.create({name, role, {}}, "local", clock_.now()));
  }
  static Headers with(const std::string& secret) { return {{"Authorization", "Bearer " + secret}}; }
  std::vector<std::string> refusals() {
    service_->stop();  // what was posted is done
    std::vector<std::string> all;
    for (const AuditEntry& each : must(office_.extras().ledger->audit(0, 1000))) {
      if (each.act.act == "refused") all.push_back(each.act.actor + ": " + each.act.subject);
    }
    return all;
  }
  TokenBook book_{office_};
};

/// A path that fits the pattern.
std::string path_of(std::string_view pattern) {
  std::string path;
  while (!pattern.empty()) {
    const auto open = pattern.find('{');
    path += pattern.substr(0, open);
    if (open == std::string_view::npos) break;
    path += std::string(32, '0');
    pattern.remove_prefix(pattern.find('}') + 1);
  }
  return path;
}

TEST_F(TokensTest, EveryRouteIsClosedToEveryRoleBelowItsOwn) {
  start();
  const std::vector<std::pair<Role, Headers>> askers = {
      {Role::nobody, {}},
      {Role::reader, with(issue("r", Role::reader).text)},
      {Role::operator_, with(issue("o", Role::operator_).text)},
      {Role::admin, with(issue("a", Role::admin).text)}};
  clock_.advance(Millis{2s});  // the service has heard of them
  std::size_t closed = 0;
  for (const Route& route : service_->router().routes()) {
    for (const auto& [role, headers] : askers) {
      const auto asked = begin(std::string(route.method), path_of(route.pattern), "", headers);
      // Who is refused is so at once; what is allowed may take its time.
      const int status = asked->answered() ? asked->answer().status : 0;
      const bool refused = status == 401 || status == 403;
      EXPECT_EQ(refused, role < route.role)
          << route.method << " " << route.pattern << " as " << name_of(role) << ": " << status;
      if (refused) ++closed;
    }
  }
  EXPECT_GT(closed, 20U);
}

TEST_F(TokensTest, OnlyHealthIsOpenToStrangers) {
  start();
  for (const Route& route : service_->router().routes()) {
    if (route.role == Role::nobody) {
      EXPECT_TRUE(route.pattern == "/healthz" || route.pattern == "/readyz") << route.pattern;
    }
  }
}

TEST_F(TokensTest, TheFirstTokenClosesTheServerForEverybodyWithoutOne) {
  EXPECT_EQ(get("/v1/me").at("role"), "admin");
  const Told made = say("POST", "/v1/tokens", R"({"name":"ana","role":"admin"})");
  ASSERT_EQ(made.status(), 201) << made;
  EXPECT_EQ(made.header("Cache-Control"), "no-store");
  const Told closed = get("/v1/me");
  EXPECT_EQ(closed.status(), 401);
  EXPECT_EQ(closed.header("WWW-Authenticate"), "Bearer realm=\"dlo\"");
  const Told me = get("/v1/me", with(made.at("secret")));
  EXPECT_EQ(me.at("role"), "admin") << me;
  EXPECT_EQ(me.at("name"), "ana (" + made.at("token.id") + ")");
}

TEST_F(TokensTest, WithoutAnyTokenAServerThatAlwaysNeedsOneAdmitsNobody) {
  options_.tokens_always = true;
  EXPECT_EQ(get("/v1/me").status(), 401);
  EXPECT_EQ(get("/healthz").status(), 200);
}

TEST_F(TokensTest, AreListedWithoutSecretsAndRevokedForGood) {
  const auto admin = issue("ana", Role::admin);
  const Told made =
      say("POST", "/v1/tokens", R"({"name":"billing","expires_in":"90d"})", with(admin.text));
  ASSERT_EQ(made.status(), 201) << made;
  EXPECT_EQ(made.at("token.role"), "reader");  // unless more is asked for
  const Told list = get("/v1/tokens", with(admin.text));
  EXPECT_TRUE(list.says("billing")) << list;
  EXPECT_FALSE(list.says("hash")) << list;
  EXPECT_FALSE(list.says(made.at("secret"))) << list;
  const Told ended = ask("DELETE", "/v1/tokens/" + made.at("token.id"), "", with(admin.text));
  EXPECT_EQ(ended.status(), 200) << ended;
  EXPECT_EQ(get("/v1/me", with(made.at("secret"))).status(), 401);
  EXPECT_EQ(ask("DELETE", "/v1/tokens/ffffffff", "", with(admin.text)).status(), 404);
}

TEST_F(TokensTest, GiveNoMoreThanTheirMakerHas) {
  start();
  const Headers root = with(issue("root", Role::admin).text);
  clock_.advance(Millis{2s});
  const Told made =
      say("POST", "/v1/tokens",
          R"({"name":"clerk","role":"admin","actions":["read","tokens.create"]})", root);
  ASSERT_EQ(made.status(), 201) << made;
  const Headers clerk = with(made.at("secret"));
  for (const char* more : {R"({"name":"x","role":"admin"})", R"({"name":"x"})",
                           R"({"name":"x","role":"operator","actions":["read","jobs.plan"]})",
                           R"({"name":"x","role":"operator","actions":["reveal"]})"}) {
    const Told refused = say("POST", "/v1/tokens", more, clerk);
    EXPECT_EQ(refused.status(), 403) << more << refused;
    EXPECT_TRUE(refused.says("no more than its maker has")) << refused;
    EXPECT_TRUE(refused.says("tokens.create")) << "it says what he has: " << refused;
  }
  EXPECT_EQ(say("POST", "/v1/tokens", R"({"name":"x","actions":["read"]})", clerk).status(), 201);
  const auto trail = refusals();
  EXPECT_EQ(std::count(trail.begin(), trail.end(),
                       "clerk (" + made.at("token.id") + "): POST /v1/tokens"),
            4)
      << "each is in the trail";
}

TEST_F(TokensTest, AWrongRoleOrDurationIsRefusedAndMakesNothing) {
  EXPECT_EQ(say("POST", "/v1/tokens", R"({"name":"x","role":"root"})").status(), 400);
  EXPECT_EQ(say("POST", "/v1/tokens", R"({"name":"x","expires_in":"soon"})").status(), 400);
  EXPECT_EQ(say("POST", "/v1/tokens", R"({"role":"admin"})").status(), 400);
  EXPECT_EQ(say("POST", "/v1/tokens", R"({"name":"x","scope":"y"})").status(), 400);
  EXPECT_TRUE(must(book_.list()).empty());
}

TEST_F(TokensTest, RefusedActsAndWrongTokensAreAudited) {
  const auto reader = issue("billing", Role::reader);
  const std::string act = "/v1/dead-letters/" + std::string(32, '0') + "/resolve";
  EXPECT_EQ(say("POST", act + "?x=secret", "{}", with(reader.text)).status(), 403);
  EXPECT_EQ(get("/v1/me", with(token_text(TokenDraw{}))).status(), 401);
  EXPECT_EQ(get("/v1/tokens", with(reader.text)).status(), 403);  // looking is no act
  EXPECT_EQ(get("/v1/me").status(), 401);                         // nor is coming without one
  std::vector<std::string> told = refusals();
  std::ranges::sort(told);  // threads write them, in any order
  EXPECT_EQ(told, (std::vector<std::string>{": GET /v1/me",
                                            "billing (" + reader.token.id + "): POST " + act}));
}

TEST_F(TokensTest, ActsWithoutATokenAndActsThatCameTooLateAreAuditedToo) {
  const std::string path = "/v1/dead-letters/" + dead();
  const auto worker =
      with(say("POST", "/v1/tokens", R"({"name":"w","role":"operator"})").at("secret"));
  EXPECT_EQ(say("POST", path + "/resolve", "{}").status(), 401);
  EXPECT_EQ(get(path).status(), 401);  // looking is no act
  EXPECT_EQ(say("POST", path + "/resolve", "{}", worker).status(), 200);
  EXPECT_EQ(say("POST", path + "/resolve", "{}", worker).status(), 409);
  Headers old = worker;
  old.push_back({"If-Match", "\"1\""});
  EXPECT_EQ(say("POST", path + "/archive", "{}", old).status(), 412);
  auto all = refusals();
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], ": POST " + path + "/resolve");
  EXPECT_NE(all[1].find("POST " + path + "/archive"), std::string::npos) << all[1];
  EXPECT_NE(all[2].find("POST " + path + "/resolve"), std::string::npos) << all[2];
}

TEST_F(TokensTest, AFloodOfRefusalsDoesNotFillTheTrail) {
  const auto reader = with(issue("billing", Role::reader).text);
  const std::string act = "/v1/dead-letters/" + std::string(32, '0') + "/resolve";
  for (int i = 0; i < 200; ++i) EXPECT_EQ(say("POST", act, "{}", reader).status(), 403);
  clock_.advance(Millis{61s});
  EXPECT_EQ(say("POST", act, "{}", reader).status(), 403);
  EXPECT_EQ(refusals().size(), 31U);
  const auto trail = must(office_.extras().ledger->audit(0, 1000));
  EXPECT_NE(trail.back().act.detail.find("\"unwritten\":170"), std::string::npos)
      << trail.back().act.detail;
}

TEST_F(TokensTest, WhoTriesManyWrongTokensIsSlowedDown) {
  issue("ana", Role::admin);
  const auto wrong = with(token_text(TokenDraw{}));
  int refused = 0;
  while (refused < 100 && get("/v1/me", wrong).status() == 401) ++refused;
  EXPECT_EQ(refused, 11);
  const Told slowed = get("/v1/me", wrong);
  EXPECT_EQ(slowed.status(), 429) << slowed;
  EXPECT_EQ(slowed.header("Retry-After"), "1");
  EXPECT_EQ(refusals().size(), 11U);  // the trail does not grow with what is not looked at
  for (const char* wait : {"2", "4", "8", "16"}) {
    clock_.advance(std::chrono::seconds{std::atoi(wait) / 2});
    EXPECT_EQ(get("/v1/me", wrong).status(), 401) << "it is looked at again";
    const Told longer = get("/v1/me", wrong);
    EXPECT_EQ(longer.header("Retry-After"), wait) << longer;
  }
  clock_.advance(Millis{15'500});
  EXPECT_EQ(get("/v1/me", wrong).header("Retry-After"), "1") << "of what is left";
}

}  // namespace
}  // namespace dlo::api
