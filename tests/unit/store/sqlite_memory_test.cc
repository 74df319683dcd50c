// Out of memory in the office's own threads: an answer, and everything goes on.

#include <chrono>
#include <stdexcept>
#include <thread>

#include "unit/store/failing_memory.h"
#include "unit/store/sqlite_support.h"

#include "dlo/store/sqlite/applier.h"
#include "dlo/store/sqlite/opening.h"
#include "dlo/store/sqlite/payload_index.h"
#include "dlo/store/sqlite/writer.h"

namespace dlo::testing {
namespace {

using sqlite::Session;
using sqlite::Task;
using sqlite::Writer;

/// Carries out a list, then throws what it was told to.
class ThrowingTask final : public Task {
 public:
  ThrowingTask(std::vector<Change> changes, std::function<void()> thrower)
      : Task(100, changes.size() > 1),
        changes_(std::move(changes)),
        list_(must(sqlite::prepare(changes_))),
        thrower_(std::move(thrower)) {}
  Result<void> run(Session& session) override {
    auto applied = sqlite::carry_out(session, list_);
    if (!applied) return applied.error();
    thrower_();
    return {};
  }

 private:
  std::vector<Change> changes_;
  sqlite::PreparedList list_;
  std::function<void()> thrower_;
};

void throw_nothing() {}
void throw_no_memory() {
  throw std::bad_alloc();
}
void throw_something_else() {
  throw std::length_error("a string that is too long");
}

class SqliteMemory : public ::testing::Test {
 protected:
  [[nodiscard]] std::string count() const {
    return ask(file_,
               "SELECT count(*), (SELECT coalesce(sum(count), 0) FROM tallies), (SELECT "
               "coalesce(sum(total), 0) FROM groups) FROM records");
  }
  TemporaryDirectory directory_;
  std::string file_ = directory_.path() + "/office.db";
};

TEST_F(SqliteMemory, AWriterWithoutMemorySaysSoAndGoesOn) {
  sqlite::Damage damage;
  Session session(
      sqlite::open_current(file_, damage), [](const std::string&) { return true; }, damage);
  Writer writer(session);
  ThrowingTask hungry({append_of(letter(1))}, throw_no_memory);
  const auto refused = writer.write(hungry);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::full);
  EXPECT_NE(refused.error().detail.find("memory"), std::string::npos);
  ThrowingTask modest({append_of(letter(2))}, throw_nothing);
  EXPECT_TRUE(writer.write(modest));
  EXPECT_EQ(count(), "1,1,1");
}

TEST_F(SqliteMemory, WhatNobodyForesawIsAnAnswerToo) {
  sqlite::Damage damage;
  Session session(
      sqlite::open_current(file_, damage), [](const std::string&) { return true; }, damage);
  Writer writer(session);
  ThrowingTask odd({append_of(letter(1))}, throw_something_else);
  const auto refused = writer.write(odd);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_NE(refused.error().detail.find("too long"), std::string::npos);
  ThrowingTask modest({append_of(letter(1))}, throw_nothing);
  EXPECT_TRUE(writer.write(modest));
  EXPECT_EQ(count(), "1,1,1");
}

/// A list that touches rows, groups, words, documents and the audit trail.
std::vector<Change> mixed_list(std::uint64_t n) {
  DeadLetter grouped = letter(n);
  grouped.fingerprint.hash = {7, n % 5};
  Transition exhausted;
  exhausted.id = grouped.id;
  exhausted.to = Status::exhausted;
  exhausted.failure = Failure{};
  exhausted.failure->text = "an error text that is longer than any short string";
  return {append_of(grouped), exhausted,
          PutDocument{"jobs", "job-" + std::to_string(n), "a body of more than fifteen bytes", {}},
          AddAudit{noon, "somebody", "retry", "a subject of more than fifteen bytes", ""}};
}

// The first allocation of the writer's thread fails, then the second, ... until there is none left
// to fail. Each time: the whole list or nothing, and books that balance.
TEST_F(SqliteMemory, AnyAllocationOfTheWriterMayFail) {
  sqlite::Damage damage;
  Session session(
      sqlite::open_current(file_, damage), [](const std::string&) { return true; }, damage);
  Writer writer(session);
  std::uint64_t refused = 0;
  std::uint64_t written = 0;
  // With more than one, the clearing up has no memory either.
  for (const std::uint64_t times : {1U, 2U, 3U, 20U}) {
    bool struck = true;
    for (std::uint64_t nth = 0; struck; ++nth) {
      ThrowingTask list(mixed_list(refused + written + 1), throw_nothing);
      {
        const FailingMemory memory(nth, times);
        const auto answer = writer.write(list);
        struck = memory.has_struck();
        ASSERT_TRUE(answer || answer.error().code == Code::full) << answer.error().detail;
        ++(answer ? written : refused);
      }
      const std::string sum = std::to_string(written);
      ASSERT_EQ(count(), sum + "," + sum + "," + sum) << "allocation " << nth;
      ASSERT_LT(nth, 5000U) << "it never comes to an end";
    }
  }
  EXPECT_GT(refused, 40U);
  EXPECT_EQ(ask(file_, "SELECT count(*) FROM documents"), std::to_string(written));
  const auto office = open_office(directory_.path());
  const auto trail = must(office->extras().ledger->audit(0, 1000));
  EXPECT_EQ(trail.size(), written);
  EXPECT_EQ(first_broken(trail), std::nullopt);
}

/// Waits, for at most 30 s, until `done`.
template <typename Done>
void wait_until(const Done& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("in vain");
    std::this_thread::yield();
  }
}

TEST_F(SqliteMemory, AnyAllocationOfThePayloadIndexMayFail) {
  must_apply(*open_office(directory_.path(), {.unsearched_payloads = {}}),
             {append_of(letter_with_payload(1, "red apple"))});
  sqlite::Damage damage;
  for (std::uint64_t nth = 0, calm = 0; calm == 0; ++nth) {
    const std::string path = directory_.path() + "/index-" + std::to_string(nth);
    const auto is_done = [&] { return ask(path, "SELECT number FROM progress") == "1"; };
    {
      const FailingMemory memory(nth);
      const sqlite::PayloadIndex index(file_, path, true, [](std::int64_t) {}, damage);
      wait_until([&] { return memory.has_struck() || is_done(); });
      calm = memory.has_struck() ? 0 : 1;
    }
    const sqlite::PayloadIndex again(file_, path, true, [](std::int64_t) {}, damage);
    wait_until(is_done);
    EXPECT_FALSE(damage.found());
    EXPECT_EQ(ask(path, "SELECT rowid FROM payload_text WHERE payload_text MATCH 'apple'"), "1");
    ASSERT_LT(nth, 5000U) << "it never comes to an end";
  }
}

}  // namespace
}  // namespace dlo::testing
