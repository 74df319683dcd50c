#include "dlo/collector/wire_value.h"

#include <gtest/gtest.h>

#include "unit/collector/wire.h"

namespace dlo::testing {
namespace {

using collector::read_wire_value;
using collector::WireValue;

TEST(WireValueTest, EveryKindOfNumberIsReadAtItsWidthAndSign) {
  EXPECT_EQ(read_wire_value("b\xFF")->number, -1);
  EXPECT_EQ(read_wire_value("B\xFF")->number, 255);
  EXPECT_EQ(read_wire_value("s\xFF\xFE")->number, -2);
  EXPECT_EQ(read_wire_value("u\xFF\xFE")->number, 65534);
  EXPECT_EQ(read_wire_value("I\xFF\xFF\xFF\xFD")->number, -3);
  EXPECT_EQ(read_wire_value("i\xFF\xFF\xFF\xFD")->number, 4294967293);
  EXPECT_EQ(read_wire_value(wire::number(INT64_MIN))->number, INT64_MIN);
}

TEST(WireValueTest, TablesAndListsKeepWhatIsInside) {
  const auto value = read_wire_value(wire::list({wire::table({{"queue", wire::text("orders")},
                                                              {"time", wire::moment(7)},
                                                              {"odd", std::string("t\x01", 2)},
                                                              {"none", "V"}}),
                                                 wire::text("")}));
  ASSERT_TRUE(value);
  ASSERT_EQ(value->list.size(), 2U);
  EXPECT_EQ(value->list[0].find("queue")->text, "orders");
  EXPECT_EQ(value->list[0].find("time")->kind, WireValue::Kind::moment);
  EXPECT_EQ(value->list[0].find("odd")->kind, WireValue::Kind::other);
  EXPECT_EQ(value->list[0].find("absent"), nullptr);
  EXPECT_EQ(value->list[1].text, "");
}

TEST(WireValueTest, WhatIsCutOffOrTooMuchIsNothing) {
  const std::string whole = wire::list({wire::death("orders", "rejected", 1, 7)});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_wire_value(whole.substr(0, size))) << size;
  }
  EXPECT_FALSE(read_wire_value(whole + "x")) << "something stands behind it";
  EXPECT_FALSE(read_wire_value("?"));
  EXPECT_FALSE(read_wire_value("S\xFF\xFF\xFF\xFFshort"));
  std::string deep = "V";
  for (int i = 0; i < 1'000; ++i) deep = wire::list({deep});
  EXPECT_FALSE(read_wire_value(deep));
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "V";
  EXPECT_FALSE(read_wire_value("A" + wire::big_endian(many.size(), 4) + many));
}

}  // namespace
}  // namespace dlo::testing
