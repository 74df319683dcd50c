// What a handler may answer besides ok and failed, and what it throws.

#include <stdexcept>

#include "gate.h"
#include "world.h"

#include "dlo/engine/capture.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

Outcome never_started() {
  return {OutcomeKind::never_started, {}};
}
Outcome crashed(std::string text) {
  Outcome outcome = failed("WorkerLost", std::move(text));
  outcome.kind = OutcomeKind::crashed;
  return outcome;
}

TEST(NeverStarted, CostsNeitherClaimNorStartHoweverOften) {
  World world;  // service-bus: three deliveries and it is poison
  int offered = 0;
  world.on_every([&](const Message&, const RunContext& context) {
    EXPECT_EQ(context.counters.attempt, 1U);
    EXPECT_EQ(context.counters.fetch, 1U);
    return ++offered < 20 ? never_started() : ok();
  });
  world.publish("m");
  auto processor = world.processor();
  for (int i = 0; i < 100 && processor->stats().succeeded == 0; ++i) {
    processor->drain();
    world.clock.advance(100ms);
  }
  EXPECT_EQ(offered, 20);
  EXPECT_EQ(world.source_stats().completed, 1U);
  EXPECT_TRUE(world.records().empty());
}

TEST(NeverStarted, IsNotAskedAgainAtOnce) {
  World world;
  int offered = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++offered;
    return never_started();
  });
  world.publish("m");
  auto processor = world.processor();
  for (int i = 0; i < 50; ++i) processor->drain();
  EXPECT_EQ(offered, 1);
  world.clock.advance(1s);
  for (int i = 0; i < 50; ++i) processor->drain();
  EXPECT_EQ(offered, 2);
}

TEST(NeverStarted, IsGivenBackByAStop) {
  World world;
  std::atomic<int> offered{0};
  world.on_every([&](const Message&, const RunContext&) {
    ++offered;
    return never_started();
  });
  world.publish("m");
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return offered == 1; }));
  EXPECT_TRUE(running.stop(1s).clean());
  const auto back = must(world.broker.receive({1, 1s, {}}, world.clock.now()));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].counters.attempt, 0U);
  EXPECT_EQ(back[0].counters.fetch, 1U) << "only the claim just made";
}

TEST(NeverStarted, IsNoTryOfTheInnerPipeline) {
  World world;
  Profile profile = must(find_profile("booking"));
  profile.inner.retries = 5;
  world.rules = rules_of(profile);
  int offered = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++offered;
    return never_started();
  });
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(offered, 1);
}

TEST(NeverStarted, OfAMessageSomebodyHoldsIsAnsweredAsGivenBack) {
  World world;
  world.on_every([](const Message&, const RunContext&) { return never_started(); });
  auto processor = world.processor();
  const Processed answer = must(processor->process_one(std::make_shared<Message>()));
  EXPECT_EQ(answer.decision.verdict, Verdict(GiveBack{}));
  EXPECT_EQ(answer.decision.counters, Counters{});
  EXPECT_TRUE(world.records().empty());
}

TEST(Crashed, CountsAsTheProfileSaysAndIsRecordedAsWhatItWas) {  // D5
  World world;
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    return crashed("the worker fell silent");
  });
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(runs, 3) << "service-bus counts deliveries, however they end";
  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.category, "crash");
  EXPECT_EQ(record.failure.text, "the worker fell silent");
  for (const Attempt& attempt : world.attempts_of(record)) {
    EXPECT_EQ(attempt.outcome, OutcomeKind::crashed);
  }
}

// --- what is thrown

Failure caught(const std::function<void()>& thrower) {
  FunctionHandler handler([&](const Message&, const RunContext&) {
    thrower();
    return ok();
  });
  const Outcome outcome = run_captured(handler, Message{}, RunContext{});
  EXPECT_EQ(outcome.kind, OutcomeKind::failed);
  return outcome.failure;
}

struct OrderRejected : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST(Thrown, AnExceptionIsNamedByItsTypeAndItsText) {  // I5
  const Failure failure = caught([] { throw OrderRejected("no such customer"); });
  EXPECT_EQ(failure.type.substr(failure.type.rfind(':') + 1), "OrderRejected");
  EXPECT_EQ(failure.text, "no such customer");
  EXPECT_TRUE(failure.causes.empty());
}

TEST(Thrown, NestedExceptionsAreTheCausesOutermostFirst) {
  const Failure failure = caught([] {
    try {
      try {
        throw std::out_of_range("index 7");
      } catch (...) {
        std::throw_with_nested(std::invalid_argument("bad line"));
      }
    } catch (...) {
      std::throw_with_nested(std::runtime_error("cannot read the order"));
    }
  });
  EXPECT_EQ(failure.type, "std::runtime_error");
  EXPECT_EQ(failure.text, "cannot read the order");
  EXPECT_EQ(failure.causes, (std::vector<Cause>{{"std::invalid_argument", "bad line"},
                                                {"std::out_of_range", "index 7"}}));
}

TEST(Thrown, AnEndlessChainOfCausesIsCut) {
  const Failure failure = caught([] {
    std::exception_ptr inner = std::make_exception_ptr(std::runtime_error("0"));
    for (int i = 1; i < 100; ++i) {
      try {
        try {
          std::rethrow_exception(inner);
        } catch (...) {
          std::throw_with_nested(std::runtime_error(std::to_string(i)));
        }
      } catch (...) {
        inner = std::current_exception();
      }
    }
    std::rethrow_exception(inner);
  });
  EXPECT_EQ(failure.text, "99");
  EXPECT_EQ(failure.causes.size(), 32U);
}

TEST(Thrown, WhatIsNoExceptionIsKeptAsFarAsItSpeaks) {
  EXPECT_EQ(caught([] { throw std::string("plain text"); }).text, "plain text");
  EXPECT_EQ(caught([] { throw "literal"; }).text, "literal");
  EXPECT_EQ(caught([] { throw static_cast<const char*>(nullptr); }).text, "");
  const Failure number = caught([] { throw 42; });
  EXPECT_EQ(number.type, "int");
  EXPECT_EQ(number.text, "threw a value of type int, which says nothing more");
}

TEST(Thrown, TheChainReachesTheRecord) {
  World world;
  world.on_every([](const Message&, const RunContext&) -> Outcome {
    try {
      throw std::runtime_error("forbidden");
    } catch (...) {
      std::throw_with_nested(std::runtime_error("unauthorized"));
    }
  });
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(world.only_record().failure.causes,
            (std::vector<Cause>{{"std::runtime_error", "forbidden"}}));
}

}  // namespace
}  // namespace dlo::testing
