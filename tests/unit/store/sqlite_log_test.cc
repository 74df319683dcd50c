// The log of a database: who folds it, and how long it may become.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <sqlite3.h>
#include <thread>

#include "support/temporary_directory.h"
#include "unit/store/watched_disk.h"

#include "dlo/store/sqlite/connection.h"
#include "dlo/store/sqlite/log_folding.h"
#include "dlo/store/sqlite/opening.h"
#include "dlo/store/sqlite/session.h"

namespace dlo::testing {
namespace {

using sqlite::Access;
using sqlite::Connection;
using sqlite::LogFolding;
using Act = WatchedDisk::Act;

class LogFoldingTest : public ::testing::Test {
 protected:
  LogFoldingTest() : path_(directory_.path() + "/log.db"), db_(make()) {}

  [[nodiscard]] std::unique_ptr<Connection> make() const {
    auto made = std::make_unique<Connection>(path_, Access::create);
    made->run("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    made->run("CREATE TABLE t(n INTEGER PRIMARY KEY, text TEXT)");
    return made;
  }

  void commit(LogFolding& log) {
    log.make_way();
    db_->run("BEGIN; INSERT INTO t(text) VALUES(printf('%.*c', 3000, 'x')); COMMIT");
    log.after_commit();
    ++commits_;
  }
  /// How long the log became while so many commits of about two pages each were made.
  int longest_after(int commits, LogFolding& log) {
    int longest = 0;
    for (int i = 0; i < commits; ++i) {
      commit(log);
      longest = std::max(longest, log.pages());
    }
    return longest;
  }
  /// Commits until the log is begun anew.
  void commit_until_anew(LogFolding& log) {
    for (int before = 0, i = 0; log.pages() >= before; ++i) {
      ASSERT_LT(i, 100'000) << "it never is";
      before = log.pages();
      commit(log);
    }
  }

  TemporaryDirectory directory_;
  std::string path_;
  sqlite::Damage damage_;
  std::unique_ptr<Connection> db_;
  std::atomic<int> commits_ = 0;
};

/// Once armed, holds up the first that syncs until it is let go.
class Holdup {
 public:
  int operator()(Act act) {
    if (act != Act::sync || !armed.exchange(false)) return SQLITE_OK;
    reached.count_down();
    go_on.wait();
    return SQLITE_OK;
  }
  std::atomic<bool> armed = false;
  std::latch reached{1};
  std::latch go_on{1};
};

TEST_F(LogFoldingTest, StaysShortWhereNobodyReads) {
  LogFolding log(*db_, damage_, {20, 100, 500});
  EXPECT_LT(longest_after(500, log), 400);  // of some 1000
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
  LogFolding log(*db_, damage_, {20, 100, 10'000});
  const int longest = longest_after(600, log);
  over = true;
  readers.join();
  EXPECT_LT(longest, 600);  // of some 1200
}

TEST_F(LogFoldingTest, GoesOnBesideALongReaderAndIsBegunAnewWhenThatHasGone) {
  Connection reader(path_, Access::read_only);
  reader.run("BEGIN; SELECT count(*) FROM t");
  // Patient enough to see the writer stop at twice a hundred pages, however slow this machine is.
  LogFolding log(*db_, damage_, {20, 100, 200});
  EXPECT_GT(longest_after(300, log), 300);
  reader.run("COMMIT");
  commit_until_anew(log);
  EXPECT_LT(longest_after(500, log), 400);
}

TEST_F(LogFoldingTest, AnotherThreadThanTheWritersWritesAndSyncsTheDatabase) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const WatchedDisk disk([&](Act) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return SQLITE_OK;
  });
  db_ = std::make_unique<Connection>(path_, Access::read_write);
  {
    LogFolding log(*db_, damage_, {20, 100, 500});
    commit_until_anew(log);
  }
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST_F(LogFoldingTest, TheWriterOfAnOfficeFoldsNothingByItself) {
  sqlite::Session session(
      sqlite::open_current(directory_.path() + "/office.db", damage_),
      [](const std::string&) { return true; }, damage_);
  EXPECT_EQ(session.connection().number("PRAGMA wal_autocheckpoint"), 0);
}

TEST_F(LogFoldingTest, CommitsGoOnWhileTheDatabaseIsSynced) {
  Holdup holdup;
  const WatchedDisk disk([&](Act act) { return holdup(act); });
  db_ = std::make_unique<Connection>(path_, Access::read_write);
  LogFolding log(*db_, damage_, {20, 10'000, 500});
  holdup.armed = true;
  while (holdup.armed) commit(log);
  holdup.reached.wait();
  EXPECT_GT(longest_after(300, log), 300);  // would never come to an end
  holdup.go_on.count_down();
}

TEST_F(LogFoldingTest, TheWriterWaitsWhereTheLogIsTwiceAsLongAsItShouldBe) {
  std::atomic<bool> slow = true;
  const WatchedDisk disk([&](Act act) {
    if (act != Act::sync || !slow.exchange(false)) return SQLITE_OK;
    // A disk that is so slow that a thousand commits would be made meanwhile.
    const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (commits_ < 1'000 && std::chrono::steady_clock::now() < enough) {
      std::this_thread::yield();
    }
    return SQLITE_OK;
  });
  db_ = std::make_unique<Connection>(path_, Access::read_write);
  db_->run("PRAGMA synchronous = OFF");
  LogFolding log(*db_, damage_, {20, 100, 500});
  EXPECT_LT(longest_after(1'100, log), 400);
  EXPECT_FALSE(slow);
}

TEST_F(LogFoldingTest, AStopInTheMiddleOfAFoldingLosesNothing) {
  Holdup holdup;
  const WatchedDisk disk([&](Act act) { return holdup(act); });
  db_ = std::make_unique<Connection>(path_, Access::read_write);
  auto log = std::make_unique<LogFolding>(*db_, damage_, LogFolding::Limits{20, 10'000, 500});
  holdup.armed = true;
  while (holdup.armed) commit(*log);
  holdup.reached.wait();
  std::thread stop([&] { log.reset(); });
  holdup.go_on.count_down();
  stop.join();
  db_.reset();  // the last one folds what there is
  Connection again(path_, Access::read_only);
  EXPECT_EQ(again.number("SELECT count(*) FROM t"), commits_);
}

TEST_F(LogFoldingTest, AStopWaitsForNobodyWhoReads) {
  const auto began = std::chrono::steady_clock::now();
  {
    Connection reader(path_, Access::read_only);
    reader.run("BEGIN; SELECT count(*) FROM t");
    LogFolding log(*db_, damage_, {20, 100, 600'000});  // ten minutes
    longest_after(60, log);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::minutes(5));
}

TEST_F(LogFoldingTest, ADatabaseThatCannotBeWrittenFailsNobodyAndIsFoldedLater) {
  std::atomic<int> failures = 0;
  const WatchedDisk disk([&](Act act) {
    return act == Act::write && failures.fetch_add(1) < 5 ? SQLITE_FULL : SQLITE_OK;
  });
  db_ = std::make_unique<Connection>(path_, Access::read_write);
  LogFolding log(*db_, damage_, {20, 100, 500});
  longest_after(100, log);
  commit_until_anew(log);
  EXPECT_GE(failures, 5);
  EXPECT_EQ(db_->number("SELECT count(*) FROM t"), commits_);
}

TEST_F(LogFoldingTest, NothingIsFoldedOnceDamageWasFound) {
  std::atomic<int> writes = 0;
  std::atomic<bool> damaged = false;
  const WatchedDisk disk([&](Act act) {
    if (act == Act::write) ++writes;
    return act == Act::write && damaged ? SQLITE_CORRUPT : SQLITE_OK;
  });
  db_ = std::make_unique<Connection>(path_, Access::read_write);
  LogFolding log(*db_, damage_, {20, 100, 500});
  damaged = true;
  while (!damage_.found()) commit(log);
  EXPECT_EQ(damage_.first()->code, Code::corrupt);
  EXPECT_NE(damage_.first()->detail.find("folding the log"), std::string::npos);
  const int before = writes;
  EXPECT_GT(longest_after(300, log), 300);
  EXPECT_EQ(writes, before);
}

// The kernel says once that something could not be written and forgets what it was; the log is all
// there is of it then. SQLite syncs in some foldings and we do in each: any of them may fail.
TEST_F(LogFoldingTest, ALogIsNeverBegunAnewAfterASyncThatFailed) {
  for (const int failing : {0, 1, 2, 3}) {
    std::atomic<bool> armed = false;
    std::atomic<int> syncs = 0;
    const WatchedDisk disk([&](Act act) {
      if (!armed || act != Act::sync) return SQLITE_OK;
      return syncs.fetch_add(1) == failing ? SQLITE_IOERR_FSYNC : SQLITE_OK;
    });
    path_ = directory_.path() + "/" + std::to_string(failing);
    db_ = make();
    commits_ = 0;
    armed = true;
    LogFolding log(*db_, damage_, {20, 100, 500});
    EXPECT_GT(longest_after(600, log), 1'000);
    EXPECT_EQ(syncs, failing + 1) << "it is not folded any more";
    EXPECT_EQ(db_->number("SELECT count(*) FROM t"), commits_);
  }
}

}  // namespace
}  // namespace dlo::testing
