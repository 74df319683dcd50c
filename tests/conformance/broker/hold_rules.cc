// Deaths that hold their keys (R10, on_death: hold): who waits, who goes past, and who is told.
#include <algorithm>

#include "conformance/broker/broker_suite.h"

namespace dlo::testing {
namespace {

SourceOptions holding() {
  SourceOptions options;
  options.source = "orders";
  options.on_death = OnDeath::hold;
  return options;
}

Publication sent_again(const std::string& id, const std::string& key) {
  auto message = std::make_shared<Message>();
  message->id = id;
  message->key = key;
  Publication publication;
  publication.message = std::move(message);
  publication.past_hold = true;
  return publication;
}

std::vector<std::string> sorted(std::vector<std::string> keys) {
  std::ranges::sort(keys);
  return keys;
}

TEST_P(BrokerSuite, EveryDeathHoldsItsKeyWhereTheSourceSaysSo) {
  NEEDS(key_order);
  NEEDS(holds);
  open(holding());
  publish("dies", noon, "k");
  publish("waits", noon, "k");
  publish("other", noon, "o");
  publish("none");
  auto got = take(10);
  ASSERT_EQ(ids(got), (Ids{"dies", "other", "none"}));
  for (const Delivery& each : got) settle(each, DeadLettered{});
  EXPECT_TRUE(take(10, noon + 24h).empty());
  EXPECT_EQ(stats().held, 1U);
  publish("without a key");
  EXPECT_EQ(take(10).size(), 1U);
  must(admin().free_key("k"));
  EXPECT_EQ(ids(take(10)), (Ids{"waits"}));
}

TEST_P(BrokerSuite, WhatIsSentAgainGoesPastTheHoldOfItsKey) {
  NEEDS(key_order);
  NEEDS(holds);
  open(holding());
  publish("a", noon, "k");
  publish("b", noon, "k");
  settle(take_one(), DeadLettered{});
  publish(sent_again("a", "k"));
  auto again = take(10);
  ASSERT_EQ(ids(again), (Ids{"a"}));
  EXPECT_EQ(again[0].message->key, "k");
  settle(again[0], DeadLettered{});  // once more: they wait on
  EXPECT_TRUE(take(10).empty());
  publish(sent_again("a", "k"));
  again = take(10);
  ASSERT_EQ(ids(again), (Ids{"a"}));
  settle(again[0], Completed{});  // what that means for its record is not ours to know
  EXPECT_TRUE(take(10).empty());
  must(admin().free_key("k"));
  EXPECT_EQ(ids(take(10)), (Ids{"b"}));
}

TEST_P(BrokerSuite, WhatIsSentAgainStandsInLineWhereNothingIsHeld) {
  NEEDS(key_order);
  NEEDS(holds);
  open(holding());
  publish("runs", noon, "k");
  publish("waits", noon, "k");
  publish(sent_again("a", "k"));
  for (const char* next : {"runs", "waits", "a"}) {
    const auto got = take(10);
    ASSERT_EQ(ids(got), (Ids{next}));
    settle(got[0], Completed{});
  }
}

TEST_P(BrokerSuite, HeldKeysAreToldOfWhileSomebodyWaitsBehindThem) {
  NEEDS(key_order);
  NEEDS(holds);
  open(holding());
  for (const char* key : {"a", "b", "c"}) {
    publish("dies", noon, key);
    settle(take_one(), DeadLettered{});
  }
  EXPECT_TRUE(must(admin().held_keys(0, 10)).empty());
  EXPECT_TRUE(must(admin().hold_on("a")).held);
  EXPECT_EQ(must(admin().hold_on("a")).waiting, 0U);
  EXPECT_FALSE(must(admin().hold_on("d")).held);
  for (const char* key : {"a", "b", "a", "d", "d"}) publish("comes", noon, key);
  EXPECT_EQ(sorted(must(admin().held_keys(0, 10))), (Ids{"a", "b"}));
  EXPECT_EQ(must(admin().hold_on("a")).waiting, 2U);
  EXPECT_FALSE(must(admin().hold_on("d")).held) << "its head is only ready";

  auto one = must(admin().held_keys(0, 1));
  const auto rest = must(admin().held_keys(1, 1));
  ASSERT_EQ(one.size(), 1U);
  one.insert(one.end(), rest.begin(), rest.end());
  EXPECT_EQ(sorted(one), (Ids{"a", "b"}));
  EXPECT_TRUE(must(admin().held_keys(2, 1)).empty());

  must(admin().free_key("a"));
  EXPECT_EQ(must(admin().held_keys(0, 10)), (Ids{"b"}));
  EXPECT_FALSE(must(admin().hold_on("a")).held);
}

TEST_P(BrokerSuite, ARestartKeepsWhatWentPastAHold) {
  NEEDS(key_order);
  NEEDS(holds);
  NEEDS(restart);
  for (const auto how : {Restart::clean, Restart::crash}) {
    open(holding());
    publish("a", noon, "k");
    publish("b", noon, "k");
    settle(take_one(), DeadLettered{});
    publish(sent_again("a", "k"));
    restart(how, noon + 1s);
    EXPECT_EQ(must(admin().held_keys(0, 10)), (Ids{"k"}));
    const auto got = take(10, noon + 1s);
    ASSERT_EQ(ids(got), (Ids{"a"}));
    settle(got[0], DeadLettered{}, noon + 1s);
    restart(how, noon + 2s);
    EXPECT_TRUE(take(10, noon + 2s).empty());
    EXPECT_EQ(must(admin().hold_on("k")).waiting, 1U);
    must(admin().free_key("k"));
    restart(how, noon + 3s);
    EXPECT_EQ(ids(take(10, noon + 3s)), (Ids{"b"}));
  }
}

}  // namespace
}  // namespace dlo::testing
