// The same contract with a key: over an office in memory and over SQLite.
#include "dlo/store/sealed/sealed_office.h"

#include <memory>

#include "conformance/office/office_suite.h"
#include "support/eventually.h"
#include "support/temporary_directory.h"

#include "dlo/store/memory/memory_office.h"
#include "dlo/store/sqlite/sqlite_office.h"
#include "dlo/vault/vault.h"

namespace dlo::testing {
namespace {

/// The same keys whenever it is opened; the office itself begins empty.
std::shared_ptr<const Vault> a_vault() {
  KeyDraw draw;
  draw.id.fill(7);
  draw.secret.fill(8);
  const KeyRing ring{{master_key(draw)}};
  const std::vector<WrappedKey> keys{must(new_data_key(ring.keys.front(), 1, TimePoint{}, draw))};
  return std::make_shared<const Vault>(must(Vault::open(ring, keys)));
}

/// What the suite searches by.
std::vector<FieldPath> indexed() {
  std::vector<FieldPath> paths;
  for (const char* text : {"header.tenant", "header.region", "body.order.id", "body.order.city",
                           "body.paid", "body.order"}) {
    paths.push_back(must(FieldPath::parse(text)));
  }
  return paths;
}

std::unique_ptr<SealedOffice> seal(const std::shared_ptr<Office>& inner) {
  return std::make_unique<SealedOffice>(inner, a_vault(), indexed());
}

class SealedMemory final : public OfficeUnderTest {
 public:
  Office& office() override { return *office_; }

 private:
  std::unique_ptr<SealedOffice> office_ = seal(std::make_shared<MemoryOffice>());
};

class SealedSqlite final : public OfficeUnderTest {
 public:
  Office& office() override { return *office_; }
  void reopen() override {
    office_.reset();
    office_ = open();
  }
  void settle_indexes() override {
    EXPECT_TRUE(
        eventually([this] { return must(office_->aggregate({})).unindexed_payloads == 0; }));
  }

 private:
  [[nodiscard]] std::unique_ptr<SealedOffice> open() const {
    return seal(must(SqliteOffice::open(directory_.path())));
  }
  TemporaryDirectory directory_;
  std::unique_ptr<SealedOffice> office_ = open();
};

OfficeBackend sealed(std::string name, std::function<std::unique_ptr<OfficeUnderTest>()> make,
                     bool durable) {
  OfficeBackend backend{std::move(name), std::move(make), durable};
  backend.searches_payloads = false;
  return backend;
}

INSTANTIATE_TEST_SUITE_P(
    Sealed, OfficeSuite,
    ::testing::Values(sealed(
                          "memory", [] { return std::make_unique<SealedMemory>(); }, false),
                      sealed(
                          "sqlite", [] { return std::make_unique<SealedSqlite>(); }, true)),
    backend_name);

}  // namespace
}  // namespace dlo::testing
