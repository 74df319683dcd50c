#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/store/office.h"

namespace dlo::testing {
namespace {

// Worked out with another program: an office written today is verified by one written later.
constexpr const char* first_hash =
    "32e5de1bba9b4c169dfe205a654266b371e6bed21d90a82feaa89222eea2b4d8";
constexpr const char* second_hash =
    "947ee7645957f3cc4d166ef7c9bac69a7124ed7294e762e332f4df1176531984";

std::vector<AuditEntry> chain() {
  const AddAudit first{noon, "ann", "resolve", "record 1", "because"};
  const AddAudit second{TimePoint{Millis{-1}}, "", std::string(1, '\0'), "", ""};
  return {{1, first, "", first_hash}, {2, second, first_hash, second_hash}};
}

TEST(AuditHash, NeverChanges) {
  const auto entries = chain();
  EXPECT_EQ(audit_hash("", 1, entries[0].act), first_hash);
  EXPECT_EQ(audit_hash(first_hash, 2, entries[1].act), second_hash);
}

TEST(AuditHash, TellsFieldsApartThatReadAlikeTogether) {
  const AddAudit one{noon, "ab", "c", "", ""};
  const AddAudit other{noon, "a", "bc", "", ""};
  EXPECT_NE(audit_hash("", 1, one), audit_hash("", 1, other));
  EXPECT_NE(audit_hash("", 1, one), audit_hash("", 2, one));
  EXPECT_NE(audit_hash("", 1, one), audit_hash("x", 1, one));
}

TEST(AuditChain, IsWholeOrBreaksAtTheFirstEntryThatDoesNotFollow) {
  const auto whole = chain();
  EXPECT_EQ(first_broken(whole), std::nullopt);
  EXPECT_EQ(first_broken({}), std::nullopt);
  EXPECT_EQ(first_broken(std::span(whole).subspan(1), whole.data()), std::nullopt);
  EXPECT_EQ(first_broken(std::span(whole).subspan(1)), 1U) << "the beginning is missing";
  auto swapped = whole;
  std::swap(swapped[0], swapped[1]);
  EXPECT_EQ(first_broken(swapped), 1U);
  auto rewritten = whole;
  rewritten[0].act.actor = "bob";
  rewritten[0].hash = audit_hash("", 1, rewritten[0].act);  // a forger who can compute hashes
  EXPECT_EQ(first_broken(rewritten), 2U);
}

}  // namespace
}  // namespace dlo::testing
