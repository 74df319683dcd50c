#include "dlo/store/sqlite/sqlite_office.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "conformance/office/office_suite.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

class SqliteOfficeUnderTest final : public OfficeUnderTest {
 public:
  Office& office() override { return *office_; }
  void reopen() override {
    office_.reset();
    office_ = must(SqliteOffice::open(directory_.path()));
  }
  void settle_indexes() override {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (must(office_->aggregate({})).unindexed_payloads > 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        throw std::runtime_error("the payload index does not catch up");
      }
      std::this_thread::yield();
    }
  }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<SqliteOffice> office_ = must(SqliteOffice::open(directory_.path()));
};

OfficeBackend sqlite_backend() {
  return {"sqlite", [] { return std::make_unique<SqliteOfficeUnderTest>(); }, true};
}

INSTANTIATE_TEST_SUITE_P(Sqlite, OfficeSuite, ::testing::Values(sqlite_backend()), backend_name);

}  // namespace
}  // namespace dlo::testing
