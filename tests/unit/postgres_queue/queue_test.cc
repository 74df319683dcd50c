// What the suite cannot see: settings that change, moves, the schema, what the tables look like.
#include <gtest/gtest.h>

#include "unit/postgres_queue/support.h"

namespace dlo::testing {
namespace {

using Ids = std::vector<std::string>;

class PostgresQueueOf : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<QueueSchema>());
    queues_ = schema_->open();
    queue_ = must(queues_->declare(named("orders")));
  }
  Ids take(Broker& queue, Instant now = noon) {
    return ids(must(queue.receive({100, 1h, 0ms}, now)));
  }
  std::unique_ptr<QueueSchema> schema_;
  std::unique_ptr<PostgresQueues> queues_;
  std::unique_ptr<PostgresQueue> queue_;
};

TEST_F(PostgresQueueOf, ItsSettingsAreFoundByName) {
  auto options = named("all of them");
  options.max_messages = 7;
  options.max_bytes = 70'000;
  options.dedupe_window = 5min;
  options.ageing = 3s;
  options.keys_in_order = false;
  options.claims_count = true;
  options.ttl = 1h;
  options.drop_expired = true;
  must(queues_->declare(options));
  const auto found = must(queues_->find("all of them"));
  std::vector<Publication> eight(8, a_message("m", "k"));
  const auto refused = found->publish(eight, noon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument) << refused.error().detail;
  publish(*found, "a", "k");
  publish(*found, "b", "k");
  EXPECT_EQ(take(*found), (Ids{"a", "b"})) << "keys are not kept in order";
  EXPECT_EQ(must(found->stats(noon + 2h)).expired, 2U) << "its ttl, and what becomes of the old";
  EXPECT_EQ(queues_->find("none").error().code, Code::not_found);
  EXPECT_EQ(queues_->names(), (Ids{"all of them", "orders"}));
}

TEST_F(PostgresQueueOf, KeysThatAreNoLongerInOrderAreAllReady) {
  for (const char* id : {"a", "b", "c"}) publish(*queue_, id, "k");
  EXPECT_EQ(must(queue_->stats(noon)).held, 2U);
  auto options = named("orders");
  options.keys_in_order = false;
  queue_ = must(queues_->declare(options));
  EXPECT_EQ(must(queue_->stats(noon)).held, 0U);
  EXPECT_EQ(take(*queue_).size(), 3U);
}

TEST_F(PostgresQueueOf, KeysThatAreToBeInOrderFromNowOnWaitForTheirHead) {
  auto options = named("loose");
  options.keys_in_order = false;
  const auto loose = must(queues_->declare(options));
  for (const char* id : {"a", "b", "c"}) publish(*loose, id, "k");
  const auto strict = must(queues_->declare(named("loose")));
  EXPECT_EQ(must(strict->stats(noon)).held, 2U);
  const auto first = must(strict->receive({5, 1h, 0ms}, noon));
  ASSERT_EQ(ids(first), Ids{"a"});
  EXPECT_EQ(settle(*strict, first[0], Completed{}), Settled::done);
  EXPECT_EQ(take(*strict), Ids{"b"});
}

TEST_F(PostgresQueueOf, APriorityIsWorthWhatTheQueueSaysNow) {
  const auto send = [&](const char* id, Priority priority, TimePoint at) {
    Message made = *a_message(id).message;
    made.priority = priority;
    Publication one;
    one.message = std::make_shared<const Message>(made);
    must(queue_->publish({&one, 1}, at));
  };
  send("low", Priority::low, noon);
  send("high", Priority::high, noon + 10s);
  auto options = named("orders");
  options.ageing = 1s;
  queue_ = must(queues_->declare(options));
  EXPECT_EQ(take(*queue_, noon + 10s), (Ids{"low", "high"}));
}

