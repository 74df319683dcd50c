#include <gtest/gtest.h>
#include <string>

#include "unit/api/asking.h"

namespace dlo::api {
namespace {

class EditsTest : public Asking {
 protected:
  std::string broken() {
    return dead(R"("id":"p-1","json":{"amount":-1,"iban_no":"DE1"},)"
                R"("headers":[{"name":"tenant","value":"acme"},{"name":"x-death","value":"1"}])");
  }
  Told edit(const std::string& id, const std::string& members, Headers headers = {}) {
    return say("POST", "/v1/dead-letters/" + id + "/edit", "{" + members + "}", std::move(headers));
  }
};

TEST_F(EditsTest, AnEditIsANewVersionAndTheFirstStays) {  // S1-41
  const std::string id = broken();
  const std::string path = "/v1/dead-letters/" + id;
  EXPECT_EQ(get(path + "/versions").at("newest"), "0");
  const Told told = edit(id, R"("json":{"amount":1,"iban_no":"DE1"},"reason":"sign was wrong")");
  EXPECT_EQ(told.status(), 201) << told;
  EXPECT_EQ(told.at("number"), "1");
  EXPECT_EQ(told.at("diff.paths.0.path"), "/amount");
  const Told versions = get(path + "/versions");
  EXPECT_EQ(versions.at("newest"), "1") << versions;
  EXPECT_EQ(versions.at("versions.1.why"), "sign was wrong");
  EXPECT_EQ(get(path + "/payload").body(), R"({"amount":1,"iban_no":"DE1"})");
  EXPECT_EQ(get(path + "/payload?version=0").body(), R"({"amount":-1,"iban_no":"DE1"})");
}

TEST_F(EditsTest, TwoVersionsAreComparedByHeaderAndPath) {
  const std::string id = broken();
  edit(id, R"("json":{"amount":1,"iban_no":"DE1"},"reason":"a")");
  edit(id, R"("recipe":[{"rename":"iban_no","to":"iban"},{"set_header":"tenant","value":"b"}],)"
           R"("reason":"b")");
  const std::string path = "/v1/dead-letters/" + id + "/diff";
  const Told all = get(path);
  EXPECT_EQ(all.at("from"), "0");
  EXPECT_EQ(all.at("to"), "2");
  EXPECT_EQ(all.at("diff.headers.0.name"), "tenant") << all;
  EXPECT_EQ(all.at("diff.headers.0.before"), "acme");
  EXPECT_EQ(all.at("diff.paths.0.change"), "changed");
  EXPECT_EQ(all.at("diff.paths.1.change"), "removed");
  EXPECT_EQ(all.at("diff.paths.2.after"), "DE1");
  EXPECT_EQ(get(path + "?from=1&to=2").at("diff.paths.0.path"), "/iban_no");
  EXPECT_EQ(get(path + "?to=3").status(), 400);
}

TEST_F(EditsTest, LockedHeadersAreRefusedAndSensitiveOnesWarned) {
  const std::string id = broken();
  const Told locked = edit(id, R"("headers":[{"name":"tenant","value":"acme"}],"reason":"x")");
  EXPECT_EQ(locked.status(), 400) << locked;
  EXPECT_TRUE(locked.says("x-death")) << locked;
  EXPECT_EQ(get("/v1/dead-letters/" + id + "/versions").at("newest"), "0");
  const Told warned =
      edit(id, R"("recipe":[{"set_header":"content-type","value":"text/x"}],"reason":"x")");
  EXPECT_EQ(warned.status(), 201) << warned;
  EXPECT_TRUE(warned.says("is sensitive")) << warned;
}

TEST_F(EditsTest, AnOldVersionIsNotEdited) {
  const std::string id = broken();
  const std::string etag = get("/v1/dead-letters/" + id).header("ETag");
  const std::string change = R"("json":{"amount":2},"reason":"x")";
  EXPECT_EQ(edit(id, change, {{"If-Match", etag}}).status(), 201);
  EXPECT_EQ(edit(id, R"("json":{"amount":3},"reason":"x")", {{"If-Match", etag}}).status(), 412);
  EXPECT_EQ(get("/v1/dead-letters/" + id + "/payload").body(), R"({"amount":2})");
}

TEST_F(EditsTest, ADryRunShowsAndChangesNothing) {
  const std::string id = broken();
  const Told told = edit(id, R"("json":{"amount":2},"dry_run":true)");
  EXPECT_EQ(told.status(), 200) << told;
  EXPECT_EQ(told.at("made"), "false");
  EXPECT_EQ(told.at("diff.paths.0.path"), "/amount");
  EXPECT_EQ(get("/v1/dead-letters/" + id + "/versions").at("newest"), "0");
}

TEST_F(EditsTest, WhatChangesNothingIsNoVersion) {
  const std::string id = broken();
  const Told told = edit(id, R"("json":{"amount":-1,"iban_no":"DE1"},"reason":"x")");
  EXPECT_EQ(told.status(), 200) << told;
  EXPECT_EQ(told.at("made"), "false");
  EXPECT_EQ(get("/v1/dead-letters/" + id + "/versions").at("newest"), "0");
}

TEST_F(EditsTest, OnlyWhatWaitsForNobodyIsEdited) {
  const std::string id = broken();
  say("POST", "/v1/dead-letters/" + id + "/resolve", "{}");
  EXPECT_EQ(edit(id, R"("json":1,"reason":"x")").status(), 409);
}

TEST_F(EditsTest, NonsenseIsRefused) {
  const std::string id = broken();
  EXPECT_EQ(edit(id, R"("json":1)").status(), 400) << "no reason";
  EXPECT_EQ(edit(id, R"("reason":"x")").status(), 400) << "no change";
  EXPECT_EQ(edit(id, R"("json":1,"payload":"1","reason":"x")").status(), 400);
  EXPECT_EQ(edit(id, R"("recipe":[{"fix":"a"}],"reason":"x")").status(), 400);
  EXPECT_EQ(edit(std::string(32, '0'), R"("json":1,"reason":"x")").status(), 404);
}

TEST_F(EditsTest, TheTrailKeepsPlacesAndDigestsButNoPayload) {
  const std::string id = broken();
  edit(id, R"("json":{"amount":4711},"reason":"sign")");
  const Told trail = get("/v1/audit");
  EXPECT_EQ(trail.at("entries.1.act"), "edit") << trail;
  EXPECT_TRUE(trail.says(R"(\"reason\":\"sign\")")) << trail;
  EXPECT_TRUE(trail.says(R"(\"/amount\")")) << trail;
  EXPECT_TRUE(trail.says("after_sha256")) << trail;
  EXPECT_FALSE(trail.says("4711")) << trail;
}

TEST_F(EditsTest, APayloadMustFitTheSchemaOfItsSource) {
  const std::string id = broken();
  const Told attached =
      say("PUT", "/v1/schemas/payments",
          R"({"type":"object","required":["amount"],"properties":{"amount":{"minimum":0}}})");
  EXPECT_EQ(attached.status(), 200) << attached;
  const Told bad = edit(id, R"("json":{"amount":-2},"reason":"x")");
  EXPECT_EQ(bad.status(), 400) << bad;
  EXPECT_TRUE(bad.says("/amount is less than 0")) << bad;
  EXPECT_EQ(edit(id, R"("json":{"amount":-2},"dry_run":true)").at("complaints.0"),
            "/amount is less than 0");
  EXPECT_EQ(edit(id, R"("json":{"amount":2},"reason":"x")").status(), 201);
  EXPECT_EQ(get("/v1/schemas").at("schemas.0.source"), "payments");
  EXPECT_EQ(say("PUT", "/v1/schemas/payments", R"({"pattern":"x"})").status(), 400);
  const std::string any = R"({"type":"object"})";
  EXPECT_EQ(say("PUT", "/v1/schemas/payments", any, {{"If-Match", "\"99\""}}).status(), 412);
  EXPECT_EQ(ask("DELETE", "/v1/schemas/payments", "", {{"If-Match", "\"99\""}}).status(), 412);
  EXPECT_EQ(ask("DELETE", "/v1/schemas/payments").status(), 200);
  EXPECT_EQ(get("/v1/schemas/payments").status(), 404);
  EXPECT_EQ(edit(id, R"("json":{"amount":-3},"reason":"x")").status(), 201);
}

TEST_F(EditsTest, TheSameKeyMakesOneVersionOfARecipe) {
  const std::string path = "/v1/recipes/iban";
  const std::string steps = R"({"steps":[{"remove":"b"}]})";
  const Told once = say("PUT", path, steps, {{"Idempotency-Key", "k"}});
  ASSERT_EQ(once.status(), 201) << once;
  const Told twice = say("PUT", path, steps, {{"Idempotency-Key", "k"}});
  EXPECT_EQ(twice.status(), 201) << twice;
  EXPECT_EQ(twice.body(), once.body());
  EXPECT_EQ(get(path).at("version"), "1");
  EXPECT_EQ(say("PUT", path, steps, {{"Idempotency-Key", "l"}}).at("version"), "2");
}

TEST_F(EditsTest, ARecipeIsKeptInVersions) {
  const std::string path = "/v1/recipes/iban";
  const Told first = say("PUT", path, R"({"steps":[{"rename":"iban_no","to":"iban"}]})");
  EXPECT_EQ(first.status(), 201) << first;
  EXPECT_EQ(first.at("version"), "1");
  const Told second = say("PUT", path, R"({"steps":[{"remove":"iban_no"}],"notes":"n"})",
                          {{"If-Match", first.header("ETag")}});
  EXPECT_EQ(second.at("version"), "2") << second;
  EXPECT_EQ(say("PUT", path, R"({"steps":[{"remove":"a"}]})", {{"If-Match", first.header("ETag")}})
                .status(),
            412);
  EXPECT_EQ(get(path).at("steps.0.remove"), "/iban_no");
  EXPECT_EQ(get(path + "?version=1").at("steps.0.to"), "/iban");
  EXPECT_EQ(get(path + "?versions=true").at("recipes.1.version"), "2");
  EXPECT_EQ(get("/v1/recipes").at("recipes.0.name"), "iban");
  EXPECT_EQ(ask("DELETE", path).status(), 200);
  EXPECT_EQ(get(path).status(), 404);
  EXPECT_EQ(get(path + "?version=2").status(), 200) << "the trail can still be read";
  EXPECT_EQ(say("PUT", path, R"({"steps":[{"remove":"b"}]})").at("version"), "3");
  EXPECT_EQ(say("PUT", "/v1/recipes/a%2Fb", R"({"steps":[{"remove":"b"}]})").status(), 400);
  EXPECT_EQ(say("PUT", path, R"({"steps":[]})").status(), 400);
}

TEST_F(EditsTest, ARecipeIsTriedOnASampleWithItsDifferences) {
  const std::string id = broken();
  dead(R"("id":"p-2","payload":"no json")");
  const Told tried = say("POST", "/v1/recipes/try",
                         R"({"steps":[{"set":"amount","value":1}],"query":"source:payments"})");
  EXPECT_EQ(tried.status(), 200) << tried;
  EXPECT_TRUE(tried.says("cannot be repaired as JSON")) << tried;
  EXPECT_TRUE(tried.says(R"("path":"/amount")")) << tried;
  EXPECT_EQ(get("/v1/dead-letters/" + id + "/versions").at("newest"), "0") << "nothing is written";
  say("PUT", "/v1/recipes/sign", R"({"steps":[{"set":"amount","value":1}]})");
  const Told kept = say("POST", "/v1/recipes/try", R"({"recipe":"sign","ids":[")" + id + R"("]})");
  EXPECT_EQ(kept.at("tried.0.id"), id) << kept;
  EXPECT_EQ(kept.at("tried.0.changes"), "true");
  EXPECT_EQ(say("POST", "/v1/recipes/try", R"({"recipe":"none","ids":[")" + id + R"("]})").status(),
            404);
  EXPECT_EQ(say("POST", "/v1/recipes/try", R"({"recipe":"sign"})").status(), 400);
}

}  // namespace
}  // namespace dlo::api
