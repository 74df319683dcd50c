// Retries that run only so often (S2-14).

#include <vector>

#include "retry_room.h"

namespace dlo::testing {
namespace {

class WithAnInterval : public RetryRoom {};
INSTANTIATE_TEST_SUITE_P(Offices, WithAnInterval, ::testing::Values("memory", "sqlite"),
                         [](const auto& office) { return std::string(office.param); });

TEST_P(WithAnInterval, WhatIsDueWaitsForTheNextCycle) {  // S2-14, S2-7
  std::vector<Millis> at;
  on("llamaindex", [&](const Message&, const RunContext&) {
    at.push_back(clock.now() - noon);
    return works();
  });
  interval = 60s;
  open();
  report("wf_1", "timeout", ask("fixed base=70s", 3));
  processor().drain();
  report("wf_2", "flaky", ask("immediate", 3));
  pass(5min, 1s);
  EXPECT_EQ(at, (std::vector<Millis>{60s, 120s}));
}

TEST_P(WithAnInterval, ARetryByHandRunsNow) {  // S2-14, S2-21
  std::vector<Millis> at;
  on("llamaindex", [&](const Message&, const RunContext&) {
    at.push_back(clock.now() - noon);
    return works();
  });
  interval = 1h;
  open();
  const RecordId id = report("wf_1", "timeout");
  processor().drain();
  clock.advance(10s);
  retry_by_hand(id);
  processor().drain();
  EXPECT_EQ(at, std::vector<Millis>{10s});
  report("wf_2", "flaky", ask("immediate", 3));
  pass(2h, 1min);
  EXPECT_EQ(at, (std::vector<Millis>{10s, 1h + 10s})) << "the rounds go on";
}

}  // namespace
}  // namespace dlo::testing
