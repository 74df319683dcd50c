#include <gtest/gtest.h>

#include "unit/postgres/support.h"

namespace dlo::testing {
namespace {

class PostgresSchema : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>()); }
  [[nodiscard]] Error refusal(const PostgresOptions& options) const {
    const auto opened = PostgresOffice::open(schema_->address(), options);
    return opened ? Error{} : opened.error();
  }
  std::unique_ptr<OwnSchema> schema_;
};

TEST_F(PostgresSchema, ANewerSchemaIsRefusedAndLeftAlone) {
  (void)schema_->open();
  schema_->person().run("INSERT INTO schema_versions(version, what) VALUES(99, 'tomorrow')");
  const Error error = refusal(schema_->options());
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_NE(error.detail.find("version 99"), std::string::npos) << error.detail;
}

TEST_F(PostgresSchema, ASchemaOfSomebodyElseIsRefused) {
  auto person = schema_->person();
  person.run("CREATE SCHEMA \"" + schema_->name() + "\"; CREATE TABLE customers(id bigint)");
  EXPECT_EQ(refusal(schema_->options()).code, Code::refused);
}

TEST_F(PostgresSchema, AnEmptySchemaThatAnAdministratorMadeIsUsed) {
  schema_->person().run("CREATE SCHEMA \"" + schema_->name() + "\"");
  EXPECT_TRUE(must(schema_->open()->list({})).rows.empty());
}

TEST_F(PostgresSchema, WhoMayOnlyReadFindsNoOfficeBeforeSomebodyMadeOne) {
  PostgresOptions reader = schema_->options();
  reader.read_only = true;
  EXPECT_EQ(refusal(reader).code, Code::not_found);
  must(schema_->open()->apply(std::vector<Change>{a_death(1)}));
  const auto office = must(PostgresOffice::open(schema_->address(), reader));
  EXPECT_EQ(must(office->list({})).rows.size(), 1U);
  EXPECT_EQ(office->apply(std::vector<Change>{a_death(2)}).error().code, Code::refused);
}

TEST_F(PostgresSchema, NamesThatCannotBeSchemasAreRefused) {
  for (const char* name : {"", "Dlo", "a-b", "9lives", "pg_temp", "x\"; DROP TABLE y; --"}) {
    PostgresOptions options;
    options.schema = name;
    EXPECT_EQ(refusal(options).code, Code::invalid_argument) << name;
  }
}

TEST_F(PostgresSchema, AnAddressIsNeverRepeated) {  // GEN-16
  for (const char* address :
       {"postgresql://ann:hunter2@[bad/db", "host=x password=hunter2 nonsense",
        "postgresql://ann:hunter2@127.0.0.1:1/db?connect_timeout=2"}) {
    const auto opened = PostgresOffice::open(address);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().detail.find("hunter2"), std::string::npos) << opened.error().detail;
  }
}

TEST_F(PostgresSchema, KindsOfPoliciesAreAddedToAnOfficeOfTheSecondVersion) {
  const auto with = [](std::uint64_t n, const std::string& policy) {
    DeadLetter record = *std::get<Append>(a_death(n)).record;
    record.policy = policy;
    return Change{Append{std::make_shared<DeadLetter>(record), {}}};
  };
  must(schema_->open()->apply(std::vector<Change>{with(1, "linear base=5m"), with(2, "never"),
                                                  with(3, "linear base=1s"), with(4, "")}));
  const OwnSchema old;
  make_older(old, 2, *schema_);
  old.person().run("UPDATE records SET flags = flags & 31");
  const auto office = old.open();
  const auto policies = must(office->aggregate({})).policies;
  ASSERT_EQ(policies.size(), 2U);
  EXPECT_EQ(policies[0].kind, PolicyKind::never);
  EXPECT_EQ(policies[0].count, 2U);
  EXPECT_EQ(policies[1].kind, PolicyKind::linear);
  EXPECT_EQ(policies[1].count, 2U);
  Transition done;
  done.id = id_of(1);
  done.to = Status::archived;
  must(office->apply(std::vector<Change>{done}));
  EXPECT_EQ(must(office->aggregate({})).policies[1].count, 1U);
}

TEST_F(PostgresSchema, PeoplesOwnSqlWorksOnTheViews) {  // S1-12, S1-33, S1-34, S1-35
  const auto office = schema_->open();
  Transition resolve;
  resolve.id = id_of(2);
  resolve.to = Status::resolved;
  resolve.now = noon;
  resolve.resolution = Resolution{noon, "ann", "manual", "Manually processed"};
  must(office->apply(std::vector<Change>{a_death(1), a_death(2), a_death(3, "mails"),
                                         a_death(4, "mails"), a_death(5, std::string("\xFF\0", 2)),
                                         resolve}));
  auto person = schema_->person();
  const auto count = [&](const std::string& sql) { return person.ask(sql).size(); };
  EXPECT_EQ(count(R"(SELECT * FROM "DeadLetterMessages" WHERE "Resolved" = false
                     ORDER BY "FailedAt" DESC)"),
            4);
  const auto by_source = person.ask(
      R"(SELECT "SourceQueue", COUNT(*) AS "Count" FROM dead_letter_messages
         WHERE "Resolved" = false GROUP BY "SourceQueue" ORDER BY "Count" DESC)");
  ASSERT_EQ(by_source.size(), 3);
  EXPECT_EQ(by_source[0].text(0), "mails");
  EXPECT_EQ(by_source[0].number(1), 2);
  EXPECT_EQ(count(R"(SELECT * FROM dead_letter_messages
                     WHERE "FailedAt" > timestamptz '2026-03-01 12:00:00+00' - INTERVAL '24 hours'
                     ORDER BY "FailedAt" DESC)"),
            5);
  const auto resolved = person.ask(
      R"(SELECT "EventType", "Payload", "ErrorMessage", "AttemptCount", "ResolvedBy",
                "ResolutionNotes", "ResolvedAt" = timestamptz '2026-03-01 12:00:00+00'
         FROM dead_letter_messages WHERE "Id" = '00000000-0000-0007-0000-000000000002')");
  ASSERT_EQ(resolved.size(), 1);
  EXPECT_EQ(resolved[0].text(0), "PaymentSucceeded");
  EXPECT_EQ(resolved[0].text(1), R"({"order":2})");
  EXPECT_EQ(resolved[0].text(2), "connection refused");
  EXPECT_EQ(resolved[0].number(3), 3);
  EXPECT_EQ(resolved[0].text(4), "ann");
  EXPECT_EQ(resolved[0].text(5), "Manually processed");
  EXPECT_EQ(resolved[0].number(6), 1);
}

}  // namespace
}  // namespace dlo::testing
