#include "dlo/core/strategy.h"

#include <gtest/gtest.h>

namespace dlo {
namespace {

struct Row {
  const char* name;
  Strategy strategy;
  const char* category;
  bool requested;
  Intake plain;
  Intake safe;
  const char* counter;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Strategies : public ::testing::TestWithParam<Row> {};

TEST_P(Strategies, FollowTheTable) {
  const Row& row = GetParam();
  const IntakeDecision plain = admits(row.strategy, row.category, Skips::lose, row.requested);
  const IntakeDecision safe = admits(row.strategy, row.category, Skips::record, row.requested);
  EXPECT_EQ(plain.intake, row.plain);
  EXPECT_EQ(safe.intake, row.safe);
  EXPECT_EQ(plain.counter, row.counter);
  EXPECT_EQ(safe.counter, row.counter);
  EXPECT_EQ(plain.reason.empty(), row.plain == Intake::enqueue);
}

constexpr auto enqueue = Intake::enqueue;
constexpr auto record = Intake::record_not_retried;
constexpr auto skip = Intake::skip;

// clang-format off
INSTANTIATE_TEST_SUITE_P(S2_26, Strategies, ::testing::ValuesIn<Row>({
    {"AutomaticKeepsTransient",     Strategy::automatic, "transient",  false, enqueue, enqueue, "enqueued"},
    {"AutomaticKeepsPermanent",     Strategy::automatic, "permanent",  false, enqueue, enqueue, "enqueued"},
    {"AutomaticKeepsAnything",      Strategy::automatic, "",           false, enqueue, enqueue, "enqueued"},
    {"SelectiveKeepsTransient",     Strategy::selective, "transient",  false, enqueue, enqueue, "enqueued"},
    {"SelectiveKeepsNetwork",       Strategy::selective, "network",    false, enqueue, enqueue, "enqueued"},
    {"SelectiveKeepsResource",      Strategy::selective, "resource",   false, enqueue, enqueue, "enqueued"},
    {"SelectiveSkipsPermission",    Strategy::selective, "permission", false, skip,    record,  "skipped_permission"},
    {"SelectiveSkipsValidation",    Strategy::selective, "validation", false, skip,    record,  "skipped_validation"},
    {"SelectiveSkipsPermanent",     Strategy::selective, "permanent",  false, skip,    record,  "skipped_permanent"},
    {"SelectiveSkipsTheUnknown",    Strategy::selective, "odd",        false, skip,    record,  "skipped_permanent"},
    {"SelectiveObeysARequest",      Strategy::selective, "permanent",  true,  enqueue, enqueue, "manually_enqueued"},
    {"ManualSkipsEverything",       Strategy::manual,    "transient",  false, skip,    record,  "skipped_manual"},
    {"ManualObeysARequest",         Strategy::manual,    "permanent",  true,  enqueue, enqueue, "manually_enqueued"},
    {"DisabledSkipsEverything",     Strategy::disabled,  "transient",  false, skip,    record,  "skipped_disabled"},
    {"DisabledSkipsEvenARequest",   Strategy::disabled,  "transient",  true,  skip,    record,  "skipped_disabled"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(StrategyReasons, SayWhatHappenedToTheFailure) {
  EXPECT_EQ(
      admits(Strategy::selective, "permission", Skips::lose).reason,
      "strategy selective keeps transient, network and resource failures, not permission; not "
      "recorded: the caller keeps it");
  EXPECT_EQ(admits(Strategy::manual, "network", Skips::record).reason,
            "strategy manual keeps only what is asked for; recorded all the same, and not retried");
}

}  // namespace
}  // namespace dlo
