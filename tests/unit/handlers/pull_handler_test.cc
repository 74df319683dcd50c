#include "dlo/engine/handlers/pull_handler.h"

#include <atomic>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "unit/handlers/world.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using dlo::testing::context_of_first_attempt;
using dlo::testing::eventually;

constexpr PullOptions patient{60s, 60s, 100};

Message message_with(std::string payload) {
  Message message;
  message.source = "orders";
  message.payload = std::move(payload);
  return message;
}

/// A run of its own, on a thread of its own, as the engine has it.
class Running {
 public:
  Running(PullHandler& handler, std::string payload, RunContext context)
      : message_(message_with(std::move(payload))),
        context_(std::move(context)),
        outcome_(std::async(std::launch::async,
                            [this, &handler] { return handler.run(message_, context_); })) {}
  Outcome outcome() { return outcome_.get(); }
  bool is_done() { return outcome_.wait_for(0s) == std::future_status::ready; }

 private:
  Message message_;
  RunContext context_;
  std::future<Outcome> outcome_;
};

Outcome failed_with(const std::string& text) {
  Outcome outcome{OutcomeKind::failed, {}};
  outcome.failure.text = text;
  return outcome;
}

TEST(Pull, AWorkerGetsTheMessageAndItsOutcomeEndsTheRun) {
  PullHandler handler(patient);
  Running run(handler, "hello", context_of_first_attempt());
  const auto work = handler.next(10, 30s);
  ASSERT_EQ(work.size(), 1U);
  EXPECT_EQ(work[0].message->payload, "hello");
  EXPECT_EQ(work[0].id, context_of_first_attempt().id);
  EXPECT_EQ(work[0].counters.attempt, 1U);
  EXPECT_FALSE(run.is_done());
  EXPECT_EQ(handler.stats().held, 1U);
  EXPECT_TRUE(handler.finish(work[0].token, failed_with("bad order")));
  EXPECT_EQ(run.outcome(), failed_with("bad order"));
  EXPECT_EQ(handler.stats().held, 0U);
}

TEST(Pull, OldestOffersAreTakenFirstInABatch) {
  PullHandler handler(patient);
  std::vector<std::unique_ptr<Running>> runs;
  for (const char* name : {"a", "b", "c"}) {
    runs.push_back(std::make_unique<Running>(handler, name, context_of_first_attempt()));
    ASSERT_TRUE(eventually([&] { return handler.stats().waiting == runs.size(); }));
  }
  const auto work = handler.next(2, 0ms);
  ASSERT_EQ(work.size(), 2U);
  EXPECT_EQ(work[0].message->payload, "a");
  EXPECT_EQ(work[1].message->payload, "b");
  for (const auto& each : work) EXPECT_TRUE(handler.finish(each.token, {}));
  handler.close();
  EXPECT_EQ(runs[0]->outcome().kind, OutcomeKind::ok);
  EXPECT_EQ(runs[2]->outcome().kind, OutcomeKind::never_started);
}

TEST(Pull, AMessageNobodyTakesWasNeverStarted) {
  PullHandler handler({20ms, 60s, 100});
  Running run(handler, "x", context_of_first_attempt());
  EXPECT_EQ(run.outcome().kind, OutcomeKind::never_started);
  EXPECT_TRUE(handler.next(1, 0ms).empty());
}

TEST(Pull, StopBeforeAWorkerCameCostsNothing) {
  PullHandler handler(patient);
  std::stop_source source;
  auto context = context_of_first_attempt();
  context.stop = source.get_token();
  Running run(handler, "x", context);
  ASSERT_TRUE(eventually([&] { return handler.stats().waiting == 1; }));
  source.request_stop();
  EXPECT_EQ(run.outcome().kind, OutcomeKind::never_started);
  EXPECT_EQ(handler.stats().waiting, 0U);
}

