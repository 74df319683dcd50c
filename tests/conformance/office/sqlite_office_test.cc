#include "dlo/store/sqlite/sqlite_office.h"

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
