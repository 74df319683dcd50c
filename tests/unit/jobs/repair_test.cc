// Bulk acts that change what dead letters say or carry: repair, tag, retry.
#include <gtest/gtest.h>
#include <string>

#include "unit/jobs/fixture.h"

#include "dlo/jobs/drafts.h"
#include "dlo/jobs/recipe_book.h"

namespace dlo {
namespace {

class RepairJobTest : public JobsTest {
 protected:
  void die_with(std::size_t i, const std::string& payload, std::vector<std::string> tags = {}) {
    auto message = std::make_shared<Message>();
    message->source = "payments";
    message->id = std::to_string(i);
    message->payload = payload;
    auto record = std::make_shared<DeadLetter>();
    record->id = id_of(i);
    record->message = message;
    record->tags = std::move(tags);
    record->died_at = noon + Millis{static_cast<std::int64_t>(i)};
    const Change change = Append{record, {}};
    must(office_.apply({&change, 1}));
  }
  Job plan_act(Act act, const std::function<void(JobSpec&)>& fill) {
    JobSpec spec;
    spec.act = act;
    spec.query = "source:payments";
    fill(spec);
    return plan(spec);
  }
  RecordDetail detail(std::size_t i) { return must(office_.get(id_of(i))); }
};

TEST_F(RepairJobTest, ARecipeMakesAVersionOfEveryDeadLetterItChanges) {
  die_with(0, R"({"amount":-1})");
  die_with(1, R"({"amount":1})");
  die_with(2, "no json");
  const Job job = plan_act(Act::repair, [](JobSpec& spec) {
    spec.recipe = R"([{"set":"amount","value":1}])";
    spec.recipe_name = "sign v3";
  });
  finish(job, 2);
  EXPECT_EQ(outcomes(job),
            (std::map<std::string, int>{{"ok", 1}, {"unchanged", 1}, {"refused", 1}}));
  EXPECT_EQ(counts(job).ok, 2U);
  EXPECT_EQ(counts(job).refused, 1U);
  EXPECT_EQ(newest_draft(detail(0)).payload, R"({"amount":1})");
  EXPECT_EQ(draft_at(detail(0), 0)->payload, R"({"amount":-1})");
  EXPECT_EQ(detail(0).versions.back().why, "job j1, recipe sign v3");
  EXPECT_EQ(detail(0).versions.back().by, "ana");
  EXPECT_TRUE(detail(1).versions.empty());
  EXPECT_EQ(status_of(0), Status::pending) << "it is repaired, not sent";
}

TEST_F(RepairJobTest, WhatDoesNotFitTheSchemaOfItsSourceIsLeftAsItIs) {
  die_with(0, R"({"amount":-1})");
  const Change schema = PutDocument{schema_kind, "payments",
                                    R"({"properties":{"amount":{"minimum":0}}})", std::nullopt};
  must(office_.apply({&schema, 1}));
  const Job job = plan_act(Act::repair,
                           [](JobSpec& spec) { spec.recipe = R"([{"set":"amount","value":-5}])"; });
  finish(job, 10);
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"refused", 1}}));
  EXPECT_TRUE(detail(0).versions.empty());
}

TEST_F(RepairJobTest, NobodyEditsWhatIsClosed) {
  die_with(0, "{}");
  move(0, Status::resolved);
  const Job job =
      plan_act(Act::repair, [](JobSpec& spec) { spec.recipe = R"([{"set":"a","value":1}])"; });
  finish(job, 10);
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"refused", 1}}));
}

TEST_F(RepairJobTest, TagsComeAndGo) {
  die_with(0, "{}", {"old", "keep"});
  die_with(1, "{}", {"keep", "new"});
  const Job job = plan_act(Act::tag, [](JobSpec& spec) {
    spec.tags = {"new"};
    spec.remove_tags = {"old"};
  });
  finish(job, 10);
  EXPECT_EQ(detail(0).record.tags, (std::vector<std::string>{"keep", "new"}));
  EXPECT_EQ(detail(1).record.tags, (std::vector<std::string>{"keep", "new"}));
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"ok", 1}, {"unchanged", 1}}));
  EXPECT_EQ(status_of(0), Status::pending);
}

TEST_F(RepairJobTest, ARetryIsDueAtOnceWhereSomebodyRunsIt) {
  die_with(0, "{}");
  die(1, 1, "nobodys");
  JobSpec spec;
  spec.act = Act::retry;
  spec.query = "status:open";
  const Job job = plan(spec);
  const auto runs = [](const std::string& source) { return source == "payments"; };
  const auto stepped =
      must(step(office_, job, must(book_.progress(job.id)), 10, noon + Millis{5}, runs));
  EXPECT_TRUE(stepped.over);
  EXPECT_EQ(detail(0).record.next_retry_at, noon + Millis{5});
  EXPECT_EQ(detail(1).record.next_retry_at, std::nullopt);
  EXPECT_EQ(outcomes(job), (std::map<std::string, int>{{"ok", 1}, {"refused", 1}}));
}

TEST_F(RepairJobTest, APlanThatSaysNothingIsRefused) {
  const auto refused = [&](Act act, const std::string& recipe) {
    JobSpec spec;
    spec.act = act;
    spec.query = "source:payments";
    spec.recipe = recipe;
    return !book_.plan(spec, "j9", "ana", noon);
  };
  EXPECT_TRUE(refused(Act::repair, ""));
  EXPECT_TRUE(refused(Act::repair, "[{\"fix\":1}]"));
  EXPECT_TRUE(refused(Act::tag, ""));
}

TEST_F(RepairJobTest, EverythingAJobSaysIsReadBack) {
  JobSpec spec;
  spec.act = Act::repair;
  spec.query = "source:payments";
  spec.recipe = R"([{"set":"/a","value":1.0}])";
  spec.recipe_name = "r v1";
  spec.tags = {"a", "b"};
  spec.remove_tags = {"c"};
  spec.not_before = noon + Millis{7};
  const Job job = plan(spec);
  EXPECT_EQ(must(book_.get(job.id)), job);
}

TEST_F(RepairJobTest, ADryRunIsKeptNowhere) {
  die_with(0, "{}");
  JobSpec spec;
  spec.replay = ReplaySpec{};
  spec.query = "source:payments";
  const Job job = must(book_.draw_up(spec, "", "ana", noon));
  const JobPreview preview = must(book_.preview(job));
  EXPECT_EQ(preview.count, 1U);
  EXPECT_EQ(preview.targets, (std::map<Direction, std::uint64_t>{{{"payments"}, 1}}));
  EXPECT_TRUE(must(book_.list({})).jobs.empty());
}

}  // namespace
}  // namespace dlo