TEST(Pull, StopWhileAWorkerHasItIsAFailureAndTheWorkerIsTold) {
  PullHandler handler(patient);
  std::stop_source source;
  auto context = context_of_first_attempt();
  context.stop = source.get_token();
  Running run(handler, "x", context);
  const auto work = handler.next(1, 30s);
  ASSERT_EQ(work.size(), 1U);
  source.request_stop();
  const Outcome outcome = run.outcome();
  EXPECT_EQ(outcome.kind, OutcomeKind::failed);
  EXPECT_EQ(outcome.failure.code, "stopped");
  EXPECT_FALSE(handler.finish(work[0].token, {}));
}

TEST(Pull, AWorkerThatFallsSilentIsACrash) {
  PullHandler handler({60s, 30ms, 100});
  Running run(handler, "x", context_of_first_attempt());
  const auto work = handler.next(1, 30s);
  ASSERT_EQ(work.size(), 1U);
  const Outcome outcome = run.outcome();
  EXPECT_EQ(outcome.kind, OutcomeKind::crashed);
  EXPECT_EQ(outcome.failure.type, "WorkerLost");
  EXPECT_EQ(outcome.failure.code, "lease_expired");
  EXPECT_FALSE(handler.finish(work[0].token, {})) << "a late waker must not settle";
  EXPECT_FALSE(handler.extend(work[0].token, 60s));
  EXPECT_EQ(*work[0].message->payload, "x") << "the worker keeps its copy";
}

TEST(Pull, AnExtendedLeaseIsNotLost) {
  PullHandler handler({60s, 500ms, 100});
  Running run(handler, "x", context_of_first_attempt());
  const auto work = handler.next(1, 30s);
  ASSERT_EQ(work.size(), 1U);
  ASSERT_TRUE(handler.extend(work[0].token, 60s));
  const auto first_lease_end = std::chrono::steady_clock::now() + 550ms;
  EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > first_lease_end; }));
  EXPECT_FALSE(run.is_done());
  EXPECT_TRUE(handler.finish(work[0].token, {}));
  EXPECT_EQ(run.outcome(), Outcome{});
}

TEST(Pull, ALeaseCanBeShortened) {
  PullHandler handler(patient);
  Running run(handler, "x", context_of_first_attempt());
  const auto work = handler.next(1, 30s);
  ASSERT_EQ(work.size(), 1U);
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(handler.extend(work[0].token, 10ms));
  EXPECT_EQ(run.outcome().kind, OutcomeKind::crashed);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
}

TEST(Pull, TheTimeoutCountsFromTheTaking) {
  PullHandler handler(patient);
  auto context = context_of_first_attempt();
  context.timeout = 50ms;
  Running run(handler, "x", context);
  const auto past_timeout = std::chrono::steady_clock::now() + 80ms;
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > past_timeout; }));
  const auto work = handler.next(1, 30s);
  ASSERT_EQ(work.size(), 1U) << "waiting for a worker is no part of the run";
  const Outcome outcome = run.outcome();
  EXPECT_EQ(outcome.kind, OutcomeKind::failed);
  EXPECT_EQ(outcome.failure.code, "timed_out");
}

TEST(Pull, ForeignStaleAndUsedTokensChangeNothing) {
  PullHandler handler(patient);
  EXPECT_FALSE(handler.finish(LeaseToken{{1, 2}}, {}));
  Running run(handler, "x", context_of_first_attempt());
  const auto work = handler.next(1, 30s);
  ASSERT_EQ(work.size(), 1U);
  LeaseToken forged = work[0].token;
  forged.low += 1;
  EXPECT_FALSE(handler.finish(forged, {}));
  forged = work[0].token;
  forged.high += 1;
  EXPECT_FALSE(handler.extend(forged, 1s));
  EXPECT_TRUE(handler.finish(work[0].token, failed_with("first")));
  EXPECT_FALSE(handler.finish(work[0].token, {}));
  EXPECT_EQ(run.outcome(), failed_with("first"));
}

TEST(Pull, AWorkerMayGiveAMessageBackUnrun) {
  PullHandler handler(patient);
  Running run(handler, "x", context_of_first_attempt());
  const auto work = handler.next(1, 30s);
  ASSERT_EQ(work.size(), 1U);
  EXPECT_TRUE(handler.finish(work[0].token, {OutcomeKind::never_started, {}}));
  EXPECT_EQ(run.outcome().kind, OutcomeKind::never_started);
}

