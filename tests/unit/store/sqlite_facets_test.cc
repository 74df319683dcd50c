#include <gmock/gmock.h>
#include <random>

#include "unit/store/sqlite_support.h"

#include "dlo/store/sqlite/facets.h"

namespace dlo::testing {
namespace {

using sqlite::facets_of;

DeadLetter with(const std::string& source, const std::string& category, std::uint64_t group) {
  DeadLetter record = letter(1);
  Message message = *record.message;
  message.source = source;
  record.message = std::make_shared<Message>(std::move(message));
  record.category = category;
  record.fingerprint.hash = {0, group};
  return record;
}

// Every file holds them: a change of these numbers needs a migration.
TEST(SqliteFacets, AreWrittenInStone) {
  EXPECT_EQ(facets_of(letter(1)), 4778490709846913202);
  EXPECT_EQ(facets_of(with("payments", "network", 7)), 4778490667718278715);
}

TEST(SqliteFacets, OfAQueryFitEveryRecordItFinds) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    const DeadLetter record = with("s" + std::to_string(random() % 50),
                                   "c" + std::to_string(random() % 50), random() % 50);
    Query query;
    if (random() % 2 == 0) query.source = record.message->source;
    if (random() % 2 == 0) query.category = record.category;
    if (random() % 2 == 0) query.group = record.fingerprint.hash;
    if (random() % 2 == 0) query.event_type = record.message->event_type;
    if (random() % 2 == 0) query.error_type = record.failure.type;
    if (random() % 2 == 0) query.reason = record.reason;
    ASSERT_TRUE(facets_of(query).may_fit(facets_of(record)));
  }
}

TEST(SqliteFacets, TellMostOthersApart) {
  Query query;
  query.source = "source-0";
  query.category = "category-0";
  int confused = 0;
  for (int n = 1; n <= 1000; ++n) {
    const std::string number = std::to_string(n);
    confused += facets_of(query).may_fit(facets_of(with("source-" + number, "category-0", 1)));
    confused += facets_of(query).may_fit(facets_of(with("source-0", "category-" + number, 1)));
  }
  EXPECT_LT(confused, 20) << "1 in 4096 and 1 in 256 would be";
}

class SqliteFacetsInTheFile : public ::testing::Test {
 protected:
  /// How many records have other facets than they should have.
  std::int64_t wrong() {
    sqlite::Connection db(directory_.path() + "/office.db", sqlite::Access::read_only);
    define_facets(db);
    return db.number(
        "SELECT count(*) FROM records WHERE facets <> facets(source, category, grp, event_type, "
        "error_type, reason)");
  }
  TemporaryDirectory directory_;
};

TEST_F(SqliteFacetsInTheFile, FollowTheRecord) {
  const auto office = open_office(directory_.path());
  must_apply(*office, {append_of(letter(1)), append_of(letter(2)), append_of(letter(3))});
  EXPECT_EQ(wrong(), 0);
  Transition change;
  change.id = letter(1).id;
  change.category = "validation";
  change.reason = "Other";
  change.failure = Failure{};
  change.failure->type = "OtherError";
  Transition close;
  close.id = letter(2).id;
  close.to = Status::resolved;
  DeadLetter again = with("elsewhere", "network", 9);
  again.id = letter(2).id;
  again.occurrence = 2;
  must_apply(*office, {change, close, append_of(again)});
  EXPECT_EQ(wrong(), 0);
  Query query;
  query.source = "orders";
  query.category = "validation";
  EXPECT_EQ(all_pages(*office, query).size(), 1U);
  query.source = "elsewhere";
  query.category = "network";
  EXPECT_EQ(all_pages(*office, query).size(), 1U);
}

TEST_F(SqliteFacetsInTheFile, AreAddedToAnOfficeOfTheFirstVersion) {
  {
    const auto office = open_office(directory_.path());
    for (std::uint64_t n = 1; n <= 20; ++n) must_apply(*office, {append_of(letter(n))});
  }
  const std::string file = directory_.path() + "/office.db";
  ASSERT_EQ(ask(file, without_issues), "");
  ASSERT_EQ(ask(file,
                "DROP INDEX records_status; DROP INDEX records_source; DROP INDEX records_category;"
                "DROP INDEX records_group; DROP INDEX records_event_type;"
                "ALTER TABLE records DROP COLUMN facets;"
                "CREATE INDEX records_status ON records(status, died_at);"
                "CREATE INDEX records_source ON records(source, class, died_at);"
                "CREATE INDEX records_category ON records(category, class, died_at);"
                "CREATE INDEX records_group ON records(grp, class, died_at);"
                "CREATE INDEX records_event_type ON records(event_type, class, died_at);"
                "DELETE FROM schema_versions WHERE version > 1"),
            "");
  const auto office = open_office(directory_.path());
  EXPECT_EQ(wrong(), 0);
  Query query;
  query.source = "orders";
  query.category = letter(1).category;
  EXPECT_EQ(all_pages(*office, query).size(), 20U);
}

TEST_F(SqliteFacetsInTheFile, LinesOfDueRecordsAreAddedToAnOfficeOfTheThirdVersion) {
  {
    const auto office = open_office(directory_.path());
    DeadLetter due = letter(1);
    due.next_retry_at = noon;
    must_apply(*office, {append_of(due)});
  }
  ASSERT_EQ(ask(directory_.path() + "/office.db", without_lines), "");
  const auto office = open_office(directory_.path());
  EXPECT_EQ(must(office->aggregate({})).lifetime, Lifetime{}) << "what was before is not known";
  EXPECT_EQ(must(office->claim(9, noon, std::chrono::seconds{30}, {})).size(), 1U);
  must_apply(*office, {append_of(letter(2))});
  EXPECT_EQ(must(office->aggregate({})).lifetime.enqueued, 1U);
}

TEST_F(SqliteFacetsInTheFile, KindsOfPoliciesAreAddedToAnOfficeOfTheFourthVersion) {
  {
    const auto office = open_office(directory_.path());
    for (std::uint64_t n = 1; n <= 30; ++n) {
      DeadLetter one = letter(n);
      one.policy = n % 3 == 0 ? "linear base=5m" : "exponential base=1m factor=2 cap=1h";
      must_apply(*office, {append_of(one)});
    }
    must_apply(*office, {append_of(letter(31))});
  }
  const std::string file = directory_.path() + "/office.db";
  ASSERT_EQ(ask(file, without_policies), "");
  ASSERT_EQ(ask(file, "UPDATE details SET facts = x'FF' WHERE number = 1"), "");
  const auto office = open_office(directory_.path());
  const auto counts = [&] {
    std::map<std::pair<Status, PolicyKind>, std::uint64_t> found;
    for (const PolicyTally& each : must(office->aggregate({})).policies) {
      found[{each.status, each.kind}] = each.count;
    }
    return found;
  };
  EXPECT_EQ(counts()[std::pair(Status::pending, PolicyKind::linear)], 10U);
  EXPECT_EQ(counts()[std::pair(Status::pending, PolicyKind::exponential)], 19U);
  EXPECT_EQ(counts()[std::pair(Status::pending, PolicyKind::never)], 2U) << "one cannot be read";
  Transition done;
  done.id = letter(3).id;
  done.to = Status::archived;
  must_apply(*office, {done});
  EXPECT_EQ(counts()[std::pair(Status::pending, PolicyKind::linear)], 9U);
  EXPECT_EQ(counts()[std::pair(Status::archived, PolicyKind::linear)], 1U);
  EXPECT_EQ(must(office->get(letter(2).id)).record.policy, "exponential base=1m factor=2 cap=1h");
}

}  // namespace
}  // namespace dlo::testing
