// Words in errors and payloads. Nothing a person types is syntax.

#include <set>

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

DeadLetter with_error(std::uint64_t n, const std::string& text) {
  DeadLetter letter = a_letter(n);
  letter.failure.text = text;
  return letter;
}

DeadLetter with_payload(std::uint64_t n, const std::string& payload) {
  DeadLetter letter = a_letter(n);
  Message message = message_of(letter);
  message.payload = payload;
  letter.message = share(message);
  return letter;
}

struct WordRow {
  const char* text;
  const char* words;
  bool found;
};

const std::vector<WordRow>& words_table() {
  static const std::vector<WordRow> table = {
      {"Connection refused by 10.0.0.7:5432", "connection", true},
      {"Connection refused by 10.0.0.7:5432", "REFUSED Connection", true},
      {"Connection refused by 10.0.0.7:5432", "refused accepted", false},
      {"Connection refused by 10.0.0.7:5432", "connect", false},
      {"Connection refused by 10.0.0.7:5432", "onnection", false},
      {"Connection refused by 10.0.0.7:5432", "5432", true},
      {"Connection refused by 10.0.0.7:5432", "10.0.0.7", true},
      {"timeout", "timeout timeout", true},
      {"the SELECT failed: near \"OR\"", "or near", true},
      {"the SELECT failed", "select OR nothing", false},
      {"the SELECT failed", "select NOT failed", false},
      {"the SELECT failed", "select AND failed", false},
      {"the SELECT failed", "\"select", true},
      {"the SELECT failed", "select*", true},
      {"the SELECT failed", "sel*", false},
      {"the SELECT failed", "(select", true},
      {"the SELECT failed", "NEAR(select failed)", false},
      {"the SELECT failed", "error_text:select", false},
      {"the SELECT failed", "^the", true},
      {"the SELECT failed", "select'; DROP TABLE records;--", false},
      {"the SELECT failed", "{the failed}", true},
      {"the SELECT failed", "+select -failed", true},
      {"the SELECT failed", "\" OR * ( NEAR", false},
      {"snake_case_name", "case", true},
      {"Größe überschritten", "Größe", true},
      {"Größe überschritten", "überschritten größe_x", false},
      {"письмо не доставлено", "доставлено", true},
      {"", "anything", false},
  };
  return table;
}

TEST_P(OfficeSuite, ErrorWordsAreFoundAsWords) {
  std::vector<Change> changes;
  std::uint64_t n = 0;
  for (const WordRow& row : words_table()) changes.push_back(append_of(with_error(++n, row.text)));
  apply(changes);
  n = 0;
  for (const WordRow& row : words_table()) {
    Query query;
    query.error_words = row.words;
    query.message_id = "m-" + std::to_string(++n);
    EXPECT_EQ(!ids(query).empty(), row.found) << '[' << row.words << "] in [" << row.text << ']';
  }
}

TEST_P(OfficeSuite, PayloadWordsAreFoundAsWords) {
  std::vector<Change> changes;
  std::uint64_t n = 0;
  for (const WordRow& row : words_table()) {
    changes.push_back(append_of(with_payload(++n, row.text)));
  }
  apply(changes);
  settle_indexes();
  n = 0;
  for (const WordRow& row : words_table()) {
    Query query;
    query.payload_words = row.words;
    query.message_id = "m-" + std::to_string(++n);
    if (is_refused_here(query)) continue;
    EXPECT_EQ(!ids(query).empty(), row.found) << '[' << row.words << "] in [" << row.text << ']';
  }
}

TEST_P(OfficeSuite, ASearchWithoutAWordIsRefusedInsteadOfFindingEverything) {
  append(a_letter(1));
  for (const char* text : {"\"", "*", "( ) : ^", "   ", "'\";--"}) {
    Query query;
    query.error_words = text;
    const auto errors = office().list(query);
    ASSERT_FALSE(errors) << text;
    EXPECT_EQ(errors.error().code, Code::invalid_argument) << text;
    query.error_words.clear();
    query.payload_words = text;
    const auto payloads = office().list(query);
    ASSERT_FALSE(payloads) << text;
    EXPECT_EQ(payloads.error().code, Code::invalid_argument) << text;
  }
}

TEST_P(OfficeSuite, TheWordsOfCausesAreFoundToo) {
  DeadLetter letter = a_letter(1);
  letter.failure.causes = {{"Outer", "could not place the order"}, {"Root", "certificate expired"}};
  append(letter);
  Query query;
  query.error_words = "refused expired";
  EXPECT_EQ(ids(query).size(), 1U);
}

