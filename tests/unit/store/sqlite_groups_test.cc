#include <gtest/gtest.h>

#include "support/must.h"
#include "support/temporary_directory.h"
#include "unit/store/sqlite_support.h"

#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::testing {
namespace {

GroupSummary first_group(Office& office) {
  AggregateRequest request;
  request.only_group = letter(1).fingerprint.hash;
  return must(office.aggregate(request)).groups.at(0);
}

TEST(SqliteGroups, BecomeIssuesInAnOfficeOfTheSecondVersion) {
  const TemporaryDirectory directory;
  {
    const auto office = open_office(directory.path());
    EditGroup words;
    words.fingerprint = letter(1).fingerprint.hash;
    words.owner = "ann";
    must_apply(*office, {append_of(letter(1)), append_of(letter(2)), words});
  }
  ASSERT_EQ(ask(directory.path() + "/office.db", without_issues), "");
  const auto office = open_office(directory.path());
  const GroupSummary before = first_group(*office);
  EXPECT_EQ(before.owner, "ann");
  EXPECT_EQ(before.version, 0U);
  EXPECT_TRUE(before.trend.hours.empty()) << "old deaths are in no trend";
  DeadLetter next = letter(3);
  next.fingerprint = letter(1).fingerprint;
  must_apply(*office, {append_of(next)});
  EXPECT_EQ(first_group(*office).trend.hours.size(), 1U);
}

}  // namespace
}  // namespace dlo::testing