TEST(Pull, TooManyWaitingAreGivenBackAtOnce) {
  PullHandler handler({60s, 60s, 1});
  Running first(handler, "1", context_of_first_attempt());
  ASSERT_TRUE(eventually([&] { return handler.stats().waiting == 1; }));
  Running second(handler, "2", context_of_first_attempt());
  EXPECT_EQ(second.outcome().kind, OutcomeKind::never_started);
  const auto work = handler.next(1, 30s);
  ASSERT_EQ(work.size(), 1U);
  EXPECT_TRUE(handler.finish(work[0].token, {}));
  EXPECT_EQ(first.outcome(), Outcome{});
}

TEST(Pull, NextWaitsForWorkAndGivesUpInTime) {
  PullHandler handler(patient);
  EXPECT_TRUE(handler.next(1, 10ms).empty());
  auto waiting = std::async(std::launch::async, [&] { return handler.next(1, 60s); });
  Running run(handler, "x", context_of_first_attempt());
  const auto work = waiting.get();
  ASSERT_EQ(work.size(), 1U);
  EXPECT_TRUE(handler.finish(work[0].token, {}));
  EXPECT_EQ(run.outcome(), Outcome{});
}

TEST(Pull, CloseAndStopWakeWaitingWorkers) {
  PullHandler handler(patient);
  std::stop_source source;
  auto stopped =
      std::async(std::launch::async, [&] { return handler.next(1, 600s, source.get_token()); });
  auto closed = std::async(std::launch::async, [&] { return handler.next(1, 600s); });
  source.request_stop();
  EXPECT_TRUE(stopped.get().empty());
  handler.close();
  EXPECT_TRUE(closed.get().empty());
  EXPECT_EQ(handler.run(message_with("x"), context_of_first_attempt()).kind,
            OutcomeKind::never_started);
}

TEST(Pull, EightWorkersAndEightRunsMeetExactlyOncePerMessage) {
  PullHandler handler(patient);
  constexpr int per_thread = 200;
  std::mutex mutex;
  std::map<std::string, int> seen;
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < 8; ++t) {
      workers.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          for (const auto& work : handler.next(3, 60s, stop)) {
            {
              const std::lock_guard lock(mutex);
              ++seen[*work.message->payload];
            }
            EXPECT_TRUE(handler.finish(work.token, failed_with(*work.message->payload)));
          }
        }
      });
    }
    std::vector<std::jthread> engines;
    for (int t = 0; t < 8; ++t) {
      engines.emplace_back([&, t] {
        for (int i = 0; i < per_thread; ++i) {
          const std::string name = std::to_string(t) + "." + std::to_string(i);
          const Outcome outcome = handler.run(message_with(name), context_of_first_attempt());
          if (outcome == failed_with(name)) ++right;
        }
      });
    }
    engines.clear();
  }
  EXPECT_EQ(right, 8 * per_thread);
  EXPECT_EQ(seen.size(), 8U * per_thread);
  for (const auto& [name, times] : seen) EXPECT_EQ(times, 1) << name;
}

TEST(Pull, RunsThatEndWhileWorkersCopyLeaveNothingBehind) {
  PullHandler handler({1ms, 60s, 1'000});
  std::atomic<int> taken{0};
  std::atomic<int> returned{0};
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < 4; ++t) {
      workers.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          for (const auto& work : handler.next(1, 5ms, stop)) {
            EXPECT_EQ(work.message->payload->size(), 300'000U);
            taken += handler.finish(work.token, {}) ? 1 : 0;
          }
        }
      });
    }
    std::vector<std::jthread> engines;
    for (int t = 0; t < 4; ++t) {
      engines.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          const auto outcome =
              handler.run(message_with(std::string(300'000, 'x')), context_of_first_attempt());
          if (outcome.kind == OutcomeKind::ok) ++returned;
        }
      });
    }
    engines.clear();
  }
  EXPECT_EQ(taken, returned);
  EXPECT_EQ(handler.stats().waiting + handler.stats().held, 0U);
}

}  // namespace
}  // namespace dlo
