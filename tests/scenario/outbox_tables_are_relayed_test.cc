// Outbox tables in PostgreSQL, sent to RabbitMQ by `dlo serve`, whatever is killed when.
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <signal.h>
#include <unistd.h>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/must.h"
#include "support/postgres_server.h"
#include "support/rabbitmq_client.h"
#include "support/rabbitmq_server.h"
#include "support/require.h"
#include "support/temporary_directory.h"

#include "dlo/outbox/shape.h"
#include "dlo/postgres/connection.h"

namespace dlo::testing {
namespace {

constexpr std::chrono::seconds long_patience{240};  // servers on a busy machine take their time

/// A table, a queue, and a server between them.
class OutboxTables : public ::testing::Test {
 protected:
  void on(const std::string& database, const std::string& broker) {
    static int tables = 0;
    database_ = database;
    broker_ = broker;
    queue_ = fresh_queue();
    RabbitClient(broker_).declare(queue_);
    schema_ = "s" + std::to_string(::getpid()) + "_" + std::to_string(++tables);
    outbox::Shape shape = must(outbox::find_shape("own"));
    shape.schema = schema_;
    connect();
    run("CREATE SCHEMA " + schema_ + "; SET search_path = " + schema_ + "; " +
        outbox::own_table_sql(shape));
    configure("");
  }
  void connect() {
    person_ = std::make_unique<postgres::Connection>(database_, "");
    person_->run("SET search_path = " + schema_);
  }
  /// `more` stands before the sections.
  void configure(const std::string& more, const std::string& postgres = "") {
    std::ofstream(data_.path() + "/dlo.yaml")
        << more << "rabbitmq: {heartbeat: 2s, address: '" << broker_ << "'}\n"
        << "profiles: {quick: {base: booking-outbox, retry: fixed base=20ms}}\n"
        << "outboxes:\n  shop: {" << (postgres.empty() ? "postgres: '" + database_ + "', " : "")
        << "table: " << schema_ << ".dlo_outbox, to: 'amqp:{type}', profile: quick, poll: 50ms, "
        << "batch: 100}\n";
  }
  void TearDown() override {
    servers_.clear();
    if (queue_.empty()) return;
    try {
      RabbitClient(broker_).remove(queue_);
      connect();
      run("DROP SCHEMA " + schema_ + " CASCADE");
    } catch (const std::exception&) {  // the server is gone, and all with it
    } catch (const postgres::Failed&) {
    }
  }
  /// Number `n` of the servers, each with a directory of its own.
  void serve(std::size_t n = 0) {
    if (servers_.size() <= n) servers_.resize(n + 1);
    servers_[n].running = std::make_unique<Running>(
        std::vector<std::string>{"serve", "--data", office(n), "--listen", "127.0.0.1:0",
                                 "--config", data_.path() + "/dlo.yaml"});
    servers_[n].port = port_in(servers_[n].running->read_until("/healthz"));
  }
  [[nodiscard]] std::string office(std::size_t n = 0) const {
    return data_.path() + "/office" + std::to_string(n);
  }
  int stop(int signal, std::size_t n = 0) { return servers_[n].running->stop(signal); }
  [[nodiscard]] std::string get(const std::string& path, std::size_t n = 0) const {
    return http_get(servers_[n].port, path);
  }
  [[nodiscard]] std::string state(std::size_t n = 0) const {
    return member(get("/v1/sources/shop", n), "state");
  }
  [[nodiscard]] int dead(std::size_t n = 0) const {
    return number(get("/v1/sources/outbox_nowhere", n), "total");
  }

