#include "dlo/core/ramp.h"

#include <gtest/gtest.h>

namespace dlo {
namespace {

using Kind = RampStep::Kind;

TEST(Ramp, WithoutACanaryEverythingGoesAtOnce) {
  EXPECT_EQ(next_wave({0, 95}, {0, 0, 0}), (RampStep{Kind::send, UINT64_MAX}));
  EXPECT_EQ(next_wave({0, 95}, {10, 0, 10}), (RampStep{Kind::send, UINT64_MAX}));
}

TEST(Ramp, WaitsForEachWaveBeforeTheNextAndStopsWhenTooManyComeBack) {
  struct Row {
    RampTally tally;
    RampStep step;
  };
  const RampRule rule{5, 80};
  const Row rows[] = {
      {{0, 0, 0}, {Kind::send, 5}},
      {{3, 0, 0}, {Kind::send, 2}},
      {{5, 0, 0}, {Kind::wait, 0}},
      {{5, 4, 0}, {Kind::wait, 0}},
      {{5, 0, 1}, {Kind::wait, 0}},  // one of five may come back
      {{5, 0, 2}, {Kind::stop, 0}},  // two may not, whatever becomes of the others
      {{5, 4, 1}, {Kind::send, 15}},
      {{20, 5, 0}, {Kind::wait, 0}},
      {{20, 20, 0}, {Kind::send, 60}},
      {{80, 70, 10}, {Kind::send, 240}},
      {{320, 319, 1}, {Kind::send, UINT64_MAX}},
      {{1'000, 900, 100}, {Kind::send, UINT64_MAX}},
      {{1'000, 700, 201}, {Kind::stop, 0}},  // also after the waves
  };
  for (const Row& row : rows) {
    EXPECT_EQ(next_wave(rule, row.tally), row.step)
        << row.tally.sent << " " << row.tally.cured << " " << row.tally.returned;
  }
}

TEST(Ramp, NumbersBeyondAllMeasureDoNotOverflow) {
  EXPECT_EQ(next_wave({UINT64_MAX, 100}, {UINT64_MAX - 1, 0, 0}), (RampStep{Kind::send, 1}));
  EXPECT_EQ(next_wave({1, 500}, {1, 0, 1}).kind, Kind::stop);
}

}  // namespace
}  // namespace dlo
