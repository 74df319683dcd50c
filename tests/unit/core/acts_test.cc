#include "dlo/core/acts.h"

#include <gtest/gtest.h>

namespace dlo {
namespace {

TEST(Acts, ArePossibleWhereThisTableSaysSo) {
  struct Row {
    Status status;
    bool resolve, archive, discard, restore, retry, tag, repair;
  };
  const Row rows[] = {
      {Status::waiting, false, false, false, false, false, false, false},
      {Status::parked, false, false, false, false, false, false, false},
      {Status::pending, true, true, true, false, true, true, true},
      {Status::retrying, true, true, true, false, false, true, false},
      {Status::exhausted, true, true, true, false, true, true, true},
      {Status::replaying, true, true, true, false, false, true, false},
      {Status::replayed, true, true, true, false, false, true, false},
      {Status::quarantined, true, true, true, false, false, true, true},
      {Status::resolved, false, true, true, true, false, true, false},
      {Status::archived, true, false, true, true, false, true, false},
      {Status::discarding, true, true, false, true, false, true, false},
      {Status::discarded, false, false, false, false, false, true, false},
      {Status::expired, false, false, false, false, false, true, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(is_possible(Act::resolve, row.status), row.resolve) << name_of(row.status);
    EXPECT_EQ(is_possible(Act::archive, row.status), row.archive) << name_of(row.status);
    EXPECT_EQ(is_possible(Act::discard, row.status), row.discard) << name_of(row.status);
    EXPECT_EQ(is_possible(Act::restore, row.status), row.restore) << name_of(row.status);
    EXPECT_EQ(is_possible(Act::retry, row.status), row.retry) << name_of(row.status);
    EXPECT_EQ(is_possible(Act::tag, row.status), row.tag) << name_of(row.status);
    EXPECT_EQ(is_possible(Act::regroup, row.status), row.tag) << name_of(row.status);
    EXPECT_EQ(is_possible(Act::repair, row.status), row.repair) << name_of(row.status);
    EXPECT_EQ(is_possible(Act::quarantine, row.status), row.retry) << name_of(row.status);
  }
}

TEST(Acts, LeadWhereTheyShouldAndHaveNamesThatReadBack) {
  EXPECT_EQ(target_of(Act::resolve, Status::pending), Status::resolved);
  EXPECT_EQ(target_of(Act::archive, Status::pending), Status::archived);
  EXPECT_EQ(target_of(Act::discard, Status::pending), Status::discarding);
  EXPECT_EQ(target_of(Act::quarantine, Status::pending), Status::quarantined);
  EXPECT_EQ(target_of(Act::restore, Status::exhausted), Status::exhausted);
  for (const Act act : {Act::resolve, Act::archive, Act::discard, Act::restore, Act::retry,
                        Act::tag, Act::repair, Act::regroup, Act::quarantine}) {
    EXPECT_EQ(parse_act(name_of(act)), act);
  }
  EXPECT_EQ(parse_act("explode"), std::nullopt);
}

TEST(Replays, AreForDeadLettersThatWaitForNobody) {
  for (const Status status : all_statuses()) {
    const bool waits = status == Status::pending || status == Status::exhausted;
    EXPECT_EQ(is_replayable(status, false), waits) << name_of(status);
    EXPECT_EQ(is_replayable(status, true), waits || status == Status::quarantined)
        << name_of(status);
  }
}

TEST(Replays, AreLimitedByWhatWasAskedForThenTheProfileThenTen) {
  EXPECT_EQ(replay_limit(2, 3), 2U);
  EXPECT_EQ(replay_limit({}, 3), 3U);
  EXPECT_EQ(replay_limit({}, {}), 10U);
}

}  // namespace
}  // namespace dlo
