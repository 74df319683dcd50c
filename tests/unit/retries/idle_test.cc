// A processor with nothing due sleeps: no thread of it has an appointment (S2-46, S2-47).

#include <atomic>

#include "retry_room.h"

namespace dlo::testing {
namespace {

/// Time stands still, unless somebody sets it. Whoever waits for a moment that is far away waits
/// for a call alone, so while `asleep` threads do so nothing but a call can wake them.
class StandingClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override { return noon + ahead.load(); }
  [[nodiscard]] std::chrono::nanoseconds ticks() const noexcept override { return Millis{0}; }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv,
                  TimePoint deadline) const override {
    if (deadline < now() + 30min) {
      cv.wait_for(lock, std::chrono::microseconds{200});
      return;
    }
    ++asleep;
    cv.wait(lock);
    --asleep;
  }
  mutable std::atomic<int> asleep{0};
  std::atomic<Millis> ahead{Millis{0}};
};

class IdleProcessor : public ::testing::Test {
 protected:
  /// Who keeps leases, who fetches, who records and who takes back what others left. Settling and
  /// running wait for work anyway.
  static constexpr int watchful_threads = 4;

  RecordId report(const std::string& task_id, const std::string& policy) {
    auto task = std::make_shared<Message>();
    task->id = task_id;
    task->source = "workflows";
    task->payload = "{}";
    put_request(task->headers, {must(parse_workflow_policy(policy)), 3});
    Report report;
    report.message = task;
    report.failure.text = "timeout";
    report.counters = RuleBook::started({});
    ReportDesk desk(office, must(shelf.find("workflow", *task)), {}, clock);
    return must(desk.report({std::move(report)})).at(0).record.value();
  }
  bool all_asleep() {
    return eventually([&] { return clock.asleep == watchful_threads; });
  }

  StandingClock clock;
  MemoryOffice kept;
  DueTimer timer{clock};
  SchedulingOffice office{kept, timer};
  RuleShelf shelf{ProfileBook{}};
  Executors executors{"llamaindex"};
};

TEST_F(IdleProcessor, NoThreadHasAnAppointmentWhileNothingIsDue) {
  std::atomic<int> runs{0};
  executors.set("llamaindex",
                std::make_shared<FunctionHandler>([&](const Message&, const RunContext&) {
                  ++runs;
                  return works();
                }),
                {});
  for (int i = 0; i < 20; ++i) report("later " + std::to_string(i), "fixed base=2h");
  auto processor = must(RetryProcessor::make({office, timer, shelf, executors, clock}, {}));
  processor->start();
  EXPECT_TRUE(all_asleep()) << clock.asleep << " of " << watchful_threads;

  const RecordId now = report("now", "immediate");
  EXPECT_TRUE(eventually([&] { return must(office.get(now)).record.status == Status::resolved; }))
      << "whoever schedules something wakes them";
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(eventually([&] { return processor->stats().in_flight == 0; }));
  EXPECT_TRUE(processor->stop().clean()) << "and so does a stop";
}

TEST_F(IdleProcessor, TheyGoToSleepAgainWhenEverythingHasRun) {
  std::atomic<int> runs{0};
  executors.set("llamaindex",
                std::make_shared<FunctionHandler>([&](const Message&, const RunContext&) {
                  ++runs;
                  return runs < 3 ? fails("timeout") : works();
                }),
                {});
  RetryOptions options;
  options.lease_for = 1h;  // the office is asked again when a lease would have ended
  auto processor = must(RetryProcessor::make({office, timer, shelf, executors, clock}, options));
  processor->start();
  EXPECT_TRUE(all_asleep());
  report("now", "immediate");
  EXPECT_TRUE(eventually([&] { return runs == 3; }));
  EXPECT_TRUE(all_asleep()) << clock.asleep << " of " << watchful_threads;
  EXPECT_TRUE(processor->stop().clean());
}

// As where a machine slept: no time has passed for whoever waits, and yet it is three hours later.
TEST_F(IdleProcessor, WhoSleepsHearsSoonThatTheClockWasSetPastWhatIsScheduled) {
  executors.set(
      "llamaindex",
      std::make_shared<FunctionHandler>([](const Message&, const RunContext&) { return works(); }),
      {});
  const RecordId id = report("later", "fixed base=2h");
  RetryOptions options;
  options.take_back_after = 5s;
  auto processor = must(RetryProcessor::make({office, timer, shelf, executors, clock}, options));
  processor->start();
  ASSERT_TRUE(eventually([&] { return clock.asleep == watchful_threads - 1; })) << clock.asleep;
  clock.ahead = 3h;
  EXPECT_TRUE(eventually([&] { return must(office.get(id)).record.status == Status::resolved; }));
  EXPECT_TRUE(processor->stop().clean());
}

}  // namespace
}  // namespace dlo::testing
