// The owner of a payment keeps it in a database of its own; its row says that it has failed for
// good, once, whatever is killed (S1-10, S1-29).
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <signal.h>
#include <string>

#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/postgres_server.h"
#include "support/require.h"
#include "support/temporary_directory.h"

#include "dlo/postgres/connection.h"

namespace dlo::testing {
namespace {

const std::string json = "Content-Type: application/json\r\n";

class OwnerBySql : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_SERVER(database_ = std::make_unique<PostgresServer>()); }
  std::string file(const std::string& name) const { return place_.path() + "/" + name; }
  void serve() {
    server_ =
        std::make_unique<Running>(std::vector<std::string>{"serve", "--config", file("dlo.yaml")});
    client_ = std::make_unique<HttpClient>(port_in(server_->read_until("/healthz")));
  }
  std::string text(const std::string& sql) const {
    postgres::Connection person(database_->address(), "");
    const auto rows = person.ask("SELECT (" + sql + ")::text");
    return rows.front().text(0);
  }

  const TemporaryDirectory place_;
  std::unique_ptr<PostgresServer> database_;
  std::unique_ptr<Running> server_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(OwnerBySql, ItsRowIsChangedOnceThoughDatabaseAndServerGoDown) {
  postgres::Connection(database_->address(), "")
      .run(
          "CREATE TABLE payments(id text PRIMARY KEY, status text, message text, updated_at "
          "timestamptz, told integer NOT NULL DEFAULT 0);"
          "INSERT INTO payments(id, status) VALUES ('7', 'FAILED')");
  std::ofstream(file("dlo.yaml")) << "data: " << file("office")
                                  << "\nserver: {listen: '127.0.0.1:0'}\n"
                                  << "entities:\n  payment:\n    limit: 1\n    effect:\n"
                                  << "      sql: UPDATE payments SET status = $2, message = $3, "
                                     "updated_at = $4, told = told + 1 "
                                     "WHERE id = $1\n"
                                  << "      database: " << database_->address() << "\n"
                                  << "      values: [id, status, message, updated_at]\n";
  serve();
  ASSERT_EQ(client_->ask("PUT", "/v1/entities/payment/7", "{}", json).status, 201);
  ASSERT_EQ(client_->ask("POST", "/v1/entities/payment/7/retries", "{}", json).status, 200);
  database_->crash();
  const auto over = client_->ask("POST", "/v1/entities/payment/7/retries", "{}", json);
  EXPECT_TRUE(over.has("PERMANENTLY_FAILED")) << "the owner's database is not the office's";
  ASSERT_TRUE(eventually([&] {
    return client_->ask("GET", "/v1/entities/payment/7").has("no connection to PostgreSQL");
  }));
  EXPECT_EQ(server_->stop(SIGKILL), -SIGKILL);
  database_->start();
  serve();
  ASSERT_TRUE(eventually(
      [&] { return client_->ask("GET", "/v1/entities/payment/7").has(R"("state":"applied")"); },
      std::chrono::seconds(60)))
      << client_->ask("GET", "/v1/entities/payment/7").body;
  EXPECT_EQ(text("SELECT status FROM payments"), "PERMANENTLY_FAILED");
  EXPECT_EQ(text("SELECT message FROM payments"),
            "Max retries reached. Moved to DLQ for investigation.");
  EXPECT_EQ(text("SELECT told FROM payments"), "1");
  EXPECT_EQ(text("SELECT count(*) FROM dlo_effects"), "1");
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
