#include "dlo/core/trend.h"

#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>

namespace dlo {
namespace {

using std::chrono::days;
using std::chrono::hours;

constexpr TimePoint start = TimePoint{days{20'000}};

TEST(Trend, KnowsHoursAndDaysBefore1970) {
  EXPECT_EQ(hour_of(TimePoint{Millis{-1}}), -1);
  EXPECT_EQ(day_of(TimePoint{Millis{-1}}), -1);
  EXPECT_EQ(hour_of(TimePoint{Millis{3'600'000}}), 1);
}

TEST(Trend, ForgetsWhatIsOlderThanItsWindow) {
  Trend trend;
  count_deaths(trend, start, 1);
  count_deaths(trend, start + hours{Trend::hours_kept - 1}, 1);
  EXPECT_EQ(trend.hours.size(), 2U);
  count_deaths(trend, start + hours{Trend::hours_kept}, 1);
  EXPECT_EQ(trend.hours.size(), 2U);
  EXPECT_EQ(trend.hours.front().start, hour_of(start) + Trend::hours_kept - 1);
  EXPECT_EQ(trend.days.size(), 3U) << "days are kept longer";
}

TEST(Trend, DoesNotTakeADeathThatComesTooLate) {
  Trend trend;
  count_deaths(trend, start, 1);
  count_deaths(trend, start - days{1'000}, 1);
  EXPECT_EQ(trend.hours, (std::vector<TrendBucket>{{hour_of(start), 1}}));
  EXPECT_EQ(trend.days.size(), 1U);
}

TEST(Trend, NeverGoesBelowNothing) {
  Trend trend;
  count_deaths(trend, start, 2);
  count_deaths(trend, start, -3);
  EXPECT_EQ(trend, Trend{});
  count_deaths(trend, start, -1);
  EXPECT_EQ(trend, Trend{});
}

RC_GTEST_PROP(TrendLaw, IsSortedBoundedAndCountsWhatIsInItsWindow, ()) {
  const auto moments = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 400));
  Trend trend;
  std::map<std::int64_t, std::uint64_t> all;
  std::int64_t newest = 0;
  for (const int hour : moments) {
    count_deaths(trend, start + hours{hour}, 1);
    newest = std::max(newest, hour_of(start) + hour);
    if (hour_of(start) + hour > newest - Trend::hours_kept) ++all[hour_of(start) + hour];
    std::erase_if(all, [&](const auto& e) { return e.first <= newest - Trend::hours_kept; });
  }
  std::vector<TrendBucket> expected;
  for (const auto& [hour, count] : all) expected.push_back({hour, count});
  RC_ASSERT(trend.hours == expected);
  RC_ASSERT(trend.hours.size() <= static_cast<std::size_t>(Trend::hours_kept));
}

RC_GTEST_PROP(TrendLaw, AddingIsCountingBoth, ()) {
  const auto first = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
  const auto second = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
  Trend both, a, b;
  for (const int hour : first) {
    count_deaths(a, start + hours{hour}, 1);
    count_deaths(both, start + hours{hour}, 1);
  }
  for (const int hour : second) {
    count_deaths(b, start + hours{hour}, 1);
    count_deaths(both, start + hours{hour}, 1);
  }
  add_trend(a, b);
  RC_ASSERT(a == both);
}

}  // namespace
}  // namespace dlo
