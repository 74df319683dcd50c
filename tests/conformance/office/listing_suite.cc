// Listing: every filter, both orders, deep pages, frozen sets, time boxes (R9, R23).

#include <algorithm>
#include <limits>
#include <set>

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

Query everything() {
  Query query;
  query.statuses.assign(all_statuses().begin(), all_statuses().end());
  return query;
}

std::vector<RecordId> numbered(std::initializer_list<std::uint64_t> numbers) {
  std::vector<RecordId> out;
  for (const std::uint64_t n : numbers) out.push_back(id_of(n));
  return out;
}

TEST_P(OfficeSuite, AListRowShowsTheHeadOfItsRecord) {
  DeadLetter letter = a_full_letter(1);
  letter.status = Status::pending;
  append(letter);
  const auto rows = walk({});
  ASSERT_EQ(rows.size(), 1U);
  const RecordHead& row = rows[0];
  const DeadLetter kept = record(letter.id);
  EXPECT_EQ(row.id, letter.id);
  EXPECT_EQ(row.occurrence, letter.occurrence);
  EXPECT_EQ(row.number, kept.number);
  EXPECT_EQ(row.version, kept.version);
  EXPECT_EQ(row.change, kept.change);
  EXPECT_EQ(row.status, letter.status);
  EXPECT_EQ(row.source, letter.message->source);
  EXPECT_EQ(row.event_type, letter.message->event_type);
  EXPECT_EQ(row.key, letter.message->key);
  EXPECT_EQ(row.message_id, letter.message->id);
  EXPECT_EQ(row.reason, letter.reason);
  EXPECT_EQ(row.category, letter.category);
  EXPECT_EQ(row.error_type, letter.failure.type);
  EXPECT_EQ(row.error_text, letter.failure.text);
  EXPECT_EQ(row.group, letter.fingerprint.hash);
  EXPECT_EQ(row.counters, letter.counters);
  EXPECT_EQ(row.limit, letter.limit);
  EXPECT_EQ(row.died_at, letter.died_at);
  EXPECT_EQ(row.next_retry_at, letter.next_retry_at);
  EXPECT_EQ(row.payload_size, letter.message->payload->size());
}

TEST_P(OfficeSuite, MessagesThatWaitAreNotListedAsDeadLetters) {  // R9
  std::uint64_t n = 0;
  for (const Status status : all_statuses()) bring_to(a_letter(++n), status);
  std::set<Status> listed;
  for (const RecordHead& row : walk({})) listed.insert(row.status);
  EXPECT_EQ(listed.size(), status_count - 2);
  EXPECT_EQ(listed.count(Status::waiting), 0U);
  EXPECT_EQ(listed.count(Status::parked), 0U);
  EXPECT_EQ(ids(everything()).size(), status_count);
  Query live;
  live.statuses = {Status::waiting};
  EXPECT_EQ(walk(live).size(), 1U);
}

/// A filter, and the letters of `a_spread` it lets through, oldest first.
struct FilterRow {
  const char* name;
  std::function<void(Query&)> narrow;
  std::vector<RecordId> expected;
};

/// Differences in what is not in the head.
void spread_the_rest(DeadLetter& letter, std::uint64_t n) {
  Message message = message_of(letter);
  message.headers = {{"Tenant", n < 3 ? "acme" : "umbrella"}};
  if (n == 6) message.headers = {{"Tenant", "acme"}, {"tenant", "last"}};
  message.payload = R"({"order": {"id": )" + std::to_string(n) + R"(, "city": "K\u00f6ln )" +
                    std::to_string(n % 2) + R"("}, "paid": )" + (n == 3 ? "true" : "null") + "}";
  if (n == 2) message.payload.reset();
  letter.message = share(message);
  letter.handler = n < 5 ? "billing" : "";
  letter.node = "node-" + std::to_string(n % 2);
  letter.build = "1.4." + std::to_string(n % 3);
  if (n == 3) letter.tags = {"vip", "slow"};
  if (n == 4) letter.tags = {"slow"};
  if (n <= 2) letter.next_retry_at = noon + std::chrono::hours{n};
  if (n >= 5) letter.resolution = Resolution{noon + std::chrono::hours{n}, "ana", "manual", ""};
}

FieldTest with(Field field, std::vector<std::string> values, std::string path = "") {
  return {field, std::move(path), std::move(values), false};
}
FieldTest without(Field field, std::vector<std::string> values, std::string path = "") {
  return {field, std::move(path), std::move(values), true};
}

