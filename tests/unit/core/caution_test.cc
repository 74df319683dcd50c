#include "dlo/core/caution.h"

#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/core/spelling.h"

namespace dlo {
namespace {

TEST(Caution, EveryExactProfileNamesItsSafeVariantAndWhatItRisks) {  // R10
  for (const Profile& profile : builtin_profiles()) {
    const std::string said = caution(profile);
    const std::string safe = recommended_name(profile.name);
    if (safe == profile.name) {
      EXPECT_EQ(said, "") << profile.name;
      continue;
    }
    EXPECT_NE(said.find(in_quotes(safe) + " is recommended"), std::string::npos)
        << profile.name << ": " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
  const auto said = [](const char* name) { return caution(testing::must(find_profile(name))); };
  EXPECT_NE(said("kafka").find("hold its whole partition, though"), std::string::npos);
  EXPECT_NE(said("kafka").find("dealt with after 7d, though none is removed"), std::string::npos);
  EXPECT_NE(said("booking").find("invalid messages are dropped"), std::string::npos);
  EXPECT_NE(said("workflow").find("kept in memory only"), std::string::npos);
}

TEST(Caution, WhoMendsEverythingInAProfileOfHisOwnHearsNothing) {
  Profile own = testing::must(find_profile("kafka"));
  own.name = "mine";
  EXPECT_NE(caution(own, "kafka"), "");
  own.placement = Placement::delayed;
  own.crash_counts = own.invalid_keeps_count = true;
  own.retention.clear();
  EXPECT_EQ(caution(own, "kafka"), "");
}

TEST(Caution, AProfileIsJudgedByWhatItSaysWhateverItWasMadeOf) {
  for (const char* base : {"standard", "kafka+safe", "workflow+safe"}) {
    const auto heard = [&](auto change, const std::string& risk) {
      Profile own = testing::must(find_profile(base));
      own.name = "mine";
      change(own);
      for (const std::string& said : {caution(own, base), caution(own)}) {
        EXPECT_NE(said.find(risk), std::string::npos) << base << ": " << said;
        EXPECT_NE(said.find("\"mine\""), std::string::npos) << base << ": " << said;
      }
    };
    heard([](Profile& own) { own.invalid = InvalidAction::drop; }, "(invalid: drop)");
    heard([](Profile& own) { own.placement = Placement::hold; }, "(placement: hold)");
    heard([](Profile& own) { own.crash_counts = false; }, "(crash_counts: false)");
    heard([](Profile& own) { own.retry = {PolicyKind::immediate}; }, "(retry: immediate)");
    heard([](Profile& own) { own.categories["rude"].action = Action::reject_to_caller; },
          "category rude are not kept");
    heard(
        [](Profile& own) {
          own.strategy = Strategy::selective;
          own.skips = Skips::lose;
        },
        "(strategy: selective)");
    heard(
        [](Profile& own) {
          own.retention = {{"pending", std::chrono::hours{24}, RetentionAct::discard}};
        },
        "dealt with after 1d");
  }
}

// What a strategy does not want is recorded all the same there (strategy.h).
TEST(Caution, AStrategyThatLosesNothingIsNoRisk) {
  Profile own = testing::must(find_profile("workflow+safe"));
  own.strategy = Strategy::manual;
  EXPECT_EQ(caution(own), "");
}

}  // namespace
}  // namespace dlo
