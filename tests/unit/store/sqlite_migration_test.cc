// Offices of every older version of the schema, with rows in them, are brought up to date; also by
// one who is killed on the way.
#include <csignal>
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <string>
#include <tuple>
#include <vector>

#include "support/older_office.h"
#include "unit/store/sqlite_support.h"

namespace dlo::testing {
namespace {

constexpr std::uint64_t letters = 300;

std::size_t current() {
  return sqlite::office_migrations().size();
}

void die_now(sqlite3_context*, int, sqlite3_value**) {
  ::raise(SIGKILL);
}
void (*defined_by_the_step)(sqlite::Connection&) = nullptr;
/// Whoever asks for `die()` in SQL does.
void define_death(sqlite::Connection& db) {
  if (defined_by_the_step != nullptr) defined_by_the_step(db);
  sqlite3_create_function_v2(db.raw(), "die", 0, SQLITE_UTF8, nullptr, die_now, nullptr, nullptr,
                             nullptr);
}

class Migration : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    const auto office = open_office(now_.path());
    std::vector<Change> all;
    for (std::uint64_t n = 1; n <= letters; ++n) all.push_back(append_of(letter(n)));
    must_apply(*office, all);
    Transition resolved;
    resolved.id = letter(1).id;
    resolved.to = Status::resolved;
    resolved.now = noon;
    resolved.resolution = Resolution{noon, "ana", "manual", "by hand"};
    Transition due;
    due.id = letter(2).id;
    due.to = Status::pending;
    due.now = noon;
    due.next_retry_at = noon + Millis{5};
    AddVersion edit;
    edit.id = letter(3).id;
    edit.expected_version = 1;
    edit.payload = "{}";
    edit.by = "bo";
    must_apply(*office, {resolved, due, edit, PutDocument{"view", "mine", "{}", std::nullopt},
                         AddAudit{noon, "ana", "look", "all", "{}"},
                         AddAudit{noon, "ana", "look", "again", "{}"}});
    for (std::uint64_t n = 1; n <= letters; ++n)
      details_.push_back(must(office->get(letter(n).id)));
    pages_ = all_pages(*office, {});
  }

  static auto what_matters(const DeadLetter& record) {
    return std::tuple(record.occurrence, record.status, record.version, record.died_at,
                      record.next_retry_at, record.failure.type, record.failure.text,
                      record.counters, record.resolution, record.reason, record.category,
                      record.fingerprint.hash, record.message->id, record.message->key,
                      record.message->payload);
  }

  void expect_everything(const std::string& directory) {
    const auto office = open_office(directory);
    EXPECT_EQ(all_pages(*office, {}), pages_);
    for (std::uint64_t n = 1; n <= letters; ++n) {
      const auto detail = must(office->get(letter(n).id));
      const auto& before = details_[n - 1];
      EXPECT_EQ(what_matters(detail.record), what_matters(before.record)) << n;
      EXPECT_EQ(detail.versions.size(), before.versions.size()) << n;
    }
    Query words;
    words.error_words = "timed 17";
    EXPECT_EQ(all_pages(*office, words), std::vector<RecordId>{letter(17).id});
    Query filtered;
    filtered.source = "orders";
    filtered.statuses = {Status::resolved};
    EXPECT_EQ(all_pages(*office, filtered), std::vector<RecordId>{letter(1).id});
    AggregateRequest wanted;
    wanted.groups = 10;
    const auto numbers = must(office->aggregate(wanted));
    EXPECT_EQ(numbers.groups.size(), 5U);
    std::uint64_t open = 0;
    for (const GroupSummary& group : numbers.groups) open += group.open;
    EXPECT_EQ(open, letters - 1);
    const auto due = must(office->claim(10, noon + Millis{5}, Millis{1'000}, {}));
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due.front().record.id, letter(2).id);
    Ledger& ledger = *office->extras().ledger;
    EXPECT_TRUE(must(ledger.document("view", "mine")));
    EXPECT_EQ(first_broken(must(ledger.audit(0, 1'000))), std::nullopt);
    // And it goes on: the next is written and found like those before.
    must_apply(*office, {append_of(letter(letters + 1)), AddAudit{noon, "ana", "x", "y", "{}"}});
    EXPECT_EQ(all_pages(*office, {}).size(), letters + 1);
    EXPECT_EQ(first_broken(must(ledger.audit(0, 1'000))), std::nullopt);
  }
  static std::string version_in(const std::string& file) {
    return ask(file, "SELECT max(version) FROM schema_versions");
  }

  TemporaryDirectory now_;
  TemporaryDirectory place_;
  std::vector<RecordDetail> details_;
  std::vector<RecordId> pages_;
};

TEST_P(Migration, AnOfficeOfThatVersionIsBroughtUpToDateWithEverythingInIt) {
  const OlderOffice old(now_.path(), place_.path(), GetParam());
  ASSERT_EQ(version_in(old.file()), std::to_string(GetParam()));
  ASSERT_EQ(ask(old.file(), "SELECT count(*) FROM records"), std::to_string(letters));
  expect_everything(place_.path());
  EXPECT_EQ(version_in(old.file()), std::to_string(current()));
  EXPECT_EQ(ask(old.file(), "PRAGMA integrity_check"), "ok");
}

TEST_P(Migration, WhoeverIsKilledInAnyStepLeavesAnOfficeThatIsBroughtUpToDate) {
  for (std::size_t step = GetParam(); step < current(); ++step) {
    const TemporaryDirectory place;
    const OlderOffice old(now_.path(), place.path(), GetParam());
    const auto all = sqlite::office_migrations();
    std::vector<sqlite::Migration> steps(all.begin(), all.end());
    const std::string deadly = std::string(steps[step].sql) + "; SELECT die();";  // then COMMIT
    steps[step].sql = deadly;
    defined_by_the_step = steps[step].define;
    steps[step].define = define_death;
    const int ended = in_child([&] {
      sqlite::Connection db(old.file(), sqlite::Access::create);
      db.run("PRAGMA cache_size = 5");  // pages go to the log before the end
      sqlite::migrate(db, steps);
      return 0;
    });
    ASSERT_EQ(ended, 1000 + SIGKILL);
    EXPECT_EQ(version_in(old.file()), std::to_string(step)) << "the steps before are done";
    expect_everything(place.path());
    EXPECT_EQ(version_in(old.file()), std::to_string(current()));
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Migration,
                         ::testing::Range(std::size_t{1}, sqlite::office_migrations().size()),
                         [](const auto& version) {
                           return "From" + std::to_string(version.param);
                         });

}  // namespace
}  // namespace dlo::testing