/// Six letters that differ in every field a query can ask for.
std::vector<DeadLetter> a_spread() {
  std::vector<DeadLetter> letters;
  for (std::uint64_t n = 1; n <= 6; ++n) {
    DeadLetter letter = a_letter(n);
    Message message = message_of(letter);
    const bool even = n % 2 == 0;
    message.source = even ? "even" : "odd";
    message.event_type = "Type" + std::to_string(n % 3);
    message.key = "key-" + std::to_string(n / 3);
    if (n >= 5) message.owner = Owner{"instance-" + std::to_string(n), 1, std::nullopt, ""};
    letter.message = share(message);
    letter.status = n <= 2 ? Status::pending : n <= 4 ? Status::exhausted : Status::resolved;
    letter.category = n < 4 ? "network" : "";
    letter.fingerprint.hash = group_of(n % 2);
    letter.failure.type = n == 3 ? "" : "Error" + std::to_string(n % 2);
    letter.reason = even ? "Poison" : "poison";
    letter.source_unsettled = n == 4;
    letter.counters.attempt = static_cast<std::uint32_t>(n);
    letter.counters.replay = static_cast<std::uint32_t>(n / 4);
    spread_the_rest(letter, n);
    letter.died_at = noon + std::chrono::minutes{n};
    letters.push_back(letter);
  }
  return letters;
}

/// Filters that read more than the head, or exclude.
std::vector<FilterRow> test_filters() {
  const auto testing = [](FieldTest test) { return [test](Query& q) { q.tests = {test}; }; };
  return {
      {"two sources", testing(with(Field::source, {"odd", "none"})), numbered({1, 3, 5})},
      {"not a source", testing(without(Field::source, {"odd"})), numbered({2, 4, 6})},
      {"none of two categories", testing(without(Field::category, {"network", "x"})),
       numbered({4, 5, 6})},
      {"not a group", testing(without(Field::group, {to_string(group_of(0))})),
       numbered({1, 3, 5})},
      {"not an id", testing(without(Field::id, {to_string(id_of(1)), to_string(id_of(2))})),
       numbered({3, 4, 5, 6})},
      {"two types", testing(with(Field::event_type, {"Type0", "Type1"})), numbered({1, 3, 4, 6})},
      {"not a key", testing(without(Field::key, {"key-1"})), numbered({1, 2, 6})},
      {"two message ids", testing(with(Field::message_id, {"m-1", "m-6"})), numbered({1, 6})},
      {"not an error type", testing(without(Field::error_type, {"Error0"})), numbered({1, 3, 5})},
      {"not a reason", testing(without(Field::reason, {"Poison"})), numbered({1, 3, 5})},
      {"two instances", testing(with(Field::instance, {"instance-5", ""})), numbered({5})},
      {"not an instance", testing(without(Field::instance, {"instance-5"})),
       numbered({1, 2, 3, 4, 6})},
      {"handler", testing(with(Field::handler, {"billing"})), numbered({1, 2, 3, 4})},
      {"no handler", testing(with(Field::handler, {""})), numbered({5, 6})},
      {"node", testing(with(Field::node, {"node-1"})), numbered({1, 3, 5})},
      {"two builds", testing(with(Field::build, {"1.4.0", "1.4.1"})), numbered({1, 3, 4, 6})},
      {"tag", testing(with(Field::tag, {"slow"})), numbered({3, 4})},
      {"not tagged", testing(without(Field::tag, {"vip", "fast"})), numbered({1, 2, 4, 5, 6})},
      {"header", testing(with(Field::header, {"acme"}, "TENANT")), numbered({1, 2})},
      {"not that header", testing(without(Field::header, {"umbrella"}, "tenant")),
       numbered({1, 2, 6})},
      {"no such header", testing(with(Field::header, {""}, "region")), {}},
      {"payload path", testing(with(Field::body, {"3", "5", "1.0"}, "order.id")), numbered({3, 5})},
      {"payload text", testing(with(Field::body, {"K\xC3\xB6ln 1"}, "/order/city")),
       numbered({1, 3, 5})},
      {"payload word", testing(with(Field::body, {"true"}, "paid")), numbered({3})},
      {"payload null", testing(with(Field::body, {"null"}, "paid")), numbered({1, 4, 5, 6})},
      {"payload object", testing(with(Field::body, {""}, "order")), {}},
      {"not that path", testing(without(Field::body, {"1", "3"}, "order.id")),
       numbered({2, 4, 5, 6})},
      {"not these error words", testing(without(Field::error, {"refused connection"})), {}},
      {"not all error words", testing(without(Field::error, {"refused twice"})),
       numbered({1, 2, 3, 4, 5, 6})},
      {"not these payload words", testing(without(Field::payload, {"3", "order 4"})),
       numbered({1, 2, 5, 6})},
      {"two tests",
       [](Query& q) {
         q.tests = {with(Field::node, {"node-1"}), without(Field::body, {"3"}, "order.id"),
                    with(Field::handler, {"billing"})};
       },
       numbered({1})},
  };
}

