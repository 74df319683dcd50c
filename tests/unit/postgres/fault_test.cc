// What a server can do to us: nothing that was answered is lost, nothing is doubled, and who asks
// is told at once.
#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <thread>

#include "support/eventually.h"
#include "unit/postgres/support.h"

#include "dlo/postgres/link.h"

namespace dlo::testing {
namespace {

std::vector<Change> one(std::uint64_t n) {
  return {a_death(n)};
}

TEST(PostgresFault, PausesBetweenTriesGrowAndAreBounded) {
  using std::chrono::milliseconds;
  postgres::Backoff backoff;
  const postgres::Backoff::Clock::time_point now{};
  EXPECT_TRUE(backoff.may_try(now));
  std::vector<milliseconds> waits;
  for (int i = 0; i < 9; ++i) {
    backoff.failed(now);
    waits.push_back(std::chrono::duration_cast<milliseconds>(backoff.left(now)));
  }
  EXPECT_EQ(waits[0], milliseconds{50});
  EXPECT_EQ(waits[1], milliseconds{100});
  EXPECT_EQ(waits[8], milliseconds{5000});
  EXPECT_FALSE(backoff.may_try(now + milliseconds{4999}));
  EXPECT_TRUE(backoff.may_try(now + milliseconds{5000}));
  backoff.succeeded();
  EXPECT_TRUE(backoff.may_try(now));
}

class PostgresOutage : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(server_ = std::make_unique<PostgresServer>(settings_));
  }
  [[nodiscard]] std::unique_ptr<PostgresOffice> open(const std::string& options = "") const {
    return must(PostgresOffice::open(server_->address() + options));
  }
  std::vector<std::string> settings_;
  std::unique_ptr<PostgresServer> server_;
};

TEST_F(PostgresOutage, AServerThatCrashedIsFoundAgainWithEverythingItAnswered) {
  const auto office = open();
  must(office->apply(one(1)));
  server_->crash();
  EXPECT_EQ(office->apply(one(2)).error().code, Code::unavailable);
  EXPECT_EQ(office->get(id_of(1)).error().code, Code::unavailable);
  EXPECT_EQ(office->list({}).error().code, Code::unavailable);
  server_->start();
  EXPECT_TRUE(eventually([&] { return office->apply(one(3)).has_value(); }));
  EXPECT_TRUE(eventually([&] { return office->get(id_of(1)).has_value(); }));
  EXPECT_EQ(must(office->get(id_of(3))).record.id, id_of(3));
  EXPECT_EQ(office->get(id_of(2)).error().code, Code::not_found);
}

TEST_F(PostgresOutage, WhoComesWhileACommitIsInDoubtIsToldAtOnce) {
  const auto office = open();
  must(office->apply(one(1)));
  auto person = postgres::Connection(server_->address(), "SET search_path = dlo");
  person.run("BEGIN");
  person.run("LOCK TABLE writers IN EXCLUSIVE MODE");
  std::atomic<bool> is_known{false};
  std::optional<Code> refused;
  std::jthread writer([&] {
    const auto answer = office->apply(one(2));  // sent with its COMMIT, held up by the lock
    if (!answer) refused = answer.error().code;
    is_known = true;
  });
  auto watcher = postgres::Connection(server_->address(), "");
  ASSERT_TRUE(eventually([&] {
    return !watcher
                .ask(
                    "SELECT 1 FROM pg_stat_activity WHERE application_name = 'dlo' "
                    "AND wait_event_type = 'Lock'")
                .empty();
  }));
  server_->crash();
  const auto answer = office->apply(one(3));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unavailable) << answer.error().detail;
  EXPECT_FALSE(is_known) << "that one waits until it is known what became of it";
  server_->start();
  writer.join();
  EXPECT_EQ(refused, std::nullopt) << "the server had rolled back, so it was written again";
  EXPECT_EQ(must(office->get(id_of(2))).record.id, id_of(2));
}

TEST_F(PostgresOutage, ACrashInTheMiddleOfWritingLosesAndDoublesNothing) {
  const auto office = open();
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> written{0};
  std::vector<std::set<std::uint64_t>> answered(4);
  std::vector<std::jthread> crew;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    crew.emplace_back([&, thread] {
      for (std::uint64_t n = thread * 1'000'000 + 1; !stop; ++n) {
        if (!office->apply(one(n))) continue;
        answered[thread].insert(n);
        written.fetch_add(1);
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return written.load() > 200; }));
  server_->crash();
  server_->start();
  const std::uint64_t before = written.load();
  EXPECT_TRUE(eventually([&] { return written.load() > before + 100; }));
  stop = true;
  crew.clear();
  for (const auto& numbers : answered) {
    for (const std::uint64_t n : numbers) EXPECT_TRUE(office->get(id_of(n)).has_value()) << n;
  }
  auto person = postgres::Connection(server_->address(), "SET search_path = dlo");
  const auto rows = person.ask(
      "SELECT (SELECT count(*) FROM records), (SELECT sum(count) FROM tallies)::bigint, "
      "(SELECT sum(total) FROM groups)::bigint, (SELECT count(*) FROM bodies)");
  EXPECT_EQ(rows[0].number(0), rows[0].number(1));
  EXPECT_EQ(rows[0].number(0), rows[0].number(2));
  EXPECT_EQ(rows[0].number(0), rows[0].number(3));
}

TEST_F(PostgresOutage, AConnectionThatIsCutIsMadeAgainAndEachChangeHappensOnce) {
  const auto office = open();
  auto person = postgres::Connection(server_->address(), "");
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> asked{0};
  std::jthread cutter([&] {
    while (!stop) {
      (void)person.ask(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dlo' "
          "AND pid <> pg_backend_pid()");
      const std::uint64_t seen = asked.load();
      while (!stop && asked.load() < seen + 3) std::this_thread::yield();
    }
  });
  std::uint64_t merged = 0;
  std::uint64_t applied = 0;
  EXPECT_TRUE(eventually([&] {
    const auto answer = office->apply(one(asked.fetch_add(1) + 1));
    if (answer) ++(answer->front().effect == Effect::merged ? merged : applied);
    return applied >= 50;
  }));
  stop = true;
  cutter.join();
  EXPECT_EQ(merged, 0U);
  EXPECT_TRUE(eventually([&] { return office->apply(one(1'000'000)).has_value(); }));
}

class PostgresWithAStandby : public PostgresOutage {
 protected:
  PostgresWithAStandby() { settings_ = {"wal_level=replica", "max_wal_senders=2"}; }
};

TEST_F(PostgresWithAStandby, ACommitWhoseAnswerWasLostIsNotCarriedOutAgain) {
  const auto office = open();
  auto person = postgres::Connection(server_->address(), "");
  // A standby that never comes: commits are on disk here, but nobody is told.
  person.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  person.run("SELECT pg_reload_conf()");
  std::optional<Applied> answer;
  std::jthread writer([&] {
    if (const auto applied = office->apply(one(1))) answer = applied->front();
  });
  EXPECT_TRUE(eventually([&] {
    return !person
                .ask(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = "
                    "'SyncRep'")
                .empty();
  }));
  writer.join();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->effect, Effect::applied);
  EXPECT_EQ(must(office->get(id_of(1))).record.version, 1U);
}

}  // namespace
}  // namespace dlo::testing
