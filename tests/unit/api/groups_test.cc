#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "unit/api/asking.h"

namespace dlo::api {
namespace {

class GroupsTest : public Asking {};

TEST_F(GroupsTest, DeadLettersOfOneCauseAreOneGroup) {
  dead(R"("id":"1")");
  dead(R"("id":"2")");
  clock_.advance(Millis{1000});
  say("POST", "/v1/dead-letters", R"({"source":"orders","failure":{"type":"Other","text":"no"}})");
  const Told seen = get("/v1/groups");
  EXPECT_EQ(seen.at("groups.0.open"), "1") << seen;
  EXPECT_EQ(seen.at("groups.1.open"), "2");
  const Told open = get("/v1/groups?order=open&limit=1");
  EXPECT_EQ(open.at("groups.0.open"), "2");
  EXPECT_EQ(open.at("groups.1.open"), "?");
  const std::string id = open.at("groups.0.id");
  EXPECT_EQ(get("/v1/groups/" + id).at("total"), "2");
  EXPECT_EQ(get("/v1/dead-letters?q=group%3A" + id).at("dead_letters.1.source"), "payments");
}

TEST_F(GroupsTest, WhatPeopleSayOfAGroupIsKeptAndAudited) {
  dead();
  const std::string id = get("/v1/groups").at("groups.0.id");
  const Told told = say("PATCH", "/v1/groups/" + id,
                        R"({"status":"snoozed","snoozed_until":"2026-03-02T00:00:00Z",)"
                        R"("owner":"ana","ticket":"https://t/1","notes":"waiting"})");
  EXPECT_EQ(told.status(), 200) << told;
  EXPECT_EQ(told.at("status"), "snoozed");
  EXPECT_EQ(told.at("owner"), "ana");
  EXPECT_EQ(told.at("snoozed_until"), "2026-03-02T00:00:00.000Z");
  EXPECT_EQ(say("PATCH", "/v1/groups/" + id, R"({"status":"open"})").at("owner"), "ana")
      << "what is not named stays";
  EXPECT_EQ(get("/v1/audit").at("entries.1.act"), "group");
}

TEST_F(GroupsTest, ATicketIsANameOrAnAddressThatRunsNothing) {
  dead();
  const std::string id = get("/v1/groups").at("groups.0.id");
  const auto ticket = [&](const std::string& text) {
    return say("PATCH", "/v1/groups/" + id, R"({"ticket":")" + text + "\"}").status();
  };
  for (const char* fine : {"", "OPS-12", "12", "see ops: 12", "http://t/1", "HTTPS://t/1"}) {
    EXPECT_EQ(ticket(fine), 200) << fine;
  }
  for (const char* wrong : {"javascript:alert(1)", " JavaScript:alert(1)", "java\\tscript:alert(1)",
                            "data:text/html,x", "vbscript:x", "http:x", "file:///etc/passwd"}) {
    EXPECT_EQ(ticket(wrong), 400) << wrong;
  }
}

TEST_F(GroupsTest, AnEditFromAnOldVersionIsRefused) {
  dead();
  const std::string id = get("/v1/groups").at("groups.0.id");
  const std::string etag = get("/v1/groups/" + id).header("ETag");
  const std::string path = "/v1/groups/" + id;
  const Told first = say("PATCH", path, R"({"owner":"ana"})", {{"If-Match", etag}});
  EXPECT_EQ(first.status(), 200) << first;
  EXPECT_NE(first.header("ETag"), etag);
  const Told second = say("PATCH", path, R"({"owner":"bo"})", {{"If-Match", etag}});
  EXPECT_EQ(second.status(), 412) << second;
  EXPECT_EQ(get(path).at("owner"), "ana");
}

TEST_F(GroupsTest, WhatIsOverIsOpenedFirst) {
  dead();
  const std::string path = "/v1/groups/" + get("/v1/groups").at("groups.0.id");
  EXPECT_EQ(say("PATCH", path, R"({"status":"ignored"})").status(), 200);
  const Told told = say("PATCH", path, R"({"status":"fixing"})");
  EXPECT_EQ(told.status(), 409) << told;
  EXPECT_TRUE(told.says("open it first")) << told;
  EXPECT_EQ(say("PATCH", path, R"({"status":"open"})").status(), 200);
}

TEST_F(GroupsTest, TheTrailSaysWhatWasBeforeAndAfter) {
  dead();
  const std::string path = "/v1/groups/" + get("/v1/groups").at("groups.0.id");
  say("PATCH", path, R"({"status":"acknowledged","tags":["billing","eu"]})");
  const Told trail = get("/v1/audit");
  EXPECT_TRUE(trail.says(R"(\"before\":{\"version\":0,\"status\":\"open\")")) << trail;
  EXPECT_TRUE(trail.says(R"(\"after\":{\"version\":1,\"status\":\"acknowledged\")")) << trail;
  EXPECT_TRUE(trail.says(R"(\"tags\":[\"billing\",\"eu\"])")) << trail;
}

TEST_F(GroupsTest, AGroupCarriesItsMarks) {
  dead();
  const std::string path = "/v1/groups/" + get("/v1/groups").at("groups.0.id");
  EXPECT_EQ(get(path).at("marks.0"), "NEW");
  say("PATCH", path, R"({"status":"resolved"})");
  EXPECT_EQ(get(path).at("marks.0"), "?");
  clock_.advance(Millis{1000});
  dead(R"("id":"again")");
  EXPECT_EQ(get(path).at("marks.0"), "REGRESSED");
  EXPECT_EQ(get(path).at("status"), "open");
  EXPECT_EQ(get(path).at("last_24_hours.23"), "2");
}

TEST_F(GroupsTest, TheTrendCountsDeathsByHourAndDay) {
  dead(R"("id":"1")");
  clock_.advance(Millis{3'600'000});
  dead(R"("id":"2")");
  dead(R"("id":"3")");
  const std::string path = "/v1/groups/" + get("/v1/groups").at("groups.0.id");
  const Told trend = get(path + "/trend");
  EXPECT_EQ(trend.at("hours.0.from"), "2026-03-01T12:00:00.000Z") << trend;
  EXPECT_EQ(trend.at("hours.0.count"), "1");
  EXPECT_EQ(trend.at("hours.1.count"), "2");
  EXPECT_EQ(trend.at("days.0.count"), "3");
}

/// Two groups; answers their ids, the one seen last first.
std::pair<std::string, std::string> ids_of(const Told& groups) {
  return {groups.at("groups.0.id"), groups.at("groups.1.id")};
}

TEST_F(GroupsTest, OneGroupIsMergedIntoAnotherAndSplitOffAgain) {
  dead(R"("id":"1")");
  clock_.advance(Millis{1000});
  say("POST", "/v1/dead-letters", R"({"source":"orders","failure":{"type":"Other","text":"no"}})");
  const auto [from, into] = ids_of(get("/v1/groups"));
  say("PATCH", "/v1/groups/" + from, R"({"owner":"bo"})");
  const Told merged = say("POST", "/v1/groups/" + into + "/merge", R"({"from":")" + from + R"("})",
                          {{"If-Match", get("/v1/groups/" + into).header("ETag")}});
  EXPECT_EQ(merged.status(), 200) << merged;
  EXPECT_EQ(merged.at("id"), into);
  EXPECT_EQ(merged.at("total"), "2");
  EXPECT_EQ(merged.at("merged.1.total"), "1");
  EXPECT_EQ(get("/v1/groups/" + from).at("id"), into) << "an old link leads to where it is";
  EXPECT_EQ(get("/v1/dead-letters?q=group%3A" + into).at("dead_letters.1.source"), "payments");

  const std::string split = "/v1/groups/" + into + "/split";
  EXPECT_EQ(say("POST", split, R"({"fingerprint":")" + into + R"("})").status(), 404);
  EXPECT_EQ(
      say("POST", split, R"({"fingerprint":")" + from + R"("})", {{"If-Match", "\"99\""}}).status(),
      412);
  const Told out = say("POST", split, R"({"fingerprint":")" + from + R"("})");
  EXPECT_EQ(out.status(), 200) << out;
  EXPECT_EQ(out.at("id"), from);
  EXPECT_EQ(out.at("owner"), "bo");
  EXPECT_EQ(get("/v1/groups/" + into).at("total"), "1");
  const Told trail = get("/v1/audit");
  EXPECT_EQ(trail.at("entries.3.act"), "merge") << trail;
  EXPECT_TRUE(trail.says("\"act\":\"split\"")) << trail;
}

TEST_F(GroupsTest, ThoseThatHaveAValueInCommonBecomeAGroupOfTheirOwn) {
  for (int n = 0; n < 5; ++n) {
    dead(R"("id":")" + std::to_string(n) + R"(","handler":")" + (n < 2 ? "new one" : "old") + "\"");
  }
  const std::string group = get("/v1/groups").at("groups.0.id");
  const std::string split = "/v1/groups/" + group + "/split";
  const std::string wanted = R"({"facet":"handler","value":"new one")";
  const Told shown = say("POST", split, wanted + R"(,"dry_run":true})");
  EXPECT_EQ(shown.status(), 200) << shown;
  EXPECT_EQ(shown.at("preview.count"), "2") << shown;
  EXPECT_EQ(get("/v1/groups/" + group).at("open"), "5") << "nothing was done";
  const Told begun = say("POST", split, wanted + "}");
  ASSERT_EQ(begun.status(), 202) << begun;
  const std::string out = begun.at("group");
  EXPECT_EQ(out, shown.at("group")) << "the same value makes the same group";
  ASSERT_TRUE(testing::eventually([&] {
    return get("/v1/jobs/" + begun.at("job.id")).at("job.state") == "done";
  })) << get("/v1/jobs/" + begun.at("job.id"));
  EXPECT_EQ(get("/v1/groups/" + out).at("open"), "2");
  EXPECT_EQ(get("/v1/groups/" + group).at("open"), "3");
  EXPECT_TRUE(get("/v1/groups/" + out).says("(handler new one)"));
  EXPECT_TRUE(get("/v1/audit").says("\"act\":\"split\""));
  // Undone by a merge.
  say("POST", "/v1/groups/" + group + "/merge", R"({"from":")" + out + R"("})");
  EXPECT_EQ(get("/v1/groups/" + group).at("open"), "5");
}

TEST_F(GroupsTest, TheSameKeySplitsAndMergesOnce) {
  dead(R"("id":"1","handler":"a")");
  dead(R"("id":"2","handler":"b")");
  const std::string group = get("/v1/groups").at("groups.0.id");
  const std::string split = "/v1/groups/" + group + "/split";
  const std::string wanted = R"({"facet":"handler","value":"b"})";
  const Told once = say("POST", split, wanted, {{"Idempotency-Key", "k"}});
  ASSERT_EQ(once.status(), 202) << once;
  const std::string out = once.at("group");
  ASSERT_TRUE(testing::eventually(
      [&] { return get("/v1/jobs/" + once.at("job.id")).at("job.state") == "done"; }));
  const Told twice = say("POST", split, wanted, {{"Idempotency-Key", "k"}});
  EXPECT_EQ(twice.status(), 202) << twice;
  EXPECT_EQ(twice.body(), once.body());
  EXPECT_EQ(twice.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(get("/v1/jobs").at("jobs.1"), "?");
  EXPECT_EQ(
      say("POST", split, R"({"facet":"handler","value":"a"})", {{"Idempotency-Key", "k"}}).status(),
      409);
  const std::string merge = "/v1/groups/" + group + "/merge";
  const std::string from = R"({"from":")" + out + "\"}";
  EXPECT_EQ(say("POST", merge, from, {{"Idempotency-Key", "m"}}).status(), 200);
  const Told merged = say("POST", merge, from, {{"Idempotency-Key", "m"}});
  EXPECT_EQ(merged.status(), 200) << merged;
  EXPECT_EQ(merged.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(merged.at("id"), group);
}

TEST_F(GroupsTest, AnHourIsAFacetToSplitBy) {
  dead(R"("id":"early")");
  clock_.advance(std::chrono::hours{2});
  dead(R"("id":"late")");
  const std::string group = get("/v1/groups").at("groups.0.id");
  const std::string split = "/v1/groups/" + group + "/split";
  const std::string hour = get("/v1/groups/" + group + "/facets").at("facets.hour.0.value");
  const Told shown =
      say("POST", split, R"({"facet":"hour","dry_run":true,"value":")" + hour + "\"}");
  EXPECT_EQ(shown.at("preview.count"), "1") << shown;
}

TEST_F(GroupsTest, ASplitThatMakesNoSenseIsRefused) {
  dead();
  const std::string split = "/v1/groups/" + get("/v1/groups").at("groups.0.id") + "/split";
  EXPECT_EQ(say("POST", split, R"({"facet":"handler","value":"nobody"})").status(), 404);
  EXPECT_TRUE(say("POST", split, R"({"facet":"sorce","value":"x"})").says("source"));
  EXPECT_EQ(say("POST", split, R"({"facet":"source"})").status(), 400);
  EXPECT_EQ(say("POST", split, R"({"facet":"hour","value":"noon"})").status(), 400);
  EXPECT_EQ(say("POST", split, R"({"facet":"source","value":"a","fingerprint":"b"})").status(),
            400);
  EXPECT_EQ(say("POST", "/v1/jobs", R"({"act":"regroup","query":"status:open"})").status(), 400);
}

TEST_F(GroupsTest, AMergeThatMakesNoSenseIsRefused) {
  dead();
  const std::string id = get("/v1/groups").at("groups.0.id");
  const std::string path = "/v1/groups/" + id + "/merge";
  EXPECT_EQ(say("POST", path, R"({"from":")" + id + R"("})").status(), 400);
  EXPECT_EQ(say("POST", path, R"({"from":")" + std::string(32, '0') + R"("})").status(), 404);
  EXPECT_EQ(say("POST", path, R"({"from":[]})").status(), 400);
  EXPECT_EQ(say("POST", path, "{}").status(), 400);
  EXPECT_EQ(say("POST", "/v1/groups/" + id + "/split", R"({"fingerprint":"x"})").status(), 400);
}

TEST_F(GroupsTest, FacetsShowWhatTheDeadLettersOfAGroupHaveInCommon) {
  for (int n = 0; n < 5; ++n) {
    dead(R"("id":")" + std::to_string(n) + R"(","key":"k)" + std::to_string(n % 2) +
         R"(","event_type":"Paid")");
  }
  const std::string path = "/v1/groups/" + get("/v1/groups").at("groups.0.id") + "/facets";
  const Told facets = get(path);
  EXPECT_EQ(facets.at("looked_at"), "5") << facets;
  EXPECT_EQ(facets.at("all"), "true");
  EXPECT_EQ(facets.at("facets.source.0.value"), "payments");
  EXPECT_EQ(facets.at("facets.source.0.count"), "5");
  EXPECT_EQ(facets.at("facets.type.0.value"), "Paid");
  EXPECT_EQ(facets.at("facets.key.0.value"), "k0");
  EXPECT_EQ(facets.at("facets.key.0.count"), "3");
  EXPECT_EQ(facets.at("facets.hour.0.value"), "2026-03-01T12:00:00.000Z");
  const Told some = get(path + "?sample=2&limit=1");
  EXPECT_EQ(some.at("looked_at"), "2") << some;
  EXPECT_EQ(some.at("all"), "false");
  EXPECT_EQ(some.at("facets.key.1.value"), "?");
}

