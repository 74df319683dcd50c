#include <gtest/gtest.h>
#include <string>

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
  EXPECT_EQ(get("/v1/audit").at("entries.0.act"), "group");
}

TEST_F(GroupsTest, NonsenseIsRefused) {
  dead();
  const std::string id = get("/v1/groups").at("groups.0.id");
  EXPECT_EQ(say("PATCH", "/v1/groups/" + id, R"({"status":"gone"})").status(), 400);
  EXPECT_EQ(
      say("PATCH", "/v1/groups/" + id, R"({"snoozed_until":"2026-03-02T00:00:00Z"})").status(),
      400);
  EXPECT_EQ(say("PATCH", "/v1/groups/" + id, R"({"open":7})").status(), 400);
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