  void run(const std::string& sql) { person_->run(sql); }
  std::int64_t pending() {
    return person_
        ->ask("SELECT count(*) FROM dlo_outbox WHERE published_at IS NULL", postgres::Params(),
              postgres::Plan::once)
        .front()
        .number(0);
  }
  void put(int count, const std::string& type) {
    run("INSERT INTO dlo_outbox (event_type, key, payload) SELECT '" + type +
        "', 'k' || n % 500, to_jsonb(n) FROM generate_series(1, " + std::to_string(count) + ") n");
  }
  [[nodiscard]] std::vector<std::string> taken() { return RabbitClient(broker_).take_ids(queue_); }
  /// Kills the server again and again while it works, then lets it finish.
  void kill_while_it_works(int rounds) {
    for (int round = 0; round < rounds && pending() > 0; ++round) {
      serve();
      const auto before = pending();
      EXPECT_TRUE(eventually([&] { return pending() < before; }, long_patience))
          << get("/v1/sources");
      EXPECT_EQ(stop(SIGKILL), -SIGKILL);
    }
    serve();
    EXPECT_TRUE(eventually([&] { return pending() == 0; }, long_patience)) << get("/v1/sources");
  }
  void expect_all_once(const std::vector<std::string>& ids, std::size_t count) {
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), count);
    const auto marked = person_->ask(
        "SELECT count(*) FROM dlo_outbox WHERE published_at IS NOT NULL AND dead_letter IS NULL",
        postgres::Params(), postgres::Plan::once);
    EXPECT_EQ(marked.front().number(0), static_cast<std::int64_t>(count));
  }
  void expect_dead(int count) {
    EXPECT_EQ(dead(), count) << get("/v1/sources");
    const auto records = person_->ask(
        "SELECT count(DISTINCT dead_letter), count(*) FROM dlo_outbox WHERE dead_letter IS NOT "
        "NULL",
        postgres::Params(), postgres::Plan::once);
    EXPECT_EQ(records.front().number(0), count);
    EXPECT_EQ(records.front().number(1), count);
  }

  struct Server {
    std::unique_ptr<Running> running;
    std::uint16_t port = 0;
  };
  TemporaryDirectory data_;
  std::string database_;
  std::string broker_;
  std::string queue_;
  std::string schema_;
  std::unique_ptr<postgres::Connection> person_;
  std::vector<Server> servers_;
};

TEST_F(OutboxTables, AreSentAndWhatCannotBeSentIsADeadLetter) {  // S1-2, S1-3
  SKIP_WITHOUT_SERVER(on(shared_postgres(), shared_rabbitmq()));
  put(300, queue_);
  put(5, "nowhere");
  serve();
  ASSERT_TRUE(eventually([&] { return pending() == 0; }, long_patience)) << get("/v1/sources");
  ASSERT_TRUE(eventually([&] { return dead() == 5; }, long_patience)) << get("/v1/sources");
  const std::string source = get("/v1/sources/shop");
  EXPECT_EQ(member(source, "kind"), "outbox") << source;
  EXPECT_EQ(member(source, "state"), "relaying") << source;
  EXPECT_EQ(number(source, "published"), 300) << source;
  EXPECT_EQ(number(source, "dead"), 5) << source;
  EXPECT_EQ(number(source, "failures"), 15) << source;
  EXPECT_EQ(source.find("postgresql://"), std::string::npos) << "it may hold a password";
  const Ended shown = run_dlo({"source", "show", "shop", "--data", office()});
  EXPECT_NE(shown.out.find("300 published, 0 waiting, 5 dead"), std::string::npos) << shown.out;
  EXPECT_EQ(run_dlo({"source", "test", "shop", "--data", office()}).code, 0);
  EXPECT_NE(run_dlo({"source", "pause", "shop", "--data", office()}).code, 0);
  const std::string list = get("/v1/dead-letters");
  EXPECT_NE(list.find("there is no such queue"), std::string::npos) << list;
  expect_all_once(taken(), 300);
  const Ended replayed =
      run_dlo({"replay", "--data", office(), "--source", "outbox_nowhere", "--to", "amqp:" + queue_,
               "--watch-for", "1s", "--yes", "--wait", "--reason", "the queue has a name"});
  EXPECT_EQ(replayed.code, 0) << replayed.out << replayed.err;
  EXPECT_EQ(taken().size(), 5U);
  EXPECT_EQ(stop(SIGTERM), 0);
}

