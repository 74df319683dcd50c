#include <gmock/gmock.h>
#include <latch>
#include <thread>

#include "unit/store/sqlite_support.h"

#include "dlo/store/sqlite/applier.h"
#include "dlo/store/sqlite/opening.h"
#include "dlo/store/sqlite/writer.h"

namespace dlo::testing {
namespace {

using sqlite::Session;
using sqlite::Task;
using sqlite::Writer;

/// A list of changes as the office would write it.
class ListTask final : public Task {
 public:
  explicit ListTask(std::vector<Change> changes)
      : Task(100, changes.size() > 1),
        changes_(std::move(changes)),
        list_(must(sqlite::prepare(changes_))) {}
  Result<void> run(Session& session) override {
    ++runs;
    auto applied = sqlite::carry_out(session, list_);
    if (!applied) return applied.error();
    return {};
  }
  int runs = 0;

 private:
  std::vector<Change> changes_;
  sqlite::PreparedList list_;
};

/// Holds the writer's thread until it is let go, so that others gather behind it.
class Holdup final : public Task {
 public:
  Holdup() : Task(1, false) {}
  Result<void> run(Session&) override {
    running.count_down();
    go_on.wait();
    return {};
  }
  std::latch running{1};
  std::latch go_on{1};
};

class SqliteWriter : public ::testing::Test {
 protected:
  /// Writes all of `tasks` so that they are gathered in one group; the answers, in order.
  std::vector<Result<void>> write_together(std::vector<Task*> tasks) {
    Holdup holdup;
    std::thread first([&] { must(writer_.write(holdup)); });
    holdup.running.wait();
    std::vector<Result<void>> answers(tasks.size());
    std::vector<std::thread> callers;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      callers.emplace_back([&, i] { answers[i] = writer_.write(*tasks[i]); });
      while (writer_.waiting() <= i) std::this_thread::yield();
    }
    before_ = writer_.commits();
    holdup.go_on.count_down();
    first.join();
    for (std::thread& caller : callers) caller.join();
    return answers;
  }
  /// Commits that the tasks of `write_together` took; the holdup's own was one.
  [[nodiscard]] std::uint64_t commits() const { return writer_.commits() - before_ - 1; }
  [[nodiscard]] std::string count() const {
    return ask(file_, "SELECT count(*), (SELECT sum(count) FROM tallies) FROM records");
  }

