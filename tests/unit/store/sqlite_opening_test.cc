#include <array>
#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <map>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/store/sqlite_support.h"

#include "dlo/store/sqlite/schema.h"
#include "dlo/store/sqlite/soundness.h"

namespace dlo::testing {
namespace {

using ::testing::HasSubstr;

class SqliteOpening : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file() const { return directory_.path() + "/office.db"; }
  void fill(std::uint64_t count) {
    const auto office = open_office(directory_.path());
    for (std::uint64_t n = 1; n <= count; ++n) must_apply(*office, {append_of(letter(n))});
  }
  [[nodiscard]] Error refusal(SqliteOptions options = {}) const {
    const auto opened = SqliteOffice::open(directory_.path(), std::move(options));
    if (opened) throw std::runtime_error("it opened");
    return opened.error();
  }
  TemporaryDirectory directory_;
};

// R19
TEST_F(SqliteOpening, ASecondWriterIsRefusedWithThePidOfTheFirst) {
  const auto first = open_office(directory_.path());
  const Error error = refusal();
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_THAT(error.detail, HasSubstr("pid " + std::to_string(::getpid()) + " "));
}

TEST_F(SqliteOpening, AnOfficeThatWasClosedCanBeOpenedAgain) {
  fill(1);
  EXPECT_EQ(all_pages(*open_office(directory_.path()), {}).size(), 1U);
}

TEST_F(SqliteOpening, TheLockOfAKilledWriterIsFree) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto office = SqliteOffice::open(directory_.path());
    const char said = office ? '!' : '?';
    if (::write(ready[1], &said, 1) == 1) ::pause();
    ::_exit(1);
  }
  char said = 0;
  ASSERT_EQ(::read(ready[0], &said, 1), 1);
  EXPECT_EQ(said, '!');
  EXPECT_THAT(refusal().detail, HasSubstr("pid " + std::to_string(child) + " "));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(SqliteOffice::open(directory_.path()).has_value());
}

TEST_F(SqliteOpening, AReaderBesideTheWriterSeesWhatItWrites) {
  const auto writer = open_office(directory_.path());
  const auto reader = open_office(directory_.path(), {.read_only = true});
  EXPECT_EQ(all_pages(*reader, {}).size(), 0U);
  must_apply(*writer, {append_of(letter(1))});
  EXPECT_EQ(all_pages(*reader, {}).size(), 1U);
}

TEST_F(SqliteOpening, AReaderCanWriteNothing) {
  fill(1);
  const auto reader = open_office(directory_.path(), {.read_only = true});
  const std::vector<Change> changes{append_of(letter(2))};
  EXPECT_EQ(reader->apply(changes).error().code, Code::refused);
  EXPECT_EQ(reader->claim(1, noon, Millis{1000}, "").error().code, Code::refused);
  EXPECT_EQ(reader->renew({}, noon, Millis{1000}).error().code, Code::refused);
}

