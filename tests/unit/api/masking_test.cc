#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/api/asking.h"

#include "dlo/api/curtain.h"

namespace dlo::api {
namespace {

/// Two masked places, an admin, an operator, and an operator who may reveal.
class MaskingTest : public Asking {
 protected:
  MaskingTest() {
    for (const char* place : {"body.card.number", "header.authorization"}) {
      options_.masked.push_back(testing::must(FieldPath::parse(place)));
    }
  }
  static std::string members() {
    return R"("id":"p-1","json":{"card":{"number":"4111","owner":"ana"},"amount":12},)"
           R"("headers":[{"name":"Authorization","value":"Basic xyz"},{"name":"a","value":"b"}])";
  }
  Headers token(const std::string& role, const std::string& actions = "") {
    const Told made = say("POST", "/v1/tokens",
                          R"({"name":")" + role + R"(","role":")" + role + "\"" +
                              (actions.empty() ? "" : ",\"actions\":[" + actions + "]") + "}",
                          admin_);
    EXPECT_EQ(made.status(), 201) << made;
    return {{"Authorization", "Bearer " + made.at("secret")}};
  }
  /// From now on everybody needs a token.
  void close() { admin_ = token("admin"); }

  Headers admin_;
};

bool hides(const Told& told) {
  return !told.says("4111") && !told.says("Basic xyz");
}

TEST_F(MaskingTest, NobodyIsShownMaskedPlacesUnlessTheyAskForThem) {
  const std::string id = dead(members());
  const std::string path = "/v1/dead-letters/" + id;
  const Told shown = get(path);
  EXPECT_TRUE(hides(shown)) << shown;
  EXPECT_TRUE(shown.says("***")) << shown;
  EXPECT_TRUE(shown.says("ana")) << "its neighbours are shown";
  EXPECT_EQ(get(path + "/payload").body(),
            R"({"card":{"number":"***","owner":"ana"},"amount":12})");
  const Told listed = get("/v1/dead-letters?columns=n=body.card.number,o=body.card.owner");
  EXPECT_TRUE(hides(listed)) << listed;
  EXPECT_TRUE(listed.says("ana")) << listed;
  EXPECT_TRUE(hides(get(path + "?form=booking")));
  EXPECT_TRUE(hides(say("POST", path + "/archive", "{}")));
}

// A file of masks would be taken for the messages themselves.
TEST_F(MaskingTest, WhatIsMaskedSaysSoAndIsNotTakenIn) {
  const std::string path = "/v1/dead-letters/" + dead(members());
  const auto import = [this](const std::string& line) {
    return ask("POST", "/v1/import", line, {{"Content-Type", "application/x-ndjson"}});
  };
  const Told masked = get(path);
  EXPECT_EQ(masked.at("masked"), "true") << masked;
  EXPECT_TRUE(import(masked.body()).says("Values of it are masked")) << import(masked.body());
  // One that an older version wrote does not say so: its masks stand where this office masks.
  std::string silent = masked.body();
  silent.erase(silent.find(R"(,"masked":true)"), std::string(R"(,"masked":true)").size());
  EXPECT_TRUE(import(silent).says("Values of it are masked")) << import(silent);

  const Told revealed = get(path + "?reveal=true");
  EXPECT_FALSE(revealed.says("\"masked\"")) << revealed;
  EXPECT_EQ(import(revealed.body()).at("effect"), "merged");
  const Told innocent = get("/v1/dead-letters/" + dead(R"("id":"p-2","json":{"amount":1})"));
  EXPECT_FALSE(innocent.says("\"masked\"")) << "nothing of it is hidden: " << innocent;
}

TEST_F(MaskingTest, RevealingNeedsTheRightAndIsAuditedFirst) {
  const std::string id = dead(members());
  const std::string path = "/v1/dead-letters/" + id;
  close();
  const Headers reader = token("reader");
  const Headers trusted = token("operator", R"("read","reveal")");
  const Told refused = get(path + "?reveal=true", reader);
  EXPECT_EQ(refused.status(), 403) << refused;
  EXPECT_TRUE(refused.says("reveal")) << refused;
  EXPECT_EQ(get(path + "/payload?reveal=true", reader).status(), 403);
  EXPECT_FALSE(get("/v1/audit", admin_).says("\"act\":\"reveal\""));
  EXPECT_TRUE(get(path + "?reveal=true", trusted).says("4111"));
  const Told bytes = get(path + "/payload?reveal=true", admin_);
  EXPECT_TRUE(bytes.says("4111")) << bytes;
  const Told trail = get("/v1/audit", admin_);
  EXPECT_TRUE(trail.says("\"act\":\"reveal\"")) << trail;
  EXPECT_TRUE(trail.says(id)) << trail;
  EXPECT_FALSE(trail.says("4111")) << trail;
}

TEST_F(MaskingTest, WhoeverIsRefusedWhatIsMaskedIsInTheTrail) {
  const std::string id = dead(members());
  const std::string path = "/v1/dead-letters/" + id;
  close();
  const Headers reader = token("reader");
  EXPECT_EQ(get(path + "?reveal=true", reader).status(), 403);
  EXPECT_EQ(get(path + "/payload?reveal=true", reader).status(), 403);
  EXPECT_EQ(get("/v1/dead-letters?q=body.card.number:4111", reader).status(), 403);
  EXPECT_EQ(get(path, reader).status(), 200);
  service_->stop();  // all is written by now
  std::vector<std::string> refused;
  for (const auto& entry : testing::must(office_.extras().ledger->audit(0, 100))) {
    if (entry.act.act == "refused") refused.push_back(entry.act.subject);
    EXPECT_EQ(entry.act.detail.find("4111"), std::string::npos);
  }
  std::sort(refused.begin(), refused.end());
  EXPECT_EQ(refused, (std::vector<std::string>{"GET /v1/dead-letters", "GET " + path,
                                               "GET " + path + "/payload"}));
}

TEST_F(MaskingTest, AskingAboutAMaskedPlaceNeedsTheRightToo) {
  dead(members());
  close();
  const Headers reader = token("reader");
  for (const char* query : {"body.card.number:4111", "-body.card.number:4111",
                            "header.authorization:x", "body.card:x", "body.card.number.x:1"}) {
    const Told refused = get("/v1/dead-letters?q=" + std::string(query), reader);
    EXPECT_EQ(refused.status(), 403) << query << refused;
    const Told job =
        say("POST", "/v1/jobs", R"({"act":"archive","query":")" + std::string(query) + "\"}",
            token("operator"));
    EXPECT_EQ(job.status(), 403) << query << job;
  }
  EXPECT_TRUE(get("/v1/dead-letters?q=body.card.number:4111", admin_).says("payments"));
  EXPECT_TRUE(get("/v1/dead-letters?q=body.amount:12", reader).says("payments"));
  const Told words = get("/v1/dead-letters?q=payload:4111", admin_);
  EXPECT_EQ(words.status(), 400) << words;
  EXPECT_TRUE(words.says("no text index")) << words;
}

