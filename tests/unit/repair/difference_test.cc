#include "dlo/repair/difference.h"

#include <gtest/gtest.h>
#include <string>

#include "dlo/core/header_class.h"
#include "dlo/repair/recipe.h"
#include "dlo/repair/text_diff.h"

namespace dlo {
namespace {

TEST(UnifiedDiff, ShowsWhatDiffersWithThreeLinesAround) {
  EXPECT_EQ(unified_diff("a\nb\nc\nd\ne\nf\ng\nh\n", "a\nb\nc\nd\nE\nf\ng\nh\n", "v0", "v1"),
            "--- v0\n+++ v1\n@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n");
}

TEST(UnifiedDiff, OfTheSameIsNothing) {
  EXPECT_EQ(unified_diff("a\n", "a\n", "v0", "v1"), "");
}

TEST(UnifiedDiff, KnowsALastLineWithoutEnd) {
  EXPECT_EQ(unified_diff("a", "a\n", "v0", "v1"),
            "--- v0\n+++ v1\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
  EXPECT_EQ(unified_diff("", "a\n", "v0", "v1"), "--- v0\n+++ v1\n@@ -0,0 +1 @@\n+a\n");
}

TEST(UnifiedDiff, PutsChangesFarApartIntoTwoHunks) {
  std::string before;
  std::string after;
  for (int i = 0; i < 20; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 1 || i == 18 ? "x" : std::to_string(i)) + "\n";
  }
  const std::string diff = unified_diff(before, after, "a", "b");
  EXPECT_NE(diff.find("@@ -1,5 +1,5 @@"), std::string::npos) << diff;
  EXPECT_NE(diff.find("@@ -16,5 +16,5 @@"), std::string::npos) << diff;
}

TEST(UnifiedDiff, GivesUpOnHugeTextsInsteadOfTakingForEver) {
  std::string before;
  std::string after;
  for (int i = 0; i < 5'000; ++i) {
    before += "a" + std::to_string(i) + "\n";
    after += "b" + std::to_string(i) + "\n";
  }
  EXPECT_NE(unified_diff(before, after, "a", "b").find("@@ -1,5000 +1,5000 @@"), std::string::npos);
}

TEST(Difference, OfJsonIsByPath) {
  const Draft before{{}, R"({"a":1,"b":[1,2],"c":{"d":"x"}})"};
  const Draft after{{}, R"({ "a":1.0, "b":[1,3,4], "c":{}, "e/f":null })"};
  const Difference difference = difference_of(before, after);
  EXPECT_TRUE(difference.payload_differs);
  EXPECT_EQ(difference.paths, (std::vector<PathChange>{{"/b/1", "2", "3"},
                                                       {"/b/2", std::nullopt, "4"},
                                                       {"/c/d", "\"x\"", std::nullopt},
                                                       {"/e~1f", std::nullopt, "null"}}));
  EXPECT_EQ(difference.unified, "");
}

TEST(Difference, OfTextIsByLineAndOfBytesOnlyThatThereIsOne) {
  EXPECT_NE(difference_of({{}, "a\nb"}, {{}, "a\nc"}).unified, "");
  const Difference bytes = difference_of({{}, "\xFF"}, {{}, "\xFE"});
  EXPECT_TRUE(bytes.payload_differs);
  EXPECT_EQ(bytes.unified, "");
  EXPECT_TRUE(difference_of({{}, std::nullopt}, {{}, ""}).payload_differs);
}

TEST(Difference, OfHeadersIsByNameWhateverItsCase) {
  const Draft before{{{"A", "1"}, {"b", "2"}, {"B", "3"}}, std::nullopt};
  const Draft after{{{"a", "1"}, {"b", "2"}, {"new", ""}}, std::nullopt};
  EXPECT_EQ(difference_of(before, after).headers,
            (std::vector<HeaderChange>{{"b", "2\n3", "2"}, {"new", std::nullopt, ""}}));
}

TEST(HeaderClasses, AreATable) {
  for (const char* name : {"dlo-id", "DLO-Replay", "x-death", "X-First-Death-Queue"}) {
    EXPECT_EQ(header_class(name), HeaderClass::locked) << name;
  }
  for (const char* name : {"Content-Type", "traceparent", "Message-Id", "authorization"}) {
    EXPECT_EQ(header_class(name), HeaderClass::sensitive) << name;
  }
  for (const char* name : {"tenant", "dlo", "x-deaths", ""}) {
    EXPECT_EQ(header_class(name), HeaderClass::free) << name;
  }
  EXPECT_FALSE(header_warning("content-type").empty());
  EXPECT_TRUE(header_warning("tenant").empty());
}

TEST(HeaderClasses, LockTheLockedAndWarnOfTheSensitive) {
  const Difference locked = difference_of({{{"dlo-id", "1"}}, "x"}, {{}, "x"});
  EXPECT_FALSE(check_locked(locked));
  const Difference sensitive = difference_of({{}, "x"}, {{{"content-type", "a/b"}}, "x"});
  EXPECT_TRUE(check_locked(sensitive));
  ASSERT_EQ(warnings_of(sensitive).size(), 1U);
  EXPECT_NE(warnings_of(sensitive).front().find("decode"), std::string::npos);
}

}  // namespace
}  // namespace dlo
