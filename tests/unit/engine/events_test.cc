// What an observer hears, and in which order.

#include <algorithm>

#include "faults.h"
#include "gate.h"
#include "world.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

/// Writes down everything as words.
class Observer final : public EngineEvents {
 public:
  void received(std::size_t count) override { note("received " + std::to_string(count)); }
  void started(const Message& message, const Counters& counters) override {
    note("started " + message.id + " " + std::to_string(counters.attempt));
  }
  void succeeded(const Message& message, const Counters&, Millis) override {
    note("succeeded " + message.id);
  }
  void failed(const Message& message, const Failure& failure, const Decision& decision,
              Millis) override {
    note("failed " + message.id + ": " + failure.text + " -> " +
         std::string(name_of(decision.verdict)));
  }
  void retried(const Message& message, const RetryAt& when) override {
    note("retried " + message.id + " " + std::string(name_of(when.placement)));
  }
  void dead_lettered(const DeadLetter& record) override {
    note("dead " + record.message->id + " " + record.reason);
  }
  void repeated(const Message& message, const RecordId&) override {
    note("repeated " + message.id);
  }
  void dropped(const Message& message, std::string_view) override { note("dropped " + message.id); }
  void released(const Message& message) override { note("released " + message.id); }
  void lease_lost(const Message& message) override { note("lost " + message.id); }
  void suspect_started(const Message& message) override { note("suspect " + message.id); }
  void handler_timed_out(const Message& message, bool thread_lost) override {
    note("timed out " + message.id + (thread_lost ? " with its thread" : ""));
  }
  void store_down(const Error&) override { note("store down"); }
  void store_up() override { note("store up"); }
  void source_down(const Error&) override { note("source down"); }
  void source_up() override { note("source up"); }
  void breaker_moved(std::string_view handler, BreakerState state) override {
    note("breaker " + std::string(handler) + " " + std::string(name_of(state)));
  }

  std::vector<std::string> heard() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  bool has(const std::string& note) {
    const auto notes = heard();
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  }

 private:
  void note(std::string text) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(text));
  }
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

using Notes = std::vector<std::string>;

struct Observed : ::testing::Test {
  World world;
  Observer observer;
  Observed() { world.events = &observer; }
};

TEST_F(Observed, AGoodMessage) {
  world.on_every([](const Message&, const RunContext&) { return ok(); });
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(observer.heard(), (Notes{"received 1", "started m 1", "succeeded m"}));
}

TEST_F(Observed, AMessageThatIsRetriedAndDies) {
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    return failed("E", ++runs == 1 ? "network unreachable" : "forbidden, password=hunter2hunter2");
  });
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(
      observer.heard(),
      (Notes{"received 1", "started m 1", "failed m: network unreachable -> retry",
             "retried m requeue", "received 1", "started m 2",
             "failed m: forbidden, password=*** -> dead_letter", "dead m NonRetryableError"}));
}

TEST_F(Observed, AMessageThatWaitsInTheOffice) {
  world.rules = rules_of("workflow");
  world.on_every([](const Message&, const RunContext&) { return failed("E", "timeout"); });
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(observer.heard(), (Notes{"received 1", "started m 1", "failed m: timeout -> retry",
                                     "retried m in_office"}));
}

TEST_F(Observed, ADeathIsHeardOfOnlyWhenItIsDurable) {
  bool office_down = true;
  FlakyOffice office(world.office, [&](const char*) -> std::optional<Fault> {
    if (office_down) return Fault{down("test.office")};
    return std::nullopt;
  });
  world.kept_in = &office;
  world.on_every([](const Message&, const RunContext&) { return failed("E", "forbidden"); });
  world.publish("m");
  auto processor = world.processor();
  processor->drain();
  processor->drain();
  EXPECT_FALSE(observer.has("dead m NonRetryableError"));
  office_down = false;
  processor->drain();
  EXPECT_EQ(observer.heard(),
            (Notes{"received 1", "started m 1", "failed m: forbidden -> dead_letter", "store down",
                   "store up", "dead m NonRetryableError"}))
      << "down and up once, however often it was tried";
}

