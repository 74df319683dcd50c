#include "dlo/query/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace dlo::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Aggregate some_numbers() {
  Aggregate numbers;
  numbers.tallies = {{"orders", Status::pending, "network", 3},
                     {"orders", Status::resolved, "", 4},
                     {"outbox eu", Status::exhausted, "network", 9},
                     {"payments", Status::pending, "validation", 1},
                     {"waits only", Status::waiting, "", 99}};
  GroupSummary group;
  group.fingerprint = Id128{0xab, 0xcd};
  group.title = "Timeout in BillingClient";
  group.open = 3;
  numbers.groups = {group};
  return numbers;
}

/// `|` is the cursor.
Suggestions at(std::string text) {
  const std::size_t cursor = text.find('|');
  text.erase(cursor, 1);
  return suggest(text, cursor, some_numbers());
}

std::vector<std::string> texts(const std::string& text) {
  std::vector<std::string> found;
  for (const Suggestion& each : at(text).items) found.push_back(each.text);
  return found;
}

TEST(Suggestions, NameTheQualifiersThatBeginLikeTheWord) {
  EXPECT_THAT(texts("so|"), ElementsAre("source:"));
  EXPECT_THAT(texts("status:open -re|"), ElementsAre("reason:", "resolved:", "replayed:"));
  EXPECT_THAT(texts("status:open hea|"), ElementsAre("header."));
  EXPECT_THAT(texts("|"), Contains("age:"));
  EXPECT_THAT(texts("ST|"), ElementsAre("status:"));
  EXPECT_THAT(texts("xyz|"), IsEmpty());
  EXPECT_THAT(texts("\"so|"), IsEmpty());
}

TEST(Suggestions, NameTheValuesOfTheOfficeCommonestFirst) {
  EXPECT_THAT(texts("source:|"), ElementsAre("\"outbox eu\"", "orders", "payments"));
  EXPECT_THAT(texts("source:o|"), ElementsAre("\"outbox eu\"", "orders"));
  EXPECT_THAT(texts("source:\"out|"), ElementsAre("\"outbox eu\""));
  EXPECT_THAT(texts("-source:orders,p|"), ElementsAre("payments"));
  EXPECT_THAT(texts("category:|"), ElementsAre("network", "\"\"", "validation"));
  EXPECT_EQ(at("category:net|").items.front().count, 12U);
  EXPECT_THAT(texts("status:|"), Contains("quarantined"));
  EXPECT_EQ(at("status:|").items.front(), (Suggestion{"waiting", "", 99}));
  EXPECT_EQ(at("status:o|").items.front(), (Suggestion{"open", "", 13}));
  EXPECT_THAT(texts("group:time|"), ElementsAre("00000000000000ab00000000000000cd"));
  EXPECT_THAT(texts("group:0000|"), ElementsAre("00000000000000ab00000000000000cd"));
  EXPECT_THAT(texts("order:o|"), ElementsAre("oldest"));
  EXPECT_THAT(texts("age:>|"), ElementsAre(">1h", ">1d", ">7d"));
}

TEST(Suggestions, SayNothingWhereNothingIsKnown) {
  for (const char* text : {"nobody:x|", "key:a|", "header.x:|", "body.a:1|", "source:\"a\" \"b|",
                           "error:\"time|", ":|"}) {
    EXPECT_THAT(texts(text), IsEmpty()) << text;
  }
}

TEST(Suggestions, SayWhatTheyReplace) {
  const Suggestions value = at("status:open source:\"out| age:>2d");
  EXPECT_EQ(value.from, 19U);
  EXPECT_EQ(value.to, 23U);
  const Suggestions name = at("status:open -so|");
  EXPECT_EQ(name.from, 13U);
  EXPECT_EQ(name.to, 15U);
  EXPECT_EQ(suggest("so", 99, {}).to, 2U);
}

TEST(Suggestions, AreNotEndless) {
  Aggregate numbers;
  for (int i = 0; i < 1000; ++i) {
    numbers.tallies.push_back({"s" + std::to_string(i), Status::pending, "", 1});
  }
  EXPECT_EQ(suggest("source:", 7, numbers).items.size(), most_suggestions);
}

}  // namespace
}  // namespace dlo::testing
