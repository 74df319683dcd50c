// R26: what is a secret in an error is nowhere in the office, whichever way the message dies.

#include "world.h"

#include "dlo/engine/validator.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* leaky = "cannot connect with password=hunter2hunter2 to db-1";

/// Everything a record says, in one text.
std::string all_of(World& world) {
  std::string text;
  for (const DeadLetter& record : world.records()) {
    text += record.failure.text + "|" + record.description + "|" + record.failure.stack;
    text += record.failure.type + "|" + record.failure.code + "|" + record.reason;
    for (const Cause& cause : record.failure.causes) text += "|" + cause.type + "|" + cause.text;
    for (const Attempt& attempt : world.attempts_of(record)) {
      text += "|" + attempt.error_type + "|" + attempt.error_text;
    }
    text += record.fingerprint.title;
  }
  return text;
}

void expect_no_secret(World& world) {
  const std::string text = all_of(world);
  EXPECT_NE(text.find("password=***"), std::string::npos) << text;
  EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
}

TEST(Secrets, OfAFailureThatEndsItAreNotKept) {
  World world;
  world.on_every([](const Message&, const RunContext&) {
    Outcome outcome = failed("E", std::string("forbidden: ") + leaky);
    outcome.failure.type = leaky;
    outcome.failure.code = leaky;
    outcome.failure.stack = leaky;
    outcome.failure.causes = {{leaky, leaky}};
    return outcome;
  });
  world.publish("m");
  world.processor()->drain();
  expect_no_secret(world);
}

TEST(Secrets, OfEveryEarlierAttemptAreNotKept) {
  World world;
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    return failed("E", ++runs < 3 ? leaky : "forbidden");
  });
  world.publish("m");
  world.processor()->drain();
  ASSERT_EQ(runs, 3);
  expect_no_secret(world);
}

TEST(Secrets, OfAnInvalidMessageAreNotKept) {
  World world;
  world.on_every([](const Message&, const RunContext&) { return ok(); });
  world.validators.push_back(std::make_shared<FunctionValidator>(Stage::schema, [](const Message&) {
    return std::optional<Failure>(failed("SchemaViolation", leaky).failure);
  }));
  world.publish("m");
  world.processor()->drain();
  expect_no_secret(world);
}

TEST(Secrets, OfWhatABrokerRemembersAreNotKept) {  // poison before it runs, quoting its last error
  World world;
  Profile profile = must(find_profile("service-bus"));
  profile.pre_check->description = "gave up: {error}";
  world.rules = rules_of(profile);
  world.on_every([](const Message&, const RunContext&) { return ok(); });
  world.publish("m");
  for (int i = 0; i < 3; ++i) {  // somebody else's consumer, with words of its own
    const auto taken = must(world.broker.receive({1, 1min, {}}, world.clock.now()));
    ASSERT_EQ(taken.size(), 1U);
    Failed ending;
    ending.counters = taken[0].counters;
    ending.error = leaky;
    must(world.broker.settle(std::vector<Settlement>{{taken[0].lease, ending}}, world.clock.now()));
  }
  world.processor()->drain();
  expect_no_secret(world);
}

TEST(Secrets, OfAMessageThatIsRetriedAreNotGivenToItsBroker) {
  World world;
  world.rules = rules_of("kafka");
  world.on_every([](const Message&, const RunContext&) { return failed("E", leaky); });
  world.publish("m");
  world.processor()->drain();
  world.clock.advance(10s);
  const auto back = must(world.broker.receive({1, 1min, {}}, world.clock.now()));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_NE(back[0].last_error.find("password=***"), std::string::npos) << back[0].last_error;
  EXPECT_EQ((back[0].last_error + back[0].trail).find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace dlo::testing
