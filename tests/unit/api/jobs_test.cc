#include "dlo/api/jobs.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "unit/api/asking.h"

#include "dlo/store/passing_office.h"

namespace dlo::api {
namespace {

class JobRoutesTest : public Asking {
 protected:
  Told plan(const std::string& body, Headers headers = {}) {
    return say("POST", "/v1/jobs", body, std::move(headers));
  }
  Told verb(const std::string& id, const std::string& name) {
    return ask("POST", "/v1/jobs/" + id + "/" + name);
  }
  bool ends(const std::string& id, const std::string& state = "done") {
    return testing::eventually([&] { return get("/v1/jobs/" + id).at("job.state") == state; });
  }
};

TEST_F(JobRoutesTest, AJobIsPlannedLookedAtStartedAndReported) {
  const std::string first = dead(R"("id":"1")");
  dead(R"("id":"2")");
  const Told planned = plan(R"({"act":"archive","query":"source:payments","notes":"old"})");
  ASSERT_EQ(planned.status(), 201) << planned;
  const std::string id = planned.at("job.id");
  EXPECT_EQ(planned.header("Location"), "/v1/jobs/" + id);
  EXPECT_EQ(planned.at("job.state"), "planned");
  EXPECT_EQ(planned.at("preview.count"), "2");
  EXPECT_EQ(planned.at("preview.sample.0.id"), first);
  EXPECT_EQ(get("/v1/dead-letters/" + first).at("status"), "pending");

  EXPECT_EQ(verb(id, "start").status(), 200);
  ASSERT_TRUE(ends(id)) << get("/v1/jobs/" + id);
  EXPECT_EQ(get("/v1/jobs/" + id).at("progress.ok"), "2");
  EXPECT_EQ(get("/v1/dead-letters/" + first).at("status"), "archived");
  const Told items = get("/v1/jobs/" + id + "/items");
  EXPECT_TRUE(items.says(first)) << items;
  EXPECT_FALSE(get("/v1/jobs/" + id + "/items?outcome=changed").says(first));
  EXPECT_TRUE(get("/v1/jobs").says(id));
  EXPECT_EQ(verb(id, "cancel").status(), 409);  // it is over
}

TEST_F(JobRoutesTest, JobsAreReadByPagesAndAsLines) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    const char* act = i == 1 ? "archive" : "resolve";
    ids.push_back(plan(R"({"act":")" + std::string(act) + R"(","query":"source:x"})").at("job.id"));
    clock_.advance_to(clock_.now() + std::chrono::seconds{1});  // ids sort by time
  }
  const Told first = get("/v1/jobs?limit=2");
  EXPECT_EQ(first.at("jobs.0.id"), ids[2]) << first;
  EXPECT_EQ(first.at("jobs.1.id"), ids[1]);
  const Told second = get("/v1/jobs?limit=2&cursor=" + first.at("next"));
  EXPECT_EQ(second.at("jobs.0.id"), ids[0]) << second;
  EXPECT_EQ(second.at("next"), "null");
  EXPECT_EQ(get("/v1/jobs?act=archive,replay").at("jobs.0.id"), ids[1]);
  EXPECT_EQ(get("/v1/jobs?state=running,failed").at("jobs.0.id"), "?");

  const Headers lines{{"Accept", "application/x-ndjson"}};
  const Told all = get("/v1/jobs", lines);
  EXPECT_EQ(std::count(all.body().begin(), all.body().end(), '\n'), 3) << all;
  EXPECT_TRUE(all.says(ids[0]));
  EXPECT_FALSE(get("/v1/jobs?limit=1", lines).says(ids[0]));

  const Told wrong = get("/v1/jobs?state=runing");
  EXPECT_EQ(wrong.status(), 400);
  EXPECT_TRUE(wrong.says("did you mean")) << wrong;
}

TEST_F(JobRoutesTest, IdsCanBeNamedAndTheJobStartedAtOnce) {
  const std::string id = dead();
  const std::string other = dead(R"("id":"other")");
  const Told job = plan(R"({"act":"resolve","ids":[")" + id + R"("],"how":"refund","start":true})");
  ASSERT_EQ(job.status(), 201) << job;
  ASSERT_TRUE(ends(job.at("job.id")));
  const Told shown = get("/v1/dead-letters/" + id);
  EXPECT_EQ(shown.at("resolution.how"), "refund") << shown;
  EXPECT_EQ(get("/v1/dead-letters/" + other).at("status"), "pending");
}