TEST_P(OfficeSuite, WordsFollowTheErrorWhenItChanges) {
  append(with_error(1, "first trouble"));
  Transition change = to(Status::pending, 1);
  change.failure = Failure{"T", "second trouble", "", std::nullopt, {}, "", std::nullopt};
  apply_one(change);
  Query query;
  query.error_words = "first";
  EXPECT_TRUE(ids(query).empty());
  query.error_words = "second";
  EXPECT_EQ(ids(query).size(), 1U);
}

TEST_P(OfficeSuite, WordsFollowTheMessageOfTheNextOccurrence) {
  append(with_payload(1, "alpha"));
  settle_indexes();
  DeadLetter again = with_payload(1, "beta");
  again.occurrence = 2;
  append(again);
  settle_indexes();
  Query query;
  query.payload_words = "alpha";
  if (is_refused_here(query)) return;
  EXPECT_TRUE(ids(query).empty());
  query.payload_words = "beta";
  EXPECT_EQ(ids(query).size(), 1U);
}

TEST_P(OfficeSuite, WordsAmongUnprintableBytesAreFound) {
  append(with_payload(1, std::string("\0\x01needle\0\x02 x", 11)));
  settle_indexes();
  Query query;
  query.payload_words = "needle";
  if (is_refused_here(query)) return;
  EXPECT_EQ(ids(query).size(), 1U);
}

TEST_P(OfficeSuite, AWordSearchKeepsThePageOrder) {
  std::vector<Change> changes;
  std::vector<RecordId> expected;
  for (std::uint64_t n = 1; n <= 40; ++n) {
    DeadLetter letter = with_error(n, n % 2 == 0 ? "needle in hay" : "hay");
    letter.died_at = noon + Millis{n * 7919 % 41};
    changes.push_back(append_of(letter));
  }
  apply(changes);
  Query query;
  query.error_words = "needle";
  query.limit = 3;
  const auto rows = walk(query);
  ASSERT_EQ(rows.size(), 20U);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_GT(rows[i - 1].died_at, rows[i].died_at);
}

/// Ways in which a listing can be disturbed after its first page.
struct Disturbance {
  const char* name;
  std::uint64_t before;  // matches when the listing begins
  std::vector<Change> (*changes)();
};

std::vector<Change> nearly_all_leave() {
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 1'600; ++n) {
    if (n % 8 != 0) changes.emplace_back(to(Status::resolved, n));
  }
  return changes;
}

std::vector<Change> many_join() {
  std::vector<Change> changes;
  for (std::uint64_t n = 10'001; n <= 12'000; ++n) changes.push_back(append_of(a_letter(n)));
  return changes;
}

std::vector<Query> word_searches() {
  std::vector<Query> queries;
  for (const Order order : {Order::newest_first, Order::oldest_first}) {
    Query query;
    query.statuses = {Status::pending};
    query.source = "orders";
    query.order = order;
    query.limit = 30;
    query.error_words = "refused";
    queries.push_back(query);
    query.error_words.clear();
    query.payload_words = "order";
    queries.push_back(query);
  }
  return queries;
}

// An office may find many matches in another way than few. A listing that began with many must not
// lose its place when they become few, nor the other way round.
TEST_P(OfficeSuite, AWordSearchGoesOnAsItBeganWhateverHappensBetweenPages) {
  const auto check = [this](const Disturbance& disturbance, Query query) {
    SetUp();
    std::vector<Change> changes;
    for (std::uint64_t n = 1; n <= disturbance.before; ++n) {
      changes.push_back(append_of(a_letter(n)));
    }
    apply(changes);
    settle_indexes();
    const Page first = must(office().list(query));
    std::multiset<RecordId> seen;
    for (const RecordHead& row : first.rows) seen.insert(row.id);
    apply(disturbance.changes());
    settle_indexes();
    query.after = first.next;
    for (const RecordId& id : ids(query)) seen.insert(id);
    for (std::uint64_t n = 8; n <= disturbance.before; n += 8) {
      EXPECT_EQ(seen.count(id_of(n)), 1U) << disturbance.name << ", record " << n;
    }
    for (const RecordId& id : seen) EXPECT_EQ(seen.count(id), 1U) << disturbance.name;
  };
  for (const Query& query : word_searches()) {
    if (is_refused_here(query)) continue;
    check({"nearly all leave", 1'600, nearly_all_leave}, query);
    check({"many join", 160, many_join}, query);
  }
}

TEST_P(OfficeSuite, NoPayloadIsLeftUnindexedForGood) {
  apply({append_of(a_letter(1)), append_of(a_letter(2))});
  settle_indexes();
  EXPECT_EQ(must(office().aggregate({})).unindexed_payloads, 0U);
}

}  // namespace
}  // namespace dlo::testing
