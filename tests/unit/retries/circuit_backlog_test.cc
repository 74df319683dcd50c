// Many tasks whose executor's circuit is open: they cost next to nothing, hold up nobody else, and
// come when it closes.

#include <atomic>

#include "retry_room.h"

namespace dlo::testing {
namespace {

constexpr int many = 1'000;

class CircuitBacklog : public RetryRoom {
 protected:
  CircuitBacklog() {
    on(
        "prefect",
        [this](const Message&, const RunContext&) { return well ? works() : fails("busy"); },
        guarded_by(2, 10s));
    on("llamaindex", [](const Message&, const RunContext&) { return works(); });
    for (int n = 0; n < many; ++n) {
      report("wf_" + std::to_string(n), "timeout", ask("fixed base=1m", 1'000),
             R"({"adapter": "prefect"})");
    }
    clock.advance(1min);
    processor().drain();  // two have failed, and everybody else was put off
  }
  std::uint64_t changes() { return must(office().aggregate({})).last_change; }
  std::uint64_t resolved() { return must(office().aggregate({})).lifetime.retry_success; }

  std::atomic<bool> well{false};
};
INSTANTIATE_TEST_SUITE_P(Offices, CircuitBacklog, ::testing::Values("memory", "sqlite"),
                         [](const auto& office) { return std::string(office.param); });

TEST_P(CircuitBacklog, CostsFewWritesHoweverLongTheCircuitIsOpen) {  // S2-2, R21
  const std::uint64_t before = changes();
  pass(1min, 1s);
  EXPECT_LE((changes() - before) / 60, 3 * ask_together) << "a second, of a thousand tasks";
}

TEST_P(CircuitBacklog, IsSentAtOnceWhenTheCircuitClosesByItself) {  // S2-2
  pass(1min, 1s);
  well = true;
  pass(13s, 1s);  // the next probe
  EXPECT_GE(resolved(), many - 20U) << "all but those that were probes meanwhile";
}

TEST_P(CircuitBacklog, HasSomebodyToProbeWithAfterEveryCoolDown) {
  for (int n = 0; n < 20; ++n) {
    const std::uint64_t failed = must(office().aggregate({})).lifetime.retry_failed;
    pass(13s, 1s);
    EXPECT_GT(must(office().aggregate({})).lifetime.retry_failed, failed) << n;
  }
}

}  // namespace
}  // namespace dlo::testing
