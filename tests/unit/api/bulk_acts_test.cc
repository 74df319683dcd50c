#include "dlo/api/bulk_acts.h"

#include <gtest/gtest.h>
#include <string>

#include "support/eventually.h"
#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::api {
namespace {

using testing::must;

class BulkActsTest : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }
  bool ends(const Told& job, const Headers& headers = {}) {
    return testing::eventually(
        [&] { return get("/v1/jobs/" + job.at("job.id"), headers).at("job.state") == "done"; });
  }
  std::string group_of(const std::string& id) {
    return get("/v1/dead-letters/" + id).at("group.id");
  }
  Headers token(const std::string& members) {
    const Told made = say("POST", "/v1/tokens", R"({"name":"t",)" + members + "}", admin_);
    EXPECT_EQ(made.status(), 201) << made;
    return {{"Authorization", "Bearer " + made.at("secret")}};
  }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
  Headers admin_;
};

TEST_F(BulkActsTest, OneDeadLetterIsSentBackAtItsOwnAddress) {
  say("PUT", "/v1/queues/payments", "{}");
  const std::string id = dead(R"("payload":"hello")");
  dead(R"("id":"other")");
  const Told plan = say("POST", "/v1/dead-letters/" + id + "/replay", R"({"dry_run":true})");
  EXPECT_EQ(plan.status(), 200) << plan;
  EXPECT_EQ(plan.at("preview.count"), "1");
  const Told job = ask("POST", "/v1/dead-letters/" + id + "/replay");
  ASSERT_EQ(job.status(), 201) << job;
  EXPECT_EQ(job.header("Location"), "/v1/jobs/" + job.at("job.id"));
  ASSERT_TRUE(testing::eventually([&] { return get("/v1/queues/payments").at("ready") != "0"; }))
      << get("/v1/queues/payments");
  EXPECT_EQ(get("/v1/jobs").at("jobs.1"), "?");
}

TEST_F(BulkActsTest, AnActOnAGroupIsDoneToAllOfItAndNothingElse) {
  const std::string first = dead(R"("id":"1")");
  const std::string second = dead(R"("id":"2")");
  const std::string other = dead(R"("id":"3","event_type":"another thing")");
  const std::string path = "/v1/groups/" + group_of(first) + "/";
  ASSERT_NE(group_of(first), group_of(other));
  const Told job = say("POST", path + "resolve", R"({"how":"refund","notes":"ticket 7"})");
  ASSERT_EQ(job.status(), 201) << job;
  ASSERT_TRUE(ends(job));
  EXPECT_EQ(get("/v1/dead-letters/" + second).at("resolution.how"), "refund");
  EXPECT_EQ(get("/v1/dead-letters/" + other).at("status"), "pending");
  const Told waits = say("POST", path + "restore", R"({"start":false})");
  EXPECT_EQ(get("/v1/jobs/" + waits.at("job.id")).at("job.state"), "planned");
  EXPECT_EQ(say("POST", path + "tag", R"({"query":"status:open"})").status(), 400);
  EXPECT_EQ(say("POST", path + "tag", R"({"tags":["a"],"colour":"red"})").status(), 400);
  EXPECT_EQ(ask("POST", path + "tag", "x").status(), 415);
  EXPECT_EQ(ask("POST", "/v1/groups/" + std::string(32, '0') + "/discard").status(), 404);
}

TEST_F(BulkActsTest, ATokenForOneSourceSendsItsOwnBackAndNotElsewhere) {
  for (const std::string queue : {"orders", "payments"}) say("PUT", "/v1/queues/" + queue, "{}");
  const std::string payment = dead();
  const std::string order =
      say("POST", "/v1/dead-letters", R"({"source":"orders","error":"x"})").at("id");
  const Headers narrow = token(R"("role":"operator","sources":["orders"])");
  const auto replay = [&](const std::string& id, const std::string& body) {
    return say("POST", "/v1/dead-letters/" + id + "/replay", body, narrow).status();
  };
  EXPECT_EQ(replay(payment, "{}"), 404);
  EXPECT_EQ(replay(order, R"({"target":"payments"})"), 403);
  EXPECT_EQ(replay(order, R"({"target":"orders","start":false})"), 201);
}

// Otherwise `jobs.*` would be everything.
TEST_F(BulkActsTest, AJobNeedsTheRightToItsActAndWhoStartsItDoesToo) {
  const std::string id = dead();
  const std::string group = group_of(id);
  admin_ = token(R"("role":"admin")");
  const Headers planner =
      token(R"("role":"operator","actions":["read","jobs.*","groups.*","dead-letters.archive"])");
  const auto plan = [&](const std::string& act, const std::string& more, const Headers& who) {
    return say("POST", "/v1/jobs", R"({"act":")" + act + R"(","query":"status:open")" + more + "}",
               who);
  };
  const std::string steps = R"(,"recipe":[{"set":"a","value":1}])";
  for (const auto& [act, more] :
       std::vector<std::pair<std::string, std::string>>{{"discard", ""},
                                                        {"resolve", ""},
                                                        {"restore", ""},
                                                        {"retry", ""},
                                                        {"replay", ""},
                                                        {"tag", R"(,"tags":["a"])"},
                                                        {"repair", steps},
                                                        {"discard", R"(,"dry_run":true)"}}) {
    const Told refused = plan(act, more, planner);
    EXPECT_EQ(refused.status(), 403) << act << refused;
    EXPECT_TRUE(refused.says("scope_too_narrow")) << refused;
  }
  EXPECT_EQ(plan("archive", "", planner).status(), 201);
  EXPECT_EQ(say("POST", "/v1/groups/" + group + "/discard", "{}", planner).status(), 403);
  const std::string theirs = plan("discard", "", admin_).at("job.id");
  EXPECT_EQ(ask("POST", "/v1/jobs/" + theirs + "/start", "", planner).status(), 403);
  EXPECT_EQ(ask("POST", "/v1/jobs/" + theirs + "/cancel", "", planner).status(), 200);
  EXPECT_EQ(get("/v1/dead-letters/" + id, planner).at("status"), "pending");
  // A recipe makes an edit of a replay.
  const Headers sender = token(R"("role":"operator","actions":["jobs.*","dead-letters.replay"])");
  EXPECT_EQ(plan("replay", steps, sender).status(), 403);
  EXPECT_EQ(plan("replay", "", sender).status(), 201);
  EXPECT_TRUE(get("/v1/audit?limit=1000", admin_).says("it may not dead-letters.discard"));
}

}  // namespace
}  // namespace dlo::api
