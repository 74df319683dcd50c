// Where a message waits for its next run.
#include "dlo/core/parking.h"

#include <gtest/gtest.h>

namespace dlo {
namespace {

using namespace std::chrono_literals;

struct Row {
  const char* name;
  Placement placement;
  Millis delay;
  bool keeps_waits;  // its source
  bool in_office;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Parking : public ::testing::TestWithParam<Row> {};

TEST_P(Parking, FollowsTheTable) {
  const auto& row = GetParam();
  const RetryAt again{TimePoint{} + row.delay, row.delay, row.placement};
  EXPECT_EQ(waits_in_office(again, row.keeps_waits), row.in_office);
}
// clang-format off
INSTANTIATE_TEST_SUITE_P(All, Parking, ::testing::ValuesIn<Row>({
    {"ARequeueAtOnceGoesBack",             Placement::requeue,   0ms,  false, false},
    {"ARequeueThatWaitsIsNone",            Placement::requeue,   1ms,  false, true},   // RMQ-05
    {"ADelayNobodyCanKeepIsParked",        Placement::delayed,   1s,   false, true},
    {"ADelayOfNothingIsParkedToo",         Placement::delayed,   0ms,  false, true},   // booking+safe
    {"AHeldPartitionIsNone",               Placement::hold,      2s,   false, true},
    {"WhatWaitsInTheOfficeDoesSo",         Placement::in_office, 1min, false, true},
    {"ASourceThatKeepsWaitsKeepsARequeue", Placement::requeue,   1s,   true,  false},
    {"ASourceThatKeepsWaitsKeepsADelay",   Placement::delayed,   1s,   true,  false},
    {"ASourceThatKeepsWaitsHolds",         Placement::hold,      1s,   true,  false},
    {"ProfilesDecideForTheOffice",         Placement::in_office, 1s,   true,  true},
}), [](const auto& row) { return row.param.name; });
// clang-format on

}  // namespace
}  // namespace dlo