TEST_F(SqliteOpening, ReadingWhereThereIsNoOfficeSaysSoAndMakesNone) {
  EXPECT_EQ(refusal({.read_only = true}).code, Code::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(SqliteOpening, ADirectoryThatIsMissingIsMade) {
  const auto office = open_office(directory_.path() + "/a/b");
  must_apply(*office, {append_of(letter(1))});
}

/// Every file of the directory but the lock, with its bytes.
std::map<std::string, std::string> files_in(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& each : std::filesystem::directory_iterator(directory)) {
    const std::string name = each.path().filename().string();
    if (each.is_regular_file() && name != "office.lock") files[name] = bytes_of(each.path());
  }
  return files;
}

// Opened, it would begin anew as if nothing had ever been kept.
TEST_F(SqliteOpening, AnOfficeThatWasCutToNothingOrIsGoneIsRefusedAndLeftAsItIs) {
  fill(3);
  wait_for_index(*open_office(directory_.path()));
  ASSERT_TRUE(std::filesystem::exists(directory_.path() + "/payloads.db"));
  const auto is_refused = [&](const char* what, const char* beside) {
    const auto before = files_in(directory_.path());
    for (const bool read_only : {true, false}) {
      const Error error = refusal({.read_only = read_only});
      EXPECT_EQ(error.code, Code::corrupt);
      EXPECT_THAT(error.detail, HasSubstr(what));
      EXPECT_THAT(error.detail, HasSubstr(beside));
      EXPECT_THAT(error.detail, HasSubstr("backup"));
      EXPECT_THAT(error.detail, HasSubstr("begin anew"));
    }
    EXPECT_EQ(files_in(directory_.path()), before);
  };
  write_bytes(file(), "");
  is_refused("is an empty file", "payloads.db");
  std::filesystem::remove(file());
  is_refused("there is no ", "payloads.db");
  std::filesystem::remove(directory_.path() + "/payloads.db");
  write_bytes(file() + "-wal", "what was written last");
  is_refused("there is no ", "office.db-wal");
  write_bytes(file(), "");
  is_refused("is an empty file", "office.db-wal");
  std::filesystem::remove(file() + "-wal");
  std::filesystem::create_directories(directory_.path() + "/queues/journal");
  is_refused("is an empty file", "queues");
}

TEST_F(SqliteOpening, WhatABeginningLeftThatWasCutShortIsBegunAgain) {
  write_bytes(file(), "");
  write_bytes(file() + "-wal", "");
  write_bytes(directory_.path() + "/office.lock", "1\n");
  write_bytes(directory_.path() + "/dlo.yaml", "data: .\n");
  fill(1);
  EXPECT_EQ(all_pages(*open_office(directory_.path()), {}).size(), 1U);
}

TEST_F(SqliteOpening, ADirectoryThatWasAQueuesAloneGetsAnOffice) {
  std::filesystem::create_directories(directory_.path() + "/queues/journal");
  fill(1);
  EXPECT_EQ(all_pages(*open_office(directory_.path()), {}).size(), 1U);
}

TEST_F(SqliteOpening, ANewerSchemaIsRefusedAndLeftAsItIs) {
  fill(3);
  ask(file(), "INSERT INTO schema_versions VALUES(99, 'from the future')");
  const std::string before = bytes_of(file());
  for (const bool read_only : {false, true}) {
    const Error error = refusal({.read_only = read_only});
    EXPECT_EQ(error.code, Code::refused);
    EXPECT_THAT(error.detail, HasSubstr("version 99"));
  }
  EXPECT_EQ(bytes_of(file()), before);
}

TEST_F(SqliteOpening, AnotherProgramsDatabaseIsRefusedAndLeftAsItIs) {
  ask(file(), "CREATE TABLE music(title); INSERT INTO music VALUES('Bolero')");
  const std::string before = bytes_of(file());
  EXPECT_EQ(refusal().code, Code::refused);
  EXPECT_EQ(bytes_of(file()), before);
}

TEST_F(SqliteOpening, AFileThatIsNoDatabaseIsCalledCorruptAndLeftAsItIs) {
  write_bytes(file(), std::string(20'000, 'x'));
  const Error error = refusal();
  EXPECT_EQ(error.code, Code::corrupt);
  EXPECT_THAT(error.detail, HasSubstr(file()));
  EXPECT_THAT(error.detail, HasSubstr("nothing is written to it any more"));
  EXPECT_THAT(refusal({.read_only = true}).detail, HasSubstr("opening the database failed"));
  EXPECT_EQ(bytes_of(file()), std::string(20'000, 'x'));
}

TEST_F(SqliteOpening, AFlippedHeaderIsCalledCorruptAndLeftAsItIs) {
  fill(3);
  std::string bytes = bytes_of(file());
  for (std::size_t i = 0; i < 16; ++i) bytes[i] = static_cast<char>(~bytes[i]);
  write_bytes(file(), bytes);
  EXPECT_EQ(refusal().code, Code::corrupt);
  EXPECT_EQ(refusal({.read_only = true}).code, Code::corrupt);
  EXPECT_EQ(bytes_of(file()), bytes);
}

TEST_F(SqliteOpening, DamageInsideIsAnErrorOfTheCallThatMeetsIt) {
  fill(300);
  std::string bytes = bytes_of(file());
  for (std::size_t at = 4096; at < bytes.size(); ++at) bytes[at] = static_cast<char>(at * 31 % 251);
  write_bytes(file(), bytes);
  const auto opened = SqliteOffice::open(directory_.path());
  if (!opened) {
    EXPECT_EQ(opened.error().code, Code::corrupt);
  } else {
    EXPECT_EQ((*opened)->list({}).error().code, Code::corrupt);
    const std::vector<Change> changes{append_of(letter(1000))};
    EXPECT_EQ((*opened)->apply(changes).error().code, Code::corrupt);
  }
  EXPECT_EQ(bytes_of(file()), bytes);
}

TEST_F(SqliteOpening, ALookThroughThePagesFindsDamageThatNobodyHasMet) {
  fill(300);
  EXPECT_EQ(must(look_through(directory_.path(), Millis{60'000})).damage, "");
  EXPECT_TRUE(must(look_through(directory_.path(), Millis{60'000})).whole);
  EXPECT_FALSE(must(look_through(directory_.path(), Millis{0})).whole);
  std::string bytes = bytes_of(file());
  for (std::size_t at = bytes.size() / 2; at < bytes.size() / 2 + 20 * 4096; ++at) {
    bytes[at] = static_cast<char>(at * 31 % 251);
  }
  write_bytes(file(), bytes);
  EXPECT_NE(must(look_through(directory_.path(), Millis{60'000})).damage, "");
  EXPECT_EQ(bytes_of(file()), bytes);
}

/// Runs `body` as a user who owns nothing here.
int as_nobody(const std::function<int()>& body) {
  return in_child([&] {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 254;
    return body();
  });
}

TEST_F(SqliteOpening, WithoutWriteAccessItIsRefusedWithWhatToDo) {
  fill(1);
  ::chmod(file().c_str(), 0444);
  ::chmod(directory_.path().c_str(), 0555);
  EXPECT_EQ(as_nobody([&] {
              const Error error = refusal();
              const bool helps = error.detail.find("write access") != std::string::npos;
              return error.code == Code::refused && helps ? 0 : 1;
            }),
            0);
  ::chmod(directory_.path().c_str(), 0755);
}

TEST_F(SqliteOpening, WithoutWriteAccessItCanStillBeRead) {
  fill(2);
  ::chmod(file().c_str(), 0444);
  ::chmod(directory_.path().c_str(), 0555);
  EXPECT_EQ(as_nobody([&] {
              const auto office = open_office(directory_.path(), {.read_only = true});
              return static_cast<int>(all_pages(*office, {}).size());
            }),
            2);
  ::chmod(directory_.path().c_str(), 0755);
}

/// The office and all that belongs to it become those of the user that `as_nobody` runs as.
void give_away(const std::string& directory) {
  if (::geteuid() != 0) return;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    ASSERT_EQ(::chown(entry.path().c_str(), 65534, 65534), 0);
  }
  ASSERT_EQ(::chown(directory.c_str(), 65534, 65534), 0);
}

TEST_F(SqliteOpening, AFileThatItsOwnerMayNotWriteIsRefusedToAWriterAndReadByAReader) {
  fill(2);
  give_away(directory_.path());
  for (const mode_t mode : {mode_t{0444}, mode_t{0400}}) {
    ::chmod(file().c_str(), mode);
    EXPECT_EQ(as_nobody([&] {
                const Error error = refusal();
                const std::string octal = "mode 0" + std::string(mode == 0444 ? "444" : "400");
                const bool named = error.detail.find(file()) != std::string::npos &&
                                   error.detail.find(octal) != std::string::npos &&
                                   error.detail.find("chmod") != std::string::npos;
                return error.code == Code::refused && named ? 0 : 1;
              }),
              0);
    EXPECT_EQ(as_nobody([&] {
                const auto office = open_office(directory_.path(), {.read_only = true});
                return static_cast<int>(all_pages(*office, {}).size());
              }),
              2);
  }
  // Whoever read it left marks with the mode of the file.
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    ::chmod(entry.path().c_str(), 0600);
  }
  EXPECT_EQ(as_nobody([&] { return open_office(directory_.path()) ? 0 : 1; }), 0);
}

TEST_F(SqliteOpening, AFileThatMayNotBeReadIsNamedWithItsMode) {
  fill(1);
  give_away(directory_.path());
  ::chmod(file().c_str(), 0);
  for (const bool read_only : {false, true}) {
    EXPECT_EQ(as_nobody([&] {
                const Error error = refusal({.read_only = read_only});
                const bool named =
                    error.detail.find("cannot read " + file() + ":") != std::string::npos &&
                    error.detail.find("mode 0000") != std::string::npos &&
                    error.detail.find("chmod") != std::string::npos;
                return error.code == Code::refused && named ? 0 : 1;
              }),
              0)
        << read_only;
  }
}

TEST_F(SqliteOpening, ADirectoryThatMayNotBeEnteredIsNamedToAReader) {
  fill(1);
  give_away(directory_.path());
  ::chmod(directory_.path().c_str(), 0);
  EXPECT_EQ(as_nobody([&] {
              const Error error = refusal({.read_only = true});
              const std::string said = "cannot read " + directory_.path() + ":";
              const bool named = error.detail.find(said) != std::string::npos;
              return error.code == Code::refused && named ? 0 : 1;
            }),
            0);
  ::chmod(directory_.path().c_str(), 0755);
}

TEST_F(SqliteOpening, AnyNameOfADirectoryCanBeReadWhereNothingMayBeWritten) {
  ::chmod(directory_.path().c_str(), 0755);
  for (const char* name : {"a#b", "a?b", "a%41b", "100%", "a b&c=d", "a%00b", "\xC3\xA4"}) {
    const std::string directory = directory_.path() + "/" + name;
    must_apply(*open_office(directory), {append_of(letter(1))});
    {
      sqlite::Connection db(directory + "/office.db", sqlite::Access::immutable);
      EXPECT_EQ(db.number("SELECT count(*) FROM records"), 1) << name;
    }
    ::chmod(directory.c_str(), 0555);
    EXPECT_EQ(as_nobody([&] {
                const auto office = open_office(directory, {.read_only = true});
                return static_cast<int>(all_pages(*office, {}).size());
              }),
              1)
        << name;
    ::chmod(directory.c_str(), 0755);
  }
}

// --- migrations -------------------------------------------------------------------------------

TEST_F(SqliteOpening, StepsAreCarriedOutOnceAndInOrder) {
  const std::array<sqlite::Migration, 2> steps{
      {{1, "one", "CREATE TABLE a(x INTEGER)"}, {2, "two", "INSERT INTO a VALUES(1)"}}};
  sqlite::Connection db(file(), sqlite::Access::create);
  sqlite::migrate(db, std::span(steps).first(1));
  EXPECT_EQ(sqlite::schema_version(db), 1);
  sqlite::migrate(db, steps);
  sqlite::migrate(db, steps);
  EXPECT_EQ(sqlite::schema_version(db), 2);
  EXPECT_EQ(db.number("SELECT count(*) FROM a"), 1);
}

TEST_F(SqliteOpening, AStepThatFailsLeavesTheStepBeforeIt) {
  const std::array<sqlite::Migration, 2> steps{
      {{1, "one", "CREATE TABLE a(x INTEGER)"},
       {2, "two", "CREATE TABLE b(x INTEGER); INSERT INTO missing VALUES(1)"}}};
  sqlite::Connection db(file(), sqlite::Access::create);
  EXPECT_THROW(sqlite::migrate(db, steps), sqlite::Failed);
  EXPECT_EQ(sqlite::schema_version(db), 1);
  EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_schema WHERE name = 'b'"), 0);
}

TEST_F(SqliteOpening, AnOlderSchemaIsNotMigratedByAReader) {
  fill(1);
  ask(file(), "DELETE FROM schema_versions; INSERT INTO schema_versions VALUES(0, 'of old')");
  const Error error = refusal({.read_only = true});
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_THAT(error.detail, HasSubstr("open it once for writing"));
}

}  // namespace
}  // namespace dlo::testing
