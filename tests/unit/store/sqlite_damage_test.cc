// What becomes of an office that was found damaged: its files stay as they are.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <unistd.h>

#include "support/eventually.h"
#include "unit/store/sqlite_support.h"

#include "dlo/store/sqlite/payload_index.h"

namespace dlo::testing {
namespace {

using ::testing::HasSubstr;

using Files = std::map<std::string, std::string>;

class SqliteDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto office = open_office(directory_.path());
    fill(*office, 1, 300);
    wait_for_index(*office);
  }
  static void fill(Office& office, std::uint64_t first, std::uint64_t last) {
    std::vector<Change> changes;
    for (std::uint64_t n = first; n <= last; ++n) changes.push_back(append_of(letter(n)));
    must_apply(office, changes);
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return directory_.path() + "/" + name;
  }
  /// Every file that holds something, but for the marks of whoever reads.
  [[nodiscard]] Files files() const {
    Files found;
    for (const auto& each : std::filesystem::directory_iterator(directory_.path())) {
      const std::string name = each.path().filename().string();
      if (name.ends_with("-shm") || name == "office.lock") continue;
      if (std::string bytes = bytes_of(each.path()); !bytes.empty()) found[name] = bytes;
    }
    return found;
  }
  /// Which page is the root of a table. Whoever asks folds a log that nobody else has open.
  [[nodiscard]] std::int64_t root_of(const std::string& name, const std::string& table) const {
    return std::stoll(
        ask(file(name), "SELECT rootpage FROM sqlite_schema WHERE name = '" + table + "'"));
  }
  /// Noise in place of a page.
  void spoil(const std::string& name, std::int64_t page) const {
    std::fstream out(file(name), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp((page - 1) * 4096);
    for (int at = 0; at < 4096; ++at) out.put(static_cast<char>(at * 31 % 251));
  }
  void spoil(const std::string& name, const std::string& table) const {
    spoil(name, root_of(name, table));
  }
  static void expect_refused(SqliteOffice& office, const Error& found) {
    const std::vector<Change> changes{append_of(letter(2000))};
    const LeaseToken lease;
    for (const auto& error : {office.apply(changes).error(), office.apply({}).error(),
                              office.claim(1, noon, Millis{1000}, "").error(),
                              office.renew({&lease, 1}, noon, Millis{1000}).error()}) {
      EXPECT_EQ(error.code, Code::corrupt);
      EXPECT_EQ(error.detail, found.detail);
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(SqliteDamage, WhereItIsMetInTheMiddleNothingIsWrittenFromThenOn) {
  auto office = open_office(directory_.path());
  must_apply(*office, {append_of(letter(1000))});
  wait_for_index(*office);
  spoil("office.db", "bodies");
  const Files before = files();
  ASSERT_TRUE(before.contains("office.db-wal"));
  ASSERT_TRUE(before.contains("payloads.db-wal"));

  const auto met = office->get(letter(5).id);
  ASSERT_EQ(met.error().code, Code::corrupt);
  EXPECT_THAT(met.error().detail, HasSubstr("nothing is written to it any more"));
  expect_refused(*office, met.error());
  EXPECT_EQ(all_pages(*office, {}).size(), 301U) << "what can be read is read";
  EXPECT_EQ(files(), before);
  office.reset();
  EXPECT_EQ(files(), before);
}

TEST_F(SqliteDamage, ThatIsThereAtOpeningIsFoundBeforeAnythingIsWritten) {
  spoil("office.db", "attempts");
  const Files before = files();
  for (int again = 0; again < 2; ++again) {
    auto office = open_office(directory_.path());
    const Error damage = office->apply({}).error();
    EXPECT_THAT(damage.detail, HasSubstr(file("office.db") + " is damaged ("));
    EXPECT_THAT(damage.detail, HasSubstr("office.db-wal"));
    expect_refused(*office, damage);
    EXPECT_EQ(all_pages(*office, {}).size(), 300U);
    office.reset();
    EXPECT_EQ(files(), before);
  }
}

TEST_F(SqliteDamage, TheLogOfAKilledWriterIsNotFoldedIntoADamagedOffice) {
  const std::int64_t page = root_of("office.db", "attempts");
  ASSERT_EQ(in_child([&]() -> int {
              const auto office = open_office(directory_.path());
              must_apply(*office, {append_of(letter(1000))});
              wait_for_index(*office);
              ::_exit(7);
            }),
            7);
  spoil("office.db", page);
  const Files before = files();
  ASSERT_TRUE(before.contains("office.db-wal"));
  ASSERT_TRUE(before.contains("payloads.db-wal"));
  {
    const auto office = open_office(directory_.path());
    EXPECT_EQ(office->apply({}).error().code, Code::corrupt);
    EXPECT_EQ(all_pages(*office, {}).size(), 301U);
  }
  EXPECT_EQ(files(), before);
}

TEST_F(SqliteDamage, AnOldSchemaIsNotMigratedThen) {
  ask(file("office.db"), without_policies);
  spoil("office.db", "attempts");
  const Files before = files();
  const auto opened = SqliteOffice::open(directory_.path());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
  EXPECT_EQ(files(), before);
}

TEST_F(SqliteDamage, WhoeverFollowsPayloadsNotesItAndLeavesTheIndex) {
  ask(file("payloads.db"), "UPDATE progress SET number = 0");
  spoil("office.db", "bodies");
  const Files before = files();
  sqlite::Damage damage;
  {
    const sqlite::PayloadIndex index(
        file("office.db"), file("payloads.db"), true, [](std::int64_t) {}, damage);
    EXPECT_TRUE(eventually([&] { return damage.found(); }));
  }
  EXPECT_EQ(files(), before);
}

TEST_F(SqliteDamage, OfThePayloadIndexAloneCostsTheOfficeNothing) {
  {
    const auto office = open_office(directory_.path());
    fill(*office, 301, 1500);
    wait_for_index(*office);
  }
  spoil("payloads.db", "payload_text_data");
  const auto office = open_office(directory_.path());
  Query query;
  query.payload_words = "order";
  EXPECT_EQ(all_pages(*office, query).size(), 1500U);
  must_apply(*office, {append_of(letter(2000))});
}

}  // namespace
}  // namespace dlo::testing