  TemporaryDirectory directory_;
  std::string file_ = directory_.path() + "/office.db";
  sqlite::Damage damage_;
  Session session_{sqlite::open_current(file_, damage_), [](const std::string&) { return true; },
                   damage_};
  Writer writer_{session_};
  std::uint64_t before_ = 0;
};

TEST_F(SqliteWriter, WhatArrivesDuringOneSyncSharesTheNext) {
  std::vector<std::unique_ptr<ListTask>> lists;
  std::vector<Task*> tasks;
  for (std::uint64_t n = 1; n <= 20; ++n) {
    lists.push_back(std::make_unique<ListTask>(std::vector<Change>{append_of(letter(n))}));
    tasks.push_back(lists.back().get());
  }
  for (const auto& answer : write_together(tasks)) EXPECT_TRUE(answer);
  EXPECT_EQ(commits(), 1U);
  EXPECT_EQ(count(), "20,20");
}

Transition missing() {
  Transition transition;
  transition.id = letter(404).id;
  return transition;
}

TEST_F(SqliteWriter, AListThatFailsAtOnceCostsItsNeighboursNothing) {
  ListTask good({append_of(letter(1))});
  ListTask bad({missing()});
  ListTask also_good({append_of(letter(2))});
  const auto answers = write_together({&good, &bad, &also_good});
  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(answers[1].error().code, Code::not_found);
  EXPECT_TRUE(answers[2]);
  EXPECT_EQ(commits(), 1U);
  EXPECT_EQ(good.runs, 1);
  EXPECT_EQ(count(), "2,2");
}

TEST_F(SqliteWriter, AListThatFailsHalfwayLeavesNothingAndTakesNobodyAlong) {
  ListTask good({append_of(letter(1))});
  ListTask bad({append_of(letter(2)), missing()});
  ListTask worse({append_of(letter(3)), append_of(letter(4)), missing()});
  ListTask also_good({append_of(letter(5)), append_of(letter(6))});
  const auto answers = write_together({&good, &bad, &worse, &also_good});
  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(answers[1].error().code, Code::not_found);
  EXPECT_EQ(answers[2].error().code, Code::not_found);
  EXPECT_TRUE(answers[3]);
  EXPECT_EQ(commits(), 1U);
  EXPECT_EQ(count(), "3,3");
  // The second is not the first to fail any more, yet the group is written only once again.
  EXPECT_EQ(good.runs, 2);
}

/// Finds something damaged on its way.
class Finder final : public Task {
 public:
  Finder() : Task(1, false) {}
  Result<void> run(Session& session) override {
    session.damage().note({Code::corrupt, "test", "a page is not what it was"});
    throw sqlite::Failed{*session.damage().first()};
  }
};

TEST_F(SqliteWriter, WhereOneFindsDamageNobodyOfItsGroupIsWritten) {
  ListTask good({append_of(letter(1))});
  Finder finder;
  ListTask also_good({append_of(letter(2))});
  for (const auto& answer : write_together({&good, &finder, &also_good})) {
    EXPECT_EQ(answer.error().code, Code::corrupt);
    EXPECT_EQ(answer.error().detail, "a page is not what it was");
  }
  EXPECT_EQ(commits(), 0U);
  EXPECT_EQ(count(), "0,NULL");
}

// Nothing here can take the power away, so the setting itself is what is tested.
TEST_F(SqliteWriter, EveryCommitIsSynced) {
  EXPECT_EQ(session_.connection().number("PRAGMA synchronous"), 2);
  EXPECT_EQ(ask(file_, "PRAGMA journal_mode"), "wal");
}

TEST_F(SqliteWriter, ARefusalAloneCostsNoSync) {
  ListTask bad({missing()});
  const std::string before = bytes_of(file_ + "-wal");
  EXPECT_FALSE(writer_.write(bad));
  EXPECT_EQ(bytes_of(file_ + "-wal"), before);
}

TEST_F(SqliteWriter, ARepeatedAppendWritesNothing) {
  ListTask once({append_of(letter(1))});
  must(writer_.write(once));
  const std::string before = bytes_of(file_ + "-wal");
  ListTask again({append_of(letter(1))});
  EXPECT_TRUE(writer_.write(again));
  EXPECT_EQ(bytes_of(file_ + "-wal"), before);
}

/// The file may not grow any more.
class FullDisk {
 public:
  explicit FullDisk(Session& session) : db_(session.connection()) {
    was_ = db_.number("PRAGMA max_page_count");
    db_.run("PRAGMA max_page_count = 1");  // SQLite takes the pages there are
  }
  ~FullDisk() { db_.run("PRAGMA max_page_count = " + std::to_string(was_)); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  sqlite::Connection& db_;
  std::int64_t was_ = 0;
};

TEST_F(SqliteWriter, AListTooLargeForTheDiskTakesNobodyAlong) {
  ListTask before({append_of(letter(1))});
  must(writer_.write(before));
  const FullDisk disk(session_);
  ListTask large({append_of(letter_with_payload(2, std::string(1U << 20U, 'x')))});
  ListTask small({append_of(letter(1))});  // a repeat: needs no room
  const auto answers = write_together({&small, &large});
  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(answers[1].error().code, Code::disk_full);
  EXPECT_EQ(count(), "1,1");
}

TEST_F(SqliteWriter, AfterAFullDiskTheNextListIsWrittenAsIfNothingHadBeen) {
  {
    const FullDisk disk(session_);
    ListTask large({append_of(letter_with_payload(1, std::string(1U << 20U, 'x')))});
    EXPECT_EQ(writer_.write(large).error().code, Code::disk_full);
  }
  ListTask again({append_of(letter_with_payload(1, std::string(1U << 20U, 'x')))});
  EXPECT_TRUE(writer_.write(again));
  EXPECT_EQ(count(), "1,1");
  EXPECT_EQ(ask(file_, "SELECT number, change FROM records"), "1,1");
}

}  // namespace
}  // namespace dlo::testing
