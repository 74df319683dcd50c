#include "dlo/core/spelling.h"

#include <array>
#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/core/error.h"
#include "dlo/core/profile.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 4> names = {"none", "full", "equal", "decorrelated"};

TEST(Spelling, FindsTheNameThatWasMeant) {
  EXPECT_EQ(nearest("ful", names), "full");
  EXPECT_EQ(nearest("FULL", names), "full");
  EXPECT_EQ(nearest("euqal", names), "equal");
  EXPECT_EQ(nearest("decorelated", names), "decorrelated");
}

TEST(Spelling, GuessesNothingFromSomethingElse) {
  EXPECT_EQ(nearest("sinusoidal", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), names), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Spelling, TellsTheValidNames) {
  EXPECT_EQ(unknown_name("jitter", "ful", names),
            "unknown jitter \"ful\": did you mean \"full\"? "
            "Valid: none, full, equal, decorrelated");
  EXPECT_EQ(unknown_name("jitter", "zigzag", names),
            "unknown jitter \"zigzag\". Valid: none, full, equal, decorrelated");
}

TEST(Spelling, QuotesAreSafeToPrint) {
  EXPECT_EQ(in_quotes("a\"b\n\x1b[31m"), "\"a\\\"b\\x0a\\x1b[31m\"");
  EXPECT_LT(in_quotes(std::string(1'000, 'x')).size(), 100U);
}

TEST(FindProfile, AnswersAnUnknownNameWithTheNearestAndAllOthers) {
  const auto found = find_profile("serivce-bus");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::not_found);
  EXPECT_NE(found.error().detail.find("did you mean \"service-bus\""), std::string::npos);
  EXPECT_NE(found.error().detail.find("kafka+safe"), std::string::npos);
}

TEST(FindProfile, StandardIsSafeAsItIs) {  // R12
  EXPECT_EQ(testing::must(find_profile("standard+safe")),
            testing::must(find_profile(default_profile_name)));
  EXPECT_EQ(recommended_name("standard"), "standard");
  EXPECT_EQ(recommended_name("kafka"), "kafka+safe");
  EXPECT_EQ(recommended_name("kafka+safe"), "kafka+safe");
}

TEST(ErrorCode, HasAStableNameEach) {
  EXPECT_EQ(name_of(Code::lease_lost), "lease_lost");
  EXPECT_EQ(name_of(Code::timed_out), "timed_out");
  EXPECT_EQ(name_of(Code::full), "full");
  EXPECT_EQ(name_of(Code::disk_full), "disk_full");
}

}  // namespace
}  // namespace dlo
