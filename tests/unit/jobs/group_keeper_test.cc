#include "dlo/jobs/group_keeper.h"

#include <gtest/gtest.h>

#include "unit/jobs/fixture.h"

namespace dlo {
namespace {

using std::chrono::days;

class GroupKeeperTest : public JobsTest {
 protected:
  GroupSummary group() {
    AggregateRequest request;
    request.groups = 1;
    return must(office_.aggregate(request)).groups.at(0);
  }
  void say(GroupStatus status, std::optional<TimePoint> until = {}) {
    EditGroup edit;
    edit.fingerprint = group().fingerprint;
    edit.status = status;
    edit.snoozed_until = until;
    const Change change = edit;
    must(office_.apply({&change, 1}));
  }
  std::size_t keep(TimePoint now) { return must(keep_groups(office_, days{14}, now)); }
};

TEST_F(GroupKeeperTest, AQuietGroupWithNothingOpenIsResolvedByTheOffice) {
  die(0, 1);
  EXPECT_EQ(keep(noon + days{30}), 0U) << "something is open";
  move(0, Status::resolved);
  EXPECT_EQ(keep(noon + days{14} - Millis{1}), 0U);
  EXPECT_EQ(keep(noon + days{14}), 1U);
  EXPECT_EQ(group().status, GroupStatus::resolved);
  EXPECT_EQ(group().resolved_at, noon + days{14});
  const auto trail = must(office_.extras().ledger->audit(0, 10));
  EXPECT_EQ(trail.back().act.actor, "office");
  EXPECT_EQ(trail.back().act.act, "group.quiet");
  EXPECT_EQ(keep(noon + days{15}), 0U);
}

TEST_F(GroupKeeperTest, WhatPeoplePutAsideIsLeftToThem) {
  die(0, 1);
  move(0, Status::archived);
  say(GroupStatus::ignored);
  EXPECT_EQ(keep(noon + days{30}), 0U);
}

TEST_F(GroupKeeperTest, ASnoozeEndsWhenItsTimeIsUp) {
  die(0, 1);
  say(GroupStatus::snoozed, noon + days{1});
  EXPECT_EQ(keep(noon + days{1} - Millis{1}), 0U);
  EXPECT_EQ(keep(noon + days{1}), 1U);
  EXPECT_EQ(group().status, GroupStatus::open);
  EXPECT_FALSE(group().snoozed_until);
}

}  // namespace
}  // namespace dlo
