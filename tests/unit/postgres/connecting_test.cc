// Every way in which libpq can be told where the server is, and TLS.
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/certificate.h"
#include "support/eventually.h"
#include "unit/postgres/support.h"

namespace dlo::testing {
namespace {

std::vector<Change> one(std::uint64_t n) {
  return {a_death(n)};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
}

/// For as long as it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): nobody else runs yet
  }
  ~Environment() { ::unsetenv(name_); }  // NOLINT(concurrency-mt-unsafe): as above
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

/// A server with a certificate for `localhost`, where ann needs a password.
class PostgresConnecting : public ::testing::Test {
 protected:
  void SetUp() override {
    files_ = make_certificate(directory_.path(), "localhost");
    const std::string rules = directory_.path() + "/pg_hba.conf";
    write_file(rules,
               "host all ann 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
               "local all all trust\n");
    give_to_server(files_.certificate);
    give_to_server(files_.key);
    give_to_server(rules);
    SKIP_WITHOUT_SERVER(server_ = std::make_unique<PostgresServer>(std::vector<std::string>{
                            "ssl=on", "ssl_cert_file=" + files_.certificate,
                            "ssl_key_file=" + files_.key, "hba_file=" + rules}));
    person_ = std::make_unique<postgres::Connection>(server_->address(), "");
    person_->run(
        "CREATE ROLE ann LOGIN PASSWORD 'hunter2'; GRANT CREATE ON DATABASE postgres TO ann");
  }
  /// It refuses a key that others could read, and does not run as root.
  void give_to_server(const std::string& path) const {
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    const auto* user = ::getpwnam("postgres");
    if (::geteuid() != 0 || user == nullptr) return;
    ASSERT_EQ(::chown(path.c_str(), user->pw_uid, user->pw_gid), 0);
  }
  [[nodiscard]] std::string with(const std::string& user, const std::string& host,
                                 const std::string& rest) const {
    return "host=" + host + " hostaddr=127.0.0.1 port=" + std::to_string(server_->port()) +
           " user=" + user + " dbname=postgres " + rest;
  }
  [[nodiscard]] static Error refusal(const std::string& address) {
    const auto opened = PostgresOffice::open(address);
    return opened ? Error{Code::conflict, "", "it was opened"} : opened.error();
  }
  static void expect_works(const std::string& address) {
    const auto office = PostgresOffice::open(address);
    ASSERT_TRUE(office) << office.error().detail;
    must((*office)->apply(one(1)));
    EXPECT_TRUE((*office)->get(id_of(1)).has_value());
  }

  TemporaryDirectory directory_;
  CertificateFiles files_;
  std::unique_ptr<PostgresServer> server_;
  std::unique_ptr<postgres::Connection> person_;
};

TEST_F(PostgresConnecting, EveryConnectionIsEncryptedWhereThatIsRequired) {
  const auto office = must(PostgresOffice::open(server_->address() + "?sslmode=require"));
  must(office->apply(one(1)));
  EXPECT_TRUE(office->get(id_of(1)).has_value());
  const auto rows = person_->ask(
      "SELECT count(*), count(*) FILTER (WHERE ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING "
      "(pid) WHERE application_name = 'dlo' AND pid <> pg_backend_pid()");
  EXPECT_GE(rows.front().number(0), 2);
  EXPECT_EQ(rows.front().number(0), rows.front().number(1));
}

TEST_F(PostgresConnecting, TheServerHasToBeTheOneOfTheCertificate) {
  const std::string root = "sslmode=verify-full sslrootcert=" + files_.certificate;
  expect_works(with("dlo", "localhost", root));
  const Error other_name = refusal(with("dlo", "db.example", root));
  EXPECT_EQ(other_name.code, Code::unavailable);
  EXPECT_NE(other_name.detail.find("does not match host name"), std::string::npos)
      << other_name.detail;
  const CertificateFiles stranger = make_certificate(directory_.path(), "stranger");
  const Error other_root =
      refusal(with("dlo", "localhost", "sslmode=verify-full sslrootcert=" + stranger.certificate));
  EXPECT_EQ(other_root.code, Code::unavailable);
  EXPECT_NE(other_root.detail.find("certificate verify failed"), std::string::npos)
      << other_root.detail;
}

TEST_F(PostgresConnecting, AServerWithoutTlsIsRefusedWhereTlsIsRequired) {
  const Error error = refusal(shared_postgres() + "?sslmode=require");
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_NE(error.detail.find("does not support SSL"), std::string::npos) << error.detail;
}

TEST_F(PostgresConnecting, PasswordsComeWithTheAddressOrFromAFile) {
  expect_works(with("ann", "localhost", "password=hunter2"));
  expect_works("postgresql://ann:hunter2@127.0.0.1:" + std::to_string(server_->port()) +
               "/postgres");
  const std::string file = directory_.path() + "/passwords";
  write_file(file, "localhost:" + std::to_string(server_->port()) + ":postgres:ann:hunter2\n");
  expect_works(with("ann", "localhost", "passfile=" + file));
  const Environment named("PGPASSFILE", file);
  expect_works(with("ann", "localhost", ""));
}

TEST_F(PostgresConnecting, AWrongPasswordIsSaidAndNotRepeated) {
  const Error error = refusal(with("ann", "localhost", "password=hunter3"));
  EXPECT_NE(error.detail.find("password authentication failed"), std::string::npos) << error.detail;
  EXPECT_EQ(error.detail.find("hunter3"), std::string::npos) << error.detail;
  const auto office = must(PostgresOffice::open(with("ann", "localhost", "password=hunter2")));
  EXPECT_EQ(office->place().find("hunter2"), std::string::npos) << office->place();
  server_->crash();
  const Error away = office->apply(one(1)).error();
  EXPECT_EQ(away.detail.find("hunter2"), std::string::npos) << away.detail;
}

TEST_F(PostgresConnecting, AServiceNamesTheRest) {
  const std::string file = directory_.path() + "/services";
  write_file(file, "[office]\nhost=127.0.0.1\nport=" + std::to_string(server_->port()) +
                       "\nuser=dlo\ndbname=postgres\n");
  const Environment named("PGSERVICEFILE", file);
  expect_works("service=office");
  expect_works("postgresql:///?service=office");
  const Environment service("PGSERVICE", "office");
  expect_works("application_name=mine");
}

TEST_F(PostgresConnecting, OfSeveralServersTheOneThatTakesWritesIsFound) {
  PostgresServer standby({"default_transaction_read_only=on"});
  const std::string ports =
      "1," + std::to_string(standby.port()) + "," + std::to_string(server_->port());
  const std::string address =
      "host=127.0.0.1,127.0.0.1,127.0.0.1 port=" + ports + " user=dlo dbname=postgres ";
  const auto office = must(PostgresOffice::open(address + "target_session_attrs=read-write"));
  must(office->apply(one(1)));
  EXPECT_NE(office->place().find(":" + std::to_string(server_->port())), std::string::npos)
      << office->place();
  server_->crash();
  EXPECT_TRUE(eventually([&] {
    const auto answer = office->apply(one(2));
    return !answer && answer.error().detail.find("session is read-only") != std::string::npos;
  })) << "of each server is said what is the matter";
  server_->start();
  EXPECT_TRUE(eventually([&] { return office->apply(one(3)).has_value(); }));
}

}  // namespace
}  // namespace dlo::testing
