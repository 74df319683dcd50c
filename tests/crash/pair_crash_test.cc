// Queue, engine and office of one process, killed at random moments: after every kill each message
// that was acknowledged is in exactly one place. It waits in the queue, it is a dead letter, or
// somebody was content with it.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <string>

#include "crash/killable.h"
#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::testing {
namespace {

using Ids = std::set<std::string>;

Ids lines_of(const std::string& path) {
  Ids ids;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) ids.insert(line);
  return ids;
}

std::int64_t number_of(const std::string& id) {
  return std::stoll(id.substr(id.find('/') + 1));
}

struct Places {
  Ids waiting;
  std::map<std::string, Status> dead;
  Ids unsettled;  // dead, and the queue does not know yet
};

Places look(const std::string& directory) {
  Places places;
  const auto now = std::chrono::floor<Millis>(std::chrono::system_clock::now());
  auto queues = must(EmbeddedQueues::open(directory + "/queues", now));
  if (!queues->names().empty()) {
    for (const auto& each : must(must(queues->find("work"))->peek(1'000'000))) {
      EXPECT_TRUE(places.waiting.insert(each->id).second) << each->id << " waits twice";
    }
  }
  must(queues->close());
  const auto office = must(SqliteOffice::open(directory + "/office"));
  Query query;
  query.statuses.assign(all_statuses().begin(), all_statuses().end());
  query.limit = 1000;
  query.time_box = Millis{60'000};
  for (bool more = true; more;) {
    const Page page = must(office->list(query));
    for (const RecordHead& head : page.rows) {
      EXPECT_TRUE(places.dead.emplace(head.message_id, head.status).second)
          << head.message_id << " is dead twice";
    }
    more = page.next.has_value();
    query.after = page.next;
  }
  query.after.reset();
  query.source_unsettled = true;
  for (const RecordHead& head : must(office->list(query)).rows) {
    places.unsettled.insert(head.message_id);
  }
  return places;
}

/// Nobody is content with these, ever.
bool must_die(std::int64_t n) {
  return n % 10 == 8 || n % 60 == 59;
}

/// Sent = done + waiting + dead, by distinct id, and none in two of the three. A completion counts
/// once the queue has acknowledged it; before that a content handler may see its message again.
void expect_each_in_one_place(const std::string& directory) {
  const Places places = look(directory);
  const Ids done = lines_of(directory + "/done.log");
  for (const std::string& id : lines_of(directory + "/gone.log")) {
    EXPECT_TRUE(done.contains(id)) << id << " was completed and never done";
    EXPECT_FALSE(places.waiting.contains(id)) << id << " is done and waits";
    EXPECT_FALSE(places.dead.contains(id)) << id << " is done and dead";
  }
  for (const std::string& id : lines_of(directory + "/sent.log")) {
    const bool waits = places.waiting.contains(id);
    const bool dead = places.dead.contains(id);
    EXPECT_TRUE(waits || dead || done.contains(id)) << id << " is lost";
    // Its record is durable and a kill kept the queue from hearing of it: the mark says so.
    EXPECT_TRUE(!waits || !dead || places.unsettled.contains(id)) << id << " waits and is dead";
    EXPECT_TRUE(!must_die(number_of(id)) || waits || dead) << id << " cannot have been done";
  }
}

TEST(PairCrash, KilledAtRandomMomentsEveryMessageIsInExactlyOnePlace) {
  const TemporaryDirectory place;
  std::mt19937_64 random(20261116);
  int crashes = 0;
  for (int life = 1; life <= kills_of(200); ++life) {
    Killable worker({DLO_PAIR_WORKER, place.path(), std::to_string(life), "send"});
    if (worker.ends_within(std::chrono::milliseconds(DLO_PATIENCE * (20 + random() % 90)))) {
      ASSERT_EQ(worker.exit_code(), 9) << "only a crashing message may end it";
      ++crashes;
    }
    worker.kill_now();
    expect_each_in_one_place(place.path());
    if (::testing::Test::HasFailure()) return;
  }
  bool finished = false;
  for (int life = 0; life < 5000 && !finished; ++life) {
    Killable worker({DLO_PAIR_WORKER, place.path(), "drain", "drain"});
    ASSERT_TRUE(worker.ends_within(std::chrono::seconds(60))) << "something waits for ever";
    finished = worker.exit_code() == 0;
    if (!finished) {
      ASSERT_EQ(worker.exit_code(), 9);
      ++crashes;
    }
  }
  ASSERT_TRUE(finished);
  expect_each_in_one_place(place.path());
  const Places places = look(place.path());
  EXPECT_TRUE(places.waiting.empty());
  EXPECT_FALSE(lines_of(place.path() + "/gone.log").empty());
  EXPECT_GT(crashes, 0) << "no crashing message was sent: the test is too short";
  for (const auto& [id, status] : places.dead) {
    if (number_of(id) % 60 == 59) {
      EXPECT_EQ(status, Status::quarantined) << id;
    }
  }
}

}  // namespace
}  // namespace dlo::testing
