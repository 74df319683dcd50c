#include "dlo/jobs/job_set.h"

#include <gtest/gtest.h>
#include <set>

#include "unit/jobs/replaying.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

class JobSetTest : public ReplayTest {
 protected:
  /// A job that ended, with these outcomes.
  void former(const std::vector<std::pair<std::size_t, std::string>>& items,
              const std::string& id = "old") {
    JobSpec spec;
    spec.query = "source:payments";
    must(book_.plan(spec, id, "ana", noon));
    must(book_.change(id, JobVerb::start, "ana", noon));
    JobCheckpoint checkpoint{id, to_json(JobProgress{}), {}};
    for (const auto& [i, outcome] : items) checkpoint.outcomes.emplace_back(id_of(i), outcome);
    const Change change = checkpoint;
    must(office_.apply({&change, 1}));
    must(book_.end(id, JobState::done, "", noon));
  }
  static JobSpec from(const std::string& outcome, Act act = Act::archive) {
    JobSpec spec;
    spec.act = act;
    spec.from_job = "old";
    spec.outcome = outcome;
    return spec;
  }
};

TEST_F(JobSetTest, AJobIsAboutWhatAnotherDidNotDo) {
  die(0, 8);
  former({{0, "ok"},
          {1, "refused"},
          {2, "changed"},
          {3, "returned"},
          {4, "looped"},
          {5, "behind"},
          {6, "sent 1 00000000000000000000000000000000"}});
  const Job job = plan(from("failed"));
  EXPECT_EQ(must(book_.get("j1")), job) << "it comes back as it was written";
  EXPECT_EQ(must(book_.preview(job)).count, 5U);
  finish(job, 2);
  EXPECT_EQ(counts(job), (JobCounts{5, 0, 0}));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(status_of(i), i >= 1 && i <= 5 ? Status::archived : Status::pending) << i;
  }
}

TEST_F(JobSetTest, OrAboutThoseWithASingleOutcome) {
  die(0, 3);
  former({{0, "ok"}, {1, "refused"}, {2, "sent 1 00000000000000000000000000000000"}});
  finish(plan(from("sent")), 10);
  EXPECT_EQ(status_of(2), Status::archived);
  EXPECT_EQ(status_of(1), Status::pending);
}

TEST_F(JobSetTest, WhatChangedSinceThePlanOrIsGoneIsNotInIt) {
  die(0, 3);
  former({{0, "refused"}, {1, "refused"}, {2, "refused"}, {9, "refused"}});
  const Job job = plan(from("failed"));
  move(1, Status::resolved);
  finish(job, 10);
  EXPECT_EQ(counts(job).ok, 2U);
  EXPECT_EQ(status_of(1), Status::resolved);
}

TEST_F(JobSetTest, SlicesAreSmallAndTogetherEverything) {
  constexpr std::size_t many = 1'300;  // more than one page of items
  die(0, many);
  std::vector<std::pair<std::size_t, std::string>> items;
  for (std::size_t i = 0; i < many; ++i) items.emplace_back(i, i % 3 == 0 ? "refused" : "ok");
  former(items);
  const Job job = plan(from("failed"));
  std::set<RecordId> seen;
  std::optional<JobPlace> place = JobPlace{};
  while (place) {
    const JobSlice slice = must(read_slice(office_, job, *place, 7));
    EXPECT_LE(slice.rows.size(), 7U);
    for (const RecordHead& head : slice.rows) EXPECT_TRUE(seen.insert(head.id).second);
    place = slice.next;
  }
  EXPECT_EQ(seen.size(), 434U);
  EXPECT_EQ(must(count_set(office_, job)), 434U);
}

TEST_F(JobSetTest, ASetIsCountedToItsEndOrToTheLimitOfTheJob) {
  die(0, 1'300);
  JobSpec spec;
  spec.query = "source:payments";
  spec.act = Act::archive;
  const Job all = plan(spec);
  spec.limit = 1'200;
  const Job some = must(book_.plan(spec, "j2", "ana", noon));
  die(1'300, 5);  // not in it
  EXPECT_EQ(must(count_set(office_, all)), 1'300U);
  EXPECT_EQ(must(count_set(office_, some)), 1'200U);
}

TEST_F(JobSetTest, KeysKeepTheirOrder) {
  die(0, 1, "payments", "bo");
  die(1, 1, "payments", "ana");
  die(2, 2, "payments", "ana");
  come_back(1, 2);  // it died again, after the others
  former({{0, "ok"}, {1, "returned"}, {2, "behind"}, {3, "behind"}});
  JobSpec spec = from("failed");
  spec.replay = ReplaySpec{};
  spec.replay->watch = Millis{0};
  spec.by_key = true;
  const Job job = plan(spec);
  for (int i = 0; i < 20 && !must(go(job, 1)).over; ++i) {
  }
  EXPECT_EQ(arrived_ids(), (std::vector<std::string>{"2", "3", "1"})) << "not by id";
}

TEST_F(JobSetTest, TheOtherJobMustHaveEnded) {
  JobSpec spec;
  spec.query = "source:payments";
  must(book_.plan(spec, "old", "ana", noon));
  EXPECT_EQ(book_.plan(from("failed"), "j1", "ana", noon).error().code, Code::conflict);
  must(book_.change("old", JobVerb::cancel, "ana", noon));
  EXPECT_TRUE(book_.plan(from("failed"), "j1", "ana", noon));
  spec = from("failed");
  spec.from_job = "nobody";
  EXPECT_EQ(book_.plan(spec, "j2", "ana", noon).error().code, Code::not_found);
}

TEST_F(JobSetTest, AJobWhoseSourceIsRemovedMeanwhileSaysSo) {
  die(0, 1);
  former({{0, "refused"}});
  const Job job = plan(from("failed"));
  const Change gone = PutDocument{"job", "old", std::nullopt, std::nullopt};
  must(office_.apply({&gone, 1}));
  const auto stepped = step(office_, job, {}, 10, noon);
  ASSERT_FALSE(stepped);
  EXPECT_EQ(stepped.error().code, Code::not_found);
  EXPECT_NE(stepped.error().detail.find("old"), std::string::npos);
  EXPECT_EQ(must(book_.preview(job)).count, 0U) << "it can still be looked at";
}

TEST_F(JobSetTest, AKillBeforeTheEndIsWrittenDownCountsNothingTwice) {
  die(0, 3);
  move(2, Status::archived);
  const Job job = plan_all(Act::retry);  // what is archived cannot be retried
  while (!must(step(office_, job, must(book_.progress("j1")), 2, noon)).over) {
  }
  const JobCounts before = counts(job);
  EXPECT_EQ(before, (JobCounts{2, 0, 1}));
  EXPECT_TRUE(must(step(office_, job, must(book_.progress("j1")), 2, noon)).over);
  EXPECT_EQ(counts(job), before);
}

}  // namespace
}  // namespace dlo
