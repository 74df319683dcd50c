#include "dlo/core/encoding.h"

#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>
#include <string>

namespace dlo {
namespace {

using namespace std::string_literals;

struct Utf8Row {
  const char* name;
  std::string bytes;
  std::string sanitised;  // equal to `bytes` where they are well-formed
};
void PrintTo(const Utf8Row& row, std::ostream* out) {
  *out << row.name;
}
class Utf8 : public ::testing::TestWithParam<Utf8Row> {};

TEST_P(Utf8, FollowsTheTable) {
  const auto& row = GetParam();
  EXPECT_EQ(to_utf8(row.bytes), row.sanitised);
  EXPECT_EQ(is_utf8(row.bytes), row.bytes == row.sanitised);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Encoding, Utf8, ::testing::ValuesIn<Utf8Row>({
    {"Empty", "", ""},
    {"AsciiWithNul", "a\0b"s, "a\0b"s},
    {"TwoThreeFourBytes", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
    {"LastCodePoint", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
    {"AboveTheLastCodePoint", "\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
    {"LoneContinuation", "a\x80z", "a\uFFFDz"},
    {"OverlongSlash", "\xC0\xAF", "\uFFFD\uFFFD"},
    {"OverlongThree", "\xE0\x80\xAF", "\uFFFD\uFFFD\uFFFD"},
    {"Surrogate", "\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
    {"CutShortIsOneReplacement", "x\xF0\x9F\x98", "x\uFFFD"},
    {"CutShortBeforeAscii", "\xE2\x82z", "\uFFFDz"},
    {"FeAndFf", "\xFE\xFF", "\uFFFD\uFFFD"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

RC_GTEST_PROP(Encoding, SanitisedBytesAreUtf8AndStayAsTheyAre, (const std::string& bytes)) {
  const std::string once = to_utf8(bytes);
  RC_ASSERT(is_utf8(once));
  RC_ASSERT(to_utf8(once) == once);
}

TEST(Encoding, ATornCharacterCountsOneByteAtATime) {
  EXPECT_EQ(utf8_length("\xE2\x82\xAC", 0), 3U);
  EXPECT_EQ(utf8_length("\xE2\x82", 0), 1U);
  EXPECT_EQ(utf8_length("\xE2\x82", 1), 1U);
}

TEST(Encoding, Base64FollowsTheRfcVectors) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("\xFB\xFF\xFE"), "+//+");
}

TEST(Encoding, Base64ThatNobodyWouldWriteIsRefused) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==",
                           "Zm 9v", "Zm9v\n", "-__-"}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

RC_GTEST_PROP(Encoding, Base64BringsBackEveryByte, (const std::string& bytes)) {
  RC_ASSERT(from_base64(to_base64(bytes)) == bytes);
}

TEST(Encoding, TimesAreWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(to_iso8601(TimePoint{Millis{1'772'366'400'000}}), "2026-03-01T12:00:00.000Z");
  EXPECT_EQ(to_iso8601(TimePoint{Millis{-1}}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(to_iso8601(TimePoint{Millis{951'782'400'123}}), "2000-02-29T00:00:00.123Z");
  EXPECT_EQ(to_iso8601(TimePoint{Millis{253'402'300'800'000}}), "+10000-01-01T00:00:00.000Z");
}

TEST(Encoding, TheEndsOfTimeSurviveTheRoundTrip) {
  for (const auto edge : {TimePoint::min(), TimePoint::max()}) {
    EXPECT_EQ(parse_iso8601(to_iso8601(edge)), edge) << to_iso8601(edge);
  }
}

RC_GTEST_PROP(Encoding, EveryTimeIsReadBackAsItWas, (std::int64_t millis)) {
  const TimePoint time{Millis{millis}};
  RC_ASSERT(parse_iso8601(to_iso8601(time)) == time);
}

TEST(Encoding, OffsetsAndFractionsOfOtherWritersAreUnderstood) {
  const TimePoint noon{Millis{1'772'366'400'000}};
  EXPECT_EQ(parse_iso8601("2026-03-01T12:00:00Z"), noon);
  EXPECT_EQ(parse_iso8601("2026-03-01t13:30:00+01:30"), noon);
  EXPECT_EQ(parse_iso8601("2026-03-01 07:00:00.0000000-05:00"), noon);
  EXPECT_EQ(parse_iso8601("2026-03-01T12:00:00.1239999Z"), noon + Millis{123});
  EXPECT_EQ(parse_iso8601("2026-03-01T12:00:00.5Z"), noon + Millis{500});
}

TEST(Encoding, TimesThatDoNotExistAreRefused) {
  for (const char* text :
       {"", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00", "2026-01-01",
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx", "26-01-01T00:00:00Z",
        "2026-01-01T00:00:00+1:00", "+999999999-01-01T00:00:00Z", "2026-1-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_iso8601(text)) << text;
  }
}

}  // namespace
}  // namespace dlo
