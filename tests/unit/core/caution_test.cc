#include "dlo/core/caution.h"

#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/core/spelling.h"

namespace dlo {
namespace {

TEST(Caution, EveryExactProfileNamesItsSafeVariantAndWhatItRisks) {  // R10
  for (const Profile& profile : builtin_profiles()) {
    const std::string said = caution(profile, profile.name);
    const std::string safe = recommended_name(profile.name);
    if (safe == profile.name) {
      EXPECT_EQ(said, "");
      continue;
    }
    EXPECT_NE(said.find(in_quotes(safe) + " is recommended"), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
  const auto said = [](const char* name) {
    return caution(testing::must(find_profile(name)), name);
  };
  EXPECT_NE(said("kafka").find("holds its whole partition"), std::string::npos);
  EXPECT_NE(said("booking").find("invalid messages are dropped"), std::string::npos);
}

TEST(Caution, WhoMendsEverythingInAProfileOfHisOwnHearsNothing) {
  Profile own = testing::must(find_profile("kafka"));
  own.name = "mine";
  EXPECT_NE(caution(own, "kafka"), "");
  own.placement = Placement::delayed;
  own.crash_counts = own.invalid_keeps_count = true;
  EXPECT_EQ(caution(own, "kafka"), "");
}

}  // namespace
}  // namespace dlo
