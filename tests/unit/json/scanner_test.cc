#include "dlo/json/text/scanner.h"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <vector>

namespace dlo {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

TEST(JsonScanner, AcceptsWhatTheGrammarAllows) {
  for (const std::string text : {"null",
                                 "true",
                                 "false",
                                 "0",
                                 "-0",
                                 "-0.0e-0",
                                 "1E+2",
                                 "123456789012345678901234567890",
                                 "7e7088",
                                 "0.1",
                                 "\"\"",
                                 "\"\\u0000\\ud83d\\ude00\\ud800\\/\"",
                                 "[]",
                                 "{}",
                                 " [ 1 , 2 ] ",
                                 "{\"a\":{\"a\":1},\"a\":[{}]}",
                                 "\t\r\n null\n",
                                 "\"\xC3\xA9\xF0\x9F\x98\x80\"",
                                 "\"\x7F\"",
                                 "[[[[]]]]",
                                 "[\"\",{\"\":\"\"}]"}) {
    EXPECT_EQ(json_mistake(text), std::nullopt) << text;
  }
}

struct Row {
  const char* name;
  std::string text;
  const char* mistake;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class JsonMistakes : public ::testing::TestWithParam<Row> {};

TEST_P(JsonMistakes, AreNamedWithTheirPlace) {
  const auto mistake = json_mistake(GetParam().text);
  ASSERT_TRUE(mistake);
  EXPECT_EQ(*mistake, GetParam().mistake);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Scanner, JsonMistakes, ::testing::ValuesIn<Row>({
    {"Empty",            "",               "expected a value, found the end at line 1, column 1 (byte 0)"},
    {"OnlyBlanks",       " \n ",           "expected a value, found the end at line 2, column 2 (byte 3)"},
    {"Word",             "hello",          "expected a value, found 'h' at line 1, column 1 (byte 0)"},
    {"HalfAWord",        "[tru]",          "expected a value, found 't' at line 1, column 2 (byte 1)"},
    {"TwoValues",        "1 2",            "expected nothing after the value, found '2' at line 1, column 3 (byte 2)"},
    {"CutObject",        "{\"a\":1",       "expected ',' or '}', found the end at line 1, column 7 (byte 6)"},
    {"CutAfterKey",      "{\"a\"",         "expected ':', found the end at line 1, column 5 (byte 4)"},
    {"CutAfterColon",    "{\"a\":",        "expected a value, found the end at line 1, column 6 (byte 5)"},
    {"TrailingComma",    "[1,]",           "expected a value, found ']' at line 1, column 4 (byte 3)"},
    {"TrailingCommaObj", "{\"a\":1,}",     "expected a key in double quotes, found '}' at line 1, column 8 (byte 7)"},
    {"MissingComma",     "[1 2]",          "expected ',' or ']', found '2' at line 1, column 4 (byte 3)"},
    {"WrongBracket",     "[1}",            "expected ',' or ']', found '}' at line 1, column 3 (byte 2)"},
    {"SingleQuotes",     "{'a':1}",        "expected a key in double quotes, found ''' at line 1, column 2 (byte 1)"},
    {"NumberKey",        "{1:2}",          "expected a key in double quotes, found '1' at line 1, column 2 (byte 1)"},
    {"LeadingZero",      "[01]",           "a number has a leading zero, found '0' at line 1, column 2 (byte 1)"},
    {"MinusAlone",       "-",              "expected a digit after '-', found '-' at line 1, column 1 (byte 0)"},
    {"PlusSign",         "+1",             "expected a value, found '+' at line 1, column 1 (byte 0)"},
    {"DotAtEnd",         "1.",             "expected a digit after '.' in a number, found '1' at line 1, column 1 (byte 0)"},
    {"DotFirst",         ".5",             "expected a value, found '.' at line 1, column 1 (byte 0)"},
    {"BareExponent",     "1e+",            "expected a digit in the exponent of a number, found '1' at line 1, column 1 (byte 0)"},
    {"NaN",              "NaN",            "expected a value, found 'N' at line 1, column 1 (byte 0)"},
    {"Infinity",         "-Infinity",      "expected a digit after '-', found '-' at line 1, column 1 (byte 0)"},
    {"Comment",          "1 // one",       "expected nothing after the value, found '/' at line 1, column 3 (byte 2)"},
    {"OpenString",       "\"abc",          "a string is not closed, found the end at line 1, column 5 (byte 4)"},
    {"NewlineInString",  "\"a\nb\"",       "a control character must be escaped in a string, found byte 10 at line 1, column 3 (byte 2)"},
    {"NulInString",      "\"a\0b\""s,      "a control character must be escaped in a string, found byte 0 at line 1, column 3 (byte 2)"},
    {"BadEscape",        "\"\\q\"",        "bad escape in a string, found '\\' at line 1, column 2 (byte 1)"},
    {"ShortUnicode",     "\"\\u12g4\"",    "bad escape in a string, found '\\' at line 1, column 2 (byte 1)"},
    {"CutEscape",        "\"\\",           "bad escape in a string, found '\\' at line 1, column 2 (byte 1)"},
    {"InvalidUtf8",      "[\"\xFF\"]",     "a string is not UTF-8, found '\"' at line 1, column 2 (byte 1)"},
    {"NulByte",          "\0"s,            "expected a value, found byte 0 at line 1, column 1 (byte 0)"},
    {"ByteOrderMark",    "\xEF\xBB\xBF{}", "expected a value, found byte 239 at line 1, column 1 (byte 0)"},
    {"ThirdLine",        "{\n \"a\": 1,\n \"b\": x}", "expected a value, found 'x' at line 3, column 7 (byte 17)"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(JsonScanner, DepthIsBoundedExactly) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(json_mistake(nested(json_depth)), std::nullopt);
  EXPECT_THAT(json_mistake(nested(json_depth + 1)).value_or(""), HasSubstr("nested too deeply"));
  EXPECT_THAT(json_mistake(std::string(10'000'000, '[')).value_or(""), HasSubstr("too deeply"));
  EXPECT_EQ(json_mistake(nested(100'000), 100'000), std::nullopt);
}

TEST(JsonScanner, TokensAreSlicesOfTheText) {
  JsonScanner scanner(R"( {"k\n" : [ -1.50, "x" , true]} )");
  std::vector<std::string> raw;
  while (scanner.next() != JsonToken::end) raw.emplace_back(scanner.raw());
  EXPECT_EQ(raw,
            (std::vector<std::string>{"{", R"("k\n")", "[", "-1.50", "\"x\"", "true", "]", "}"}));
}

TEST(JsonScanner, AMistakeStaysOne) {
  JsonScanner scanner("[1,x");
  while (scanner.next() != JsonToken::mistake) {
  }
  EXPECT_EQ(scanner.next(), JsonToken::mistake);
  EXPECT_THAT(scanner.mistake(), HasSubstr("found 'x'"));
}

TEST(JsonScanner, EscapesMeanTheirCharacters) {
  EXPECT_EQ(json_unescape(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(json_unescape(R"("\u0000\u00e9\u20AC\uD83D\uDE00")"),
            "\0\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"s);
  EXPECT_EQ(json_unescape(R"("\ud800x\udc00\ud800\u0041")"),
            "\uFFFDx\uFFFD\uFFFD"
            "A");
}

std::string pick(const std::vector<std::string>& from) {
  return *rc::gen::elementOf(from);
}

std::string random_json(int depth) {
  static const std::vector<std::string> scalars = {
      "1",     "-0.5e3", "0",       "12345678901", "true", "false",        "null",
      "\"a\"", "\"\"",   "\"\\n\"", "\"\\u00e9\"", "1E9",  "\"\xC3\xA9\"", "\"\\\\\""};
  const int kind = depth == 0 ? 0 : *rc::gen::inRange(0, 3);
  if (kind == 0) return pick({" ", "", "\n"}) + pick(scalars) + pick({"", "\t"});
  std::string out = kind == 1 ? "[" : "{";
  const int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += ",";
    if (kind == 2) out += pick({"\"a\"", "\"b\\t\" ", " \"\""}) + ":";
    out += random_json(depth - 1);
  }
  return out + (kind == 1 ? "]" : "}");
}

/// JSON, or JSON with one character too many, too few or wrong.
rc::Gen<std::string> json_like() {
  return rc::gen::exec([] {
    std::string text = random_json(3);
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const std::string noise =
        pick({",", "]", "}", "[", "{", "\"", ":", "x", "0", "\\", "\xFF", "-", "."});
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        return text.erase(at, 1);
      case 1:
        return text.insert(at, noise);
      case 2:
        return text.replace(at, 1, noise);
      default:
        return text;
    }
  });
}

RC_GTEST_PROP(JsonScanner, AgreesWithAnotherParserOnWhatIsJson, ()) {
  const std::string text = *json_like();
  boost::system::error_code error;
  boost::json::parse_options options;
  options.max_depth = json_depth;
  boost::json::parse(text, error, {}, options);
  RC_CLASSIFY(!error, "valid");
  RC_ASSERT(json_mistake(text).has_value() == static_cast<bool>(error));
}

}  // namespace
}  // namespace dlo
