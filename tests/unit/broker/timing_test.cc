#include "dlo/broker/timing.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <rapidcheck.h>
#include <set>

#include "support/must.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::noon;

std::vector<TimingWheel::Item> due(TimingWheel& wheel, TimePoint now) {
  std::vector<TimingWheel::Item> out;
  wheel.advance(now, [&](TimingWheel::Item item, TimePoint) { out.push_back(item); });
  return out;
}
using Items = std::vector<TimingWheel::Item>;

TEST(TimingWheel, AnItemComesOutAtItsMomentAndOnce) {
  for (const Millis wait : {1ms, 2ms, 63ms, 64ms, 65ms, 4095ms, 4096ms, 262'143ms, 262'144ms,
                            Millis{1h}, Millis{24h * 365}, Millis{24h * 365'000}}) {
    SCOPED_TRACE(wait.count());
    TimingWheel wheel;
    due(wheel, noon);
    wheel.set(3, noon + wait);
    EXPECT_TRUE(wheel.armed(3));
    EXPECT_EQ(due(wheel, noon + wait - 1ms), Items{});
    EXPECT_EQ(due(wheel, noon + wait), Items{3});
    EXPECT_FALSE(wheel.armed(3));
    EXPECT_EQ(due(wheel, noon + wait + 24h), Items{});
    EXPECT_EQ(wheel.size(), 0U);
  }
}

TEST(TimingWheel, EveryMomentHasAPlace) {
  TimingWheel wheel;
  wheel.set(0, TimePoint::min());
  wheel.set(1, TimePoint{Millis{-1}});
  wheel.set(2, TimePoint{});
  wheel.set(3, TimePoint::max());
  EXPECT_EQ(due(wheel, TimePoint{Millis{-2}}), Items{0});
  EXPECT_EQ(due(wheel, TimePoint{}), (Items{1, 2}));
  EXPECT_EQ(due(wheel, TimePoint::max() - 1ms), Items{});
  EXPECT_EQ(due(wheel, TimePoint::max()), Items{3});
}

TEST(TimingWheel, AMovedItemKeepsOnlyItsLastMoment) {
  TimingWheel wheel;
  wheel.set(7, noon + 1s);
  wheel.set(7, noon + 1h);
  EXPECT_EQ(wheel.size(), 1U);
  EXPECT_EQ(due(wheel, noon + 1h - 1ms), Items{});
  EXPECT_EQ(due(wheel, noon + 1h), Items{7});
}

TEST(TimingWheel, AClearedItemDoesNotComeOut) {
  TimingWheel wheel;
  wheel.set(1, noon);
  wheel.set(2, noon);
  EXPECT_TRUE(wheel.clear(1));
  EXPECT_FALSE(wheel.clear(1));
  EXPECT_FALSE(wheel.clear(1000));
  EXPECT_EQ(due(wheel, noon), Items{2});
  EXPECT_EQ(wheel.next(), std::nullopt);
}

TEST(TimingWheel, NextIsNeverLateAndComesCloser) {
  TimingWheel wheel;
  due(wheel, noon);
  EXPECT_EQ(wheel.next(), std::nullopt);
  wheel.set(1, noon + 1h + 17ms);
  auto now = noon;
  int asked = 0;
  while (wheel.armed(1)) {
    const auto next = wheel.next();
    ASSERT_TRUE(next);
    ASSERT_GT(*next, now);
    ASSERT_LE(*next, noon + 1h + 17ms);
    ASSERT_LE(++asked, 11);
    now = *next;
    due(wheel, now);
  }
  EXPECT_EQ(now, noon + 1h + 17ms);
}

/// A million that are due at once come out a few at a time, and those that are left can be moved
/// and cleared like any other.
TEST(TimingWheel, SomeAreLeftForTheNextCallIfThereAreTooMany) {
  for (const auto ahead : {Millis{50}, Millis{5'000}, Millis{3'600'000}}) {
    TimingWheel wheel;
    constexpr TimingWheel::Item count = 1000;
    wheel.advance(noon, [](TimingWheel::Item, TimePoint) {});
    for (TimingWheel::Item i = 0; i < count; ++i) wheel.set(i, noon + ahead + Millis{i / 100});
    const auto now = noon + ahead + 1h;
    wheel.set(count, now + 1ms);
    Items out;
    const auto some = [&] {
      const auto before = out.size();
      const bool all =
          wheel.advance(now, [&](TimingWheel::Item item, TimePoint) { out.push_back(item); }, 64);
      EXPECT_LE(out.size() - before, 64U);
      return all;
    };
    EXPECT_FALSE(some());
    ASSERT_TRUE(wheel.next());
    EXPECT_LE(*wheel.next(), now) << "the others are due";
    EXPECT_EQ(wheel.deadline(999), noon + ahead + 9ms);
    wheel.clear(999);
    wheel.set(998, now + 1h);
    int calls = 1;
    for (; !some(); ++calls) EXPECT_LE(*wheel.next(), now);
    EXPECT_LT(calls, 100);
    EXPECT_EQ(out.size(), 998U);
    EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
    EXPECT_EQ(wheel.size(), 2U);
    EXPECT_EQ(due(wheel, now + 1ms), Items{count});
    EXPECT_EQ(due(wheel, now + 1h), Items{998});
  }
}

TEST(TimingWheel, TheCallbackMaySetAndClear) {
  TimingWheel wheel;
  due(wheel, noon);
  wheel.set(1, noon + 1s);
  wheel.set(2, noon + 1s);
  wheel.set(3, noon + 2s);
  Items out;
  wheel.advance(noon + 10s, [&](TimingWheel::Item item, TimePoint at) {
    out.push_back(item);
    if (item == 1) {
      wheel.clear(2);
      wheel.set(3, noon + 5s);
      wheel.set(100'000, noon + 4s);  // the nodes grow under the wheel's feet
      wheel.set(1, noon + 20s);       // later than this call
      wheel.set(4, at - 1ms);         // already over: with the next call
    }
  });
  EXPECT_EQ(out, (Items{1, 100'000, 3}));
  EXPECT_EQ(due(wheel, noon + 10s), Items{4});
  EXPECT_EQ(due(wheel, noon + 20s), Items{1});
}

TEST(TimingWheel, AJumpBackFreesNothingEarlyAndNewMomentsAreExact) {  // SQL-06
  TimingWheel wheel;
  due(wheel, noon);
  wheel.set(1, noon + 30s);
  EXPECT_EQ(due(wheel, noon - 1h), Items{});
  wheel.set(2, noon - 1h + 5s);
  EXPECT_EQ(due(wheel, noon - 1h + 5s - 1ms), Items{});
  EXPECT_EQ(due(wheel, noon - 1h + 5s), Items{2});
  EXPECT_EQ(due(wheel, noon + 30s - 1ms), Items{});
  EXPECT_EQ(due(wheel, noon + 30s), Items{1});
}

TEST(TimingWheel, CallersThatDisagreeALittleAreServedExactly) {
  TimingWheel wheel;
  due(wheel, noon + 500ms);
  wheel.set(1, noon + 100ms);
  wheel.set(2, noon + 50ms);
  EXPECT_EQ(wheel.next(), noon + 50ms);
  EXPECT_EQ(due(wheel, noon + 49ms), Items{});
  EXPECT_EQ(due(wheel, noon + 100ms), (Items{2, 1}));
}

// Any history of set, clear and clocks that go either way, against a map.
TEST(TimingWheel, DoesWhatAMapWouldDo) {
  EXPECT_TRUE(rc::check("wheel = map", [] {
    TimingWheel wheel;
    std::map<TimingWheel::Item, TimePoint> map;
    auto now = noon;
    const auto steps = *rc::gen::inRange(1, 200);
    for (int step = 0; step < steps; ++step) {
      const auto item = static_cast<TimingWheel::Item>(*rc::gen::inRange(0, 40));
      switch (*rc::gen::inRange(0, 6)) {
        case 0:
          RC_ASSERT(wheel.clear(item) == (map.erase(item) > 0));
          break;
        case 1:
        case 2: {
          const auto scale = *rc::gen::inRange(0, 40);
          const Millis wait{*rc::gen::inRange<std::int64_t>(-100, std::int64_t{2} << scale)};
          wheel.set(item, now + wait);
          map[item] = now + wait;
          break;
        }
        default: {
          const auto scale = *rc::gen::inRange(0, 34);
          const bool back = *rc::gen::inRange(0, 8) == 0;
          const Millis step_by{*rc::gen::inRange<std::int64_t>(0, std::int64_t{2} << scale)};
          now += back ? -step_by / 2 : step_by;
          std::set<TimingWheel::Item> expected;
          for (auto at = map.begin(); at != map.end();) {
            if (at->second <= now) {
              expected.insert(at->first);
              at = map.erase(at);
            } else {
              ++at;
            }
          }
          std::set<TimingWheel::Item> got;
          auto last = TimePoint::min();
          wheel.advance(now, [&](TimingWheel::Item out, TimePoint at) {
            RC_ASSERT(at >= last);
            last = at;
            got.insert(out);
          });
          RC_ASSERT(got == expected);
        }
      }
      RC_ASSERT(wheel.size() == map.size());
      const auto next = wheel.next();
      RC_ASSERT(next.has_value() == !map.empty());
      for (const auto& [armed, at] : map) RC_ASSERT(*next <= at);
    }
  }));
}

}  // namespace
}  // namespace dlo