TEST_F(MaskingTest, EditsAreComparedWithoutMaskedValues) {
  const std::string id = dead(members());
  const std::string path = "/v1/dead-letters/" + id;
  const Told edited = say("POST", path + "/edit",
                          R"({"recipe":[{"set":"card.number","value":"4222"},)"
                          R"({"set":"amount","value":13}],"reason":"typo"})");
  EXPECT_EQ(edited.status(), 201) << edited;
  EXPECT_TRUE(hides(edited)) << edited;
  EXPECT_FALSE(edited.says("4222")) << edited;
  EXPECT_TRUE(edited.says("13")) << edited;
  const Told compared = get(path + "/diff");
  EXPECT_TRUE(hides(compared)) << compared;
  EXPECT_FALSE(compared.says("4222")) << compared;
  EXPECT_EQ(get(path + "/payload?reveal=true").body(),
            R"({"card":{"number":"4222","owner":"ana"},"amount":13})");
}

TEST_F(MaskingTest, AnEditThatWouldWriteTheMaskIsRefused) {
  const std::string id = dead(members());
  const std::string path = "/v1/dead-letters/" + id + "/edit";
  const Told payload =
      say("POST", path, R"({"json":{"card":{"number":"***"},"amount":13},"reason":"x"})");
  EXPECT_EQ(payload.status(), 400) << payload;
  EXPECT_TRUE(payload.says("mask")) << payload;
  const Told header =
      say("POST", path, R"({"headers":[{"name":"authorization","value":"***"}],"reason":"x"})");
  EXPECT_EQ(header.status(), 400) << header;
}