TEST_F(Observed, ALegalLoss) {  // R8
  world.rules = rules_of("booking");
  world.validators.push_back(std::make_shared<FunctionValidator>(Stage::decode, [](const Message&) {
    return std::optional<Failure>(failed("Invalid", "no data").failure);
  }));
  world.on_every([](const Message&, const RunContext&) { return ok(); });
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(observer.heard(), (Notes{"received 1", "dropped m"}));
}

TEST_F(Observed, AMessageThatWasCutOffRunsAlone) {  // R7
  world.on_every([](const Message&, const RunContext&) { return failed("E", "forbidden"); });
  world.publish("m");
  const auto taken = must(world.broker.receive({1, 1s, {}}, world.clock.now()));
  must(world.broker.start(std::vector<LeaseToken>{taken[0].lease}, world.clock.now()));
  world.clock.advance(2s);
  world.processor()->drain();
  EXPECT_EQ(observer.heard(),
            (Notes{"received 1", "suspect m", "started m 2", "failed m: forbidden -> dead_letter",
                   "dead m NonRetryableError"}));
}

TEST_F(Observed, AnOpenCircuitGivesBack) {
  BreakerPolicy policy;
  policy.consecutive = 1;
  world.on_every([](const Message&, const RunContext&) { return failed("E", "timed out"); },
                 {.name = "billing", .breaker = policy});
  world.rules = rules_of("booking");
  world.publish_many(2);
  world.processor()->drain();
  EXPECT_EQ(observer.heard(),
            (Notes{"received 2", "started m0 1", "breaker billing open",
                   "failed m0: timed out -> retry", "retried m0 requeue", "released m1"}));
}

TEST_F(Observed, ASourceThatIsAwayForAWhile) {
  bool source_down = true;
  FlakyBroker broker(world.broker, [&](const char*) -> std::optional<Fault> {
    if (source_down) return Fault{down("test.source")};
    return std::nullopt;
  });
  world.source = &broker;
  world.on_every([](const Message&, const RunContext&) { return ok(); });
  auto processor = world.processor();
  processor->drain();
  processor->drain();
  source_down = false;
  processor->drain();
  EXPECT_EQ(observer.heard(), (Notes{"source down", "source up"}));
}

TEST_F(Observed, AHandlerThatTakesTooLong) {
  Gate gate;
  world.rules = rules_of("kafka");
  world.options.handler_timeout = 10s;
  world.on_every([&](const Message& message, const RunContext& context) {
    if (message.id == "listens") gate.pass_or_stop(context.stop);
    if (message.id == "ignores") gate.pass();
    return ok();
  });
  world.publish("listens");
  world.publish("ignores");
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 2; }));
  EXPECT_TRUE(eventually(world.clock, 1s, [&] {
    return observer.has("timed out listens") && observer.has("timed out ignores with its thread");
  }));
  gate.open();
  EXPECT_TRUE(eventually([&] { return processor->stats().threads_lost == 0; }));
}

TEST_F(Observed, ALeaseThatWasLost) {
  world.on_every([&](const Message&, const RunContext&) {
    must(world.broker.end_all_leases(world.clock.now()));
    must(world.broker.pause());
    return ok();
  });
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(observer.heard(), (Notes{"received 1", "started m 1", "succeeded m", "lost m"}));
}

TEST_F(Observed, AMessageTheOfficeHasAlready) {  // R2
  world.on_every([](const Message&, const RunContext&) { return failed("E", "forbidden"); });
  world.publish("m");
  bool lose = true;
  FlakyBroker broker(world.broker, [&](const char* call) -> std::optional<Fault> {
    if (lose && std::string_view(call) == "settle") return Fault{down("test.source")};
    return std::nullopt;
  });
  world.source = &broker;
  world.processor()->drain();  // durable, but its source never heard of it
  lose = false;
  world.clock.advance(2h);
  world.processor()->drain();
  EXPECT_EQ(observer.heard().back(), "repeated m");
  EXPECT_EQ(world.records().size(), 1U);
}

}  // namespace
}  // namespace dlo::testing
