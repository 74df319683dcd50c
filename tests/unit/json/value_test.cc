#include "dlo/json/text/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "support/must.h"

namespace dlo {
namespace {

using dlo::testing::must;
using ::testing::HasSubstr;

TEST(JsonValue, KeepsOrderRepeatsAndExactNumbers) {
  const JsonValue value = must(parse_json(R"({"b":1.10,"a":"x","b":[12345678901234567890,-7]})"));
  ASSERT_EQ(value.members.size(), 3U);
  EXPECT_EQ(value.members[0].name, "b");
  EXPECT_EQ(value.members[0].value.raw, "1.10");
  const JsonValue* last = value.find("b");
  ASSERT_EQ(last->items.size(), 2U);
  EXPECT_EQ(last->raw, "[12345678901234567890,-7]");
  EXPECT_EQ(last->items[0].to_uint64(), 12345678901234567890U);
  EXPECT_EQ(last->items[0].to_int64(), std::nullopt);
  EXPECT_EQ(last->items[1].to_int64(), -7);
  EXPECT_EQ(last->items[1].to_uint64(), std::nullopt);
  EXPECT_EQ(value.find("a")->text(), "x");
  EXPECT_EQ(value.find("c"), nullptr);
}

TEST(JsonValue, NumbersAreNeverRounded) {
  for (const char* text : {"1.0", "1e3", "99999999999999999999", "\"1\"", "true"}) {
    EXPECT_EQ(must(parse_json(text)).to_int64(), std::nullopt) << text;
  }
}

TEST(JsonValue, WhatIsNotJsonIsRefusedWithThePlace) {
  const auto refused = parse_json("{\"a\" 1}");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr("expected ':', found '1' at line 1, column 6"));
}

struct Row {
  const char* name;
  const char* path;
  const char* kind;  // empty: not there
  const char* raw;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class JsonPaths : public ::testing::TestWithParam<Row> {};

constexpr const char* document =
    R"({"order":{"id":12345678901234567890,"items":[{"sku":"A"},{"sku":null}],"a.b":true,"e":{}},)"
    R"("order\u0032":"two","7":"seven","twice":{"x":1},"":"empty","twice":{"y":2},"list":[1,[2,3]]})";

TEST_P(JsonPaths, FollowTheTable) {
  const auto& row = GetParam();
  const auto found = find_paths(document, {must(JsonPath::parse(row.path))});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind ? name_of(*found[0].kind) : std::string_view(), row.kind);
  EXPECT_EQ(found[0].raw, row.raw);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Value, JsonPaths, ::testing::ValuesIn<Row>({
    {"Nested",           "order.id",          "number", "12345678901234567890"},
    {"Object",           "order.e",           "object", ""},
    {"IntoArray",        "order.items.0.sku", "string", "\"A\""},
    {"SecondItem",       "order.items.1.sku", "null",   "null"},
    {"BeyondArray",      "order.items.2.sku", "",       ""},
    {"Missing",          "order.nothing",     "",       ""},
    {"ThroughAScalar",   "order.id.x",        "",       ""},
    {"PointerWithDot",   "/order/a.b",        "boolean", "true"},
    {"DotMeansNesting",  "order.a.b",         "",       ""},
    {"EscapedKey",       "order2",            "string", "\"two\""},
    {"NumberAsName",     "7",                 "string", "\"seven\""},
    {"EmptyName",        "/",                 "string", "\"empty\""},
    {"LastRepeatCounts", "twice.y",           "number", "2"},
    {"EarlierIsGone",    "twice.x",           "",       ""},
    {"ArrayInArray",     "list.1.1",          "number", "3"},
    {"AfterArray",       "list.0",            "number", "1"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(JsonPathsTogether, ManyPathsAreFoundInOnePass) {
  const auto found = find_paths(
      R"({"a":1,"b":{"c":2}})",
      {must(JsonPath::parse("b.c")), must(JsonPath::parse("z")), must(JsonPath::parse("a"))});
  EXPECT_EQ(found[0].raw, "2");
  EXPECT_FALSE(found[1].kind);
  EXPECT_EQ(found[2].raw, "1");
}

TEST(JsonPathsTogether, PathsThatMeanNothingAreRefused) {
  for (const char* path : {"", "a..b", ".a", "a."}) {
    const auto refused = JsonPath::parse(path);
    ASSERT_FALSE(refused) << path;
    EXPECT_THAT(refused.error().detail, HasSubstr("write order.items.0.sku"));
  }
  EXPECT_EQ(must(JsonPath::parse("/a~1b/~0c")).steps, (std::vector<std::string>{"a/b", "~c"}));
}

}  // namespace
}  // namespace dlo
