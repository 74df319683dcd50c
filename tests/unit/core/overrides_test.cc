#include "dlo/core/overrides.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/must.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::must;

Profile base() {
  Profile profile;
  profile.name = "standard";
  profile.limit = 5;
  profile.pre_check = Check{CounterName::fetch, Comparison::greater, 5, "PoisonMessage", ""};
  profile.post_check = Check{CounterName::fetch, Comparison::at_least, 5, "Max", ""};
  profile.categories["network"] = {Action::retry, RetryPolicy{.kind = PolicyKind::linear}, 9, ""};
  profile.categories["validation"] = {Action::terminal, std::nullopt, std::nullopt, "Invalid"};
  profile.rules = {{"r", MatchKind::substring, {"x"}, {}, "network"}};
  return profile;
}

Override limit_of(std::uint32_t limit) {
  return {.limit = limit};
}
Override policy_of(Millis base) {
  return {.policy = RetryPolicy{.kind = PolicyKind::fixed, .base = base}};
}
Override classifier_of(std::string category) {
  return {.classifier = ClassifierOverride{{}, category, category}};
}

Message payment() {
  Message message;
  message.id = "m-1";
  message.source = "payments";
  message.event_type = "PaymentCreated";
  return message;
}
Message charge() {
  Message message = payment();
  message.owner = Owner{"order-7", 1, Activity{"charge", 3}, ""};
  return message;
}

TEST(Overrides, ChangeNothingWhenThereAreNone) {
  const EffectiveProfile effective = apply_overrides(base(), {}, payment());
  EXPECT_EQ(effective.profile, base());
  EXPECT_TRUE(effective.is_plain());
  EXPECT_EQ(effective.limit, (OverrideOrigin{OverrideScope::profile, "standard"}));
}

TEST(Overrides, TakeTheNarrowestScopeThatSaysSomething) {  // R12
  Overrides table;
  const auto scope = [&](const Message& message, const Override& own = {}) {
    const EffectiveProfile effective = apply_overrides(base(), table, message, own);
    return std::pair(effective.limit, effective.profile.limit);
  };
  using Answer = std::pair<OverrideOrigin, std::uint32_t>;
  table.by_source["other"] = limit_of(1);
  EXPECT_EQ(scope(charge()), (Answer{{OverrideScope::profile, "standard"}, 5}));
  table.by_source["payments"] = limit_of(10);
  EXPECT_EQ(scope(charge()), (Answer{{OverrideScope::source, "payments"}, 10}));
  table.by_event_type["PaymentCreated"] = limit_of(20);
  EXPECT_EQ(scope(charge()), (Answer{{OverrideScope::event_type, "PaymentCreated"}, 20}));
  table.by_activity["charge"] = limit_of(30);
  EXPECT_EQ(scope(charge()), (Answer{{OverrideScope::activity, "charge"}, 30}));
  EXPECT_EQ(scope(payment()).second, 20U) << "an orchestration item has no activity";
  EXPECT_EQ(scope(charge(), limit_of(40)), (Answer{{OverrideScope::message, "m-1"}, 40}));
}

TEST(Overrides, ResolveEachSettingByItself) {
  Overrides table;
  table.by_source["payments"] = policy_of(2s);
  table.by_event_type["PaymentCreated"] = limit_of(7);
  const EffectiveProfile effective =
      apply_overrides(base(), table, payment(), classifier_of("permanent"));
  EXPECT_EQ(effective.limit.scope, OverrideScope::event_type);
  EXPECT_EQ(effective.policy.scope, OverrideScope::source);
  EXPECT_EQ(effective.classifier.scope, OverrideScope::message);
  EXPECT_EQ(effective.profile.retry.base, 2s);
  EXPECT_EQ(effective.profile.default_category, "permanent");
  EXPECT_TRUE(effective.profile.rules.empty());
  EXPECT_FALSE(effective.is_plain());
}

TEST(Overrides, MeanTheirLimitAndPolicyForEveryCategory) {
  const EffectiveProfile limited = apply_overrides(base(), {}, payment(), limit_of(2));
  EXPECT_EQ(limited.profile.pre_check->limit, 2U);
  EXPECT_EQ(limited.profile.post_check->limit, 2U);
  EXPECT_EQ(limited.profile.categories.at("network").limit, std::nullopt);
  EXPECT_TRUE(limited.profile.categories.at("network").policy.has_value());
  const EffectiveProfile timed = apply_overrides(base(), {}, payment(), policy_of(2s));
  EXPECT_EQ(timed.profile.categories.at("network").policy, std::nullopt);
  EXPECT_EQ(timed.profile.categories.at("network").limit, 9U);
  EXPECT_EQ(timed.profile.categories.at("validation").action, Action::terminal);
}

TEST(Overrides, SayWhichApplied) {
  Overrides table;
  table.by_source["payments"] = policy_of(2s);
  table.by_event_type["PaymentCreated"] = limit_of(7);
  EXPECT_EQ(
      describe(apply_overrides(base(), table, payment())),
      "limit 7 (event type PaymentCreated), policy fixed base=2s (source payments), classifier "
      "of profile standard");
}

TEST(Overrides, OfAMessageComeFromItsHeaders) {
  const auto read = [](std::string name, std::string value) {
    return override_of({{std::move(name), std::move(value), HeaderType::text}});
  };
  EXPECT_EQ(must(override_of({})), Override{});
  EXPECT_EQ(must(read("DLO-Limit", "12")), limit_of(12));
  EXPECT_EQ(must(read("dlo-policy", "fixed base=2s")).policy->base, 2s);
  for (const auto* bad : {"", "0", "-1", "1.5", "many", "4294967296", " 3"}) {
    const auto refused = read("dlo-limit", bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_NE(refused.error().detail.find("dlo-limit"), std::string::npos);
    EXPECT_NE(refused.error().detail.find("1 to 4294967295"), std::string::npos);
  }
  EXPECT_EQ(print(*must(read("dlo-policy", "linear")).policy), "linear base=5m");  // S2-5
  const auto refused = read("dlo-policy", "fixd base=2s");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("fixed"), std::string::npos) << refused.error().detail;
}

TEST(Overrides, NeverChangeMoreThanWasAskedFor) {
  EXPECT_TRUE(rc::check([](bool limit, bool policy, bool classifier) {
    Override own;
    if (limit) own.limit = 3;
    if (policy) own.policy = policy_of(1s).policy;
    if (classifier) own.classifier = classifier_of("c").classifier;
    const EffectiveProfile effective = apply_overrides(base(), {}, payment(), own);
    RC_ASSERT(effective.is_plain() == (!limit && !policy && !classifier));
    RC_ASSERT((effective.profile.limit == base().limit) == !limit);
    RC_ASSERT((effective.profile.retry == base().retry) == !policy);
    RC_ASSERT((effective.profile.rules == base().rules) == !classifier);
    RC_ASSERT(effective.profile.name == base().name);
  }));
}

}  // namespace
}  // namespace dlo