TEST_F(PostgresQueueOf, EverythingThatWaitsMovesInOrderAndStandsBehindWhatIsThere) {
  const auto other = must(queues_->declare(named("other")));
  publish(*other, "there before");
  publish(*queue_, "a-1", "a");
  publish(*queue_, "leased", "b");
  publish(*queue_, "behind it", "b");
  publish(*queue_, "a-2", "a");
  publish(*queue_, "plain");
  auto got = must(queue_->receive({2, 1h, 0ms}, noon));
  ASSERT_EQ(ids(got), (Ids{"a-1", "leased"}));
  EXPECT_EQ(settle(*queue_, got[0], ReleasedUnrun{}), Settled::done);
  EXPECT_EQ(must(queue_->move_to(*other)), 3U);
  const SourceStats here = must(queue_->stats(noon));
  EXPECT_EQ(here.leased + here.held, 2U) << "a key in somebody's hands stays";
  EXPECT_EQ(here.published, 2U);
  const SourceStats there = must(other->stats(noon));
  EXPECT_EQ(there.published, 4U);
  EXPECT_EQ(there.held, 1U);
  got = must(other->receive({5, 1h, 0ms}, noon));
  ASSERT_EQ(ids(got), (Ids{"there before", "a-1", "plain"}));
  EXPECT_EQ(got[1].message->source, "other");
  EXPECT_EQ(settle(*other, got[1], Completed{}), Settled::done);
  EXPECT_EQ(take(*other), Ids{"a-2"});
  EXPECT_EQ(queue_->move_to(*queue_).error().code, Code::invalid_argument);
}

TEST_F(PostgresQueueOf, AMoveThatDoesNotFitMovesNothing) {
  auto options = named("small");
  options.max_messages = 2;
  const auto small = must(queues_->declare(options));
  for (const char* id : {"a", "b", "c"}) publish(*queue_, id);
  publish(*small, "x");
  EXPECT_EQ(queue_->move_to(*small).error().code, Code::invalid_argument);
  take(*queue_);
  publish(*queue_, "d");
  publish(*queue_, "e");
  EXPECT_EQ(queue_->move_to(*small).error().code, Code::full);
  EXPECT_EQ(must(queue_->stats(noon)).ready, 2U);
  EXPECT_EQ(must(small->stats(noon)).ready, 1U);
}

TEST_F(PostgresQueueOf, IdsAreForgottenWhenTheirWindowIsOver) {
  auto options = named("once");
  options.dedupe_window = 1min;
  const auto once = must(queues_->declare(options));
  for (int n = 0; n < 300; ++n) {
    Publication one = a_message("m");
    one.dedupe_id = std::to_string(n);
    must(once->publish({&one, 1}, noon + 1s * n));
  }
  const auto left = schema_->person().ask("SELECT count(*) FROM dedupe");
  EXPECT_LT(left.front().number(0), 250);
  EXPECT_GE(left.front().number(0), 60);
}

// Whoever was killed in the middle of one sends it again when a server is there again: that may be
// long after the window.
TEST_F(PostgresQueueOf, AReplayIsARepeatDaysAfterItsWindow) {
  auto options = named("again");
  options.dedupe_window = 1min;
  const auto again = must(queues_->declare(options));
  const auto repeats = [&](const std::string& id, bool replay, Millis later) {
    Publication one = a_message("m");
    one.dedupe_id = id;
    one.replay = replay;
    return must(again->publish({&one, 1}, noon + later)).front().duplicate;
  };
  EXPECT_FALSE(repeats("r", true, 0s));
  EXPECT_FALSE(repeats("s", false, 0s));
  for (int n = 0; n < 300; ++n) repeats("other-" + std::to_string(n), false, 2min);  // tidied
  EXPECT_TRUE(repeats("r", true, 72h));
  EXPECT_FALSE(repeats("s", false, 72h)) << "a sender's id ends with its window";
  EXPECT_TRUE(repeats("r", true, 73h)) << "a repeat does not begin it anew";
  for (int n = 0; n < 300; ++n) repeats("late-" + std::to_string(n), false, 200h);
  EXPECT_FALSE(repeats("r", true, 201h)) << "it is not kept for ever";
}