TEST_F(OutboxTables, LoseNothingAndDoubleNoRecordWhenTheServerIsKilled) {
  SKIP_WITHOUT_SERVER(on(shared_postgres(), shared_rabbitmq()));
  put(3'000, queue_);
  put(60, "nowhere");
  kill_while_it_works(5);
  expect_all_once(taken(), 3'000);
  expect_dead(60);
  EXPECT_EQ(stop(SIGTERM), 0);
}

TEST_F(OutboxTables, AreTheSameWithTheOfficeInTheirDatabase) {
  std::unique_ptr<PostgresServer> database;
  SKIP_WITHOUT_SERVER(database = std::make_unique<PostgresServer>());
  SKIP_WITHOUT_SERVER(on(database->address(), shared_rabbitmq()));
  configure("office: '" + database_ + "'\n", "that of the office");
  put(60, "nowhere");
  put(2'000, queue_);
  kill_while_it_works(4);
  expect_all_once(taken(), 2'000);
  expect_dead(60);
  const auto both = person_->ask(
      "SELECT count(*) FROM dlo_outbox o JOIN dlo.records r ON encode(r.id, 'hex') = o.dead_letter",
      postgres::Params(), postgres::Plan::once);
  EXPECT_EQ(both.front().number(0), 60);
  EXPECT_EQ(stop(SIGTERM), 0);
}

TEST_F(OutboxTables, AreSharedByServersAndTakenOverFromOneThatIsKilled) {
  SKIP_WITHOUT_SERVER(on(shared_postgres(), shared_rabbitmq()));
  serve(0);
  serve(1);
  ASSERT_TRUE(eventually(
      [&] {
        return number(get("/v1/sources/shop", 0), "share") == 32 &&
               number(get("/v1/sources/shop", 1), "share") == 32;
      },
      long_patience))
      << get("/v1/sources", 0) << get("/v1/sources", 1);
  put(2'000, queue_);
  ASSERT_TRUE(eventually([&] { return pending() < 1'900; }, long_patience));
  EXPECT_EQ(stop(SIGKILL, 0), -SIGKILL);
  ASSERT_TRUE(eventually([&] { return pending() == 0; }, long_patience)) << get("/v1/sources", 1);
  expect_all_once(taken(), 2'000);
  EXPECT_EQ(stop(SIGTERM, 1), 0);
}

TEST_F(OutboxTables, GoOnWhenTheirDatabaseIsBack) {
  std::unique_ptr<PostgresServer> database;
  SKIP_WITHOUT_SERVER(database = std::make_unique<PostgresServer>());
  SKIP_WITHOUT_SERVER(on(database->address(), shared_rabbitmq()));
  serve();
  put(10, queue_);
  ASSERT_TRUE(eventually([&] { return pending() == 0; }, long_patience)) << get("/v1/sources");
  database->crash();
  ASSERT_TRUE(eventually([&] { return state() == "database_down"; }, long_patience));
  EXPECT_EQ(get("/readyz").substr(0, 12), "HTTP/1.1 200") << "the office is served all the same";
  EXPECT_NE(run_dlo({"source", "test", "shop", "--data", office()}).code, 0);
  database->start();
  connect();
  put(10, queue_);
  ASSERT_TRUE(eventually([&] { return pending() == 0; }, long_patience)) << get("/v1/sources");
  expect_all_once(taken(), 20);
  EXPECT_EQ(stop(SIGTERM), 0);
}

TEST_F(OutboxTables, GoOnWhenTheBrokerIsBackAndNobodyIsToBlame) {
  std::unique_ptr<RabbitNode> node;
  SKIP_WITHOUT_SERVER(node = std::make_unique<RabbitNode>());
  SKIP_WITHOUT_SERVER(on(shared_postgres(), node->address()));
  node->remember();
  serve();
  put(10, queue_);
  ASSERT_TRUE(eventually([&] { return pending() == 0; }, long_patience)) << get("/v1/sources");
  node->crash();
  put(10, queue_);
  ASSERT_TRUE(eventually([&] { return state() == "broker_down"; }, long_patience));
  node->start();
  ASSERT_TRUE(eventually([&] { return pending() == 0; }, long_patience)) << get("/v1/sources");
  expect_all_once(taken(), 20);
  EXPECT_EQ(number(get("/v1/sources/shop"), "failures"), 0) << get("/v1/sources");
  EXPECT_EQ(stop(SIGTERM), 0);
}

TEST_F(OutboxTables, GoIntoAQueueOfTheServerAsWell) {
  SKIP_WITHOUT_SERVER(on(shared_postgres(), shared_rabbitmq()));
  std::ofstream(data_.path() + "/dlo.yaml")
      << "outboxes: {shop: {postgres: '" << database_ << "', table: " << schema_
      << ".dlo_outbox, to: orders, poll: 50ms}}\n";
  put(50, "OrderPlaced");
  serve();
  ASSERT_TRUE(eventually([&] { return pending() == 0; }, long_patience)) << get("/v1/sources");
  EXPECT_EQ(number(get("/v1/sources/orders"), "ready"), 50);
  EXPECT_EQ(stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