TEST_F(JobRoutesTest, ClearingHappensOnlyIfTheCountThatWasTypedIsTrue) {  // S2-23, R2-6
  for (int i = 0; i < 3; ++i) dead(R"("id":"t-)" + std::to_string(i) + R"(")");
  const std::string kept = dead(R"("id":"archived")");
  const Told archived = plan(R"({"act":"archive","ids":[")" + kept + R"("],"start":true})");
  ASSERT_TRUE(ends(archived.at("job.id")));
  const std::string clear = R"("act":"discard","query":"status:open","start":true})";

  const Told wrong = plan(R"({"expect":4,)" + clear);
  EXPECT_EQ(wrong.status(), 409) << wrong;
  EXPECT_TRUE(wrong.says("There are 3 dead letters, not 4")) << wrong;
  EXPECT_EQ(get("/v1/dead-letters?q=status:open").at("dead_letters.3"), "?");
  EXPECT_NE(get("/v1/dead-letters?q=status:open").at("dead_letters.2.id"), "?") << "all there";

  const Told right = plan(R"({"expect":3,)" + clear);
  ASSERT_EQ(right.status(), 201) << right;
  ASSERT_TRUE(ends(right.at("job.id")));
  EXPECT_EQ(get("/v1/jobs/" + right.at("job.id")).at("progress.ok"), "3") << "how many went";
  EXPECT_EQ(get("/v1/dead-letters?q=status:open").at("dead_letters.0"), "?");
  EXPECT_EQ(get("/v1/dead-letters/" + kept).at("status"), "archived") << "archived ones stay";
  EXPECT_EQ(plan(R"({"expect":0,)" + clear).status(), 201) << "nothing is left to clear";
}

TEST_F(JobRoutesTest, APlanThatMakesNoSenseIsRefusedWithTheReason) {
  struct Row {
    const char* body;
    const char* says;
  };
  const Row rows[] = {
      {R"({"query":"source:a"})", "act"},
      {R"({"act":"explode","query":"source:a"})", "act"},
      {R"({"act":"resolve"})", "ids"},
      {R"({"act":"resolve","query":"source:a","ids":[]})", "only one"},
      {R"({"act":"resolve","query":"  "})", "must not be empty"},
      {R"({"act":"resolve","query":"sorce:a"})", "source"},
      {R"({"act":"resolve","ids":["x"]})", "32 hex"},
      {R"({"act":"resolve","query":"source:a","rate":0})", "rate"},
      {R"({"act":"resolve","query":"source:a","canary":5})", "canary"},
  };
  for (const Row& row : rows) {
    const Told told = plan(row.body);
    EXPECT_EQ(told.status(), 400) << row.body;
    EXPECT_TRUE(told.says(row.says)) << told;
  }
  EXPECT_EQ(get("/v1/jobs/nope").status(), 404);
  EXPECT_EQ(verb("nope", "start").status(), 404);
}

TEST_F(JobRoutesTest, TheSameKeyPlansOneJob) {
  dead();
  const std::string body = R"({"act":"archive","query":"source:payments"})";
  const Told once = plan(body, {{"Idempotency-Key", "k"}});
  const Told twice = plan(body, {{"Idempotency-Key", "k"}});
  EXPECT_EQ(once.at("job.id"), twice.at("job.id"));
  EXPECT_EQ(
      plan(R"({"act":"resolve","query":"source:payments"})", {{"Idempotency-Key", "k"}}).status(),
      409);
}

/// Dies at the n-th write from now on: neither that nor any later one happens.
class DyingOffice final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;
  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (writes_left == 0) return Error{Code::unavailable, "test", "killed"};
    if (writes_left > 0) --writes_left;
    return PassingOffice::apply(changes);
  }
  int writes_left = -1;
};

class KilledPlanTest : public JobRoutesTest {
 protected:
  void start() override {
    options_.works_on_jobs = false;
    service_ = std::make_unique<Service>(dying_, nullptr, clock_, options_);
  }
  DyingOffice dying_{office_};
};

// Wherever the server is killed, a repeat under the same key ends with one job that runs.
TEST_F(KilledPlanTest, AJobThatWasToStartAtOnceIsKeptWithItsKeyAndItsStart) {
  dead();
  const std::string body = R"({"act":"archive","query":"source:payments","start":true})";
  for (int writes = 0; writes < 4; ++writes) {
    const std::string key = "k" + std::to_string(writes);
    dying_.writes_left = writes;
    (void)plan(body, {{"Idempotency-Key", key}});
    dying_.writes_left = -1;
    start();
    const Told again = plan(body, {{"Idempotency-Key", key}});
    ASSERT_EQ(again.status(), 201) << again;
    EXPECT_EQ(again.at("job.state"), "running") << again;
    const Told job = get("/v1/jobs/" + again.at("job.id"));
    EXPECT_EQ(job.at("job.state"), "running") << job;
    const Told jobs = get("/v1/jobs");
    EXPECT_EQ(jobs.at("jobs." + std::to_string(writes) + ".state"), "running") << jobs;
    EXPECT_EQ(jobs.at("jobs." + std::to_string(writes + 1)), "?") << jobs;
  }
}

}  // namespace
}  // namespace dlo::api
