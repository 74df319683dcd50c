#include "dlo/repair/recipe.h"

#include <gtest/gtest.h>
#include <string>

#include "support/must.h"

namespace dlo {
namespace {

using testing::must;

struct RecipeRow {
  const char* name;
  std::string recipe;
  std::string payload;
  std::string expected;  // or, after "!", what the error says
};
void PrintTo(const RecipeRow& row, std::ostream* out) {
  *out << row.name;
}

class Recipes : public ::testing::TestWithParam<RecipeRow> {};

TEST_P(Recipes, FollowTheTable) {
  const RecipeRow& row = GetParam();
  const auto recipe = parse_recipe(row.recipe);
  const auto result = recipe ? apply_recipe(*recipe, Draft{{}, row.payload}) : recipe.error();
  if (row.expected.starts_with('!')) {
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().detail.find(row.expected.substr(1)), std::string::npos)
        << result.error().detail;
  } else {
    ASSERT_TRUE(result) << result.error().detail;
    EXPECT_EQ(result->payload, row.expected);
  }
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Steps, Recipes, ::testing::ValuesIn<RecipeRow>({
  {"SetWhatIsThere", R"([{"set":"a.b","value":2}])", R"({"a":{"b":1}})", R"({"a":{"b":2}})"},
  {"SetMakesTheWay", R"([{"set":"a.b.c","value":"x"}])", "{}", R"({"a":{"b":{"c":"x"}}})"},
  {"SetReplacesAnElement", R"([{"set":"a.0","value":9}])", R"({"a":[1,2]})", R"({"a":[9,2]})"},
  {"SetByPointer", R"([{"set":"/a.b","value":9}])", R"({"a.b":1})", R"({"a.b":9})"},
  {"SetInsideAText", R"([{"set":"a.b","value":9}])", R"({"a":"x"})", "!step 1 (set): "},
  {"Remove", R"([{"remove":"a.b"}])", R"({"a":{"b":1,"c":2}})", R"({"a":{"c":2}})"},
  {"RemoveNothing", R"([{"remove":"x"}])", R"({"a": 1})", R"({"a": 1})"},
  {"Rename", R"([{"rename":"iban_no","to":"account.iban"}])", R"({"iban_no":"DE1"})", R"({"account":{"iban":"DE1"}})"},
  {"RenameNothing", R"([{"rename":"x","to":"y"}])", R"({"a": 1})", R"({"a": 1})"},
  {"RenameOntoSomething", R"([{"rename":"a","to":"b"}])", R"({"a":1,"b":2})", "!something at \"/b\" already"},
  {"Patch", R"([{"patch":[{"op":"test","path":"/a","value":1},{"op":"remove","path":"/a"}]}])", R"({"a":1})", "{}"},
  {"PatchThatFails", R"([{"set":"b","value":1},{"patch":[{"op":"remove","path":"/a"}]}])", "{}", "!step 2 (patch): operation 1"},
  {"InOrder", R"([{"set":"a","value":1},{"rename":"a","to":"b"}])", "{}", R"({"b":1})"},
  {"NoJson", R"([{"set":"a","value":1}])", "hello", "!cannot be repaired as JSON"},
  {"HeadersLeaveThePayloadAlone", R"([{"set_header":"tenant","value":"acme"}])", "hello", "hello"},
  {"ALockedHeader", R"([{"set_header":"DLO-Id","value":"x"}])", "{}", "!locked"},
  {"ALockedHeaderRemoved", R"([{"remove_header":"x-death"}])", "{}", "!locked"},
  {"TwoThingsAtOnce", R"([{"set":"a","value":1,"remove":"b"}])", "{}", "!two things at once"},
  {"AnUnknownStep", R"([{"upsert":"a"}])", "{}", "!step 1: it needs one of"},
  {"AnUnknownMember", R"([{"remove":"a","value":1}])", "{}", "!\"value\" is unknown here"},
  {"NoValue", R"([{"set":"a"}])", "{}", "!\"value\""},
  {"AnEmptyRecipe", "[]", "{}", "!at least one"},
  {"ABadPath", R"([{"set":"a..b","value":1}])", "{}", "!"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Recipe, SetsAndRemovesHeadersWhateverTheirCase) {
  const Recipe recipe =
      must(parse_recipe(R"([{"set_header":"Tenant","value":"b"},{"remove_header":"OLD"}])"));
  const Draft draft{{{"old", "1"}, {"tenant", "a"}, {"x", "y"}, {"TENANT", "c"}}, std::nullopt};
  const Draft after = must(apply_recipe(recipe, draft));
  EXPECT_EQ(after.headers, (Headers{{"tenant", "b"}, {"x", "y"}}));
  EXPECT_EQ(after.payload, std::nullopt);
}

TEST(Recipe, NeedsAPayloadIfItIsAboutOne) {
  EXPECT_FALSE(apply_recipe(must(parse_recipe(R"([{"remove":"a"}])")), Draft{}));
}

TEST(Recipe, LeavesEveryByteOfAPayloadThatItDoesNotChange) {
  const Draft draft{{}, "{ \"a\" : 1.00 }\n"};
  EXPECT_EQ(must(apply_recipe(must(parse_recipe(R"([{"set":"a","value":1}])")), draft)), draft);
}

TEST(Recipe, PrintsWhatReadsBackAsTheSame) {
  const std::string text =
      R"([{"set":"/a/b","value":{"x":1.0}},{"remove":"/c"},{"rename":"/d","to":"/e/f"},)"
      R"({"set_header":"h","value":"v"},{"remove_header":"i"},)"
      R"({"patch":[{"op":"test","path":"/a","value":null}]}])";
  EXPECT_EQ(print_recipe(must(parse_recipe(text))), text);
}

}  // namespace
}  // namespace dlo