std::vector<FilterRow> range_filters() {
  const auto hours = [](int n) { return noon + std::chrono::hours{n}; };
  return {
      {"attempts below", [](Query& q) { q.attempts_below = 3; }, numbered({1, 2})},
      {"replays over", [](Query& q) { q.replays_over = 0; }, numbered({4, 5, 6})},
      {"replays below", [](Query& q) { q.replays_below = 1; }, numbered({1, 2, 3})},
      {"next retry from", [=](Query& q) { q.next_retry_from = hours(2); }, numbered({2})},
      {"next retry until", [=](Query& q) { q.next_retry_until = hours(2); }, numbered({1})},
      {"resolved from", [=](Query& q) { q.resolved_from = hours(6); }, numbered({6})},
      {"resolved until", [=](Query& q) { q.resolved_until = hours(6); }, numbered({5})},
      {"ids", [](Query& q) { q.ids = {id_of(6), id_of(2), id_of(99), id_of(2), id_of(3)}; },
       numbered({2, 3, 6})},
      {"ids that do not fit",
       [](Query& q) {
         q.ids = {id_of(2), id_of(3)};
         q.source = "odd";
       },
       numbered({3})},
      {"ids and words",
       [](Query& q) {
         q.ids = {id_of(2), id_of(3)};
         q.error_words = "refused";
       },
       numbered({2, 3})},
  };
}

std::vector<FilterRow> head_filters() {
  return {
      {"nothing", [](Query&) {}, numbered({1, 2, 3, 4, 5, 6})},
      {"status", [](Query& q) { q.statuses = {Status::exhausted}; }, numbered({3, 4})},
      {"two statuses", [](Query& q) { q.statuses = {Status::resolved, Status::pending}; },
       numbered({1, 2, 5, 6})},
      {"source", [](Query& q) { q.source = "even"; }, numbered({2, 4, 6})},
      {"source is no prefix", [](Query& q) { q.source = "eve"; }, {}},
      {"source is exact", [](Query& q) { q.source = "EVEN"; }, {}},
      {"category", [](Query& q) { q.category = "network"; }, numbered({1, 2, 3})},
      {"the empty category", [](Query& q) { q.category = ""; }, numbered({4, 5, 6})},
      {"group", [](Query& q) { q.group = group_of(0); }, numbered({2, 4, 6})},
      {"event type", [](Query& q) { q.event_type = "Type1"; }, numbered({1, 4})},
      {"key", [](Query& q) { q.key = "key-1"; }, numbered({3, 4, 5})},
      {"message id", [](Query& q) { q.message_id = "m-5"; }, numbered({5})},
      {"error type", [](Query& q) { q.error_type = "Error1"; }, numbered({1, 5})},
      {"the empty error type", [](Query& q) { q.error_type = ""; }, numbered({3})},
      {"reason is exact", [](Query& q) { q.reason = "poison"; }, numbered({1, 3, 5})},
      {"instance", [](Query& q) { q.instance = "instance-6"; }, numbered({6})},
      {"the empty instance is nobody's", [](Query& q) { q.instance = ""; }, {}},
      {"unsettled", [](Query& q) { q.source_unsettled = true; }, numbered({4})},
      {"settled", [](Query& q) { q.source_unsettled = false; }, numbered({1, 2, 3, 5, 6})},
      {"from", [](Query& q) { q.from = noon + std::chrono::minutes{5}; }, numbered({5, 6})},
      {"until", [](Query& q) { q.until = noon + std::chrono::minutes{3}; }, numbered({1, 2})},
      {"attempts", [](Query& q) { q.attempts_over = 4; }, numbered({5, 6})},
      {"change", [](Query& q) { q.changed_up_to = 2; }, numbered({1, 2})},
      {"error words", [](Query& q) { q.error_words = "refused"; }, numbered({1, 2, 3, 4, 5, 6})},
      {"no such words", [](Query& q) { q.error_words = "accepted"; }, {}},
      {"payload words", [](Query& q) { q.payload_words = "order 3"; }, numbered({3})},
      {"all of them",
       [](Query& q) {
         q.statuses = {Status::exhausted};
         q.source = "even";
         q.category = "";
         q.group = group_of(0);
         q.event_type = "Type1";
         q.key = "key-1";
         q.message_id = "m-4";
         q.error_type = "Error0";
         q.reason = "Poison";
         q.source_unsettled = true;
         q.from = noon;
         q.until = noon + std::chrono::hours{1};
         q.error_words = "connection refused";
         q.payload_words = "4";
         q.attempts_over = 3;
         q.changed_up_to = 4;
       },
       numbered({4})},
      {"two that exclude each other",
       [](Query& q) {
         q.source = "even";
         q.message_id = "m-1";
       },
       {}},
  };
}

