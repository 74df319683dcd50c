// What a server can lack: the right to write, connections, room. Nothing is answered that is not
// written, everybody is told why, and nobody has to restart anything afterwards.
#include <fstream>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/eventually.h"
#include "support/small_disk.h"
#include "unit/postgres/support.h"

namespace dlo::testing {
namespace {

std::vector<Change> one(std::uint64_t n) {
  return {a_death(n)};
}

class PostgresShortage : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(server_ = std::make_unique<PostgresServer>(settings_));
  }
  [[nodiscard]] std::unique_ptr<PostgresOffice> open(const std::string& options = "") const {
    return must(PostgresOffice::open(server_->address() + options));
  }
  void set(const std::string& setting) const {
    auto person =
        postgres::Connection(server_->address(), "SET default_transaction_read_only = off");
    person.run("ALTER SYSTEM SET " + setting);
    person.run("SELECT pg_reload_conf()");
  }
  std::vector<std::string> settings_;
  std::unique_ptr<PostgresServer> server_;
};

TEST_F(PostgresShortage, AServerSetReadOnlyIsToldOfAndWrittenToAgain) {
  const auto office = open();
  must(office->apply(one(1)));
  set("default_transaction_read_only = on");
  Error error;
  EXPECT_TRUE(eventually([&, n = 2U]() mutable {
    const auto answer = office->apply(one(n++));
    if (!answer) error = answer.error();
    return !answer;
  }));
  EXPECT_EQ(error.code, Code::unavailable) << "it passes: whoever has something to keep waits";
  EXPECT_NE(error.detail.find("takes no writes"), std::string::npos) << error.detail;
  EXPECT_EQ(must(office->get(id_of(1))).record.id, id_of(1)) << "readers are answered";
  EXPECT_EQ(office->apply(one(1'000)).error().code, Code::unavailable);
  EXPECT_EQ(office->get(id_of(1'000)).error().code, Code::not_found);
  set("default_transaction_read_only = off");
  EXPECT_TRUE(eventually([&] { return office->apply(one(1'001)).has_value(); }));
}

TEST_F(PostgresShortage, AReadOnlyServerWithAnOfficeCanBeOpenedAndRead) {
  must(open()->apply(one(1)));
  const auto office = open("?options=-c%20default_transaction_read_only%3Don");
  EXPECT_EQ(office->apply(one(2)).error().code, Code::unavailable);
  EXPECT_EQ(must(office->list({})).rows.size(), 1U);
}

// After a failover the old server is a standby: its connection is given up, and another one leads
// to whoever writes now.
TEST_F(PostgresShortage, AConnectionThatTakesNoWritesIsGivenUp) {
  const auto office = open();
  must(office->apply(one(1)));
  auto person = postgres::Connection(server_->address(), "");
  const auto writers = [&] {
    return person.ask(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'dlo' AND query = 'COMMIT'");
  };
  const std::int64_t before = writers().front().number(0);
  set("default_transaction_read_only = on");
  // A new one each time: what is there already needs no write.
  EXPECT_TRUE(eventually([&, n = 2U]() mutable { return !office->apply(one(n++)); }));
  EXPECT_TRUE(eventually([&] {
    return person
        .ask("SELECT 1 FROM pg_stat_activity WHERE pid = " + std::to_string(before),
             postgres::Params(), postgres::Plan::once)
        .empty();
  }));
}

class PostgresWithFewConnections : public PostgresShortage {
 protected:
  PostgresWithFewConnections() {
    settings_ = {"max_connections=8", "superuser_reserved_connections=0"};
  }
  /// Takes all that are free.
  void take_connections() {
    try {
      for (;;) others_.push_back(std::make_unique<postgres::Connection>(server_->address(), ""));
    } catch (const postgres::Failed&) {
    }
  }
  std::vector<std::unique_ptr<postgres::Connection>> others_;
};

TEST_F(PostgresWithFewConnections, WithoutAFreeConnectionItIsUnavailableUntilThereIsOne) {
  take_connections();
  const auto refused = PostgresOffice::open(server_->address());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unavailable) << refused.error().detail;
  EXPECT_NE(refused.error().detail.find("too many clients"), std::string::npos)
      << refused.error().detail;
  others_.clear();
  std::unique_ptr<PostgresOffice> office;
  EXPECT_TRUE(eventually([&] {
    auto opened = PostgresOffice::open(server_->address());
    if (opened) office = std::move(*opened);
    return office != nullptr;
  }));
  must(office->apply(one(1)));
}

TEST_F(PostgresWithFewConnections, WhoWritesGoesOnAndReadersWaitForAFreeOne) {
  const auto office = open();
  must(office->apply(one(1)));
  take_connections();
  must(office->apply(one(2)));
  const auto read = office->get(id_of(2));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::unavailable) << read.error().detail;
  others_.clear();
  EXPECT_TRUE(eventually([&] { return office->get(id_of(2)).has_value(); }));
}

TEST_F(PostgresWithFewConnections, AWriterThatLostItsPlaceWritesAgainWhenOneIsFree) {
  const auto office = open();
  must(office->apply(one(1)));
  take_connections();
  // Whoever is cut off makes room for one other, who takes it at once.
  EXPECT_TRUE(eventually([&] {
    (void)others_.front()->ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dlo' AND "
        "pid <> pg_backend_pid() AND query <> ''");
    take_connections();
    return !office->apply(one(2));
  }));
  EXPECT_EQ(office->apply(one(3)).error().code, Code::unavailable);
  others_.clear();
  EXPECT_TRUE(eventually([&] { return office->apply(one(4)).has_value(); }));
  EXPECT_TRUE(eventually([&] { return office->get(id_of(1)).has_value(); }));
  EXPECT_EQ(office->get(id_of(3)).error().code, Code::not_found);
}

/// The server keeps what it is given on `disk`, and its log elsewhere.
int fill_the_disk(const std::string& disk) {
  const PostgresServer server;
  if (const auto* user = ::getpwnam("postgres"); user != nullptr && ::geteuid() == 0) {
    EXPECT_OR_RETURN(::chown(disk.c_str(), user->pw_uid, user->pw_gid) == 0);
  }
  auto person = postgres::Connection(server.address(), "");
  person.run("CREATE TABLESPACE small LOCATION '" + disk + "'");
  const auto office =
      must(PostgresOffice::open(server.address() + "?options=-c%20default_tablespace%3Dsmall"));
  must(office->apply(one(1)));
  const std::string ballast = disk + "/ballast";
  std::ofstream(ballast) << std::string(8U << 20U, 'x');
  Error error;
  std::uint64_t n = 1;
  std::uint64_t answered = 1;
  while (error.detail.empty() && n < 1'000) {
    DeadLetter record = *std::get<Append>(a_death(++n)).record;
    auto message = std::make_shared<Message>(*record.message);
    std::string payload;
    for (std::uint64_t i = 0; payload.size() < 200'000; ++i) payload += std::to_string(i * n * n);
    message->payload = payload;
    record.message = message;
    const auto answer =
        office->apply(std::vector<Change>{Append{std::make_shared<DeadLetter>(record), {}}});
    if (answer) ++answered;
    if (!answer) error = answer.error();
  }
  EXPECT_OR_RETURN(error.code == Code::disk_full);
  EXPECT_OR_RETURN(error.detail.find("No space left") != std::string::npos);
  EXPECT_OR_RETURN(office->get(id_of(n)).error().code == Code::not_found);
  EXPECT_OR_RETURN(office->get(id_of(1)).has_value());
  EXPECT_OR_RETURN(::unlink(ballast.c_str()) == 0);
  EXPECT_OR_RETURN(eventually([&] { return office->apply(one(5'000)).has_value(); }));
  Query all;
  all.limit = 10'000;
  all.time_box = std::chrono::minutes{1};
  EXPECT_OR_RETURN(must(office->list(all)).rows.size() == answered + 1);
  return 0;
}

TEST(PostgresDisk, AFullDiskIsToldOfAndWrittenToAgainWhenThereIsRoom) {
  SKIP_WITHOUT_SERVER((void)shared_postgres());
  EXPECT_ON_SMALL_DISK("32", fill_the_disk);
}

}  // namespace
}  // namespace dlo::testing
