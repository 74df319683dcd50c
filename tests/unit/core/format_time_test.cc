#include "dlo/core/format_time.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/must.h"

#include "dlo/core/encoding.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::noon;

TEST(FormatTime, WritesSevenFractionDigits) {  // S4-15
  EXPECT_EQ(to_iso8601_ticks(noon + 123ms), "2026-03-01T12:00:00.1230000Z");
  EXPECT_EQ(to_iso8601_ticks(noon), "2026-03-01T12:00:00.0000000Z");
}

TEST(FormatTime, WritesNoMoreFractionDigitsThanNeeded) {  // S4-16
  EXPECT_EQ(to_iso8601_short(noon), "2026-03-01T12:00:00Z");
  EXPECT_EQ(to_iso8601_short(noon + 500ms), "2026-03-01T12:00:00.5Z");
  EXPECT_EQ(to_iso8601_short(noon + 50ms), "2026-03-01T12:00:00.05Z");
  EXPECT_EQ(to_iso8601_short(noon + 123ms), "2026-03-01T12:00:00.123Z");
}

TEST(FormatTime, ReadsBackWhateverItWrites) {
  EXPECT_TRUE(rc::check([] {
    const TimePoint time{
        Millis{*rc::gen::inRange<std::int64_t>(-60'000'000'000'000, 250'000'000'000'000)}};
    RC_ASSERT(parse_iso8601(to_iso8601_ticks(time)) == time);
    RC_ASSERT(parse_iso8601(to_iso8601_short(time)) == time);
  }));
}

TEST(HumanDuration, ShowsTheTwoLargestUnits) {
  EXPECT_EQ(human_duration(0ms), "0 ms");
  EXPECT_EQ(human_duration(999ms), "999 ms");
  EXPECT_EQ(human_duration(1s), "1 s");
  EXPECT_EQ(human_duration(1'590ms), "1.5 s");
  EXPECT_EQ(human_duration(59'999ms), "59 s");
  EXPECT_EQ(human_duration(60s), "1 min");
  EXPECT_EQ(human_duration(200s), "3 min 20 s");
  EXPECT_EQ(human_duration(1h), "1 h");
  EXPECT_EQ(human_duration(1h + 59s), "1 h");
  EXPECT_EQ(human_duration(23h + 59min + 59s), "23 h 59 min");
  EXPECT_EQ(human_duration(52h), "2 d 4 h");
  EXPECT_EQ(human_duration(-90s), "-1 min 30 s");
  EXPECT_EQ(human_duration(Millis::max()).find('-'), std::string::npos);
  EXPECT_EQ(human_duration(Millis::min()).substr(0, 1), "-");
}

}  // namespace
}  // namespace dlo