TEST_F(GroupsTest, GroupsAreFilteredByWhatPeopleSaid) {
  dead();
  say("POST", "/v1/dead-letters", R"({"source":"orders","failure":{"type":"Other","text":"no"}})");
  const std::string id = get("/v1/groups").at("groups.0.id");
  say("PATCH", "/v1/groups/" + id, R"({"status":"fixing","owner":"ana","tags":["eu"]})");
  for (const char* filter : {"status=fixing,snoozed", "owner=ana", "tag=eu"}) {
    const Told found = get("/v1/groups?" + std::string(filter));
    EXPECT_EQ(found.at("groups.0.id"), id) << filter << found;
    EXPECT_EQ(found.at("groups.1.id"), "?") << filter;
  }
  EXPECT_EQ(get("/v1/groups?open=false").at("groups.0.id"), "?");
  EXPECT_EQ(get("/v1/groups?status=gone").status(), 400);
}

TEST_F(GroupsTest, AreReadByPagesAndNoneIsMissedOrTwice) {
  constexpr int all = 23;
  for (int i = 0; i < all; ++i) {
    if (i % 3 == 0) clock_.advance(Millis{1000});  // some die in the same moment
    for (int n = 0; n <= i % 4; ++n) {
      say("POST", "/v1/dead-letters",
          R"({"source":"s","id":")" + std::to_string(i * 10 + n) + R"(","failure":{"type":"Error)" +
              std::string(1, static_cast<char>('A' + i)) + R"(","text":"no"}})");
    }
  }
  for (const std::string order : {"seen", "open"}) {
    std::vector<std::string> paged;
    std::string cursor;
    do {
      const Told page =
          get("/v1/groups?limit=5&order=" + order + (cursor.empty() ? "" : "&cursor=" + cursor));
      for (int i = 0; page.at("groups." + std::to_string(i) + ".id") != "?"; ++i) {
        paged.push_back(page.at("groups." + std::to_string(i) + ".id"));
      }
      cursor = page.at("next") == "null" ? "" : page.at("next");
    } while (!cursor.empty());
    std::vector<std::string> whole;
    const Told once = get("/v1/groups?limit=500&order=" + order);
    EXPECT_EQ(once.at("next"), "null");
    for (int i = 0; i < all; ++i) whole.push_back(once.at("groups." + std::to_string(i) + ".id"));
    EXPECT_EQ(paged, whole) << order;
  }
  EXPECT_EQ(get("/v1/groups?cursor=nonsense").status(), 400);
}

