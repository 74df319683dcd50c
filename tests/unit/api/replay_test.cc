// A fix, proven: dead letters of a queue are sent back and its workers say how it went.
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "support/eventually.h"
#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::api {
namespace {

using testing::eventually;
using testing::must;

class ReplayRoutesTest : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  /// So many messages that nobody could handle.
  void kill(int count) {
    EXPECT_EQ(say("PUT", "/v1/queues/orders", "{}").status(), 201);
    for (int i = 0; i < count; ++i) {
      ask("POST", "/v1/queues/orders/messages?id=" + std::to_string(i), "x",
          {{"Content-Type", "text/plain"}});
    }
    work(count, R"("dead_letter","reason":"BadOrder","description":"no such customer")");
    EXPECT_EQ(get("/v1/queues/orders").at("ready"), "0");
  }
  /// Takes `count` messages and settles each like this.
  void work(int count, const std::string& outcome) {
    for (int done = 0; done < count;) {
      std::string lease;
      ASSERT_TRUE(comes([&] {
        lease = ask("POST", "/v1/queues/orders/receive?limit=1").at("messages.0.lease");
        return lease != "?";
      }));
      const Told told = say("POST", "/v1/queues/orders/settle",
                            R"({"lease":")" + lease + R"(","outcome":)" + outcome + "}");
      EXPECT_EQ(told.status(), 200) << told;
      ++done;
    }
  }
  std::string replay(const std::string& members) {
    const Told told =
        say("POST", "/v1/jobs",
            R"({"act":"replay","query":"source:orders","start":true)" + members + "}");
    EXPECT_EQ(told.status(), 201) << told;
    return told.at("job.id");
  }
  Told job(const std::string& id) { return get("/v1/jobs/" + id); }
  /// Time passes until it holds.
  bool comes(const std::function<bool()>& condition) {
    return eventually([&] {
      clock_.advance(Millis{500});
      return condition();
    });
  }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(ReplayRoutesTest, AFixIsProvenByACanaryAndThenByAll) {
  kill(12);
  const std::string id = replay(R"(,"canary":2,"watch":"1h")");
  work(2, R"("complete")");  // the canary
  work(6, R"("complete")");  // four times as many in all
  work(4, R"("complete")");
  ASSERT_TRUE(comes([&] { return job(id).at("job.state") == "done"; })) << job(id);
  EXPECT_EQ(job(id).at("progress.verified"), "12") << job(id);
  EXPECT_EQ(job(id).at("progress.returned"), "0");
  EXPECT_TRUE(get("/v1/jobs/" + id + "/items?outcome=verified").says("verified"));
  const Told list = get("/v1/dead-letters?q=status:resolved");
  EXPECT_TRUE(list.says("orders")) << list;
  EXPECT_EQ(get("/v1/dead-letters/" + list.at("dead_letters.0.id")).at("resolution.how"),
            "replayed")
      << list;
}

TEST_F(ReplayRoutesTest, ARedirectSendsThemElsewhereAndThePlanSaysByWhichRule) {
  options_.redirects = {{"mails", "", "nowhere"}, {"ord*", "", "orders-v2"}};
  kill(2);
  EXPECT_EQ(say("PUT", "/v1/queues/orders-v2", "{}").status(), 201);
  const Told planned = say("POST", "/v1/jobs", R"({"act":"replay","query":"source:orders"})");
  EXPECT_EQ(planned.at("preview.targets.0.target"), "orders-v2") << planned;
  EXPECT_EQ(planned.at("preview.targets.0.count"), "2");
  EXPECT_EQ(planned.at("preview.targets.0.rule"), "2");
  EXPECT_EQ(planned.at("preview.targets.0.redirect"), "ord* -> orders-v2");
  EXPECT_EQ(planned.at("preview.targets.0.problem"), "?") << planned;
  ASSERT_EQ(service_->lost_redirects().size(), 1U);
  EXPECT_NE(service_->lost_redirects().front().detail.find("nowhere"), std::string::npos);
  const Told why = say("POST", "/v1/rules/explain", R"({"error":"x","source":"orders"})");
  EXPECT_TRUE(why.says("to orders-v2, by redirect rule 2")) << why;

  // What is planned keeps its rules; what is planned later has the new ones.
  must(service_->use(options_.rules, {}));
  EXPECT_EQ(ask("POST", "/v1/jobs/" + planned.at("job.id") + "/start").status(), 200);
  ASSERT_TRUE(comes([&] { return get("/v1/queues/orders-v2").at("ready") == "2"; }))
      << job(planned.at("job.id"));
  EXPECT_EQ(get("/v1/queues/orders").at("ready"), "0");
  const Told later = say("POST", "/v1/jobs", R"({"act":"replay","query":"source:orders"})");
  EXPECT_EQ(later.at("preview.targets.0.target"), "orders") << later;
  const Told said =
      say("POST", "/v1/jobs", R"({"act":"replay","query":"source:orders","target":"orders"})");
  EXPECT_EQ(said.at("job.redirects"), "?") << said;
}

TEST_F(ReplayRoutesTest, APlanAndTheJobNameTheTargetsThatAreNotThere) {
  kill(2);
  EXPECT_EQ(say("POST", "/v1/dead-letters", R"({"source":"gone","error":"timed out"})").status(),
            201);
  const Told planned =
      say("POST", "/v1/jobs", R"({"act":"replay","query":"status:open","start":true})");
  EXPECT_EQ(planned.status(), 201) << planned;
  EXPECT_EQ(planned.at("preview.targets.0.target"), "gone") << planned;
  EXPECT_TRUE(planned.at("preview.targets.0.problem").find("gone") != std::string::npos) << planned;
  EXPECT_EQ(planned.at("preview.targets.1.problem"), "?") << planned;
  const std::string id = planned.at("job.id");
  ASSERT_TRUE(comes([&] { return job(id).at("progress.total") == "3"; })) << job(id);
  EXPECT_EQ(job(id).at("progress.ok"), "2") << job(id);
  EXPECT_EQ(job(id).at("progress.unreachable.0.target"), "gone") << job(id);
  EXPECT_EQ(job(id).at("progress.unreachable.0.count"), "1") << job(id);
}

TEST_F(ReplayRoutesTest, AFixThatDoesNotWorkIsStoppedAfterTheCanary) {
  kill(12);
  const std::string id = replay(R"(,"canary":2,"watch":"1h")");
  work(2, R"("dead_letter","reason":"BadOrder","description":"no such customer")");
  ASSERT_TRUE(comes([&] { return job(id).at("job.state") == "stopped"; })) << job(id);
  EXPECT_TRUE(job(id).says("came back")) << job(id);
  EXPECT_EQ(job(id).at("progress.ok"), "2");
  EXPECT_EQ(get("/v1/queues/orders").at("ready"), "0");
  EXPECT_FALSE(get("/v1/dead-letters?q=status:resolved").says("BadOrder"));
}

TEST_F(ReplayRoutesTest, AFixThatDoesNotWorkOpensTheGroupThatWasBeingFixed) {
  kill(6);
  const std::string group = get("/v1/groups").at("groups.0.id");
  EXPECT_EQ(say("PATCH", "/v1/groups/" + group, R"({"status":"fixing"})").status(), 200);
  const std::string id = replay(R"(,"canary":2,"watch":"1h")");
  work(2, R"("dead_letter","reason":"BadOrder","description":"no such customer")");
  ASSERT_TRUE(comes([&] { return job(id).at("job.state") == "stopped"; })) << job(id);
  EXPECT_EQ(get("/v1/groups/" + group).at("status"), "open");
  EXPECT_EQ(job(id).at("progress.returned_to.0.group"), group) << job(id);
  EXPECT_EQ(job(id).at("progress.returned_to.0.same"), "true") << job(id);
}

TEST_F(ReplayRoutesTest, AConfiguredProfileSaysHowOftenAMessageMayBeSentBack) {
  Profile once = must(find_profile("standard"));
  once.replay_limit = 0;
  options_.rules.set(once);
  kill(1);
  const std::string id = replay("");
  ASSERT_TRUE(comes([&] { return job(id).at("job.state") == "done"; })) << job(id);
  EXPECT_EQ(job(id).at("progress.looped"), "1") << job(id);
  // Rules that are read again hold for jobs, too.
  once.replay_limit = 3;
  ProfileBook rules;
  rules.set(once);
  must(service_->use(rules, {}));
  const std::string again =
      say("POST", "/v1/jobs",
          R"({"act":"replay","query":"source:orders","quarantined_too":true,"start":true})")
          .at("job.id");
  work(1, R"("complete")");
  ASSERT_TRUE(comes([&] { return job(again).at("job.state") == "done"; })) << job(again);
  EXPECT_EQ(job(again).at("progress.ok"), "1") << job(again);
}

TEST_F(ReplayRoutesTest, APlanShowsKeysHeadersAndHowManyMayBeOnTheWay) {
  EXPECT_EQ(say("PUT", "/v1/queues/orders", "{}").status(), 201);
  for (int i = 0; i < 3; ++i) {
    say("POST", "/v1/dead-letters",
        R"({"source":"orders","error":"x","key":"k","headers":[{"name":"x-death","value":"1"}],"id":")" +
            std::to_string(i) + "\"}");
  }
  const Told plan = say("POST", "/v1/jobs",
                        R"({"act":"replay","query":"source:orders","order":"key","concurrency":2,)"
                        R"("strip":["X-Death"],"set_headers":{"via":"office"}})");
  ASSERT_EQ(plan.status(), 201) << plan;
  EXPECT_EQ(plan.at("job.order"), "key");
  EXPECT_EQ(plan.at("job.concurrency"), "2");
  EXPECT_EQ(plan.at("preview.keys.count"), "1");
  EXPECT_EQ(plan.at("preview.keys.followers"), "2");
  EXPECT_EQ(plan.at("preview.keys.longest.0.key"), "k");
  EXPECT_EQ(plan.at("preview.strip.0.name"), "X-Death");
  EXPECT_EQ(plan.at("preview.strip.0.in_sample"), "3");
  EXPECT_EQ(plan.at("preview.set_headers.0"), "via");
  EXPECT_EQ(say("POST", "/v1/jobs", R"({"act":"archive","query":"source:orders","order":"key"})")
                .status(),
            400);
  EXPECT_EQ(say("POST", "/v1/jobs", R"({"act":"replay","query":"a","concurrency":1001})").status(),
            400);
}

TEST_F(ReplayRoutesTest, WhatNobodySpeaksOfIsPresumedCuredWhenTheWatchEnds) {
  kill(3);
  const std::string id = replay(R"(,"watch":"10s")");
  ASSERT_TRUE(comes([&] { return job(id).at("job.state") == "done"; })) << job(id);
  EXPECT_EQ(job(id).at("progress.presumed"), "3") << job(id);
  EXPECT_EQ(get("/v1/queues/orders").at("ready"), "3");
}

TEST_F(ReplayRoutesTest, ATargetThatIsNotThereIsRefusedBeforeAnythingIsPlanned) {
  kill(1);
  const Told told =
      say("POST", "/v1/jobs", R"({"act":"replay","query":"source:orders","target":"ordrs"})");
  EXPECT_EQ(told.status(), 404) << told;
  EXPECT_TRUE(told.says("ordrs"));
  EXPECT_FALSE(get("/v1/jobs").says("replay"));
}

}  // namespace
}  // namespace dlo::api
