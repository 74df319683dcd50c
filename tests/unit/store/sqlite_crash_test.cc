#include <array>
#include <csignal>
#include <cstdlib>
#include <random>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "unit/store/sqlite_support.h"

namespace dlo::testing {
namespace {

constexpr std::uint64_t threads = 8;

/// Appends for ever from eight threads and says each letter that was acknowledged. Every third is
/// resolved in the same list as the next is appended.
[[noreturn]] void append_until_killed(const std::string& directory, std::uint64_t first, int said) {
  const auto office = open_office(directory);
  std::vector<std::thread> callers;
  for (std::uint64_t i = 0; i < threads; ++i) {
    callers.emplace_back([&, i] {
      for (std::uint64_t n = first + i;; n += threads) {
        std::vector<Change> changes{append_of(letter(n))};
        if (n % 3 == 0) {
          Transition close;
          close.id = letter(n).id;
          close.to = Status::resolved;
          close.resolution = Resolution{noon, "ops", "manual", ""};
          changes.emplace_back(close);
        }
        if (!office->apply(changes)) ::_exit(3);
        if (::write(said, &n, sizeof n) != sizeof n) ::_exit(4);
      }
    });
  }
  ::pause();
  ::_exit(5);
}

/// Starts the appender, reads `count` acknowledgements, kills it, and reads what it had still said.
std::set<std::uint64_t> acknowledged_before_kill(const std::string& directory, std::uint64_t first,
                                                 std::size_t count) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    append_until_killed(directory, first, ends[1]);
  }
  ::close(ends[1]);
  std::set<std::uint64_t> acknowledged;
  std::uint64_t n = 0;
  while (::read(ends[0], &n, sizeof n) == sizeof n) {
    acknowledged.insert(n);
    if (acknowledged.size() == count) ::kill(child, SIGKILL);
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the appender ended by itself: " << WEXITSTATUS(status);
  return acknowledged;
}

/// Books and indexes say the same as the rows.
void expect_books_to_balance(const std::string& file) {
  EXPECT_EQ(ask(file, "PRAGMA integrity_check"), "ok");
  EXPECT_EQ(ask(file, "INSERT INTO error_text(error_text) VALUES('integrity-check')"), "");
  EXPECT_EQ(ask(file, "SELECT source, status, category, count(*) FROM records GROUP BY 1, 2, 3"),
            ask(file, "SELECT * FROM tallies WHERE count <> 0"));
  EXPECT_EQ(ask(file, "SELECT hex(grp), count(*), sum(class = 1) FROM records GROUP BY 1"),
            ask(file, "SELECT hex(fingerprint), total, open FROM groups ORDER BY 1"));
  EXPECT_EQ(ask(file,
                "SELECT count(*) FROM records WHERE number NOT IN (SELECT number FROM "
                "bodies) OR number NOT IN (SELECT number FROM details)"),
            "0");
  EXPECT_EQ(ask(file, "SELECT count(*) FROM error_text WHERE error_text MATCH 'timed'"),
            ask(file, "SELECT count(*) FROM records"));
}

// I1, I4: what was acknowledged is there after kill -9, once, and the books balance. A longer run:
// DLO_CRASH_ROUNDS=200.
TEST(SqliteCrash, WhatWasAcknowledgedIsThereAfterAKill) {
  const char* wanted = std::getenv("DLO_CRASH_ROUNDS");
  const int rounds = wanted == nullptr ? 5 : std::atoi(wanted);
  const TemporaryDirectory directory;
  std::mt19937 random(20'261'116);
  std::set<std::uint64_t> acknowledged;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t first = 1'000'000ULL * static_cast<std::uint64_t>(round + 1);
    const std::size_t count = std::uniform_int_distribution<std::size_t>(1, 400)(random);
    acknowledged.merge(acknowledged_before_kill(directory.path(), first, count));

    const auto office = open_office(directory.path());
    for (const std::uint64_t n : acknowledged) {
      const auto found = office->get(letter(n).id);
      ASSERT_TRUE(found) << "letter " << n << " was acknowledged and is gone";
      EXPECT_EQ(found->record.status, n % 3 == 0 ? Status::resolved : Status::pending);
    }
    expect_books_to_balance(directory.path() + "/office.db");
  }
}

}  // namespace
}  // namespace dlo::testing
