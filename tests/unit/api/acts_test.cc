#include <gtest/gtest.h>
#include <string>

#include "support/eventually.h"
#include "unit/api/asking.h"

#include "dlo/core/sha256.h"

namespace dlo::api {
namespace {

class Acts : public Asking {
 protected:
  Told act(const std::string& id, const std::string& name, const std::string& body = "{}",
           Headers headers = {}) {
    return say("POST", "/v1/dead-letters/" + id + "/" + name, body, std::move(headers));
  }
  std::string status_of(const std::string& id) {
    return get("/v1/dead-letters/" + id).at("status");
  }
};

TEST_F(Acts, ResolvingSaysByWhomHowAndWhy) {  // S1-42, S1-44
  const std::string id = dead();
  const Told told =
      act(id, "resolve", R"({"by":"ana","how":"processed","notes":"fixed the booking"})");
  EXPECT_EQ(told.status(), 200) << told;
  EXPECT_EQ(told.at("status"), "resolved");
  EXPECT_EQ(told.at("resolution.by"), "ana");
  EXPECT_EQ(told.at("resolution.how"), "processed");
  EXPECT_EQ(told.at("resolution.notes"), "fixed the booking");
  EXPECT_EQ(told.at("resolution.at"), "2026-03-01T12:00:00.000Z");
}

TEST_F(Acts, WithoutWordsItIsManualAndByWhoeverAsked) {
  const Told told = act(dead(), "resolve", "");
  EXPECT_EQ(told.at("resolution.by"), "local") << told;
  EXPECT_EQ(told.at("resolution.how"), "manual");
  EXPECT_EQ(
      act(dead(R"("id":"2")"), "resolve", R"({"by":"","how":"republished"})").at("resolution.by"),
      "")
      << "S1-43: nobody in particular";
}

TEST_F(Acts, ASecondResolveIsRefusedAndTheFirstWordsAreKept) {
  const std::string id = dead();
  act(id, "resolve", R"({"by":"ana","notes":"first"})");
  const Told again = act(id, "resolve", R"({"by":"bob","notes":"second"})");
  EXPECT_EQ(again.status(), 409);
  EXPECT_TRUE(again.says("ana")) << again;
  const Told shown = get("/v1/dead-letters/" + id);
  EXPECT_EQ(shown.at("resolution.by"), "ana");
  EXPECT_EQ(shown.at("resolution.notes"), "first");
}

TEST_F(Acts, ArchivedAndDiscardedOnesComeBackToTheStateTheyHad) {
  const std::string id = dead();
  const std::string before = status_of(id);
  EXPECT_EQ(act(id, "archive").at("status"), "archived");
  EXPECT_EQ(act(id, "archive").status(), 409);
  EXPECT_EQ(act(id, "restore").at("status"), before);
  EXPECT_EQ(act(id, "restore").status(), 409) << "it is open";
  EXPECT_EQ(act(id, "discard", R"({"notes":"test data"})").at("status"), "discarding");
  EXPECT_EQ(act(id, "restore").at("status"), before);
  act(id, "resolve");
  const Told reopened = act(id, "restore");
  EXPECT_EQ(reopened.at("status"), before);
  EXPECT_EQ(reopened.at("resolution"), "null");
}

TEST_F(Acts, AnActOnAnOlderVersionIs412AndChangesNothing) {
  const std::string id = dead();
  const std::string etag = get("/v1/dead-letters/" + id).header("ETag");
  EXPECT_EQ(act(id, "archive", "{}", {{"If-Match", etag}}).status(), 200);
  const Told late = act(id, "resolve", "{}", {{"If-Match", etag}});
  EXPECT_EQ(late.status(), 412);
  EXPECT_EQ(late.at("code"), "version_changed");
  EXPECT_EQ(status_of(id), "archived");
  EXPECT_EQ(act(id, "resolve", "{}", {{"If-Match", "3"}}).status(), 400);
  EXPECT_EQ(act(id, "resolve", "{}", {{"If-Match", "*"}}).status(), 200);
}

TEST_F(Acts, ARetryNeedsSomebodyWhoRunsIt) {
  const Told told = act(dead(), "retry");
  EXPECT_EQ(told.status(), 409);
  EXPECT_TRUE(told.says("payments")) << told;
}

TEST_F(Acts, TagsAreReplacedAndFoundByQuery) {
  const std::string id = dead();
  const Told told = say("PUT", "/v1/dead-letters/" + id + "/tags", R"({"tags":["vip","eu"]})");
  EXPECT_EQ(told.at("tags.1"), "eu") << told;
  EXPECT_EQ(get("/v1/dead-letters?q=tag%3Avip").at("dead_letters.0.id"), id);
  EXPECT_EQ(say("PUT", "/v1/dead-letters/" + id + "/tags", R"({"tags":[1]})").status(), 400);
  EXPECT_EQ(say("PUT", "/v1/dead-letters/" + id + "/tags", R"({})").status(), 400);
}

TEST_F(Acts, NotesAddUpAndOutliveWhatBecomesOfTheRecord) {
  const std::string id = dead();
  EXPECT_EQ(act(id, "notes", R"({"text":"looked at it"})").status(), 201);
  clock_.advance(Millis{1});
  EXPECT_EQ(act(id, "notes", R"({"text":"called ana","by":"bob"})").status(), 201);
  act(id, "archive");
  const Told shown = get("/v1/dead-letters/" + id);
  EXPECT_EQ(shown.at("notes.0.text"), "looked at it") << shown;
  EXPECT_EQ(shown.at("notes.0.by"), "local");
  EXPECT_EQ(shown.at("notes.1.by"), "bob");
  EXPECT_EQ(act(id, "notes", R"({"text":""})").status(), 400);
  EXPECT_EQ(act(id, "notes", R"({})").status(), 400);
}

TEST_F(Acts, EveryActIsInTheAuditTrailWithWhatItChangedAndARefusedOneChangesNothing) {
  const std::string id = dead();
  act(id, "resolve", R"({"notes":"done"})");
  const Told trail = get("/v1/audit");
  EXPECT_EQ(act(id, "resolve").status(), 409);
  EXPECT_EQ(trail.at("entries.0.act"), "die") << trail;
  EXPECT_EQ(trail.at("entries.1.act"), "resolve") << trail;
  EXPECT_EQ(trail.at("entries.1.actor"), "local");
  EXPECT_EQ(trail.at("entries.1.subject"), id);
  EXPECT_TRUE(trail.says("\\\"to\\\":\\\"resolved\\\"")) << trail;
  service_->stop();  // what was refused is written by now
  const auto all = testing::must(office_.extras().ledger->audit(0, 100));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all.back().act.act, "refused");
  EXPECT_EQ(all.back().act.subject, "POST /v1/dead-letters/" + id + "/resolve");
}

TEST_F(Acts, UnknownMembersAndRecordsAreRefused) {
  const std::string id = dead();
  EXPECT_TRUE(act(id, "resolve", R"({"note":"x"})").says("note"));
  EXPECT_EQ(act(id, "archive", R"({"by":"x"})").status(), 400);
  EXPECT_EQ(act(std::string(32, '0'), "resolve").status(), 404);
}

TEST_F(Acts, TheTrailIsReadInPagesAndAsLines) {
  const std::string id = dead();
  for (int i = 0; i < 2; ++i) act(id, "notes", R"({"text":"x"})");
  const Told first = get("/v1/audit?limit=2");
  EXPECT_EQ(first.at("next"), "2");
  const Told rest = get("/v1/audit?limit=2&after=2");
  EXPECT_EQ(rest.at("entries.0.number"), "3");
  EXPECT_EQ(rest.at("next"), "null");
  const Told lines = get("/v1/audit", {{"Accept", "application/x-ndjson"}});
  EXPECT_EQ(std::count(lines.body().begin(), lines.body().end(), '\n'), 3);
}

TEST_F(Acts, AnActUnderOneKeyHappensOnceAndIsAnsweredAlike) {
  const std::string id = dead();
  const Headers key{{"Idempotency-Key", "k1"}};
  const std::string body = R"({"by":"ana","notes":"paid"})";
  const Told first = act(id, "resolve", body, key);
  const Told second = act(id, "resolve", body, key);
  EXPECT_EQ(second.status(), 200) << second;
  EXPECT_EQ(second.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(second.body(), first.body());
  EXPECT_EQ(act(id, "resolve", body).status(), 409) << "without the key it is another act";
  EXPECT_EQ(act(id, "resolve", R"({"by":"bob"})", key).status(), 409) << "the key is used up";
}

TEST_F(Acts, NotesAttemptsAndVersionsUnderOneKeyAreMadeOnce) {
  const std::string id = dead();
  const Headers key{{"Idempotency-Key", "k1"}};
  EXPECT_EQ(act(id, "notes", R"({"text":"once"})", key).status(), 201);
  EXPECT_EQ(act(id, "notes", R"({"text":"once"})", key).status(), 200);
  EXPECT_EQ(get("/v1/dead-letters/" + id).at("notes.1.text"), "?");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(act(id, "attempts", R"({"error":"still locked"})", key).status(), 200);
  }
  EXPECT_EQ(get("/v1/dead-letters/" + id).at("counters.total"), "2");
  const std::string edit =
      R"({"recipe":[{"patch":[{"op":"add","path":"/list/-","value":1}]}],"reason":"r"})";
  act(id, "edit", R"({"json":{"list":[]},"reason":"r"})");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(act(id, "edit", edit, key).status(), 201);
  EXPECT_EQ(get("/v1/dead-letters/" + id + "/versions").at("newest"), "2");
}

TEST_F(Acts, TheTrailHasADigestOfWhatAnAttemptSaid) {
  const std::string id = dead();
  EXPECT_EQ(act(id, "attempts", R"({"error":"card 7 is zqlocked"})").status(), 200);
  EXPECT_TRUE(get("/v1/dead-letters/" + id).says("zqlocked"));
  const Told trail = get("/v1/audit");
  EXPECT_FALSE(trail.says("zqlocked")) << trail;
  EXPECT_TRUE(trail.says(to_hex(sha256("card 7 is zqlocked")))) << trail;
}

TEST_F(Acts, ATokenTakesNoKeyBecauseItsSecretCannotBeRepeated) {
  const Told told = say("POST", "/v1/tokens", R"({"name":"ana"})", {{"Idempotency-Key", "k1"}});
  EXPECT_EQ(told.status(), 400);
  EXPECT_TRUE(told.says("shown once")) << told;
}

TEST_F(Acts, AQuarantinedOneIsLeftAloneUntilSomebodySaysOtherwise) {
  const std::string id = dead();
  const std::string path = "/v1/dead-letters/" + id;
  const Told aside = say("POST", path + "/quarantine", R"({"notes":"looks like an attack"})");
  EXPECT_EQ(aside.status(), 200) << aside;
  EXPECT_EQ(aside.at("status"), "quarantined");
  EXPECT_EQ(say("POST", path + "/quarantine", "{}").status(), 409);
  EXPECT_EQ(say("POST", path + "/retry", "{}").status(), 409);
  EXPECT_TRUE(get("/v1/audit").says("\"act\":\"quarantine\""));
  EXPECT_EQ(say("POST", path + "/archive", "{}").status(), 200);
  EXPECT_EQ(say("POST", path + "/restore", "{}").at("status"), "quarantined");
  const std::string other = dead(R"("id":"other")");
  const Told job =
      say("POST", "/v1/jobs", R"({"act":"quarantine","query":"status:pending","start":true})");
  ASSERT_EQ(job.status(), 201) << job;
  EXPECT_TRUE(testing::eventually(
      [&] { return get("/v1/dead-letters/" + other).at("status") == "quarantined"; }));
}

}  // namespace
}  // namespace dlo::api
