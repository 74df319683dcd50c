#include "dlo/core/acts.h"

#include <gtest/gtest.h>
#include <ostream>

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

TEST(Acts, OnManyAreAboutOpenOnesButForARestore) {
  for (const char* act : {"resolve", "archive", "discard", "retry", "tag", "repair", "regroup",
                          "quarantine", "replay"}) {
    EXPECT_TRUE(is_about_open(act)) << act;
  }
  EXPECT_FALSE(is_about_open("restore"));
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

struct RetryRow {
  const char* name;
  AskedRetry now;
  Status status;
  std::string_view how;
  RetryOutcome expected;
};
void PrintTo(const RetryRow& row, std::ostream* out) {
  *out << row.name;
}
class AfterARetry : public ::testing::TestWithParam<RetryRow> {};
TEST_P(AfterARetry, ItsOutcomeIsReadOffTheRecord) {  // S2-21
  const RetryRow& row = GetParam();
  EXPECT_EQ(outcome_of_retry({3, 1}, row.now, row.status, row.how), row.expected);
}
// clang-format off
INSTANTIATE_TEST_SUITE_P(Records, AfterARetry, ::testing::ValuesIn<RetryRow>({
    {"ItWaitsForItsTurn",         {3, 1}, Status::pending,     "",            RetryOutcome::awaited},
    {"ItRuns",                    {3, 1}, Status::retrying,    "",            RetryOutcome::awaited},
    {"ItWorked",                  {3, 1}, Status::resolved,    how_retried,   RetryOutcome::worked},
    {"TheNextOneWorked",          {4, 1}, Status::resolved,    how_retried,   RetryOutcome::worked},
    {"ItFailed",                  {4, 1}, Status::pending,     "",            RetryOutcome::failed},
    {"ItFailedAndRunsAgain",      {4, 1}, Status::retrying,    "",            RetryOutcome::failed},
    {"ItFailedForGood",           {4, 1}, Status::exhausted,   "",            RetryOutcome::failed},
    {"ItKilledItsProcess",        {3, 1}, Status::quarantined, "",            RetryOutcome::failed},
    {"ItFailedAndWasArchived",    {4, 1}, Status::archived,    "",            RetryOutcome::failed},
    {"ItWasSentOnAndDiedThere",   {1, 2}, Status::pending,     "",            RetryOutcome::failed},
    {"SomebodyClosedIt",          {3, 1}, Status::resolved,    "manual",      RetryOutcome::taken_over},
    {"SomebodyArchivedIt",        {3, 1}, Status::archived,    "",            RetryOutcome::taken_over},
    {"SomebodySentItBack",        {3, 1}, Status::replaying,   "",            RetryOutcome::taken_over},
}), [](const auto& row) { return row.param.name; });
// clang-format on

}  // namespace
}  // namespace dlo
