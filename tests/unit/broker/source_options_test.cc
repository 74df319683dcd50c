#include "dlo/broker/source_options.h"

#include <functional>
#include <gtest/gtest.h>

namespace dlo {
namespace {

struct Row {
  const char* name;
  std::function<void(SourceOptions&)> change;
  const char* named;  // the setting the refusal must name; empty: accepted
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class CheckSourceOptions : public ::testing::TestWithParam<Row> {};

TEST_P(CheckSourceOptions, FollowsTheTable) {
  SourceOptions options;
  options.source = "orders";
  GetParam().change(options);
  const auto checked = check(options);
  ASSERT_EQ(checked.has_value(), std::string(GetParam().named).empty());
  if (!checked) {
    EXPECT_EQ(checked.error().code, Code::invalid_argument);
    EXPECT_NE(checked.error().detail.find(GetParam().named), std::string::npos);
    EXPECT_NE(checked.error().detail.find("orders"), std::string::npos);
  }
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Settings, CheckSourceOptions, ::testing::ValuesIn<Row>({
    {"DefaultsAreFine",       [](auto&) {},                            ""},
    {"NoRoomForMessages",     [](auto& o) { o.max_messages = 0; },     "max_messages"},
    {"RoomForOne",            [](auto& o) { o.max_messages = 1; },     ""},
    {"NoRoomForBytes",        [](auto& o) { o.max_bytes = 0; },        "max_bytes"},
    {"NegativeWindow",        [](auto& o) { o.dedupe_window = Millis{-1}; }, "dedupe_window"},
    {"NegativeAgeing",        [](auto& o) { o.ageing = Millis{-1}; },  "ageing"},
    {"NoAgeing",              [](auto& o) { o.ageing = Millis{0}; },   ""},
    {"NoTimeToLive",          [](auto& o) { o.ttl = Millis{0}; },      "ttl"},
    {"AMillisecondToLive",    [](auto& o) { o.ttl = Millis{1}; },      ""},
}), [](const auto& row) { return row.param.name; });
// clang-format on

}  // namespace
}  // namespace dlo
