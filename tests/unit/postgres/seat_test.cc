// One program serves an office at a time.
#include <gtest/gtest.h>

#include "unit/postgres/support.h"

namespace dlo::testing {
namespace {

class PostgresSeat : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>()); }
  Result<std::unique_ptr<PostgresOffice>> open_as(const std::string& name) {
    PostgresOptions options = schema_->options();
    options.serves_as = named(name);
    return PostgresOffice::open(schema_->address(), options);
  }
  /// Others test beside us on the same server.
  [[nodiscard]] std::string named(const std::string& name) const {
    return name + " of " + schema_->name();
  }
  Result<std::vector<Applied>> die(PostgresOffice& office, std::uint64_t number) {
    return office.apply(std::vector<Change>{a_death(number)});
  }
  /// As if a firewall had cut it: the server still has the connection, the program has not.
  void end_connection(const std::string& name) {
    (void)schema_->person().ask(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = "
        "convert_from($1, 'UTF8')",
        postgres::Params(named(name)));
  }
  std::unique_ptr<OwnSchema> schema_;
};

TEST_F(PostgresSeat, ASecondServerIsRefusedAndToldWhoServes) {
  const auto first = must(open_as("dlo on node-a"));
  const auto second = open_as("dlo on node-b");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::refused);
  EXPECT_NE(second.error().detail.find("'" + named("dlo on node-a") + "' from "), std::string::npos)
      << second.error().detail;
  EXPECT_TRUE(die(*first, 1)) << "the first noticed nothing";
}

TEST_F(PostgresSeat, IsFreeWhenItsHolderStops) {
  must(open_as("dlo on node-a")).reset();
  const auto second = must(open_as("dlo on node-b"));
  EXPECT_TRUE(die(*second, 1));
}

TEST_F(PostgresSeat, BelongsToOneSchemaOnly) {
  const OwnSchema other;
  PostgresOptions options = other.options();
  options.serves_as = "dlo on node-b";
  const auto first = must(open_as("dlo on node-a"));
  EXPECT_TRUE(PostgresOffice::open(other.address(), options));
}

TEST_F(PostgresSeat, WhoOnlyReadsOrNamesNobodyDoesNotNeedIt) {
  const auto first = must(open_as("dlo on node-a"));
  PostgresOptions reading = schema_->options();
  reading.read_only = true;
  reading.serves_as = "dlo on node-b";
  EXPECT_TRUE(PostgresOffice::open(schema_->address(), reading));
  EXPECT_TRUE(die(*schema_->open(), 1));
}

TEST_F(PostgresSeat, IsTakenAgainAfterALostConnection) {
  const auto first = must(open_as("dlo on node-a"));
  must(die(*first, 1));
  end_connection("dlo on node-a");
  while (!die(*first, 2)) {  // the first answer may be that the connection was lost
  }
  EXPECT_FALSE(open_as("dlo on node-b"));
}

TEST_F(PostgresSeat, WhoLostItToAnotherWritesNothingMore) {
  const auto first = must(open_as("dlo on node-a"));
  must(die(*first, 1));
  end_connection("dlo on node-a");
  const auto second = must(open_as("dlo on node-b"));
  std::optional<Error> refused;
  while (!refused || refused->code == Code::unavailable) {
    const auto written = die(*first, 2);
    ASSERT_FALSE(written) << "two programs served one office";
    refused = written.error();
  }
  EXPECT_EQ(refused->code, Code::refused) << refused->detail;
  EXPECT_NE(refused->detail.find("dlo on node-b"), std::string::npos) << refused->detail;
  EXPECT_TRUE(die(*second, 3));
}

}  // namespace
}  // namespace dlo::testing
