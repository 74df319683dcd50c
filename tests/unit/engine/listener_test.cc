// Owner effects (step 8): after the record, before the source, for as long as it takes.

#include <stdexcept>

#include "faults.h"
#include "world.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

/// Writes down whom it is told of, and does what a test says.
class Owner final : public DeathListener {
 public:
  std::function<Result<void>(const DeadLetter&)> answer = [](const DeadLetter&) {
    return Result<void>{};
  };
  std::vector<std::string> told;
  std::vector<OwnerEffect> effects;

  Result<void> on_death(const DeadLetter& record, OwnerEffect effect) override {
    told.push_back(record.message->id);
    effects.push_back(effect);
    return answer(record);
  }
};

struct Owned : ::testing::Test {
  World world;
  Owner owner;

  Owned() {
    world.listener = &owner;
    world.on_every([](const Message&, const RunContext&) { return failed("E", "forbidden"); });
  }
};

TEST_F(Owned, IsToldAfterTheRecordIsDurableAndBeforeTheSourceIsSettled) {
  owner.answer = [&](const DeadLetter& record) -> Result<void> {
    EXPECT_TRUE(world.office.get(record.id));
    EXPECT_EQ(world.source_stats().leased, 1U);
    EXPECT_EQ(world.source_stats().dead_lettered, 0U);
    return {};
  };
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(owner.told, (std::vector<std::string>{"m"}));
  EXPECT_EQ(world.source_stats().dead_lettered, 1U);
}

TEST_F(Owned, IsToldTheEffectOfTheProfile) {
  Profile profile = must(find_profile("service-bus"));
  profile.owner_effect = OwnerEffect::permanently_failed;
  world.rules = rules_of(profile);
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(owner.effects, (std::vector<OwnerEffect>{OwnerEffect::permanently_failed}));
}

TEST_F(Owned, ThatCannotBeToldKeepsItsMessageAtTheSourceAndIsAskedAgainWithPatience) {
  int calls = 0;
  owner.answer = [&](const DeadLetter&) -> Result<void> {
    if (++calls < 3) return down("test.owner");
    return {};
  };
  world.publish("m");
  auto processor = world.processor();
  for (int i = 0; i < 10; ++i) processor->drain();
  EXPECT_EQ(calls, 1) << "time stands still";
  EXPECT_EQ(world.source_stats().leased, 1U);
  world.clock.advance(100ms);
  processor->drain();
  EXPECT_EQ(calls, 2);
  world.clock.advance(100ms);
  processor->drain();
  EXPECT_EQ(calls, 2) << "twice as long this time";
  world.clock.advance(100ms);
  processor->drain();
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(world.source_stats().dead_lettered, 1U);
  EXPECT_EQ(world.records().size(), 1U);
}

TEST_F(Owned, ThatThrowsIsAskedAgain) {
  int calls = 0;
  owner.answer = [&](const DeadLetter&) -> Result<void> {
    if (++calls == 1) throw std::runtime_error("the owner's database is away");
    return {};
  };
  world.publish("m");
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(world.source_stats().leased, 1U);
  world.clock.advance(1s);
  processor->drain();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(world.source_stats().dead_lettered, 1U);
}

TEST_F(Owned, ThatCannotBeToldHoldsUpNobodyElse) {
  owner.answer = [](const DeadLetter& record) -> Result<void> {
    if (record.message->id == "m0") return down("test.owner");
    return {};
  };
  world.publish_many(5);
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(world.source_stats().dead_lettered, 4U);
  EXPECT_EQ(world.source_stats().leased, 1U);
  EXPECT_EQ(processor->stats().intake_stopped_because, "");
}

TEST_F(Owned, IsToldAgainOfADeathWhoseSettlementACrashLost) {  // a repeat of a dead letter
  world.publish("m");
  world.processor()->drain();
  // The same message once more, as if its settlement had never reached the source.
  MemoryBroker again(named("orders"), broker_epoch);
  auto message = std::make_shared<Message>(*world.only_record().message);
  message->position.reset();
  must(again.publish(std::vector<Publication>{{message, {}, {}, {}}}, world.clock.now()));
  must(again.receive({1, 1s, {}}, world.clock.now()));
  world.clock.advance(2s);
  world.source = &again;
  owner.told.clear();
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(processor->stats().repeated, 1U);
  EXPECT_EQ(owner.told, (std::vector<std::string>{"m"}));
  EXPECT_EQ(world.records().size(), 1U);
}

TEST_F(Owned, IsNotToldOfAMessageThatOnlyWaits) {  // R9: it lives
  world.rules = rules_of("workflow");
  world.on_every([](const Message&, const RunContext&) { return failed("E", "busy"); });
  world.publish("m");
  world.processor()->drain();
  EXPECT_EQ(world.records({Status::waiting}).size(), 1U);
  EXPECT_TRUE(owner.told.empty());
}

TEST_F(Owned, ThatCannotBeToldOfAReportedDeathIsTheCallersToKnow) {
  owner.answer = [](const DeadLetter&) -> Result<void> { throw std::runtime_error("away"); };
  auto processor = world.processor();
  const auto message = std::make_shared<Message>(Message{.id = "held"});
  const auto report = [&] {
    return processor->route_failure(message, failed("E", "forbidden").failure,
                                    RuleBook::started({}));
  };
  const auto answer = report();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().detail, "std::runtime_error: away");
  owner.answer = [](const DeadLetter&) { return Result<void>{}; };
  EXPECT_TRUE(report());
  EXPECT_EQ(world.records().size(), 1U) << "reported twice, recorded once";
}

/// Takes many at once.
class Batched final : public DeathListener {
 public:
  std::vector<std::size_t> sizes;
  std::string refused;

  Result<void> on_death(const DeadLetter&, OwnerEffect) override {
    ADD_FAILURE() << "it takes many at once";
    return {};
  }
  std::vector<Result<void>> on_deaths(std::span<const DeadLetter* const> records,
                                      OwnerEffect) override {
    sizes.push_back(records.size());
    if (refused == "all") throw std::runtime_error("no");
    std::vector<Result<void>> answers(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (records[i]->message->id == refused) answers[i] = down("test.owner");
    }
    return answers;
  }
};

TEST_F(Owned, WhoTakesManyAtOnceIsToldOfManyAtOnce) {
  Batched batched;
  world.listener = &batched;
  world.publish_many(3);
  world.processor()->drain();
  EXPECT_EQ(batched.sizes, std::vector<std::size_t>{3});
  EXPECT_EQ(world.source_stats().dead_lettered, 3U);
}

TEST_F(Owned, OneThatIsRefusedHoldsUpNoOther) {
  Batched batched;
  batched.refused = "m1";
  world.listener = &batched;
  world.publish_many(3);
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(world.source_stats().dead_lettered, 2U);
  EXPECT_EQ(world.source_stats().leased, 1U);
  batched.refused = "all";
  world.clock.advance(100ms);
  processor->drain();
  EXPECT_EQ(world.source_stats().leased, 1U) << "a throw is a refusal";
  batched.refused.clear();
  world.clock.advance(200ms);
  processor->drain();
  EXPECT_EQ(world.source_stats().dead_lettered, 3U);
  EXPECT_EQ(batched.sizes, (std::vector<std::size_t>{3, 1, 1}));
}

}  // namespace
}  // namespace dlo::testing
