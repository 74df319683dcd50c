// Laws: what is printed is read back, whatever the values are; and every example of docs/query.md
// is a query.

#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <rapidcheck/gtest.h>
#include <string>
#include <vector>

#include "dlo/query/qualifiers.h"
#include "dlo/query/query_text.h"
#include "dlo/store/rules.h"

namespace dlo::testing {
namespace {

using Texts = std::vector<std::string>;

rc::Gen<std::string> any_text() {
  return rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::arbitrary<char>(), rc::gen::element('"', '\\', ',', ':', ' ', '-', '>', '.', 'a')));
}

template <typename T>
std::optional<T> maybe(const rc::Gen<T>& gen) {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  return *gen;
}

std::optional<TimePoint> maybe_time() {
  constexpr std::int64_t far = 1'000'000'000'000'000;
  const auto millis = maybe(rc::gen::inRange<std::int64_t>(-far, far));
  if (!millis) return std::nullopt;
  return TimePoint{Millis{*millis}};
}

std::string some_words() {
  return *rc::gen::map(any_text(), [](const std::string& text) { return text + "w"; });
}

Texts some_values(std::size_t least) {
  auto values = *rc::gen::container<Texts>(any_text());
  while (values.size() < least) values.push_back(*any_text());
  return values;
}

/// A test in the form that the parser gives it.
FieldTest a_test() {
  FieldTest test;
  test.field = *rc::gen::element(Field::source, Field::key, Field::handler, Field::node, Field::tag,
                                 Field::header, Field::body, Field::error, Field::payload,
                                 Field::id, Field::group);
  test.negated = test.field != Field::tag && test.field != Field::header;
  test.values = some_values(1);
  if (test.field == Field::header || test.field == Field::body) {
    test.path = "a" + *any_text();
    if (!JsonPath::parse(test.path)) test.path = "/" + test.path;
  }
  if (part_of(test.field) == Part::payload || test.field == Field::error) {
    for (std::string& value : test.values) value += "w";
  }
  if (test.field == Field::id || test.field == Field::group) {
    for (std::string& value : test.values) {
      value = to_string(Id128{*rc::gen::arbitrary<std::uint64_t>(), value.size()});
    }
  }
  return test;
}

Query a_query() {
  Query query;
  for (const Status status : all_statuses()) {
    if (*rc::gen::arbitrary<bool>()) query.statuses.push_back(status);
  }
  for (auto* text : {&query.source, &query.category, &query.event_type, &query.key,
                     &query.message_id, &query.error_type, &query.reason, &query.instance}) {
    *text = maybe(any_text());
  }
  if (*rc::gen::arbitrary<bool>()) query.group = Id128{7, *rc::gen::arbitrary<std::uint64_t>()};
  if (*rc::gen::arbitrary<bool>()) query.ids = {RecordId{Id128{1, 2}}, RecordId{Id128{3, 4}}};
  if (*rc::gen::arbitrary<bool>()) query.error_words = some_words();
  if (*rc::gen::arbitrary<bool>()) query.payload_words = some_words();
  for (auto* time : {&query.from, &query.until, &query.next_retry_from, &query.next_retry_until,
                     &query.resolved_from, &query.resolved_until}) {
    *time = maybe_time();
  }
  for (auto* number :
       {&query.attempts_over, &query.attempts_below, &query.replays_over, &query.replays_below}) {
    *number = maybe(rc::gen::arbitrary<std::uint32_t>());
  }
  query.source_unsettled = maybe(rc::gen::arbitrary<bool>());
  query.changed_up_to = maybe(rc::gen::arbitrary<std::uint64_t>());
  query.order = *rc::gen::element(Order::newest_first, Order::oldest_first);
  const std::size_t count = *rc::gen::inRange<std::size_t>(0, 4);
  for (std::size_t i = 0; i < count; ++i) query.tests.push_back(a_test());
  return query;
}

RC_GTEST_PROP(QueryLaws, WhatIsPrintedIsReadBack, ()) {
  const Query query = a_query();
  const std::string text = print_query(query);
  const auto again = parse_query(text, TimePoint{Millis{*rc::gen::arbitrary<std::int32_t>()}});
  if (!again) RC_FAIL(again.error().detail + "\n" + text);
  RC_LOG() << text << "\n" << print_query(*again);
  RC_ASSERT(*again == query);
}

RC_GTEST_PROP(QueryLaws, AnyTextIsAQueryAnOfficeAcceptsOrRefusedWithAColumn, ()) {
  const auto pieces = *rc::gen::container<Texts>(rc::gen::oneOf(
      any_text(),
      rc::gen::element<std::string>("status:", "open", "age:>", "2d", "body.", " ", "\"",
                                    "died:", "2026-03-01", "..", "source:", "-")));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  const auto query = parse_query(text, TimePoint{});
  if (query) {
    RC_ASSERT(check(*query).has_value());
    const auto again = parse_query(print_query(*query), TimePoint{Millis{99}});
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == *query);
  } else {
    RC_ASSERT(query.error().detail.starts_with("column "));
  }
}

std::vector<std::string> examples() {
  std::ifstream file(DLO_QUERY_DOCUMENT);
  std::vector<std::string> found;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```query";
    } else if (inside) {
      found.push_back(line.substr(0, line.find("  #")));
    }
  }
  return found;
}

TEST(TheQueryDocument, HasOnlyExamplesThatAreQueries) {
  const auto all = examples();
  EXPECT_GT(all.size(), 40U);
  for (const std::string& example : all) {
    const auto query = parse_query(example, TimePoint{Millis{1'772'366'400'000}});
    EXPECT_TRUE(query) << example << "\n" << (query ? "" : query.error().detail);
  }
}

TEST(TheQueryDocument, ShowsEveryQualifier) {
  std::string all;
  for (const std::string& example : examples()) all += " " + example;
  for (const query::Qualifier& each : query::qualifiers()) {
    const std::string name = std::string(each.name) + (each.name.ends_with('.') ? "" : ":");
    EXPECT_TRUE(all.find(" " + name) != std::string::npos ||
                all.find("-" + name) != std::string::npos)
        << name;
  }
}

TEST(Qualifiers, HaveExamplesThatAreQueries) {
  for (const query::Qualifier& each : query::qualifiers()) {
    const std::string path = each.name.ends_with('.') ? "x" : "";
    const std::string text = std::string(each.name) + path + ":" + std::string(each.example);
    EXPECT_TRUE(parse_query(text, TimePoint{})) << text;
  }
}

}  // namespace
}  // namespace dlo::testing