TEST_F(GroupsTest, NonsenseIsRefused) {
  dead();
  const std::string id = get("/v1/groups").at("groups.0.id");
  EXPECT_EQ(say("PATCH", "/v1/groups/" + id, R"({"status":"gone"})").status(), 400);
  EXPECT_EQ(
      say("PATCH", "/v1/groups/" + id, R"({"snoozed_until":"2026-03-02T00:00:00Z"})").status(),
      400);
  EXPECT_EQ(say("PATCH", "/v1/groups/" + id, R"({"open":7})").status(), 400);
  EXPECT_EQ(say("PATCH", "/v1/groups/" + id, R"({"tags":[1]})").status(), 400);
  EXPECT_EQ(get("/v1/groups/" + std::string(32, '0')).status(), 404);
  EXPECT_EQ(get("/v1/groups/x").status(), 400);
  EXPECT_EQ(get("/v1/groups?order=x").status(), 400);
}

TEST_F(GroupsTest, StatsCountByStatusAndSourceWhoHasMostToDoFirst) {  // S1-34, S1-38
  dead(R"("id":"1")");
  dead(R"("id":"2")");
  const std::string id = dead(R"("id":"3","key":"x")");
  for (int i = 0; i < 5; ++i) {
    const Told told = say("POST", "/v1/dead-letters",
                          R"({"source":"aaa","error":"e","id":")" + std::to_string(i) + "\"}");
    if (i > 0) say("POST", "/v1/dead-letters/" + told.at("id") + "/resolve", "{}");
  }
  const Told stats = get("/v1/stats");
  EXPECT_EQ(stats.at("sources.0.source"), "payments") << stats;
  EXPECT_EQ(stats.at("sources.0.open"), "3");
  EXPECT_EQ(stats.at("sources.1.total"), "5");
  EXPECT_EQ(stats.at("sources.1.open"), "1");
  EXPECT_EQ(stats.at("statuses.resolved"), "4");
  EXPECT_EQ(stats.at("open"), "4");
}

TEST_F(GroupsTest, HealthSaysOk) {
  EXPECT_EQ(get("/healthz").at("status"), "ok");
}

TEST_F(GroupsTest, AServerThatIsAboutToStopIsAliveButNotReady) {
  EXPECT_EQ(get("/readyz").status(), 200);
  service_->stop_waiting();
  EXPECT_EQ(get("/readyz").status(), 503);
  EXPECT_EQ(get("/readyz").at("status"), "stopping");
  EXPECT_EQ(get("/healthz").status(), 200);
}

}  // namespace
}  // namespace dlo::api
