#include "dlo/core/group.h"

#include <gtest/gtest.h>
#include <string>

namespace dlo {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using G = GroupStatus;

constexpr TimePoint now = TimePoint{std::chrono::days{20'000}} + hours{12} + minutes{30};

TEST(GroupStatuses, HaveNamesThatLeadBack) {
  for (const G status : all_group_statuses())
    EXPECT_EQ(parse_group_status(name_of(status)), status);
  EXPECT_EQ(parse_group_status("Open"), std::nullopt);
}

TEST(GroupStatuses, FollowEachOtherByTheTable) {
  std::string table;
  for (const G from : all_group_statuses()) {
    for (const G to : all_group_statuses()) table += is_legal(from, to) ? 'x' : '.';
    table += ' ';
  }
  //                 from: open  ack    fixing snooze resolv ignored
  EXPECT_EQ(table, "xxxxxx xxxxxx xxxxxx xxxxxx x...x. x....x ");
}

TEST(GroupStatuses, AllHaveAWayBackToOpen) {
  for (const G status : all_group_statuses()) EXPECT_TRUE(is_legal(status, G::open));
}

struct History {
  G status = G::open;
  TimePoint first_seen = now - hours{100};
  std::optional<TimePoint> regressed_at;
  std::uint64_t repeats = 0;
  Trend trend;
  [[nodiscard]] GroupMarks marks() const {
    return marks_of({status, first_seen, regressed_at, repeats, trend}, now);
  }
};

TEST(GroupMark, NewIsForADayAndUntilSomebodyActs) {
  History group;
  EXPECT_FALSE(group.marks().is_new);
  group.first_seen = now - hours{24};
  EXPECT_FALSE(group.marks().is_new);
  group.first_seen += Millis{1};
  EXPECT_TRUE(group.marks().is_new);
  group.status = G::acknowledged;
  EXPECT_FALSE(group.marks().is_new);
}

TEST(GroupMark, RegressedIsUntilSomebodyActsAndNotNewAsWell) {
  History group;
  group.first_seen = now - hours{1};
  group.regressed_at = now - minutes{1};
  EXPECT_EQ(group.marks(), (GroupMarks{false, true, false, 0}));
  group.status = G::fixing;
  EXPECT_FALSE(group.marks().regressed);
}

TEST(GroupMark, RepeatSaysHowManyCameBack) {
  History group;
  group.repeats = 7;
  EXPECT_EQ(group.marks().repeat, 7U);
}

/// `before` deaths in each of the 24 hours before, `recent` in this one.
History busy(std::int64_t before, std::int64_t recent) {
  History group;
  for (int hour = 2; hour < 26; ++hour) count_deaths(group.trend, now - hours{hour}, before);
  count_deaths(group.trend, now, recent);
  return group;
}

TEST(GroupMark, EscalatingIsThreeTimesWhatTwoHoursUsedToBring) {
  EXPECT_FALSE(busy(10, 60).marks().escalating);
  EXPECT_TRUE(busy(10, 61).marks().escalating);
}

TEST(GroupMark, EscalatingNeedsTenDeathsAndADayBefore) {
  EXPECT_FALSE(busy(0, 9).marks().escalating);
  EXPECT_TRUE(busy(0, 10).marks().escalating);
  History young = busy(0, 1000);
  young.first_seen = now - hours{1};
  EXPECT_FALSE(young.marks().escalating) << "there is nothing to compare with";
}

TEST(GroupMark, EscalatingComparesWithTheHoursThereWere) {
  History group;
  group.first_seen = now - hours{3};
  count_deaths(group.trend, now - hours{3}, 10);
  count_deaths(group.trend, now - hours{2}, 10);
  count_deaths(group.trend, now, 40);
  EXPECT_FALSE(group.marks().escalating) << "20 in two hours, and 40 now";
  count_deaths(group.trend, now, 21);
  EXPECT_TRUE(group.marks().escalating);
}

TEST(GroupMark, NothingEscalatesThatIsOver) {
  History group = busy(0, 1000);
  for (const G over : {G::resolved, G::ignored}) {
    group.status = over;
    EXPECT_FALSE(group.marks().escalating);
  }
  group.status = G::snoozed;
  EXPECT_TRUE(group.marks().escalating) << "a snooze hides it from nobody who looks";
}

TEST(GroupQuiet, ResolvesWhatPeopleLeftToTime) {
  for (const G status : all_group_statuses()) {
    const bool left = status == G::open || status == G::acknowledged || status == G::fixing;
    EXPECT_EQ(is_over(status, 0, now - hours{5}, now, hours{5}), left) << name_of(status);
    EXPECT_FALSE(is_over(status, 0, now - hours{5} + Millis{1}, now, hours{5}));
    EXPECT_FALSE(is_over(status, 1, now - hours{5}, now, hours{5})) << "something is open";
  }
}

}  // namespace
}  // namespace dlo
