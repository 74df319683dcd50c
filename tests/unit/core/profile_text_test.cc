#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/core/profile.h"

namespace dlo {
namespace {

using ::testing::HasSubstr;
using testing::must;

constexpr std::string_view smallest =
    "name: mine\n"
    "limit: 2\n"
    "post_check:\n"
    "  counter: attempt\n"
    "  op: \">=\"\n"
    "  limit: 2\n"
    "  reason: TooOften\n";

TEST(ProfileText, EveryBuiltinProfileReadsBackEqual) {
  for (const Profile& profile : builtin_profiles()) {
    EXPECT_EQ(must(parse_profile(print(profile))), profile) << print(profile);
  }
}

TEST(ProfileText, StrangeWordsSurviveTheRoundTrip) {
  Profile profile = must(parse_profile(smallest));
  for (const char* text :
       {"true",  "null",   "~",   "yes", "12",   "1e3",  "- x",         "a: b",
        "a #b",  "# c",    "'",   "\"",  "\\",   "\\n",  "line\nbreak", "tab\t",
        " lead", "trail ", "{x}", "[x]", "&a",   "*a",   "!t",          "|",
        ">",     "%",      "@",   "`",   "é€😀", "\x7f", "\xc2\x85",    "\xe2\x80\xa8",
        "\x01",  "",       ":",   "a:",  "x,y"}) {
    profile.summary = text;
    profile.rules = {{"rule", MatchKind::substring, {std::string("v") + text}, {}, "category"}};
    profile.categories = {{"category", {}}};
    EXPECT_EQ(must(parse_profile(print(profile))), profile) << print(profile);
  }
  profile.summary = std::string("nul\0byte", 8);
  EXPECT_EQ(must(parse_profile(print(profile))), profile);
}

TEST(ProfileText, WhatIsNotSaidTakesItsDefault) {
  const Profile profile = must(parse_profile(smallest));
  Profile expected;
  expected.name = "mine";
  expected.limit = 2;
  expected.post_check = {CounterName::attempt, Comparison::at_least, 2, "TooOften", ""};
  EXPECT_EQ(profile, expected);
}

TEST(ProfileText, ListsMayBeWrittenInBrackets) {
  const Profile profile = must(
      parse_profile(std::string(smallest) + "validation: [decode, \"header\"]  # order matters\n"));
  EXPECT_EQ(profile.validation, (std::vector<Stage>{Stage::decode, Stage::header}));
}

struct Refusal {
  const char* name;
  std::string added;
  std::vector<std::string> says;
};
void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}
class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithTheLineAndWhatWouldBeRight) {
  const auto parsed = parse_profile(std::string(smallest) + GetParam().added);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::invalid_argument);
  for (const std::string& words : GetParam().says) {
    EXPECT_THAT(parsed.error().detail, HasSubstr(words));
  }
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(ProfileText, Refused, ::testing::ValuesIn<Refusal>({
    {"UnknownSetting", "placment: hold\n", {"line 8", "did you mean \"placement\""}},
    {"UnknownEnumerator", "placement: requeu\n", {"line 8", "did you mean \"requeue\"", "in_office"}},
    {"UnknownPolicy", "retry: exponental base=1s\n", {"line 8", "did you mean \"exponential\"", "linear"}},
    {"UnknownJitter", "retry: fixed base=1s jitter=ful\n", {"did you mean \"full\"", "decorrelated"}},
    {"BadDuration", "retry: fixed base=1 s\n", {"line 8", "base: \"1\"", "30s"}},
    {"BadBool", "crash_counts: maybe\n", {"true or false"}},
    {"BadNumber", "replay_limit: -1\n", {"whole number from 0"}},
    {"TooLargeNumber", "replay_limit: 4294967296\n", {"4294967295"}},
    {"RepeatedKey", "limit: 3\n", {"line 8", "given twice"}},
    {"Tab", "inner:\n\tretries: 1\n", {"line 9", "spaces"}},
    {"Anchor", "summary: &x y\n", {"line 8", "double quotes"}},
    {"BlockScalar", "summary: |\n", {"line 8", "double quotes"}},
    {"OpenQuote", "summary: \"abc\n", {"line 8", "never closed"}},
    {"OpenList", "validation: [decode\n", {"line 8"}},
    {"ScalarForList", "validation: decode\n", {"must be a list"}},
    {"ListForScalar", "summary: [a]\n", {"must be one value"}},
    {"MissingValue", "summary:\n", {"line 8", "missing"}},
    {"NotUtf8", "summary: \"\xff\"\n", {"UTF-8"}},
    {"OddIndent", "inner:\n  retries: 1\n form: x\n", {"line 10"}},
    {"UnknownCategory", "categories:\n  transent:\n    action: never\n", {"did you mean \"transient\""}},
    {"UnknownStatus", "retention:\n  - status: exausted\n    age: 7d\n    act: archive\n", {"did you mean \"exhausted\""}},
    {"RegexWithoutValues", "rules:\n  - name: r\n    match: regex\n    values: []\n    category: c\n", {"\"r\"", "no values"}},
}), [](const auto& row) { return std::string(row.param.name); });
// clang-format on

TEST(ProfileText, DeepNestingIsRefusedNotFollowed) {
  std::string text;
  for (std::size_t i = 0; i < 5'000; ++i) text += std::string(i, ' ') + "a:\n";
  EXPECT_FALSE(parse_profile(text));
}

}  // namespace
}  // namespace dlo