TEST_F(MaskingTest, ARecipeCannotCarryAMaskedValueToWhereItIsShown) {
  const std::string id = dead(members());
  close();
  const Headers worker = token("operator");
  for (const char* steps :
       {R"([{"rename":"card.number","to":"x"}])", R"([{"rename":"card","to":"x"}])",
        R"([{"patch":[{"op":"copy","from":"/card/number","path":"/x"}]}])",
        R"([{"patch":[{"op":"move","from":"/card","path":"/x"}]}])",
        R"([{"patch":[{"op":"test","path":"/card/number","value":"4111"}]}])"}) {
    const std::string recipe = R"("recipe":)" + std::string(steps);
    const Told edit =
        say("POST", "/v1/dead-letters/" + id + "/edit", "{" + recipe + R"(,"reason":"x"})", worker);
    EXPECT_EQ(edit.status(), 403) << steps << edit;
    const Told job =
        say("POST", "/v1/jobs", R"({"act":"repair","query":"status:open",)" + recipe + "}", worker);
    EXPECT_EQ(job.status(), 403) << steps << job;
  }
}

TEST_F(MaskingTest, WhatAJobSaysOfAMaskedPlaceIsShownToThoseWhoMayReveal) {
  close();
  const Headers reader = token("reader");
  const Headers trusted = token("operator", R"("read","reveal")");
  const std::vector<std::string> said = {
      R"({"act":"archive","query":"body.card.number:zqa status:open"})",
      R"({"act":"repair","query":"status:open","recipe":[{"set":"card.number","value":"zqb"},)"
      R"({"set":"card","value":{"number":"zqc"}},{"set":"amount","value":1234},)"
      R"({"set_header":"Authorization","value":"zqd"},)"
      R"({"patch":[{"op":"replace","path":"/card/number","value":"zqe"}]}]})",
      R"({"act":"replay","query":"-header.authorization:zqf",)"
      R"("set_headers":{"authorization":"zqg","lane":"slow"}})"};
  std::vector<std::string> paths = {"/v1/jobs"};
  for (const std::string& each : said) {
    const Told planned = say("POST", "/v1/jobs", each, admin_);
    ASSERT_EQ(planned.status(), 201) << planned;
    EXPECT_TRUE(planned.says("zq")) << planned;
    paths.push_back("/v1/jobs/" + planned.at("job.id"));
  }
  const Headers lines{{"Accept", "application/x-ndjson"}, reader.front()};
  EXPECT_FALSE(get("/v1/jobs", lines).says("zq"));
  EXPECT_FALSE(get("/v1/audit", admin_).says("zq")) << "nobody finds them in the trail";
  for (const std::string& path : paths) {
    const Told hidden = get(path, reader);
    EXPECT_EQ(hidden.status(), 200) << hidden;
    EXPECT_FALSE(hidden.says("zq")) << hidden;
    EXPECT_TRUE(hidden.says("***")) << hidden;
    EXPECT_TRUE(get(path, trusted).says("zq")) << path;
    EXPECT_TRUE(get(path, admin_).says("zq")) << path;
  }
  const Told list = get("/v1/jobs", reader);
  for (const char* neighbour : {"1234", "slow", "status:open"}) {
    EXPECT_TRUE(list.says(neighbour)) << neighbour << list;
  }
  EXPECT_FALSE(say("POST", paths[1] + "/start", "", token("operator")).says("zq"));
}

TEST_F(MaskingTest, AJobThatWouldWriteTheMaskIsRefused) {
  for (
      const char* each :
      {R"("act":"replay","set_headers":{"Authorization":"***"})",
       R"("act":"repair","recipe":[{"set":"card.number","value":"***"}])",
       R"("act":"repair","recipe":[{"set":"card","value":{"number":"***"}}])",
       R"("act":"repair","recipe":[{"set_header":"authorization","value":"***"}])",
       R"("act":"repair","recipe":[{"patch":[{"op":"add","path":"/card/number","value":"***"}]}])"}) {
    const Told told =
        say("POST", "/v1/jobs", R"({"query":"status:open",)" + std::string(each) + "}");
    EXPECT_EQ(told.status(), 400) << each << told;
    EXPECT_TRUE(told.says("mask")) << told;
  }
  EXPECT_EQ(
      say("POST", "/v1/jobs",
          R"({"query":"status:open","act":"repair","recipe":[{"set":"amount","value":"***"}]})")
          .status(),
      201);
}

