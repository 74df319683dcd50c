#include "dlo/core/states.h"

#include <array>
#include <gtest/gtest.h>
#include <set>
#include <string_view>

namespace dlo {
namespace {

// Rows: from. Columns: to, in the same order. x: legal, =: staying (a change in place), .: refused.
// R9, DESIGN 4, I7.
// clang-format off
constexpr std::array<std::string_view, status_count> matrix = {
//   waiting
//   | parked
//   | | pending
//   | | | retrying
//   | | | | exhausted
//   | | | | | replaying
//   | | | | | | replayed
//   | | | | | | | quarantined
//   | | | | | | | | resolved
//   | | | | | | | | | archived
//   | | | | | | | | | | discarding
//   | | | | | | | | | | | discarded
//   | | | | | | | | | | | | expired
    "= x x . x . . x x . . . x",  // waiting
    "x = x . x . . x x . . . x",  // parked
    ". . = x x x . x x x x . x",  // pending
    ". . x = x . . x x x x . x",  // retrying
    ". . x x = x . x x x x . x",  // exhausted
    ". . x . x = x x x x x . x",  // replaying
    ". . x . x x = x x x x . x",  // replayed
    ". . . . . x . = x x x . .",  // quarantined
    ". . x . x . x x = x x . x",  // resolved
    ". . x . x . x x x = x . x",  // archived
    ". . x . x . x x x x = x .",  // discarding
    ". . . . . . . . . . . = .",  // discarded
    ". . . . . . . . . . . . =",  // expired
};
// clang-format on

TEST(States, MoveExactlyAsTheMatrixSays) {
  for (const Status from : all_statuses()) {
    for (const Status to : all_statuses()) {
      const char cell = matrix[static_cast<std::size_t>(from)][2 * static_cast<std::size_t>(to)];
      EXPECT_EQ(is_legal(from, to), cell != '.') << name_of(from) << " -> " << name_of(to);
    }
  }
}

TEST(States, AreAllListedOnceAndInOrder) {
  for (std::size_t i = 0; i < status_count; ++i) {
    EXPECT_EQ(static_cast<std::size_t>(all_statuses()[i]), i);
  }
}

TEST(States, ReadBackFromTheirNames) {
  std::set<std::string_view> names;
  for (const Status status : all_statuses()) {
    EXPECT_EQ(parse_status(name_of(status)), status);
    names.insert(name_of(status));
  }
  EXPECT_EQ(names.size(), status_count);
  EXPECT_EQ(name_of(Status::quarantined), "quarantined");
  for (const auto* text : {"", "Pending", "pending ", "removed", "completed"}) {
    EXPECT_EQ(parse_status(text), std::nullopt) << text;
  }
}

TEST(States, AreLiveOrOpenOrClosedAndNeverTwoOfThese) {
  const std::set<Status> live = {Status::waiting, Status::parked};
  const std::set<Status> open = {Status::pending,   Status::retrying, Status::exhausted,
                                 Status::replaying, Status::replayed, Status::quarantined};
  for (const Status status : all_statuses()) {
    EXPECT_EQ(is_live(status), live.contains(status)) << name_of(status);
    EXPECT_EQ(is_open(status), open.contains(status)) << name_of(status);
    EXPECT_EQ(is_closed(status), !live.contains(status) && !open.contains(status))
        << name_of(status);
  }
}

std::set<Status> reachable_from(Status start) {
  std::set<Status> seen = {start};
  std::set<Status> edge = seen;
  while (!edge.empty()) {
    std::set<Status> next;
    for (const Status from : edge) {
      for (const Status to : all_statuses()) {
        if (is_legal(from, to) && seen.insert(to).second) next.insert(to);
      }
    }
    edge = next;
  }
  return seen;
}

TEST(States, HaveAnExitUnlessTheyAreRemovalItself) {  // I7
  for (const Status from : all_statuses()) {
    const bool final = from == Status::discarded || from == Status::expired;
    EXPECT_EQ(reachable_from(from).size() == 1, final) << name_of(from);
  }
}

TEST(States, ReachResolvedFromEveryOpenAndLiveState) {  // R2-4..6: nothing stuck
  for (const Status from : all_statuses()) {
    if (is_closed(from)) continue;
    EXPECT_TRUE(is_legal(from, Status::resolved)) << name_of(from);
  }
}

TEST(States, NeverComeBackToLifeOnceDead) {
  for (const Status from : all_statuses()) {
    if (is_live(from)) continue;
    EXPECT_FALSE(reachable_from(from).contains(Status::waiting)) << name_of(from);
    EXPECT_FALSE(reachable_from(from).contains(Status::parked)) << name_of(from);
  }
}

TEST(States, AreDiscardedOnlyAfterAGraceTime) {
  for (const Status from : all_statuses()) {
    if (from == Status::discarded) continue;
    EXPECT_EQ(is_legal(from, Status::discarded), from == Status::discarding) << name_of(from);
  }
}

TEST(States, ThatCarryALeaseAreEnteredOnlyFromOpenStates) {
  for (const Status to : all_statuses()) {
    EXPECT_EQ(carries_lease(to), to == Status::retrying || to == Status::replaying);
    if (!carries_lease(to)) continue;
    for (const Status from : all_statuses()) {
      EXPECT_TRUE(is_open(from) || !is_legal(from, to)) << name_of(from);
    }
  }
}

TEST(States, ReturnToAnyFormerStateThatStandsWithoutALease) {
  for (const Status former : all_statuses()) {
    for (const Status hidden : {Status::archived, Status::discarding}) {
      if (!is_legal(former, hidden) || carries_lease(former)) continue;
      if (former == Status::discarding) continue;
      EXPECT_TRUE(is_legal(hidden, former)) << name_of(hidden) << " -> " << name_of(former);
    }
  }
}

}  // namespace
}  // namespace dlo
