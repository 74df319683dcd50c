#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/store/rules.h"

namespace dlo::testing {
namespace {

constexpr Id128 group_a{0, 1};
constexpr Id128 group_b{0, 2};

struct Side {
  bool there = false;
  Status status = Status::pending;
  Id128 group = group_a;
  bool died = true;
  std::uint32_t occurrence = 1;
};
constexpr Side absent{};
Side at(Status status, Id128 group = group_a, std::uint32_t occurrence = 1) {
  return {true, status, group, !is_live(status), occurrence};
}
Side succeeded() {
  return {true, Status::resolved, group_a, false, 1};
}

std::optional<DeadLetter> record_of(const Side& side) {
  if (!side.there) return std::nullopt;
  DeadLetter record;
  auto message = std::make_shared<Message>();
  message->source = "orders";
  record.message = message;
  record.status = side.status;
  record.fingerprint.hash = side.group;
  record.died = side.died;
  record.occurrence = side.occurrence;
  return record;
}

struct MoveRow {
  const char* name;
  Side before;
  Side after;
  std::string expected;  // per group: name open/total, "!" for an arrival
};
void PrintTo(const MoveRow& row, std::ostream* out) {
  *out << row.name;
}

std::string write(const Movement& moves) {
  std::string out;
  for (const GroupMove& move : moves.groups) {
    out += (out.empty() ? "" : " ") + std::string(move.fingerprint == group_a ? "a" : "b") +
           std::to_string(move.open) + "/" + std::to_string(move.total) + (move.arrival ? "!" : "");
  }
  return out;
}

class GroupMoves : public ::testing::TestWithParam<MoveRow> {};

TEST_P(GroupMoves, FollowTheTable) {
  const auto before = record_of(GetParam().before);
  const auto after = record_of(GetParam().after);
  const Movement moves = movement(before ? &*before : nullptr, after ? &*after : nullptr);
  EXPECT_EQ(write(moves), GetParam().expected);
}

using S = Status;
// clang-format off
INSTANTIATE_TEST_SUITE_P(Groups, GroupMoves, ::testing::ValuesIn<MoveRow>({
    {"ADeathArrives",                   absent,              at(S::pending),              "a1/1!"},
    {"AClosedOneArrives",               absent,              at(S::resolved),             "a0/1!"},
    {"AWaitingOneIsInNoGroup",          absent,              at(S::waiting),              ""},
    {"WaitingThenDead",                 at(S::waiting),      at(S::exhausted),            "a1/1!"},
    {"WaitingThenDone",                 at(S::waiting),      succeeded(),                 ""},
    {"DoneThenReopenedByHand",          succeeded(),         at(S::pending),              "a1/1!"},
    {"OpenToOpen",                      at(S::pending),      at(S::retrying),             ""},
    {"Closing",                         at(S::pending),      at(S::resolved),             "a-1/0"},
    {"Restoring",                       at(S::archived),     at(S::pending),              "a1/0"},
    {"ClosedToClosed",                  at(S::resolved),     at(S::archived),             ""},
    {"Removing",                        at(S::discarded),    absent,                      ""},
    {"RemovingOneThatOnlyWaited",       succeeded(),         absent,                      ""},
    {"TheNextOccurrence",               at(S::pending),      at(S::pending, group_a, 2),  "a0/1!"},
    {"TheNextOccurrenceOfAClosedOne",   at(S::resolved),     at(S::pending, group_a, 2),  "a1/1!"},
    {"TheNextOccurrenceElsewhere",      at(S::pending),      at(S::pending, group_b, 2),  "a-1/0 b1/1!"},
    {"TheNextOccurrenceWaits",          at(S::pending),      at(S::waiting, group_a, 2),  "a-1/0"},
    {"AnotherFingerprint",              at(S::pending),      at(S::pending, group_b),     "a-1/-1 b1/1!"},
    {"AnotherFingerprintWhenClosed",    at(S::resolved),     at(S::resolved, group_b),    "a0/-1 b0/1!"},
    {"AnotherFingerprintWhileWaiting",  at(S::waiting),      at(S::waiting, group_b),     ""},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Tallies, MoveOnlyWhenSourceStatusOrCategoryDo) {
  const DeadLetter before = *record_of(at(S::pending));
  DeadLetter after = before;
  EXPECT_FALSE(movement(&before, &after).leaves);
  EXPECT_FALSE(movement(&before, &after).enters);
  after.category = "network";
  const Movement moves = movement(&before, &after);
  EXPECT_EQ(moves.leaves, (TallyKey{"orders", Status::pending, ""}));
  EXPECT_EQ(moves.enters, (TallyKey{"orders", Status::pending, "network"}));
  EXPECT_FALSE(movement(nullptr, &after).leaves);
  EXPECT_FALSE(movement(&before, nullptr).enters);
}

TEST(GroupStatusRule, AnImportOfClosedRecordsWakesNobody) {
  GroupSummary group;
  group.status = GroupStatus::resolved;
  move_group(group, {group_a, 0, 1, true, noon, false}, *record_of(at(S::resolved)));
  EXPECT_EQ(group.status, GroupStatus::resolved);
  move_group(group, {group_a, 1, 1, true, noon, false}, *record_of(at(S::pending)));
  EXPECT_EQ(group.status, GroupStatus::open);
}

TEST(GroupEdits, LeaveSnoozingBehindTogetherWithItsEnd) {
  GroupSummary group;
  EditGroup snooze;
  snooze.status = GroupStatus::snoozed;
  snooze.snoozed_until = noon;
  must(edit_group(group, snooze));
  EXPECT_EQ(group.snoozed_until, noon);
  EditGroup wake;
  wake.status = GroupStatus::fixing;
  must(edit_group(group, wake));
  EXPECT_FALSE(group.snoozed_until);
  EXPECT_EQ(group.status, GroupStatus::fixing);
}

}  // namespace
}  // namespace dlo::testing
