// A circuit that is closed by hand: what waited for it goes on at once.

#include <atomic>
#include <optional>

#include "retry_room.h"

namespace dlo::testing {
namespace {

/// Two executors, the circuit of one of which opens after two failures for an hour.
class ClosedByHand : public RetryRoom {
 protected:
  ClosedByHand() {
    const HandlerOptions guarded = guarded_by(2, 1h);
    on(
        "prefect",
        [this](const Message&, const RunContext&) {
          ++runs;
          return well ? works() : fails("connection refused");
        },
        guarded);
    on("llamaindex", [](const Message&, const RunContext&) { return works(); });
    for (int i = 0; i < 6; ++i) {
      ids.push_back(report("wf_" + std::to_string(i), "timeout", {}, R"({"adapter": "prefect"})"));
    }
  }
  void close_by_hand() {
    well = true;
    for (const auto& [name, entry] : executors.table().named()) {
      entry->breaker.force(false, clock.now());
    }
    processor().circuit_closed();
  }
  int resolved() {
    int count = 0;
    for (const RecordId& id : ids) count += status(id) == Status::resolved ? 1 : 0;
    return count;
  }

  std::atomic<int> runs{0};
  std::atomic<bool> well{false};
  std::vector<RecordId> ids;
};
INSTANTIATE_TEST_SUITE_P(Offices, ClosedByHand, ::testing::Values("memory", "sqlite"),
                         [](const auto& office) { return std::string(office.param); });

TEST_P(ClosedByHand, ACircuitSendsAtOnceWhatWasPutOff) {  // S2-2, R21
  pass(1min);
  ASSERT_EQ(runs, 2);
  close_by_hand();
  processor().drain();
  EXPECT_EQ(resolved(), 4) << "no time has passed: only the two that failed wait for their moment";
  EXPECT_EQ(must(office().aggregate({})).lifetime.manually_retried, 0U);
}

TEST_P(ClosedByHand, ACircuitLeavesAloneWhatSomebodyMovedMeanwhile) {
  pass(1min);
  std::optional<RecordId> moved;
  for (const RecordId& id : ids) {
    if (record(id).counters.retry == 0) moved = id;
  }
  Transition later;
  later.id = moved.value();
  later.to = Status::pending;
  later.now = clock.now();
  later.next_retry_at = clock.now() + 5h;
  const Change change = later;
  must(office().apply({&change, 1}));
  close_by_hand();
  processor().drain();
  EXPECT_EQ(resolved(), 3);
  EXPECT_EQ(record(*moved).next_retry_at, clock.now() + 5h);
}

TEST_P(ClosedByHand, ACircuitDoesNotBringForwardWhatFailedSince) {
  pass(1min);
  pass(2h);  // what was put off has run, one after another
  close_by_hand();
  processor().drain();
  for (const RecordId& id : ids) {
    if (status(id) != Status::pending) continue;
    EXPECT_GT(record(id).next_retry_at, clock.now());
  }
}

/// The next process does not remember who was put off: the office does.
class PutOffAndRestarted : public ClosedByHand {
 protected:
  void restart_with(bool forced) {
    restart();
    for (const auto& [name, entry] : executors.table().named()) {
      entry->breaker.force(forced && name == "prefect", clock.now());
    }
  }
  std::size_t notes() {
    return must(office().extras().ledger->documents("put_off/", "", 1'000)).size();
  }
};
INSTANTIATE_TEST_SUITE_P(Offices, PutOffAndRestarted, ::testing::Values("memory", "sqlite"),
                         [](const auto& office) { return std::string(office.param); });

TEST_P(PutOffAndRestarted, TasksAreSentAtOnceForTheCircuitIsClosedThen) {  // S2-2, R21
  pass(1min);
  ASSERT_EQ(runs, 2);
  well = true;
  restart_with(false);
  processor().drain();
  EXPECT_EQ(resolved(), 4) << "no time has passed: only the two that failed wait for their moment";
  EXPECT_EQ(notes(), 0U);
  EXPECT_EQ(must(office().aggregate({})).lifetime.manually_retried, 0U);
}

TEST_P(PutOffAndRestarted, TasksAreSentAtOnceWhenAHandClosesTheCircuit) {  // S2-2, R21
  pass(1min);
  ASSERT_EQ(runs, 2);
  restart_with(true);
  processor().drain();
  ASSERT_EQ(runs, 2) << "a hand keeps it open";
  close_by_hand();
  processor().drain();
  EXPECT_EQ(resolved(), 4);
}

TEST_P(PutOffAndRestarted, TasksKeepTheMomentThatSomebodyGaveThemMeanwhile) {
  pass(1min);
  std::optional<RecordId> moved;
  for (const RecordId& id : ids) {
    if (record(id).counters.retry == 0) moved = id;
  }
  Transition later;
  later.id = moved.value();
  later.to = Status::pending;
  later.now = clock.now();
  later.next_retry_at = clock.now() + 5h;
  const Change change = later;
  must(office().apply({&change, 1}));
  well = true;
  restart_with(false);
  processor().drain();
  EXPECT_EQ(resolved(), 3);
  EXPECT_EQ(record(*moved).next_retry_at, clock.now() + 5h);
}

TEST_P(PutOffAndRestarted, TasksLeaveNoMoreNotesThanCanStillBeCalled) {
  for (const auto& [name, entry] : executors.table().named()) {
    entry->breaker.force(name == "prefect", clock.now());
  }
  pass(48h, 30min);  // they ask once an hour
  ASSERT_EQ(runs, 0);
  EXPECT_LE(notes(), 2 * ids.size());
}

/// What is archived or discarded while it runs is told to stop; that its executor then says it
/// failed is no sign of trouble there.
class Overruled : public RetryRoom {};
INSTANTIATE_TEST_SUITE_P(Offices, Overruled, ::testing::Values("memory", "sqlite"),
                         [](const auto& office) { return std::string(office.param); });

TEST_P(Overruled, ARunThatAPersonEndedIsNoFailureOfItsExecutor) {  // issue 5
  std::atomic<bool> runs{false};
  std::atomic<bool> stopped{false};
  HandlerOptions guarded;
  guarded.breaker = BreakerPolicy{};
  on(
      "llamaindex",
      [&](const Message&, const RunContext& context) {
        runs = true;
        EXPECT_TRUE(eventually([&] { return context.stop.stop_requested(); }));
        stopped = true;
        return fails("stopped");
      },
      guarded);
  const RecordId id = report("wf_1", "flaky", ask("immediate", 3));
  processor().start();
  ASSERT_TRUE(eventually([&] { return runs.load(); }));
  Transition archive;
  archive.id = id;
  archive.to = Status::archived;
  archive.now = clock.now();
  const Change change = archive;
  must(office().apply({&change, 1}));
  ASSERT_TRUE(eventually([&] {
    clock.advance(1s);
    return stopped.load();
  }));
  ASSERT_TRUE(eventually([&] { return processor().stats().in_flight == 0; }));
  const Breaker circuit = executors.table().named().begin()->second->breaker.snapshot();
  EXPECT_EQ(circuit.in_a_row, 0U);
  EXPECT_EQ(circuit.calls, 0U);
  EXPECT_EQ(status(id), Status::archived);
  const auto rows = must(office().get(id)).attempts;
  ASSERT_EQ(rows.size(), 2U) << "its start is counted, so it is among the attempts";
  EXPECT_EQ(rows.front().error_text, "stopped");
}

}  // namespace
}  // namespace dlo::testing
