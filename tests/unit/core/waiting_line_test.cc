#include "dlo/core/waiting_line.h"

#include <gtest/gtest.h>
#include <map>

#include "unit/core/always_failing.h"

namespace dlo {
namespace {

using testing::noon;
using namespace std::chrono_literals;

constexpr TimePoint probe = noon + 10s;

TEST(WaitingLine, AFewAskWhenAProbeMayBeSentAndTheOthersOneBehindAnother) {
  WaitingLine line;
  for (std::uint32_t n = 0; n < ask_together; ++n) {
    EXPECT_EQ(stand_in_line(line, probe, noon), probe);
  }
  for (std::uint32_t n = 0; n < ask_together; ++n) {
    EXPECT_EQ(stand_in_line(line, probe, noon), probe + 1s);
  }
  EXPECT_EQ(stand_in_line(line, probe, noon), probe + 2s);
}

TEST(WaitingLine, BeginsAnewAtALaterProbe) {
  WaitingLine line;
  for (int n = 0; n < 20; ++n) (void)stand_in_line(line, probe, noon);
  EXPECT_EQ(stand_in_line(line, probe + 10s, probe), probe + 10s);
}

TEST(WaitingLine, ManyAreSpreadEvenlyAndNobodyIsSentAwayForLonger) {
  WaitingLine line;
  std::map<TimePoint, int> asks;
  constexpr int many = 20'000;
  for (int n = 0; n < many; ++n) {
    const TimePoint at = stand_in_line(line, probe, noon);
    ASSERT_GE(at, probe);
    ASSERT_LE(at, probe + longest_for_circuit);
    ++asks[at];
  }
  for (const auto& [at, count] : asks) EXPECT_LE(count, 5 * 16) << "of 20000 in 300 s";
}

TEST(WaitingLine, AClockThatJumpsBackSendsNobodyAwayForLonger) {
  WaitingLine line;
  (void)stand_in_line(line, noon + 24h, noon + 24h);
  EXPECT_EQ(stand_in_line(line, probe, noon), probe);
}

}  // namespace
}  // namespace dlo
