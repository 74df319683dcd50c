#include <algorithm>
#include <gmock/gmock.h>
#include <limits>
#include <random>
#include <tuple>

#include "unit/store/sqlite_support.h"

#include "dlo/store/memory/memory_office.h"
#include "dlo/store/rules.h"

namespace dlo::testing {
namespace {

using ::testing::ElementsAreArray;

class SqliteLister : public ::testing::Test {
 protected:
  void append(std::vector<DeadLetter> letters) {
    std::vector<Change> changes;
    for (DeadLetter& one : letters) changes.push_back(append_of(std::move(one)));
    must_apply(*office_, changes);
  }
  void append(std::uint64_t count) {
    std::vector<DeadLetter> letters;
    for (std::uint64_t n = 1; n <= count; ++n) letters.push_back(letter(n));
    append(std::move(letters));
  }
  TemporaryDirectory directory_;
  std::unique_ptr<SqliteOffice> office_ = open_office(directory_.path());
};

std::vector<std::uint64_t> numbers(const std::vector<RecordId>& ids) {
  std::vector<std::uint64_t> found;
  for (const RecordId& id : ids) found.push_back(id.low);
  return found;
}

std::vector<std::uint64_t> count_down(std::uint64_t from) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t n = from; n > 0; --n) all.push_back(n);
  return all;
}

// A bulk import gives thousands of records one time of death.
TEST_F(SqliteLister, PagesGoOnInsideOneMillisecond) {
  std::vector<DeadLetter> letters;
  for (std::uint64_t n = 1; n <= 300; ++n) {
    letters.push_back(letter(n));
    letters.back().died_at = noon;
    if (n % 2 == 0) letters.back().status = Status::exhausted;
  }
  append(std::move(letters));
  Query query;
  query.limit = 7;
  EXPECT_THAT(numbers(all_pages(*office_, query)), ElementsAreArray(count_down(300)));
  query.source = "orders";
  EXPECT_THAT(numbers(all_pages(*office_, query)), ElementsAreArray(count_down(300)));
}

TEST_F(SqliteLister, AManyTimesFoundWordIsPagedInOrderOfArrival) {
  append(2500);
  Query query;
  query.error_words = "timed";
  query.limit = 100;
  EXPECT_THAT(numbers(all_pages(*office_, query)), ElementsAreArray(count_down(2500)));
  query.order = Order::oldest_first;
  auto upward = count_down(2500);
  std::reverse(upward.begin(), upward.end());
  EXPECT_THAT(numbers(all_pages(*office_, query)), ElementsAreArray(upward));
}

TEST_F(SqliteLister, ARecordThatDiedAgainComesFirstAmongManyMatches) {
  append(2500);
  DeadLetter again = letter(3);
  Transition close;
  close.id = again.id;
  close.to = Status::resolved;
  again.died_at = noon + Millis{1'000'000};
  must_apply(*office_, {close, append_of(again)});
  Query query;
  query.error_words = "timed out";
  query.limit = 2;
  const Page page = must(office_->list(query));
  ASSERT_EQ(page.rows.size(), 2U);
  EXPECT_EQ(page.rows[0].id.low, 3U);
  EXPECT_EQ(page.rows[1].id.low, 2500U);
  query.limit = 100;
  EXPECT_EQ(all_pages(*office_, query).size(), 2500U);
}

TEST_F(SqliteLister, ManyMatchesAreFilteredByEverythingElse) {
  append(2500);
  Query query;
  query.error_words = "timed";
  query.key = "customer-3";
  EXPECT_EQ(all_pages(*office_, query).size(), 250U);
  query.key.reset();
  query.until = noon + Millis{11};
  EXPECT_EQ(all_pages(*office_, query).size(), 10U);
}

TEST_F(SqliteLister, AWordSearchGoesOnFromAPlaceInPageOrder) {
  append(2500);
  Query query;
  query.error_words = "timed";
  query.limit = 1000;
  query.after = Cursor{noon + Millis{5}, 5};
  EXPECT_THAT(numbers(all_pages(*office_, query)), ElementsAreArray(count_down(4)));
}

