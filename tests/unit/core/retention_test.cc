#include "dlo/core/retention.h"

#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck.h>

#include "support/must.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using testing::noon;
using Rules = std::vector<RetentionRule>;

constexpr auto archive = RetentionAct::archive;
constexpr auto discard = RetentionAct::discard;
constexpr auto expire = RetentionAct::expire;

const Rules workflow = {{"exhausted", days{7}, archive, RetentionFrom::first_failure}};  // S2-45
const Rules workflow_safe = {{"exhausted", days{7}, archive}};
const Rules kafka = {{"open", days{7}, expire}, {"closed", days{7}, expire}};  // S4-29
const Rules service_bus = {{"closed", days{30}, discard}};                     // S0-56

RetentionTimes failed(Millis ago) {
  return {noon - ago, noon - ago, std::nullopt};
}
RetentionTimes failed_and_touched(Millis failed_ago, Millis touched_ago) {
  return {noon - failed_ago, noon - touched_ago, std::nullopt};
}
RetentionTimes expiring(Millis in) {
  return {noon, noon, noon + in};
}

struct Row {
  const char* name;
  Rules rules;
  Status status;
  RetentionTimes times;
  std::optional<RetentionAct> expected;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Retention : public ::testing::TestWithParam<Row> {};

TEST_P(Retention, FollowsTheTable) {
  const Row& row = GetParam();
  EXPECT_EQ(due(row.rules, row.status, row.times, noon), row.expected);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(D19, Retention, ::testing::ValuesIn<Row>({
    {"NoRulesNothingHappens",            {},       Status::exhausted,   failed(days{3650}),                    std::nullopt},
    {"S2_45_ExhaustedLongerThanAWeek",   workflow, Status::exhausted,   failed(days{7} + 1ms),                 archive},
    {"S2_45_NotAtExactlyAWeek",          workflow, Status::exhausted,   failed(days{7}),                       std::nullopt},
    {"S2_45_ByTheFirstFailure",          workflow, Status::exhausted,   failed_and_touched(days{8}, days{1}),  archive},
    {"S2_45_SafelyByTheEnd",             workflow_safe, Status::exhausted, failed_and_touched(days{99}, days{7}), std::nullopt},
    {"S2_45_SafelyAfterAWeekOfThat",     workflow_safe, Status::exhausted, failed_and_touched(days{99}, days{7} + 1ms), archive},
    {"R8_ALossNeverCountsFromTheFirst",  {{"open", days{7}, expire, RetentionFrom::first_failure}}, Status::pending, failed_and_touched(days{99}, days{1}), std::nullopt},
    {"S2_45_OnlyExhausted",              workflow, Status::pending,     failed(days{99}),                      std::nullopt},
    {"S4_29_OpenOnesExpireAfterAWeek",   kafka,    Status::pending,     failed(days{8}),                       expire},
    {"S4_29_ClosedOnesToo",              kafka,    Status::resolved,    failed(days{8}),                       expire},
    {"R8_ALossCountsFromTheLastSignOfLife", kafka, Status::exhausted,   failed_and_touched(days{8}, days{1}),  std::nullopt},
    {"S0_56_ClosedOnesAreSweptUp",       service_bus, Status::resolved, failed(days{31}),                      discard},
    {"S0_56_ArchivedOnesToo",            service_bus, Status::archived, failed(days{31}),                      discard},
    {"S0_56_OpenOnesStay",               service_bus, Status::pending,  failed(days{31}),                      std::nullopt},
    {"ItIsNotDiscardedTwice",            service_bus, Status::discarding, failed(days{31}),                    std::nullopt},
    {"S0_55_ItsOwnTimeToLive",           {},       Status::pending,     expiring(0ms),                         expire},
    {"S0_55_NotBefore",                  {},       Status::pending,     expiring(1ms),                         std::nullopt},
    {"TheFirstRuleThatIsDueActs",        {{"open", days{9}, expire}, {"pending", days{1}, archive}}, Status::pending, failed(days{2}), archive},
    {"TheOrderDecidesBetweenTwo",        {{"pending", days{1}, archive}, {"open", days{1}, expire}}, Status::pending, failed(days{2}), archive},
    {"R9_NothingExpiresOutOfQuarantine", kafka,    Status::quarantined, failed(days{99}),                      std::nullopt},
    {"R9_NotByItsTimeToLiveEither",      {},       Status::quarantined, expiring(-1h),                         std::nullopt},
    {"R9_ButItMayBeArchived",            {{"open", days{7}, archive}}, Status::quarantined, failed(days{8}),   archive},
    {"R9_WaitingOnesAreAlive",           {{"waiting", days{1}, expire}}, Status::waiting, failed(days{9}),     std::nullopt},
    {"R9_ParkedOnesAreAlive",            {},       Status::parked,      expiring(-1h),                         std::nullopt},
    {"NotWhileItIsBeingRetried",         kafka,    Status::retrying,    failed(days{9}),                       std::nullopt},
    {"NotWhileItIsBeingReplayed",        kafka,    Status::replaying,   failed(days{9}),                       std::nullopt},
    {"AClockSetBackMakesNothingOld",     kafka,    Status::pending,     failed(-days{9}),                      std::nullopt},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(RetentionLaws, EveryActThatIsDueIsALegalTransition) {
  EXPECT_TRUE(rc::check([](std::uint32_t status_index, std::uint32_t act_index, bool own_ttl) {
    const Status status = all_statuses()[status_index % status_count];
    const auto act = static_cast<RetentionAct>(act_index % 3);
    const Rules rules = {{"open", 1ms, act}, {"closed", 1ms, act}};
    RetentionTimes times = failed(days{9});
    if (own_ttl) times.expires_at = noon;
    if (const auto found = due(rules, status, times, noon)) {
      RC_ASSERT(is_legal(status, status_after(*found)));
      RC_ASSERT(status_after(*found) != status);
      RC_ASSERT(!is_live(status) && !carries_lease(status));
    }
  }));
}

TEST(RetentionLaws, NothingIsDueBeforeDueAtAndSomethingIsAtIt) {
  EXPECT_TRUE(rc::check([](std::uint32_t status_index) {
    const Status status = all_statuses()[status_index % status_count];
    const auto ms = [](int below) { return Millis{*rc::gen::inRange(1, below)}; };
    const Rules rules = {{"open", ms(9'000), archive},
                         {"closed", ms(9'000), expire},
                         {"pending", ms(9'000), discard}};
    RetentionTimes times = failed_and_touched(ms(9'000), ms(9'000));
    if (*rc::gen::arbitrary<bool>()) times.expires_at = noon + ms(9'000);
    const auto when = due_at(rules, status, times);
    if (!when) {
      RC_ASSERT(!due(rules, status, times, noon + days{3650}));
    } else {
      RC_ASSERT(!due(rules, status, times, *when - 1ms));
      RC_ASSERT(due(rules, status, times, *when).has_value());
    }
  }));
}

TEST(RetentionTimesOf, TakesFirstFailureAndLastSignOfLife) {
  DeadLetter letter;
  letter.died_at = noon;
  EXPECT_EQ(retention_times(letter), (RetentionTimes{noon, noon, std::nullopt}));
  letter.first_failed_at = noon - 2h;
  letter.last_failed_at = noon - 1h;
  letter.expires_at = noon + 9h;
  EXPECT_EQ(retention_times(letter), (RetentionTimes{noon - 2h, noon, noon + 9h}));
  letter.last_failed_at = noon + 1h;  // a retry out of the office
  EXPECT_EQ(retention_times(letter).touched_at, noon + 1h);
  letter.resolution = Resolution{noon + 3h, "ann", "manual", ""};
  EXPECT_EQ(retention_times(letter).touched_at, noon + 3h);
}

TEST(Capacity, RefusesBeyondTheLimitAndWarnsAboveEightyPercent) {  // S2-10, S2-43, S4-30, D20
  const Capacity ten{10, std::nullopt};
  EXPECT_EQ(room_for(ten, {7, 0}, 1), Room::enough) << "8 of 10 is not above 80 %";
  EXPECT_EQ(room_for(ten, {8, 0}, 1), Room::little);
  EXPECT_EQ(room_for(ten, {9, 0}, 1), Room::little);
  EXPECT_EQ(room_for(ten, {10, 0}, 1), Room::none);
  const Capacity bytes{std::nullopt, 10'737'418'240};
  EXPECT_EQ(room_for(bytes, {1, 10'737'418'239}, 1), Room::little);
  EXPECT_EQ(room_for(bytes, {1, 10'737'418'239}, 2), Room::none);
  EXPECT_EQ(room_for(bytes, {1, 5}, 1024), Room::enough);
}

TEST(Capacity, IsEndlessUnlessSomebodySetALimit) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(room_for({}, {most, most}, most), Room::enough);
  EXPECT_EQ(room_for({most, most}, {most, most}, most), Room::little) << "saturates, never wraps";
  EXPECT_EQ(room_for({0, std::nullopt}, {}, 0), Room::none);
}

TEST(Capacity, SaysHowFullItIsInPercentOfTheNearerLimit) {  // S2-25
  EXPECT_DOUBLE_EQ(utilisation({10'000, std::nullopt}, {15, 0}), 0.15);
  EXPECT_DOUBLE_EQ(utilisation({10, 100}, {1, 90}), 90.0);
  EXPECT_DOUBLE_EQ(utilisation({}, {1, 90}), 0.0);
}

}  // namespace
}  // namespace dlo
