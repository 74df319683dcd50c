#include "dlo/retries/rounds.h"

#include <atomic>
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/must.h"

namespace dlo {
namespace {

using testing::eventually;
using namespace std::chrono_literals;

TEST(Rounds, EachDutyIsDoneAtItsOwnMoment) {
  ManualClock clock{testing::noon};
  std::atomic<int> often{0};
  std::atomic<int> seldom{0};
  Rounds rounds(clock);
  rounds.start({[&](TimePoint now) {
                  ++often;
                  return std::optional(now + 1s);
                },
                [&](TimePoint now) {
                  ++seldom;
                  return std::optional(now + 5min);
                }});
  EXPECT_TRUE(eventually([&] { return often == 1 && seldom == 1; })) << "at the beginning";
  clock.advance(1s);
  EXPECT_TRUE(eventually([&] { return often == 2; }));
  EXPECT_EQ(seldom, 1);
  clock.advance(5min);
  EXPECT_TRUE(eventually([&] { return seldom == 2; }));
  rounds.stop();
}

TEST(Rounds, OneThatNamesNoMomentIsDoneWhenItIsRungFor) {
  ManualClock clock{testing::noon};
  std::atomic<int> done{0};
  Rounds rounds(clock);
  rounds.ring(0);  // before it begins: no harm
  rounds.start({[&](TimePoint) -> std::optional<TimePoint> {
    ++done;
    return std::nullopt;
  }});
  EXPECT_TRUE(eventually([&] { return done == 1; }));
  clock.advance(24h);
  rounds.ring(0);
  EXPECT_TRUE(eventually([&] { return done == 2; }));
}

}  // namespace
}  // namespace dlo
