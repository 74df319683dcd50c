#include "dlo/core/places.h"

#include <gtest/gtest.h>

namespace dlo {
namespace {

using namespace std::chrono_literals;
constexpr TimePoint noon{Millis{1'800'000'000'000}};

Places with(std::uint32_t limit) {
  Places places;
  places.limit = limit;
  return places;
}

TEST(Places, WithoutALimitThereIsAlwaysOne) {
  Places places = with(0);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(take_place(places, noon), std::nullopt);
}

TEST(Places, AreTakenAndLeft) {
  Places places = with(2);
  EXPECT_EQ(take_place(places, noon), std::nullopt);
  EXPECT_EQ(take_place(places, noon), std::nullopt);
  EXPECT_GT(take_place(places, noon), noon);
  leave_place(places, noon);
  EXPECT_EQ(take_place(places, noon), std::nullopt);
  EXPECT_NE(take_place(places, noon), std::nullopt);
}

TEST(Places, WhoIsTurnedAwayComesBackInOrderAndNotAllAtOnce) {
  Places places = with(1);
  ASSERT_EQ(take_place(places, noon), std::nullopt);
  TimePoint last = noon;
  for (int i = 0; i < 100; ++i) {
    const auto again = take_place(places, noon);
    ASSERT_TRUE(again);
    EXPECT_GT(*again, last);
    last = *again;
  }
  for (int i = 0; i < 10'000; ++i) last = take_place(places, noon).value();
  EXPECT_EQ(last, noon + longest_in_line) << "not for ever";
  EXPECT_LT(take_place(places, noon + 1h), noon + 1h + 1s) << "that line is over";
}

TEST(Places, TheLineMovesTwiceAsFastAsRunsEnd) {
  Places places = with(1);
  TimePoint now = noon;
  for (int i = 0; i < 40; ++i) {  // each takes 8 s
    ASSERT_EQ(take_place(places, now), std::nullopt);
    now += 8s;
    leave_place(places, now);
  }
  ASSERT_EQ(take_place(places, now), std::nullopt);
  const auto first = take_place(places, now);
  const auto second = take_place(places, now);
  ASSERT_TRUE(first && second);
  EXPECT_NEAR(static_cast<double>((*second - *first).count()), 4'000, 100);
}

}  // namespace
}  // namespace dlo
