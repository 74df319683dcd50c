#include "dlo/repair/json_patch.h"

#include <gtest/gtest.h>
#include <string>

#include "support/must.h"

namespace dlo {
namespace {

using testing::must;

struct PatchRow {
  const char* name;
  std::string document;
  std::string patch;
  std::string expected;  // or, after "!", what the error says
};
void PrintTo(const PatchRow& row, std::ostream* out) {
  *out << row.name;
}

class JsonPatches : public ::testing::TestWithParam<PatchRow> {};

TEST_P(JsonPatches, FollowTheTable) {
  const PatchRow& row = GetParam();
  const auto patch = parse_patch(row.patch);
  const auto tree = parse_tree(row.document);
  ASSERT_TRUE(tree);
  const auto result = patch ? apply_patch(*patch, *tree) : patch.error();
  if (row.expected.starts_with('!')) {
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().detail.find(row.expected.substr(1)), std::string::npos)
        << result.error().detail;
  } else {
    ASSERT_TRUE(result) << result.error().detail;
    EXPECT_EQ(print_tree(*result), row.expected);
  }
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Rfc6902, JsonPatches, ::testing::ValuesIn<PatchRow>({  // the RFC's appendix A
  {"AddAMember", R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])", R"({"foo":"bar","baz":"qux"})"},
  {"AddAnElement", R"({"foo":["bar","baz"]})", R"([{"op":"add","path":"/foo/1","value":"qux"}])", R"({"foo":["bar","qux","baz"]})"},
  {"RemoveAMember", R"({"baz":"qux","foo":"bar"})", R"([{"op":"remove","path":"/baz"}])", R"({"foo":"bar"})"},
  {"RemoveAnElement", R"({"foo":["bar","qux","baz"]})", R"([{"op":"remove","path":"/foo/1"}])", R"({"foo":["bar","baz"]})"},
  {"Replace", R"({"baz":"qux","foo":"bar"})", R"([{"op":"replace","path":"/baz","value":"boo"}])", R"({"baz":"boo","foo":"bar"})"},
  {"Move", R"({"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}})", R"([{"op":"move","from":"/foo/waldo","path":"/qux/thud"}])", R"({"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}})"},
  {"MoveAnElement", R"({"foo":["all","grass","cows","eat"]})", R"([{"op":"move","from":"/foo/1","path":"/foo/3"}])", R"({"foo":["all","cows","eat","grass"]})"},
  {"TestThatHolds", R"({"baz":"qux","foo":["a",2,"c"]})", R"([{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}])", R"({"baz":"qux","foo":["a",2,"c"]})"},
  {"TestThatFails", R"({"baz":"qux"})", R"([{"op":"test","path":"/baz","value":"bar"}])", "!operation 1 (test \"/baz\"): it is \"qux\", not \"bar\""},
  {"AddANestedObject", R"({"foo":"bar"})", R"([{"op":"add","path":"/child","value":{"grandchild":{}}}])", R"({"foo":"bar","child":{"grandchild":{}}})"},
  {"UnknownMembersAreIgnored", R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux","xyz":123}])", R"({"foo":"bar","baz":"qux"})"},
  {"AddToWhatIsNotThere", R"({"foo":"bar"})", R"([{"op":"add","path":"/baz/bat","value":"qux"}])", "!nothing at \"/baz\""},
  {"AnEscapedPointer", R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":10}])", R"({"/":9,"~1":10})"},
  {"StringsAreNotNumbers", R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":"10"}])", "!operation 1"},
  {"AddAtTheEnd", R"({"foo":["bar"]})", R"([{"op":"add","path":"/foo/-","value":["abc","def"]}])", R"({"foo":["bar",["abc","def"]]})"},
  {"ReplaceTheWhole", "1", R"([{"op":"replace","path":"","value":[1]}])", "[1]"},
  {"CopyKeepsTheFirst", R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])", R"({"a":{"b":1},"c":{"b":1}})"},
  {"NumbersAreTheSameHoweverWritten", R"([1.50])", R"([{"op":"test","path":"/0","value":15e-1}])", "[1.50]"},
  {"BigNumbersStayAsTheyAre", R"({"n":12345678901234567890.10})", R"([{"op":"add","path":"/m","value":1}])", R"({"n":12345678901234567890.10,"m":1})"},
  {"IntoItself", R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a/b"}])", "!into itself"},
  {"PastTheEnd", "[1]", R"([{"op":"add","path":"/2","value":1}])", "!there is no place \"2\""},
  {"ALeadingZeroIsNoPlace", "[1,2]", R"([{"op":"remove","path":"/01"}])", "!nothing at"},
  {"TheWholeCannotGo", "[1]", R"([{"op":"remove","path":""}])", "!cannot be removed"},
  {"AllOrNothing", R"({"a":1})", R"([{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}])", "!operation 2"},
  {"AnUnknownOperation", "1", R"([{"op":"increase","path":""}])", "!\"op\" must be add, remove"},
  {"NoArray", "1", "{}", "!an array of operations"},
  {"NoPointer", "1", R"([{"op":"remove","path":"a"}])", "!begin with a slash"},
  {"ATildeAlone", "1", R"([{"op":"remove","path":"/~2"}])", "!~ is followed by 0 or 1"},
  {"NoValue", "1", R"([{"op":"add","path":""}])", "!\"value\""},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(JsonPatch, PrintsWhatReadsBackAsTheSame) {
  const std::string text =
      R"([{"op":"move","from":"/a~1b","path":"/c"},{"op":"add","path":"/d","value":{"x":[1.0,null]}}])";
  const std::string printed = print_patch(must(parse_patch(text)));
  EXPECT_EQ(print_patch(must(parse_patch(printed))), printed);
  EXPECT_EQ(printed, text);
}

TEST(JsonPatch, CopiesOfCopiesDoNotFillTheMemory) {
  std::string text = "[";
  for (int i = 0; i < 60; ++i) {
    text += (i > 0 ? "," : "") + std::string(R"({"op":"copy","from":"/a","path":"/a/-"})");
  }
  const auto patched = apply_patch(must(parse_patch(text + "]")), must(parse_tree(R"({"a":[1]})")));
  ASSERT_FALSE(patched);
}

TEST(JsonPatch, NothingBecomesDeeperThanCanBeRead) {
  std::string text = "[";
  for (int i = 0; i < 200; ++i) {
    text += (i > 0 ? "," : "") + std::string(R"({"op":"move","from":"/a","path":"/b"},)") +
            R"({"op":"add","path":"/a","value":{}},{"op":"move","from":"/b","path":"/a/b"})";
  }
  const auto patched = apply_patch(must(parse_patch(text + "]")), must(parse_tree(R"({"a":[1]})")));
  ASSERT_FALSE(patched);
  EXPECT_NE(patched.error().detail.find("deeper"), std::string::npos) << patched.error().detail;
}

TEST(JsonTree, RepeatedMembersAreRefused) {
  EXPECT_FALSE(parse_tree(R"({"a":1,"a":2})"));
  EXPECT_FALSE(parse_tree(R"([{"b":{"a":1,"a":2}}])"));
}

TEST(JsonTree, AbsurdExponentsAreComparedAsText) {
  const auto is_same = [](const char* a, const char* b) {
    return same(must(parse_tree(a)), must(parse_tree(b)));
  };
  EXPECT_TRUE(is_same("1e99999999999999999999", "1e99999999999999999999"));
  EXPECT_FALSE(is_same("1e99999999999999999999", "1"));
  EXPECT_TRUE(is_same("-0.0", "0"));
  EXPECT_TRUE(is_same("100", "1e2"));
  EXPECT_FALSE(is_same("1", "-1"));
}

}  // namespace
}  // namespace dlo