std::vector<FilterRow> filters() {
  std::vector<FilterRow> all = head_filters();
  for (const auto& more : {range_filters(), test_filters()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST_P(OfficeSuite, EveryFilterLetsThroughWhatItShouldInBothOrders) {
  std::vector<Change> changes;
  for (const DeadLetter& letter : a_spread()) changes.push_back(append_of(letter));
  apply(changes);
  settle_indexes();
  for (const FilterRow& row : filters()) {
    for (const std::size_t limit : {std::size_t{1}, std::size_t{2}, std::size_t{50}}) {
      Query query;
      row.narrow(query);
      if (is_refused_here(query)) continue;
      query.limit = limit;
      query.order = Order::oldest_first;
      EXPECT_EQ(ids(query), row.expected) << row.name << ", oldest first, pages of " << limit;
      query.order = Order::newest_first;
      auto reversed = row.expected;
      std::reverse(reversed.begin(), reversed.end());
      EXPECT_EQ(ids(query), reversed) << row.name << ", newest first, pages of " << limit;
    }
  }
}

TEST_P(OfficeSuite, ATestThatCannotBeCarriedOutIsRefused) {
  append(a_letter(1));
  const std::vector<FieldTest> bad = {
      {},                                // without a value
      with(Field::header, {"x"}),        // without its name
      with(Field::body, {"x"}, "a..b"),  // not a path
      without(Field::error, {"x", "?"}),
      without(Field::payload, {"--"}),
      with(Field::source, std::vector<std::string>(most_values + 1, "x"))};
  for (const FieldTest& test : bad) {
    Query query;
    query.tests = {test};
    const auto refused = office().list(query);
    ASSERT_FALSE(refused) << "field " << static_cast<int>(test.field);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
  }
  Query many;
  many.tests.assign(most_tests + 1, with(Field::source, {"orders"}));
  EXPECT_FALSE(office().list(many));
  many.tests.pop_back();
  EXPECT_EQ(ids(many).size(), 1U);
  many.ids.assign(most_values + 1, id_of(1));
  EXPECT_FALSE(office().list(many));
}

TEST_P(OfficeSuite, RecordsThatDiedInOneInstantComeInOrderOfArrival) {
  std::vector<Change> changes;
  std::vector<RecordId> expected;
  for (std::uint64_t n = 1; n <= 50; ++n) {
    changes.push_back(append_of(a_letter(n * 7919 % 101 + 1'000)));
    expected.push_back(id_of(n * 7919 % 101 + 1'000));
  }
  apply(changes);
  Query query;
  query.limit = 7;
  query.order = Order::oldest_first;
  EXPECT_EQ(ids(query), expected);
  std::reverse(expected.begin(), expected.end());
  query.order = Order::newest_first;
  EXPECT_EQ(ids(query), expected);
}

TEST_P(OfficeSuite, DeepPagesReturnEachRecordOnceWhileOthersArrive) {
  std::vector<Change> changes;
  std::set<RecordId> first_ones;
  for (std::uint64_t n = 1; n <= 400; ++n) {
    DeadLetter letter = a_letter(n);
    letter.died_at = noon + Millis{n / 9};
    changes.push_back(append_of(letter));
    first_ones.insert(letter.id);
  }
  apply(changes);
  for (const Order order : {Order::newest_first, Order::oldest_first}) {
    std::multiset<RecordId> seen;
    Query query;
    query.order = order;
    query.limit = 23;
    std::uint64_t arrival = order == Order::newest_first ? 10'000 : 20'000;
    for (int pages = 0; pages < 1'000; ++pages) {
      const Page page = must(office().list(query));
      for (const RecordHead& row : page.rows) seen.insert(row.id);
      if (!page.next) break;
      query.after = page.next;
      DeadLetter older = a_letter(++arrival);
      older.died_at = noon - Millis{arrival};
      DeadLetter newer = a_letter(++arrival);
      newer.died_at = noon + Millis{arrival};
      apply({append_of(older), append_of(newer)});
    }
    for (const RecordId& id : first_ones) EXPECT_EQ(seen.count(id), 1U);
    for (const RecordId& id : seen) EXPECT_EQ(seen.count(id), 1U);
  }
}

TEST_P(OfficeSuite, ACursorSurvivesBeingPrinted) {
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 5; ++n) changes.push_back(append_of(a_letter(n)));
  apply(changes);
  Query query;
  query.limit = 2;
  const Page first = must(office().list(query));
  ASSERT_TRUE(first.next);
  query.after = parse_cursor(to_string(*first.next));
  ASSERT_TRUE(query.after);
  query.limit = 50;
  EXPECT_EQ(ids(query), numbered({3, 2, 1}));
}

TEST_P(OfficeSuite, APlaceWhereNothingStandsIsStillAPlace) {
  apply({append_of(a_letter(1)), append_of(a_letter(2))});
  Query query;
  query.order = Order::oldest_first;
  query.after = Cursor{noon, 0};
  EXPECT_EQ(ids(query), numbered({1, 2}));
  query.after = Cursor{noon + Millis{1}, 0};
  EXPECT_TRUE(ids(query).empty());
  query.order = Order::newest_first;
  EXPECT_EQ(ids(query), numbered({2, 1}));
  query.after = Cursor{noon - Millis{1}, std::numeric_limits<std::int64_t>::max()};
  EXPECT_TRUE(ids(query).empty());
}

TEST_P(OfficeSuite, ThePlaceOfAWordSearchIsRefusedWhereNoWordsAreSearched) {
  append(a_letter(1));
  Query query;
  query.after = Cursor{TimePoint{}, 7, Walk::by_arrival};
  const auto refused = office().list(query);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
}

TEST_P(OfficeSuite, AFrozenSetDoesNotGrow) {  // R23
  apply({append_of(a_letter(1)), append_of(a_letter(2)), append_of(a_letter(3))});
  Query frozen;
  frozen.changed_up_to = last_change();
  frozen.order = Order::oldest_first;
  apply({append_of(a_letter(4)), to(Status::exhausted, 2)});
  EXPECT_EQ(ids(frozen), numbered({1, 3})) << "what changed since is found by its change number";
  EXPECT_GT(record(id_of(2)).change, *frozen.changed_up_to);
}

TEST_P(OfficeSuite, ARecordMovesInTheListWhenItsDeathDoes) {
  apply({append_of(a_letter(1)), append_of(a_letter(2))});
  Transition later = to(Status::pending, 1);
  later.died_at = noon + Millis{1};
  apply_one(later);
  EXPECT_EQ(ids({}), numbered({1, 2}));
}

TEST_P(OfficeSuite, OddLimitsAreServed) {
  apply({append_of(a_letter(1)), append_of(a_letter(2))});
  Query query;
  query.limit = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(ids(query).size(), 2U);
  query.limit = 0;
  const Page none = must(office().list(query));
  EXPECT_TRUE(none.rows.empty());
  EXPECT_FALSE(none.next) << "or a caller would ask for ever";
}

TEST_P(OfficeSuite, ATimeBoxOfZeroStillGetsThrough) {
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 3'000; ++n) {
    DeadLetter letter = a_letter(n);
    letter.reason = n % 1'000 == 0 ? "rare" : "common";
    letter.died_at = noon + Millis{n};
    changes.push_back(append_of(letter));
  }
  apply(changes);
  Query query;
  query.reason = "rare";
  query.limit = 10;
  query.time_box = Millis{0};
  EXPECT_EQ(ids(query), numbered({3'000, 2'000, 1'000}));
}

}  // namespace
}  // namespace dlo::testing