// Whoever types a cursor gets an answer, not a walk through numbers that nobody has.
TEST_F(SqliteLister, AnAbsurdPlaceInAWordSearchIsAnEnd) {
  append(2500);
  Query query;
  query.error_words = "timed";
  query.limit = 1000;
  query.time_box = Millis{0};
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const auto& [place, order, expected] : {std::tuple{most, Order::newest_first, 2500U},
                                               {-most, Order::newest_first, 0U},
                                               {most, Order::oldest_first, 0U},
                                               {-most, Order::oldest_first, 2500U}}) {
    query.after = Cursor{TimePoint{}, place, Walk::by_arrival};
    query.order = order;
    EXPECT_EQ(all_pages(*office_, query).size(), expected) << place;
  }
}

TEST_F(SqliteLister, NoTimeAtAllStillComesToAnEnd) {
  append(2500);
  Query query;
  query.time_box = Millis{0};
  query.limit = 1000;
  for (const char* words : {"", "timed", "1"}) {
    query.error_words = words;
    const std::size_t expected = *words == '1' ? 1 : 2500;
    EXPECT_EQ(all_pages(*office_, query).size(), expected) << words;
  }
  query.error_words.clear();
  query.reason = "nothing has this";
  const Page page = must(office_->list(query));
  EXPECT_TRUE(page.partial);
  EXPECT_TRUE(page.rows.empty());
  EXPECT_EQ(all_pages(*office_, query).size(), 0U);
}

TEST_F(SqliteLister, AFullPageIsNotPartial) {
  append(2500);
  for (const char* words : {"", "timed"}) {
    Query query;
    query.error_words = words;
    query.limit = 50;
    const Page page = must(office_->list(query));
    EXPECT_FALSE(page.partial);
    EXPECT_TRUE(page.next);
  }
}

// --- against the plainest reading of the contract ----------------------------------------------

const std::vector<std::string> some_words = {"timeout", "refused", "gateway", "disk", "quota"};

DeadLetter random_letter(std::uint64_t n, std::mt19937& random) {
  const auto below = [&](unsigned limit) { return random() % limit; };
  DeadLetter record = letter(n);
  Message message = *record.message;
  message.source = "source-" + std::to_string(below(4));
  message.event_type = "Type" + std::to_string(below(3));
  message.key = below(3) == 0 ? "" : "key-" + std::to_string(below(5));
  message.id = below(4) == 0 ? "" : "id-" + std::to_string(below(40));
  message.payload = some_words[below(5)] + " " + some_words[below(5)];
  if (below(4) == 0) message.owner = Owner{"instance-" + std::to_string(below(3)), 1, {}, ""};
  record.message = std::make_shared<Message>(std::move(message));
  record.status = std::array{Status::pending,  Status::exhausted, Status::resolved,
                             Status::archived, Status::waiting,   Status::quarantined}[below(6)];
  record.category = "category-" + std::to_string(below(3));
  record.reason = "reason-" + std::to_string(below(2));
  record.failure.text = some_words[below(5)] + " " + some_words[below(5)];
  if (below(3) == 0) record.failure.causes = {{"Cause", some_words[below(5)]}};
  record.fingerprint.hash = {1, below(6)};
  record.counters.attempt = static_cast<std::uint32_t>(below(6));
  record.died_at = noon + Millis{static_cast<std::int64_t>(below(500))};
  record.source_unsettled = below(2) == 0;
  return record;
}

