#include "dlo/store/postgres/postgres_office.h"

#include <atomic>
#include <stdexcept>
#include <unistd.h>

#include "conformance/office/office_suite.h"
#include "support/eventually.h"
#include "support/postgres_server.h"

#include "dlo/postgres/connection.h"

namespace dlo::testing {
namespace {

/// A schema that nobody else has used.
std::string fresh_schema() {
  static std::atomic<int> schemas{0};
  return "t" + std::to_string(::getpid()) + "_" + std::to_string(++schemas);
}

class PostgresOfficeUnderTest final : public OfficeUnderTest {
 public:
  ~PostgresOfficeUnderTest() override {
    office_.reset();
    postgres::Connection(address_, "").run("DROP SCHEMA \"" + schema_ + "\" CASCADE");
  }
  Office& office() override { return *office_; }
  void reopen() override {
    office_.reset();
    office_ = open();
  }
  void settle_indexes() override {
    const auto is_settled = [this] { return must(office_->aggregate({})).unindexed_payloads == 0; };
    if (!eventually(is_settled)) throw std::runtime_error("the payload index does not catch up");
  }

 private:
  [[nodiscard]] std::unique_ptr<PostgresOffice> open() const {
    PostgresOptions options;
    options.schema = schema_;
    return must(PostgresOffice::open(address_, options));
  }
  std::string address_ = shared_postgres();
  std::string schema_ = fresh_schema();
  std::unique_ptr<PostgresOffice> office_ = open();
};

OfficeBackend postgres_backend() {
  return {"postgres", [] { return std::make_unique<PostgresOfficeUnderTest>(); }, true};
}

INSTANTIATE_TEST_SUITE_P(Postgres, OfficeSuite, ::testing::Values(postgres_backend()),
                         backend_name);

}  // namespace
}  // namespace dlo::testing
