#include "unit/jobs/replaying.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;

/// A fix that does not work, and the group somebody had taken up.
class ReturnsTest : public ReplayTest {
 protected:
  GroupSummary group(const Id128& id = {}) {
    AggregateRequest request;
    request.only_group = id;
    return must(office_.aggregate(request)).groups.at(0);
  }
  void say(GroupStatus status, const Id128& id = {}) {
    EditGroup edit;
    edit.fingerprint = group(id).fingerprint;
    edit.status = status;
    edit.snoozed_until = status == GroupStatus::snoozed ? std::optional(noon + 24h) : std::nullopt;
    const Change change = edit;
    must(office_.apply({&change, 1}));
  }
  void come_back_as(std::size_t i, const Id128& fingerprint) {
    auto record = std::make_shared<DeadLetter>(must(office_.get(id_of(i))).record);
    record->occurrence = 2;
    record->status = Status::pending;
    record->fingerprint.hash = fingerprint;
    record->died_at = noon + 1h;
    const Change change = Append{record, {}};
    must(office_.apply({&change, 1}));
  }
  /// Sends a canary of two, has both come back in this group, and looks until the job is over.
  Stepped fail_as(const Id128& fingerprint) {
    die(0, 10);
    say(before_);
    ReplaySpec spec;
    spec.canary = 2;
    const Job job = plan_replay(spec);
    must(go(job));
    come_back_as(0, fingerprint);
    come_back_as(1, fingerprint);
    must(go(job, 100, noon + 1s));
    return must(go(job, 100, noon + 1s));
  }
  GroupStatus before_ = GroupStatus::fixing;
};

TEST_F(ReturnsTest, AGroupThatWasBeingFixedIsOpenAgainInTheNameOfTheJob) {
  const Stepped stopped = fail_as({});
  EXPECT_TRUE(stopped.over);
  EXPECT_EQ(group().status, GroupStatus::open);
  const auto last = must(office_.extras().ledger->audit(0, 100)).back().act;
  EXPECT_EQ(last.act, "group.reopen");
  EXPECT_EQ(last.actor, "job j1");
  EXPECT_NE(last.detail.find("fixing"), std::string::npos) << last.detail;
  EXPECT_NE(stopped.stopped.find("2 as group " + to_string(Id128{})), std::string::npos)
      << stopped.stopped;
}

TEST_F(ReturnsTest, SoIsOneThatSomebodyHadSeen) {
  before_ = GroupStatus::acknowledged;
  fail_as({});
  EXPECT_EQ(group().status, GroupStatus::open);
}

TEST_F(ReturnsTest, WhatPeopleSnoozedStaysTheirs) {
  before_ = GroupStatus::snoozed;
  fail_as({});
  EXPECT_EQ(group().status, GroupStatus::snoozed);
}

TEST_F(ReturnsTest, AnotherFailureIsAnotherGroupAndLeavesThisOneAlone) {
  const Id128 other{5, 5};
  die(50, 1, "others");
  auto record = std::make_shared<DeadLetter>(must(office_.get(id_of(50))).record);
  record->occurrence = 2;
  record->fingerprint.hash = other;
  const Change change = Append{record, {}};
  must(office_.apply({&change, 1}));
  say(GroupStatus::acknowledged, other);
  const Stepped stopped = fail_as(other);
  EXPECT_EQ(group().status, GroupStatus::fixing) << "it may well be fixed";
  EXPECT_EQ(group(other).status, GroupStatus::acknowledged) << "nobody tried to fix that";
  ASSERT_EQ(stopped.progress.returned_to.size(), 1U);
  EXPECT_EQ(stopped.progress.returned_to[0], (ReturnedTo{other, 2, false}));
}

TEST_F(ReturnsTest, WhoeverIsKilledAfterOpeningItOpensItOnce) {
  fail_as({});
  const Job job = must(book_.get("j1"));
  const auto entries = must(office_.extras().ledger->audit(0, 100)).size();
  EXPECT_TRUE(must(go(job, 100, noon + 2s)).over);
  EXPECT_EQ(must(office_.extras().ledger->audit(0, 100)).size(), entries);
}

}  // namespace
}  // namespace dlo
