#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sqlite3.h>
#include <string>

#include "crash/killable.h"
#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo {
namespace {

using testing::Killable;
using testing::kills_of;
using testing::must;

std::map<std::string, std::int64_t> read_sent(const std::string& directory) {
  std::map<std::string, std::int64_t> sent;
  std::ifstream file(directory + "/sent.log");
  std::string id;
  std::int64_t n = 0;
  while (file >> id >> n) sent[id] = n;
  return sent;
}

void expect_sound_file(const std::string& directory) {
  sqlite3* database = nullptr;
  ASSERT_EQ(
      sqlite3_open_v2((directory + "/office.db").c_str(), &database, SQLITE_OPEN_READONLY, nullptr),
      SQLITE_OK);
  sqlite3_stmt* check = nullptr;
  sqlite3_prepare_v2(database, "PRAGMA integrity_check", -1, &check, nullptr);
  ASSERT_EQ(sqlite3_step(check), SQLITE_ROW);
  EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(check, 0)), "ok");
  sqlite3_finalize(check);
  sqlite3_close(database);
}

/// Every record, by id, with its status; a record listed twice fails the test.
std::map<std::string, Status> read_records(Office& office) {
  std::map<std::string, Status> records;
  Query query;
  query.statuses.assign(all_statuses().begin(), all_statuses().end());
  query.limit = 1000;
  query.time_box = Millis{60'000};
  query.order = Order::oldest_first;
  while (true) {
    const Page page = must(office.list(query));
    for (const RecordHead& head : page.rows) {
      EXPECT_TRUE(records.emplace(to_string(head.id), head.status).second) << "listed twice";
    }
    if (!page.next) return records;
    query.after = page.next;
  }
}

/// sent = done + waiting + dead by distinct id, and the kept counters agree with a recount.
std::map<std::string, Status> expect_balanced_books(const std::string& directory) {
  const auto office = must(SqliteOffice::open(directory));
  const auto records = read_records(*office);
  for (const auto& [id, n] : read_sent(directory)) {
    EXPECT_TRUE(records.contains(id)) << "message " << n << " was acknowledged and is gone";
  }
  std::map<Status, std::uint64_t> recount;
  for (const auto& [id, status] : records) ++recount[status];
  std::map<Status, std::uint64_t> kept;
  for (const Tally& tally : must(office->aggregate({})).tallies) kept[tally.status] += tally.count;
  EXPECT_EQ(kept, recount);
  return records;
}

/// What must become of message `n`. A kill looks like a crash of whatever runs (R7), so one that
/// was killed twice while it ran alone may also end as a dead letter; `innocent` counts those.
bool ended_right(std::int64_t n, Status status, std::size_t& innocent) {
  const bool dead = is_open(status);
  if (n % 50 == 49) return status == Status::quarantined;
  if (n % 10 == 8) return dead;
  if (dead) ++innocent;
  return dead || status == Status::resolved;
}

TEST(Crash, KilledAtRandomMomentsNothingIsLostAndNothingIsInTwoPlaces) {
  const testing::TemporaryDirectory place;
  const std::string directory = place.path();
  std::mt19937_64 random(20260301);
  int killed = 0;
  int died = 0;
  for (int life = 1; life <= kills_of(100); ++life) {
    Killable worker({DLO_CRASH_WORKER, directory, std::to_string(life), "send"});
    const std::chrono::milliseconds time(DLO_PATIENCE * (10 + random() % 150));
    const bool by_itself = worker.ends_within(time);
    if (by_itself) {
      ASSERT_EQ(worker.exit_code(), 9) << "only a crashing message may end it";
      ++died;
    } else {
      worker.kill_now();
      ++killed;
    }
    expect_balanced_books(directory);
    if (::testing::Test::HasFailure()) return;
  }
  expect_sound_file(directory);
  // Now let it finish. Crashing messages still take it down, each at most twice.
  bool finished = false;
  for (int life = 0; life < 5000 && !finished; ++life) {
    Killable worker({DLO_CRASH_WORKER, directory, std::to_string(1'000'000 + life), "drain"});
    ASSERT_TRUE(worker.ends_within(std::chrono::seconds(60))) << "something waits for ever";
    finished = worker.exit_code() == 0;
    if (!finished) ++died;
  }
  ASSERT_TRUE(finished);
  const auto records = expect_balanced_books(directory);
  std::size_t innocent = 0;
  std::size_t resolved = 0;
  for (const auto& [id, n] : read_sent(directory)) {
    EXPECT_TRUE(ended_right(n, records.at(id), innocent))
        << "message " << n << " ended as " << name_of(records.at(id));
    if (records.at(id) == Status::resolved) ++resolved;
  }
  EXPECT_GT(died, 0) << "no crashing message was sent: the test is too short";
  EXPECT_LT(innocent * 4, resolved) << "kills cost too many innocent messages";
  std::cout << "killed " << killed << " times, died " << died << " times, " << records.size()
            << " messages, of which " << innocent << " were taken for crashing ones\n";
}

}  // namespace
}  // namespace dlo
