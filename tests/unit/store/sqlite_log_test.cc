// The log of a database that somebody always reads.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <thread>

#include "support/temporary_directory.h"

#include "dlo/store/sqlite/connection.h"
#include "dlo/store/sqlite/log_folding.h"

namespace dlo::testing {
namespace {

using sqlite::Access;
using sqlite::Connection;
using sqlite::LogFolding;

class LogFoldingTest : public ::testing::Test {
 protected:
  LogFoldingTest() : path_(directory_.path() + "/log.db"), db_(path_, Access::create) {
    db_.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    db_.run("CREATE TABLE t(n INTEGER PRIMARY KEY, text TEXT)");
  }

  /// How long the log became while so many commits of about two pages each were made.
  int longest_after(int commits, LogFolding& log) {
    int longest = 0;
    for (int i = 0; i < commits; ++i) {
      db_.run("BEGIN; INSERT INTO t(text) VALUES(printf('%.*c', 3000, 'x')); COMMIT");
      log.after_commit();
      longest = std::max(longest, log.pages());
    }
    return longest;
  }

  TemporaryDirectory directory_;
  std::string path_;
  Connection db_;
};

TEST_F(LogFoldingTest, StaysShortWhereNobodyReads) {
  LogFolding log(db_.raw(), {20, 100, 500});
  EXPECT_LT(longest_after(500, log), 40);
}

TEST_F(LogFoldingTest, StaysShortUnderReadersThatFollowOneAnotherWithoutAGap) {
  std::atomic<bool> over = false;
  std::latch reading(1);
  std::thread readers([&] {
    Connection odd(path_, Access::read_only);
    Connection even(path_, Access::read_only);
    odd.run("BEGIN; SELECT count(*) FROM t");
    reading.count_down();
    while (!over) {  // there is always one in the middle of something
      even.run("BEGIN; SELECT count(*) FROM t");
      odd.run("COMMIT");
      odd.run("BEGIN; SELECT count(*) FROM t");
      even.run("COMMIT");
    }
    odd.run("COMMIT");
  });
  reading.wait();
  LogFolding log(db_.raw(), {20, 100, 10'000});
  const int longest = longest_after(600, log);
  over = true;
  readers.join();
  EXPECT_LT(longest, 600);  // of some 1200
}

TEST_F(LogFoldingTest, WaitsForALongReaderOnlyWhenTheLogHasDoubled) {
  Connection reader(path_, Access::read_only);
  reader.run("BEGIN; SELECT count(*) FROM t");
  LogFolding log(db_.raw(), {20, 100, 1});
  EXPECT_GT(longest_after(300, log), 300);  // it goes on all the same
  reader.run("COMMIT");
  EXPECT_GT(longest_after(1, log), 300);
  longest_after(300, log);  // and is begun anew when the reader has gone
  EXPECT_LT(log.pages(), 300);
}

}  // namespace
}  // namespace dlo::testing
