// What a row of a list shows of a long error text.
#include <string>

#include "conformance/office/office_suite.h"

#include "dlo/store/row_text.h"

namespace dlo::testing {
namespace {

std::string marked(std::string beginning) {
  beginning += row_text_mark;
  return beginning;
}

TEST_P(OfficeSuite, ARowShowsTheBeginningOfALongErrorTextAndSaysSo) {
  DeadLetter longest = a_letter(1);
  longest.failure.text = std::string(row_text_limit, 'x');
  append(longest);
  DeadLetter longer = a_letter(2);
  longer.failure.text = std::string(row_text_limit, 'y');
  longer.failure.text += "z needle";
  append(longer);
  DeadLetter huge = a_letter(3);
  huge.failure.text = std::string(100'000, 'h');
  append(huge);
  for (const RecordHead& row : walk({})) {
    if (row.id == longest.id) {
      EXPECT_EQ(row.error_text, longest.failure.text);
    } else {
      const char c = row.id == huge.id ? 'h' : 'y';
      EXPECT_EQ(row.error_text, marked(std::string(row_text_limit, c)));
    }
  }
  EXPECT_EQ(record(huge.id).failure.text, huge.failure.text);
  Query words;
  words.error_words = "needle";
  EXPECT_EQ(walk(words).size(), 1U) << "what is cut in a row is found all the same";
}

TEST_P(OfficeSuite, ALongErrorTextIsCutBetweenTwoCharacters) {
  std::uint64_t n = 0;
  for (const std::string character : {"\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    for (std::size_t before = 0; before < 4; ++before) {
      DeadLetter letter = a_letter(++n);
      letter.failure.text = std::string(before, 'a');
      while (letter.failure.text.size() < 2 * row_text_limit) letter.failure.text += character;
      append(letter);
      Query one;
      one.ids = {letter.id};
      const auto rows = walk(one);
      ASSERT_EQ(rows.size(), 1U);
      const std::size_t fit = (row_text_limit - before) / character.size();
      EXPECT_EQ(rows[0].error_text,
                marked(letter.failure.text.substr(0, before + fit * character.size())));
    }
  }
}

}  // namespace
}  // namespace dlo::testing