TEST_F(PostgresQueueOf, ALargeBatchIsOneTransaction) {
  std::vector<Publication> batch;
  for (int n = 0; n < 9'000; ++n) {
    batch.push_back(a_message(std::to_string(n), "k" + std::to_string(n % 100)));
  }
  const auto answers = must(queue_->publish(batch, noon));
  ASSERT_EQ(answers.size(), 9'000U);
  for (std::size_t i = 1; i < answers.size(); ++i) {
    ASSERT_GT(answers[i].position->offset, answers[i - 1].position->offset);
  }
  EXPECT_EQ(must(queue_->stats(noon)).held, 8'900U);
  const auto seen = schema_->person().ask("SELECT count(DISTINCT xmin::text) FROM messages");
  EXPECT_EQ(seen.front().number(0), 1);
}

TEST_F(PostgresQueueOf, ARowThatNobodyHereWroteIsHandedOutAsUndecodable) {  // I3
  publish(*queue_, "m-1");
  publish(*queue_, "m-2");
  schema_->person().run(
      "UPDATE messages SET envelope = 'nonsense', payload = 'raw' "
      "WHERE place = (SELECT min(place) FROM messages)");
  const auto got = must(queue_->receive({5, 1h, 0ms}, noon));
  ASSERT_EQ(got.size(), 2U);
  ASSERT_NE(got[0].undecodable, nullptr);
  EXPECT_EQ(got[0].message->payload, "raw");
  EXPECT_EQ(got[0].message->source, "orders");
  EXPECT_EQ(got[1].undecodable, nullptr);
}

TEST_F(PostgresQueueOf, AStartMarkRewritesNoIndex) {  // HOT: what updates stay
  publish(*queue_, "m-1");
  const auto got = must(queue_->receive({1, 1h, 0ms}, noon));
  auto person = schema_->person();
  const std::string same_page =
      "SELECT (ctid::text::point)[0]::bigint, (SELECT sum(pg_relation_size(indexrelid)) FROM "
      "pg_index WHERE indrelid = 'messages'::regclass)::bigint FROM messages";
  const auto before = person.ask(same_page);
  for (int i = 0; i < 5; ++i) must(queue_->start({&got[0].lease, 1}, noon));
  const auto after = person.ask(same_page);
  EXPECT_EQ(after.front().number(0), before.front().number(0));
  EXPECT_EQ(after.front().number(1), before.front().number(1));
}

TEST_F(PostgresQueueOf, ANewerSchemaAndOneOfSomebodyElseAreRefused) {
  schema_->person().run("INSERT INTO schema_versions(version, what) VALUES(99, 'tomorrow')");
  const auto newer = PostgresQueues::open(schema_->address(), noon, schema_->options());
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, Code::refused);
  EXPECT_NE(newer.error().detail.find("version 99"), std::string::npos) << newer.error().detail;
  const QueueSchema other;
  other.person().run("CREATE SCHEMA \"" + other.name() + "\"; CREATE TABLE customers(id bigint)");
  const auto foreign = PostgresQueues::open(other.address(), noon, other.options());
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, Code::refused) << foreign.error().detail;
}

TEST_F(PostgresQueueOf, NamesThatCannotBeAndAddressesAreHandledWithCare) {  // GEN-16
  for (const char* name : {"", "Dlo", "a-b", "9lives", "pg_temp", "x\"; DROP TABLE y; --"}) {
    PostgresQueueOptions options;
    options.schema = name;
    const auto opened = PostgresQueues::open(schema_->address(), noon, options);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::invalid_argument) << name;
  }
  EXPECT_EQ(queues_->declare(named("")).error().code, Code::invalid_argument);
  const auto opened = PostgresQueues::open("postgresql://ann:hunter2@[bad/db", noon);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().detail.find("hunter2"), std::string::npos) << opened.error().detail;
}

}  // namespace
}  // namespace dlo::testing