TEST(Curtain, APayloadThatIsNoJsonIsHiddenWhole) {
  const Curtain curtain({testing::must(FieldPath::parse("body.card.number"))});
  Headers headers;
  std::optional<std::string> payload = R"({"card":{"number":"4111")";
  curtain.hide(headers, payload);
  EXPECT_EQ(payload, "***");
}

TEST(Curtain, EveryRepeatOfAMaskedKeyIsHidden) {
  const Curtain curtain({testing::must(FieldPath::parse("body.a.0.b"))});
  Headers headers;
  std::optional<std::string> payload = R"({"a":[{"b":1,"b":{"c":2}}],"a":[{"b":[3]}],"d":1.0})";
  curtain.hide(headers, payload);
  EXPECT_EQ(payload, R"({"a":[{"b":"***","b":"***"}],"a":[{"b":"***"}],"d":1.0})");
}

TEST(Curtain, NothingMaskedChangesNothing) {
  const Curtain curtain;
  Headers headers{{"a", "b"}};
  std::optional<std::string> payload = "{ }";
  curtain.hide(headers, payload);
  EXPECT_EQ(headers, (Headers{{"a", "b"}}));
  EXPECT_EQ(payload, "{ }");
}

TEST_F(MaskingTest, ASchemaIsNoWayToFindOutWhatIsMasked) {
  dead(members());
  close();
  const Headers operator_ = token("operator");
  for (const char* rules :
       {R"({"properties":{"card":{"properties":{"number":{"const":"4111"}}}}})",
        R"({"properties":{"card":{"properties":{"number":{"maxLength":3}}}}})",
        R"({"properties":{"card":{"additionalProperties":{"type":"number"}}}})",
        R"({"properties":{"card":{"const":{"number":"4111","owner":"ana"}}}})",
        R"({"additionalProperties":{"additionalProperties":{"enum":["4111"]}}})"}) {
    const Told refused = say("PUT", "/v1/schemas/payments", rules, operator_);
    EXPECT_EQ(refused.status(), 403) << rules << refused;
  }
  EXPECT_EQ(get("/v1/schemas/payments", operator_).status(), 404);
  for (const char* rules :
       {R"({"type":"object","required":["card"],"properties":{"amount":{"maximum":9}}})",
        R"({"properties":{"card":{"required":["number"],"properties":{"owner":{"maxLength":9}}}}})",
        R"({"properties":{"card":{"properties":{"number":{"title":"what is on it"}}}}})"}) {
    const Told taken = say("PUT", "/v1/schemas/payments", rules, operator_);
    EXPECT_EQ(taken.status(), 200) << rules << taken;
  }
}

TEST_F(MaskingTest, ComplaintsTellNothingOfMaskedPlacesToWhoeverMayNotSeeThem) {
  const std::string id = dead(members());
  close();
  const Headers operator_ = token("operator");
  const std::string rules = R"({"properties":{"amount":{"maximum":20},)"
                            R"("card":{"properties":{"number":{"const":"4222","maxLength":3}}}}})";
  EXPECT_EQ(say("PUT", "/v1/schemas/payments", rules, admin_).status(), 200);
  const std::string edit = R"({"dry_run":true,"recipe":[{"set":"amount","value":30}]})";
  const Told told = say("POST", "/v1/dead-letters/" + id + "/edit", edit, operator_);
  EXPECT_EQ(told.at("complaints.0"), "/amount is more than 20") << told;
  EXPECT_EQ(told.at("complaints.1"), "a masked place does not fit");
  EXPECT_EQ(told.at("complaints.2"), "?");
  EXPECT_FALSE(told.says("4222")) << told;
  const Told tried =
      say("POST", "/v1/recipes/try",
          R"({"steps":[{"set":"amount","value":13}],"ids":[")" + id + "\"]}", operator_);
  EXPECT_EQ(tried.at("tried.0.complaints.0"), "a masked place does not fit") << tried;
  const Told refused = say("POST", "/v1/dead-letters/" + id + "/edit",
                           R"({"reason":"x","recipe":[{"set":"amount","value":13}]})", operator_);
  EXPECT_EQ(refused.status(), 400) << refused;
  EXPECT_FALSE(refused.says("4222") || refused.says("number")) << refused;
  EXPECT_TRUE(say("POST", "/v1/dead-letters/" + id + "/edit", edit, admin_).says("4222"));
}

}  // namespace
}  // namespace dlo::api
