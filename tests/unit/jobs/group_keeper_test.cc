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

TEST_F(GroupKeeperTest, HoweverManySleepThoseThatAreDueWakeInOrderOfTheirMoments) {
  constexpr std::size_t many = 1'201;
  const auto group_of = [](std::size_t i) { return Id128{9, i}; };
  for (std::size_t i = 0; i < many; ++i) {
    auto message = std::make_shared<Message>();
    message->source = "payments";
    message->id = std::to_string(i);
    auto record = std::make_shared<DeadLetter>();
    record->id = id_of(i);
    record->message = message;
    record->fingerprint = Fingerprint{group_of(i), "t", "test"};
    // More than a page of one moment, then one after the other.
    record->died_at = noon + Millis{static_cast<std::int64_t>(i < 700 ? 0 : i)};
    EditGroup edit;
    edit.fingerprint = group_of(i);
    edit.status = GroupStatus::snoozed;
    // Those seen first are due, the youngest of them first.
    edit.snoozed_until =
        i < 3 ? noon + days{1} - Millis{static_cast<std::int64_t>(i)} : noon + days{100};
    const std::vector<Change> changes{Append{record, {}}, edit};
    must(office_.apply(changes));
  }
  EXPECT_EQ(keep(noon + days{1}), 3U);
  std::vector<std::string> woken;
  for (const AuditEntry& each : must(office_.extras().ledger->audit(0, 10'000))) {
    if (each.act.act == "group.wake") woken.push_back(each.act.subject);
  }
  EXPECT_EQ(woken, (std::vector<std::string>{to_string(group_of(2)), to_string(group_of(1)),
                                             to_string(group_of(0))}));
  EXPECT_EQ(keep(noon + days{1}), 0U);
}

}  // namespace
}  // namespace dlo
