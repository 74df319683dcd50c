// Which rows a call looks at, and what it finds of those that somebody else is changing.
#include <gtest/gtest.h>
#include <thread>

#include "support/eventually.h"
#include "unit/postgres_queue/support.h"

#include "dlo/broker/postgres/schema.h"

namespace dlo::testing {
namespace {

constexpr std::size_t leased = 600;

class PostgresQueueRows : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<QueueSchema>());
    queues_ = schema_->open();
    queue_ = must(queues_->declare(named("orders")));
  }
  /// What a function looks at, on a connection whose plans are made now, while the planner takes
  /// the table for empty.
  [[nodiscard]] std::int64_t looks_of(const std::string& call) {
    postgres::Connection connection(schema_->address(),
                                    postgres::queue_settings(schema_->name(), true));
    connection.run("BEGIN");
    connection.run(call);
    const auto looked = connection.ask(
        "SELECT coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0) FROM "
        "pg_stat_xact_user_tables WHERE relid = 'messages'::regclass");
    connection.run("ROLLBACK");
    return looked.front().number(0);
  }
  /// Until somebody waits for a lock that `connection` has.
  static void wait_for_one_who_waits(postgres::Connection& connection) {
    EXPECT_TRUE(eventually([&] {
      return !connection
                  .ask(
                      "SELECT 1 FROM pg_stat_activity WHERE $1::integer = "
                      "ANY(pg_blocking_pids(pid))",
                      postgres::Params(connection.process()))
                  .empty();
    }));
  }
  std::unique_ptr<QueueSchema> schema_;
  std::unique_ptr<PostgresQueues> queues_;
  std::unique_ptr<PostgresQueue> queue_;
};

TEST_F(PostgresQueueRows, WhoSettlesOneLooksAtNoOtherThatIsLeased) {
  const std::vector<Publication> many(leased, a_message("m"));
  must(queue_->publish(many, noon));
  ASSERT_EQ(must(queue_->receive({leased, 1h, 0ms}, noon)).size(), leased);
  const std::string arguments =
      "(SELECT number FROM queues), 0, 0, (SELECT array_agg(place) FROM (SELECT place FROM "
      "messages "
      "LIMIT 2) p), '{1, 2}'";
  const std::int64_t own =
      looks_of("SELECT array_agg(place) FROM (SELECT place FROM messages LIMIT 2) p");
  for (const std::string& call :
       {"SELECT * FROM finish(" + arguments + ", '{0, 0}', true)",
        "SELECT * FROM retry(" + arguments + ", '{5, 5}', '{0, 0}', '{0, 0}', '{}', '{}', '{}')",
        "SELECT * FROM mark_started(" + arguments + ")",
        "SELECT * FROM renew(" + arguments + ")"}) {
    EXPECT_LE(looks_of(call), own + 8) << call;
  }
}

TEST_F(PostgresQueueRows, ALeaseThatIsRenewedWhileItIsSettledIsSettled) {
  publish(*queue_, "a");
  const auto got = must(queue_->receive({1, 1h, 0ms}, noon));
  auto person = schema_->person();
  person.run("BEGIN; UPDATE messages SET due = due + 1000");
  Settled settled = Settled::lease_lost;
  std::thread other([&] { settled = settle(*queue_, got.at(0), Completed{}); });
  wait_for_one_who_waits(person);
  person.run("COMMIT");
  other.join();
  EXPECT_EQ(settled, Settled::done);
  EXPECT_EQ(person.ask("SELECT count(*) FROM messages").front().number(0), 0);
}

TEST_F(PostgresQueueRows, OneThatIsTakenAwayWhileItIsSettledIsLost) {
  publish(*queue_, "a");
  const auto got = must(queue_->receive({1, 1h, 0ms}, noon));
  auto person = schema_->person();
  person.run("BEGIN; UPDATE messages SET lease = lease + 1");
  Settled settled = Settled::done;
  std::thread other([&] { settled = settle(*queue_, got.at(0), Completed{}); });
  wait_for_one_who_waits(person);
  person.run("COMMIT");
  other.join();
  EXPECT_EQ(settled, Settled::lease_lost);
  EXPECT_EQ(person.ask("SELECT count(*) FROM messages").front().number(0), 1);
}

TEST_F(PostgresQueueRows, FunctionsOfTheFirstVersionAreReplaced) {
  publish(*queue_, "a");
  queue_.reset();
  queues_.reset();
  schema_->person().run(
      "DELETE FROM schema_versions WHERE version > 1; DROP FUNCTION lock_leased; "
      "CREATE OR REPLACE FUNCTION next_due(the_queue integer, the_now bigint, the_wall bigint) "
      "RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 0::bigint / 0'");
  queues_ = schema_->open();
  queue_ = must(queues_->declare(named("orders")));
  const auto got = must(queue_->receive({1, 1h, 0ms}, noon));
  ASSERT_EQ(got.size(), 1U) << "what was there is still there";
  EXPECT_EQ(settle(*queue_, got[0], Completed{}), Settled::done);
}

}  // namespace
}  // namespace dlo::testing
