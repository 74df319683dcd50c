#include "dlo/repair/schema.h"

#include <gtest/gtest.h>
#include <string>

#include "support/must.h"

namespace dlo {
namespace {

using testing::must;

std::string complaints(const std::string& schema, const std::string& payload) {
  std::string out;
  for (const SchemaComplaint& each : must(JsonSchema::parse(schema)).check(payload)) {
    out += (out.empty() ? "" : "; ") + each.text;
  }
  return out;
}

struct SchemaRow {
  const char* name;
  std::string schema;
  std::string payload;
  std::string expected;
};
void PrintTo(const SchemaRow& row, std::ostream* out) {
  *out << row.name;
}

class Schemas : public ::testing::TestWithParam<SchemaRow> {};

TEST_P(Schemas, FollowTheTable) {
  EXPECT_EQ(complaints(GetParam().schema, GetParam().payload), GetParam().expected);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Words, Schemas, ::testing::ValuesIn<SchemaRow>({
  {"Type", R"({"type":"object"})", "[]", "the payload is array, not object"},
  {"TypeFits", R"({"type":["string","null"]})", "null", ""},
  {"Integer", R"({"type":"integer"})", "1.5", "the payload is number, not integer"},
  {"IntegerFits", R"({"type":"integer"})", "15", ""},
  {"Required", R"({"required":["a","b"]})", R"({"a":1})", "the payload has no member \"b\""},
  {"Properties", R"({"properties":{"a":{"type":"string"}}})", R"({"a":1,"b":2})", "/a is number, not string"},
  {"Additional", R"({"properties":{"a":{}},"additionalProperties":false})", R"({"a":1,"b":2})", "/b must not be there"},
  {"AdditionalSchema", R"({"additionalProperties":{"type":"number"}})", R"({"b":"x"})", "/b is string, not number"},
  {"Items", R"({"items":{"type":"number"}})", R"([1,"x"])", "/1 is string, not number"},
  {"Enum", R"({"enum":["EUR","USD"]})", R"("GBP")", "the payload is none of [\"EUR\",\"USD\"]"},
  {"Const", R"({"const":1})", "1.0", ""},
  {"Minimum", R"({"minimum":0})", "-1", "the payload is less than 0"},
  {"Maximum", R"({"maximum":10})", "11", "the payload is more than 10"},
  {"MinLength", R"({"minLength":2})", R"("ä")", "the payload has less than 2"},
  {"MaxLength", R"({"maxLength":1})", R"("ä")", ""},
  {"MaxItems", R"({"maxItems":1})", "[1,2]", "the payload holds more than 1"},
  {"Several", R"({"required":["x"],"properties":{"a":{"minimum":5}}})", R"({"a":1})", "the payload has no member \"x\"; /a is less than 5"},
  {"NoJson", "{}", "hello", "the payload cannot be read: not JSON: expected a value, found 'h' at line 1, column 1 (byte 0)"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Schema, WithAWordThatIsNotCheckedIsRefused) {
  const auto refused = JsonSchema::parse(R"({"properties":{"a":{"pattern":"x"}}})");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("\"pattern\""), std::string::npos);
  EXPECT_NE(refused.error().detail.find("/properties/a"), std::string::npos);
  EXPECT_FALSE(JsonSchema::parse(R"({"type":"text"})"));
  EXPECT_FALSE(JsonSchema::parse(R"({"required":"a"})"));
  EXPECT_FALSE(JsonSchema::parse("[]"));
}

TEST(Schema, StopsAfterTwentyComplaints) {
  const auto all = must(JsonSchema::parse(R"({"items":{"type":"string"}})"))
                       .check("[" + std::string(100, '1') +
                              ",1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                              "1,1,1,1,1,1]");
  EXPECT_EQ(all.size(), JsonSchema::most_complaints);
}

TEST(Schema, AComplaintKnowsItsPlaceAndWhetherItIsAboutTheWholeValue) {
  const auto all = must(JsonSchema::parse(R"({"const":1,"properties":{"a":{"minLength":3}}})"))
                       .check(R"({"a":"x"})");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].of_value && all[0].steps.empty());
  EXPECT_FALSE(all[1].of_value);
  EXPECT_EQ(all[1].steps, (std::vector<std::string>{"a"}));
}

TEST(Schema, KnowsWhereItLooks) {
  const auto schema = must(JsonSchema::parse(
      R"({"type":"object","required":["n"],"properties":{"a":{"properties":{"b":{"minimum":1}}},)"
      R"("c":{"enum":[1]},"n":{"title":"x"}},"additionalProperties":{"items":{"type":"string"}}})"));
  const auto looks_at = [&](std::vector<std::string> steps) { return schema.looks_at(steps); };
  EXPECT_TRUE(looks_at({"a", "b"}));
  EXPECT_TRUE(looks_at({"a"})) << "within it";
  EXPECT_TRUE(looks_at({"c", "d"})) << "as a part of the whole";
  EXPECT_TRUE(looks_at({"z", "0"})) << "wherever that is";
  EXPECT_FALSE(looks_at({"a", "z"}));
  EXPECT_FALSE(looks_at({"n"}));
}

}  // namespace
}  // namespace dlo
