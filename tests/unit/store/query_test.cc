#include "dlo/store/query.h"

#include <gtest/gtest.h>
#include <limits>

#include "support/must.h"

#include "dlo/store/rules.h"

namespace dlo::testing {
namespace {

TEST(Cursor, SurvivesPrintingAndParsing) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t time : {least, std::int64_t{-1}, std::int64_t{0}, most}) {
    for (const std::int64_t number : {least, std::int64_t{0}, std::int64_t{42}, most}) {
      const Cursor cursor{TimePoint{Millis{time}}, number};
      EXPECT_EQ(parse_cursor(to_string(cursor)), cursor);
    }
  }
  const Cursor by_arrival{TimePoint{}, 42, Walk::by_arrival};
  EXPECT_EQ(parse_cursor(to_string(by_arrival)), by_arrival);
}

TEST(Cursor, IsRefusedUnlessItIsWhole) {
  for (const char* text : {"", ".", "1", "1.", ".1", "1.2.3", "1.2 ", " 1.2", "+1.2", "1,2", "a.b",
                           "0x1.2", "9223372036854775808.1", "1.99999999999999999999", "arrival",
                           "arrival.", "arrival.x", "Arrival.1", "arrival.1.2"}) {
    EXPECT_FALSE(parse_cursor(text)) << text;
  }
  EXPECT_FALSE(parse_cursor(std::string_view("1.2\0", 4)));
}

TEST(GroupStatus, HasANameThatReadsBack) {
  for (const GroupStatus status :
       {GroupStatus::open, GroupStatus::acknowledged, GroupStatus::fixing, GroupStatus::snoozed,
        GroupStatus::resolved, GroupStatus::ignored}) {
    EXPECT_EQ(parse_group_status(name_of(status)), status);
  }
  EXPECT_FALSE(parse_group_status("Open"));
  EXPECT_FALSE(parse_group_status(""));
}

TEST(Words, AreRunsOfLettersDigitsAndForeignBytes) {
  using List = std::vector<std::string>;
  EXPECT_EQ(words_of(""), List{});
  EXPECT_EQ(words_of(" \t\r\n.,;"), List{});
  EXPECT_EQ(words_of("Time-out: HTTP 504"), (List{"time", "out", "http", "504"}));
  EXPECT_EQ(words_of("snake_case"), (List{"snake", "case"}));
  EXPECT_EQ(words_of("Größe"), List{"größe"}) << "only ASCII letters are folded";
  EXPECT_EQ(words_of(std::string_view("a\0b", 3)), (List{"a", "b"}));
}

TEST(Words, MustAllBeThereAndMayRepeat) {
  EXPECT_TRUE(has_words("the quick fox", {"fox", "the"}));
  EXPECT_TRUE(has_words("the quick fox", {"fox", "fox"}));
  EXPECT_TRUE(has_words("", {}));
  EXPECT_FALSE(has_words("the quick fox", {"fox", "dog"}));
  EXPECT_FALSE(has_words("foxes", {"fox"}));
}

TEST(SearchedText, IsTheErrorWithItsCausesUpToALimit) {
  Failure failure;
  failure.text = "outer";
  failure.causes = {{"T", "middle"}, {"T", "root"}};
  EXPECT_EQ(searched_error(failure), "outer\nmiddle\nroot");

  failure.text = std::string(searched_text_limit - 3, 'x');
  EXPECT_EQ(searched_error(failure).size(), searched_text_limit);
  EXPECT_EQ(searched_error(failure).substr(searched_text_limit - 3), "\nmi");
  failure.text = std::string(searched_text_limit * 3, 'x');
  EXPECT_EQ(searched_error(failure).size(), searched_text_limit);
}

TEST(SearchedText, OfAPayloadIsItsBeginning) {
  Message message;
  EXPECT_EQ(searched_payload(message), "");
  message.payload = "short";
  EXPECT_EQ(searched_payload(message), "short");
  message.payload = std::string(searched_text_limit + 1, 'x');
  EXPECT_EQ(searched_payload(message).size(), searched_text_limit);
}

TEST(Query, ThatSearchesForNoWordSaysSo) {
  Query query;
  EXPECT_TRUE(check(query));
  query.payload_words = "***";
  const auto refused = check(query);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().detail.find("payload_words"), std::string::npos);
  EXPECT_NE(refused.error().detail.find("***"), std::string::npos);
}

TEST(Query, RefusesTheCursorOfAWordSearchWithoutWords) {
  Query query;
  query.after = Cursor{TimePoint{}, 42, Walk::by_arrival};
  const auto refused = check(query);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().detail.find("arrival.42"), std::string::npos);
  query.error_words = "timeout";
  EXPECT_TRUE(check(query));
}

}  // namespace
}  // namespace dlo::testing
