#include "dlo/store/rules.h"

#include <gtest/gtest.h>
#include <limits>

#include "support/must.h"

namespace dlo::testing {
namespace {

using std::chrono::seconds;

DeadLetter a_record(Status status) {
  auto message = std::make_shared<Message>();
  message->source = "orders";
  message->payload = "body";
  DeadLetter record;
  record.message = message;
  record.status = status;
  record.category = "network";
  record.fingerprint.hash = {0, 1};
  record.fingerprint.title = "title";
  record.died_at = noon;
  record.version = 5;
  record.died = !is_live(status);
  return record;
}

constexpr LeaseToken mine{{1, 1}};
constexpr LeaseToken fresh{{2, 2}};
constexpr Lease held{mine, noon + seconds{30}};

// ---- The lease rule, as a table: what a transition does to a lease, or why it is refused.

struct LeaseRow {
  const char* name;
  Status from;
  Status to;
  bool is_held;
  bool gives_token;
  bool asks_lease;
  std::optional<Code> refused;
  std::optional<LeaseToken> left;  // the lease afterwards
};
void PrintTo(const LeaseRow& row, std::ostream* out) {
  *out << row.name;
}

class LeaseRule : public ::testing::TestWithParam<LeaseRow> {};

TEST_P(LeaseRule, FollowsTheTable) {
  const LeaseRow& row = GetParam();
  Transition move;
  move.to = row.to;
  move.now = noon;
  if (row.gives_token) move.lease = mine;
  if (row.asks_lease) move.lease_for = seconds{60};
  std::optional<Lease> lease;
  if (row.is_held) lease = held;
  std::optional<Code> refused;
  if (const auto fine = check(Change{move}); !fine) refused = fine.error().code;
  const auto after = apply_transition(a_record(row.from), lease, move, fresh, 9);
  if (!refused && !after) refused = after.error().code;
  EXPECT_EQ(refused, row.refused);
  if (refused) return;
  EXPECT_EQ(after->record.status, row.to);
  EXPECT_EQ(after->record.version, 6U);
  EXPECT_EQ(after->record.change, 9U);
  std::optional<LeaseToken> left;
  if (after->lease) left = after->lease->token;
  EXPECT_EQ(left, row.left);
}

constexpr std::nullopt_t no = std::nullopt;
using S = Status;
// clang-format off
INSTANTIATE_TEST_SUITE_P(Leases, LeaseRule, ::testing::ValuesIn<LeaseRow>({
    // name                                from          to            held   token  asks   refused                 left
    {"SettlingEndsTheLease",               S::waiting,   S::resolved,  true,  true,  false, no,                     no},
    {"SettlingInPlaceEndsItToo",           S::waiting,   S::waiting,   true,  true,  false, no,                     no},
    {"AStartMarkCarriesItOn",              S::waiting,   S::waiting,   true,  true,  true,  no,                     mine},
    {"ANoteUnderWayCarriesItOn",           S::replaying, S::replaying, true,  true,  true,  no,                     mine},
    {"AStrangerLosesTheLease",             S::waiting,   S::resolved,  false, true,  false, Code::lease_lost,       no},
    {"AReplayTakesALease",                 S::pending,   S::replaying, false, false, true,  no,                     fresh},
    {"AReplayNeedsALease",                 S::pending,   S::replaying, false, false, false, Code::invalid_argument, no},
    {"ALeaseThatIsHeldIsNotTaken",         S::replaying, S::replaying, true,  false, true,  Code::conflict,         no},
    {"ALeaseThatEndedIsTaken",             S::replaying, S::replaying, false, false, true,  no,                     fresh},
    {"APersonInPlaceLeavesItAlone",        S::retrying,  S::retrying,  true,  false, false, no,                     mine},
    {"APersonWhoMovesItEndsIt",            S::retrying,  S::archived,  true,  false, false, no,                     no},
    {"SettlingIntoALeasedStateIsNonsense", S::retrying,  S::retrying,  true,  true,  false, Code::invalid_argument, no},
    {"AnArchivedRecordIsNotLeased",        S::pending,   S::archived,  false, false, true,  Code::invalid_argument, no},
    {"LegalityComesAfterTheLease",         S::waiting,   S::replayed,  true,  true,  false, Code::conflict,         no},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Leases, AreLiveUntilTheirEndAndNotAtIt) {
  EXPECT_TRUE(is_live(held, held.until - Millis{1}));
  EXPECT_FALSE(is_live(held, held.until));
  EXPECT_FALSE(is_live(std::optional<Lease>{}, noon));
}

TEST(Leases, EndAtTheEndOfTimeInsteadOfOverflowing) {
  EXPECT_EQ(lease_end(noon, seconds{1}), noon + seconds{1});
  EXPECT_EQ(lease_end(noon, Millis::max()), TimePoint::max());
  EXPECT_EQ(lease_end(TimePoint::max(), Millis{1}), TimePoint::max());
  EXPECT_EQ(lease_end(TimePoint::min(), Millis::max()), TimePoint{Millis{-1}});
}

TEST(Leases, AreNeverShortenedByARenewal) {
  EXPECT_EQ(renewed(held, noon, seconds{60}).until, noon + seconds{60});
  EXPECT_EQ(renewed(held, noon - seconds{3600}, seconds{60}).until, held.until);
}

TEST(Claims, CountUpToTheLargestNumber) {
  DeadLetter record = a_record(Status::pending);
  record.counters.fetch = std::numeric_limits<std::uint32_t>::max();
  const Standing standing = claimed(record, held, 9);
  EXPECT_EQ(standing.record.counters.fetch, std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(standing.record.status, Status::retrying);
}

TEST(Attempts, BeyondTheLimitTheOldestButTheFirstGo) {
  std::vector<Attempt> kept;
  for (std::uint32_t number = 1; number <= 200; ++number) {
    Attempt attempt;
    attempt.number = number;
    keep_attempt(kept, attempt);
    EXPECT_LE(kept.size(), attempts_kept);
    EXPECT_EQ(kept.front().number, 1U);
    EXPECT_EQ(kept.back().number, number);
  }
  EXPECT_EQ(kept[1].number, 200 - attempts_kept + 2);
}

TEST(Errors, SayWhichChangeOfAListTheyAreAbout) {
  Transition move;
  move.id = RecordId{{0xABC, 1}};
  move.to = Status::archived;
  const Error error = at_place({Code::conflict, "office.apply", "no"}, 2, 7, Change{move});
  EXPECT_EQ(error.code, Code::conflict);
  EXPECT_NE(error.detail.find("change 3 of 7"), std::string::npos) << error.detail;
  EXPECT_NE(error.detail.find(to_string(move.id)), std::string::npos) << error.detail;
  EXPECT_NE(error.detail.find("archived"), std::string::npos) << error.detail;
  EXPECT_NE(error.detail.find("none of the list"), std::string::npos) << error.detail;
}

TEST(Documents, CompareTheirVersions) {
  const auto code = [](std::optional<std::uint64_t> stored, std::optional<std::uint64_t> expected) {
    const auto answer = check_document(stored, expected);
    return answer ? std::optional<Code>{} : answer.error().code;
  };
  EXPECT_EQ(code(no, no), no);
  EXPECT_EQ(code(4, no), no);
  EXPECT_EQ(code(no, 0), no);
  EXPECT_EQ(code(4, 4), no);
  EXPECT_EQ(code(4, 0), Code::conflict);
  EXPECT_EQ(code(4, 3), Code::conflict);
  EXPECT_EQ(code(no, 4), Code::conflict);
}

}  // namespace
}  // namespace dlo::testing