Query random_query(std::mt19937& random) {
  const auto below = [&](unsigned limit) { return random() % limit; };
  const auto maybe = [&](unsigned of) { return below(of) == 0; };
  Query query;
  if (maybe(2)) query.statuses = {Status::pending, Status::resolved};
  if (maybe(4)) query.statuses.push_back(Status::waiting);
  if (maybe(3)) query.source = "source-" + std::to_string(below(5));
  if (maybe(3)) query.category = "category-" + std::to_string(below(4));
  if (maybe(4)) query.group = Id128{1, below(7)};
  if (maybe(4)) query.event_type = "Type" + std::to_string(below(4));
  if (maybe(5)) query.key = below(4) == 0 ? "" : "key-" + std::to_string(below(5));
  if (maybe(7)) query.message_id = below(4) == 0 ? "" : "id-" + std::to_string(below(40));
  if (maybe(7)) query.instance = "instance-" + std::to_string(below(4));
  if (maybe(6)) query.reason = "reason-1";
  if (maybe(6)) query.source_unsettled = maybe(2);
  if (maybe(5)) query.from = noon + Millis{static_cast<std::int64_t>(below(500))};
  if (maybe(5)) query.until = noon + Millis{static_cast<std::int64_t>(below(500))};
  if (maybe(3)) query.error_words = some_words[below(5)];
  if (maybe(6)) query.payload_words = some_words[below(5)] + " " + some_words[below(5)];
  if (maybe(6)) query.attempts_over = static_cast<std::uint32_t>(below(6));
  if (maybe(2)) query.order = Order::oldest_first;
  query.limit = 1 + below(40);
  return query;
}

// Whichever index leads, the rows and their order are those of the memory office.
TEST_F(SqliteLister, EveryQueryAnswersAsTheMemoryOfficeDoes) {
  std::mt19937 random(7);
  MemoryOffice memory;
  for (std::uint64_t n = 1; n <= 600;) {
    std::vector<Change> changes;
    for (int i = 0; i < 50; ++i) changes.push_back(append_of(random_letter(n++, random)));
    must_apply(memory, changes);
    must_apply(*office_, changes);
  }
  wait_for_index(*office_);
  std::size_t found = 0;
  for (int i = 0; i < 400; ++i) {
    Query query = random_query(random);
    if (i % 3 == 0) query.time_box = Millis{0};
    const auto expected = all_pages(memory, query);
    found += expected.size();
    ASSERT_EQ(numbers(all_pages(*office_, query)), numbers(expected)) << "query " << i;
  }
  EXPECT_GT(found, 1000U);  // the queries are not all too narrow to tell
}

// Where many records match, words are found in other ways. As these died in the order in which they
// came, every way gives the same rows in the same order.
TEST_F(SqliteLister, ManyMatchesAnswerAsTheMemoryOfficeDoes) {
  std::mt19937 random(8);
  MemoryOffice memory;
  for (std::uint64_t n = 1; n <= 4000;) {
    std::vector<Change> changes;
    for (int i = 0; i < 500; ++i, ++n) {
      DeadLetter record = random_letter(n, random);
      record.died_at = noon + Millis{static_cast<std::int64_t>(n / 8)};
      changes.push_back(append_of(std::move(record)));
    }
    must_apply(memory, changes);
    must_apply(*office_, changes);
  }
  wait_for_index(*office_);
  for (int i = 0; i < 60; ++i) {
    Query query = random_query(random);
    if (query.error_words.empty() && query.payload_words.empty()) query.error_words = "disk";
    query.limit = 1 + random() % 400;
    if (i % 5 == 0) query.time_box = Millis{0};
    ASSERT_EQ(numbers(all_pages(*office_, query)), numbers(all_pages(memory, query)))
        << "query " << i;
  }
}

// Words are in every record here. Nothing but the range of time says where the list ends.
TEST_F(SqliteLister, ACommonWordInARangeOfTimeIsFoundAtOnce) {
  append(20'000);
  Query query;
  query.error_words = "timed";
  query.from = noon + Millis{5'000};
  query.until = noon + Millis{5'050};
  query.limit = 100;
  query.time_box = Millis{0};
  const Page page = must(office_->list(query));
  EXPECT_EQ(page.rows.size(), 50U);
  EXPECT_FALSE(page.partial);
  EXPECT_FALSE(page.next);
}

}  // namespace
}  // namespace dlo::testing
