// Statements of others, carried out once for each key.
#include "dlo/postgres/once.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "support/eventually.h"
#include "unit/postgres/support.h"

namespace dlo::testing {
namespace {

using postgres::OnceOnly;

class PostgresOnce : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>());
    postgres::Connection person(schema_->address(), "");
    person.run("CREATE SCHEMA \"" + schema_->name() + "\"");
    schema_->person().run(
        "CREATE TABLE payments(id uuid PRIMARY KEY, status text, message text, tries integer, "
        "updated_at timestamptz, told integer NOT NULL DEFAULT 0);"
        "INSERT INTO payments(id, status) VALUES ('" +
        std::string(known) + "', 'FAILED')");
  }
  [[nodiscard]] std::string address() const {
    return schema_->address() + "?options=-csearch_path%3D" + schema_->name() +
           "&application_name=" + schema_->name();
  }
  [[nodiscard]] std::string text(const std::string& sql) const {
    postgres::Connection person = schema_->person();
    const auto rows = person.ask("SELECT (" + sql + ")::text");
    return rows.front().text(0);
  }

  static constexpr const char* known = "7f1c0000-0000-0000-0000-000000000007";
  static constexpr const char* update =
      "UPDATE payments SET status = $2, message = $3, tries = $4, updated_at = $5, told = told + 1 "
      "WHERE id = $1";
  static std::vector<std::optional<std::string>> values(const std::string& id = known) {
    return {id, "PERMANENTLY_FAILED", "it's \"over\"; DROP TABLE payments", "3",
            "2026-03-01T12:00:00.000Z"};
  }
  std::unique_ptr<OwnSchema> schema_;
};

TEST_F(PostgresOnce, ValuesAreBoundAsTheTypesTheStatementNeeds) {
  OnceOnly once(address(), Millis{10'000});
  const auto done = once.run("k1", update, values());
  ASSERT_TRUE(done) << done.error().detail;
  EXPECT_EQ(text("SELECT status FROM payments"), "PERMANENTLY_FAILED");
  EXPECT_EQ(text("SELECT message FROM payments"), "it's \"over\"; DROP TABLE payments");
  EXPECT_EQ(text("SELECT tries FROM payments"), "3");
  EXPECT_EQ(text("SELECT updated_at = '2026-03-01 12:00:00+00' FROM payments"), "true");
}

TEST_F(PostgresOnce, ARepeatUnderTheSameKeyDoesNothing) {
  OnceOnly once(address(), Millis{10'000});
  EXPECT_TRUE(once.run("k1", update, values()));
  EXPECT_TRUE(once.run("k1", update, values()));
  EXPECT_TRUE(OnceOnly(address(), Millis{10'000}).run("k1", update, values()));
  EXPECT_EQ(text("SELECT told FROM payments"), "1");
  EXPECT_TRUE(once.run("k2", update, values()));
  EXPECT_EQ(text("SELECT told FROM payments"), "2");
}

TEST_F(PostgresOnce, ManyAtOnceCarryItOutOnce) {
  std::vector<std::thread> nodes;
  for (int i = 0; i < 6; ++i) {
    nodes.emplace_back([this] {
      OnceOnly once(address(), Millis{30'000});
      // The table may be made by all of them at the same moment: whoever loses tries again.
      Result<void> done = once.run("k1", update, values());
      for (int again = 0; !done && again < 20; ++again) {
        done = OnceOnly(address(), Millis{30'000}).run("k1", update, values());
      }
      EXPECT_TRUE(done) << done.error().detail;
    });
  }
  for (std::thread& each : nodes) each.join();
  EXPECT_EQ(text("SELECT told FROM payments"), "1");
}

TEST_F(PostgresOnce, WhatIsRefusedLeavesNoMark) {
  OnceOnly once(address(), Millis{10'000});
  struct Row {
    const char* sql;
    std::vector<std::optional<std::string>> values;
    const char* says;
  };
  for (const auto& [sql, given, says] : std::initializer_list<Row>{
           {"UPDATE paymens SET status = $1", {"x"}, "paymens"},
           {"UPDATE payments SET tries = $1", {"many"}, "many"},
           {"UPDATE payments SET status = $2 WHERE id = $1",
            {"7f1c0000-0000-0000-0000-000000000008", "x"},
            "changed no row"},
           {"UPDATE payments SET told = NULL WHERE id = $1", {known}, "told"},
           {"UPDATE payments SET told = 1; DELETE FROM payments", {}, ""},
       }) {
    const auto done = once.run("k1", sql, given);
    ASSERT_FALSE(done) << sql;
    EXPECT_EQ(done.error().code, Code::invalid_argument) << done.error().detail;
    EXPECT_NE(done.error().detail.find(says), std::string::npos) << done.error().detail;
  }
  EXPECT_EQ(text("SELECT count(*) FROM dlo_effects"), "0");
  EXPECT_EQ(text("SELECT told FROM payments"), "0");
  EXPECT_TRUE(once.run("k1", update, values())) << "the connection is of use still";
}

TEST_F(PostgresOnce, ALostConnectionIsMadeAgain) {
  OnceOnly once(address(), Millis{10'000});
  ASSERT_TRUE(once.run("k1", update, values()));
  (void)schema_->person().ask(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = "
      "convert_from($1, 'UTF8')",
      postgres::Params(schema_->name()));
  EXPECT_TRUE(eventually([&] {
    const auto done = once.run("k2", update, values());
    EXPECT_TRUE(done || is_retryable(done.error().code)) << done.error().detail;
    return done.has_value();
  }));
  EXPECT_EQ(text("SELECT told FROM payments"), "2");
}

TEST(PostgresOnceAlone, AServerThatIsNotThereMayComeBack) {
  OnceOnly once("postgresql://nobody@127.0.0.1:1/nothing", Millis{1'000});
  const auto done = once.run("k", "SELECT 1", {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::unavailable);
}

}  // namespace
}  // namespace dlo::testing
