// Every documented query as a table: what it is read as, and how it prints.

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "support/must.h"

#include "dlo/query/query_text.h"

namespace dlo::testing {
namespace {

using std::chrono::days;
using std::chrono::hours;

const TimePoint now = std::chrono::sys_days{std::chrono::year{2026} / 3 / 10} + hours{12};
const TimePoint march = std::chrono::sys_days{std::chrono::year{2026} / 3 / 1};
constexpr const char* hex = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
constexpr Millis ms{1};

std::vector<Status> open_ones() {
  return {Status::pending,   Status::retrying, Status::exhausted,
          Status::replaying, Status::replayed, Status::quarantined};
}

struct Row {
  const char* name;
  std::string text;
  std::function<void(Query&)> expected;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.text;
}

class QueryText : public ::testing::TestWithParam<Row> {};

TEST_P(QueryText, IsReadAsTheTableSaysAndSurvivesPrinting) {
  Query expected;
  GetParam().expected(expected);
  const auto parsed = parse_query(GetParam().text, now);
  ASSERT_TRUE(parsed) << parsed.error().detail;
  EXPECT_EQ(print_query(*parsed), print_query(expected));
  EXPECT_TRUE(*parsed == expected);
  const std::string printed = print_query(*parsed);
  EXPECT_TRUE(must(parse_query(printed, now + days{3})) == expected) << printed;
}

std::function<void(Query&)> tests(std::vector<FieldTest> all) {
  return [all = std::move(all)](Query& q) { q.tests = all; };
}

// clang-format off
std::vector<Row> documents() {
  return {
      {"S1_33_AllUnresolved", "status:open", [](Query& q) { q.statuses = open_ones(); }},
      {"S1_34_UnresolvedOfASource", "status:open source:payment-retry",
       [](Query& q) { q.statuses = open_ones(); q.source = "payment-retry"; }},
      {"S1_35_LastDay", "failed:<=24h", [](Query& q) { q.from = now - hours{24}; }},
      {"S1_36_UnresolvedOfAType", "status:open type:PaymentRetryFailed",
       [](Query& q) { q.statuses = open_ones(); q.event_type = "PaymentRetryFailed"; }},
      {"S1_37_ByAFieldOfThePayload", "body.PaymentId:7", tests({{Field::body, "PaymentId", {"7"}, false}})},
      {"S2_38_Exhausted", "status:exhausted", [](Query& q) { q.statuses = {Status::exhausted}; }},
      {"S2_38_ByCategory", "category:network", [](Query& q) { q.category = "network"; }},
      {"S2_38_RetriedWithinTheHour", "next_retry:<=1h",
       [](Query& q) { q.next_retry_until = now + hours{1} + ms; }},
      {"Design5",
       "status:exhausted source:payments category:network error:\"timed out\" header.tenant:acme "
       "body.order.id:7 age:>2d attempts:>3",
       [](Query& q) {
         q.statuses = {Status::exhausted};
         q.source = "payments";
         q.category = "network";
         q.error_words = "timed out";
         q.tests = {{Field::header, "tenant", {"acme"}, false}, {Field::body, "order.id", {"7"}, false}};
         q.until = now - days{2};
         q.attempts_over = 3;
       }},
      {"UI1_Replayed", "replayed:>0 tag:vip",
       [](Query& q) { q.replays_over = 0; q.tests = {{Field::tag, "", {"vip"}, false}}; }},
      {"R9_Open", "status:open -status:retrying,replaying", [](Query& q) {
         q.statuses = {Status::pending, Status::exhausted, Status::replayed, Status::quarantined};
       }},
      {"R23_Frozen", "source:a change:<=4711",
       [](Query& q) { q.source = "a"; q.changed_up_to = 4711; }},
  };
}

std::vector<Row> fields() {
  return {
      {"Nothing", " \t\n", [](Query&) {}},
      {"TwoStatusesInTheirOrder", "status:exhausted,pending",
       [](Query& q) { q.statuses = {Status::pending, Status::exhausted}; }},
      {"StatusesMeet", "status:open status:pending,resolved", [](Query& q) { q.statuses = {Status::pending}; }},
      {"LiveOnes", "status:waiting", [](Query& q) { q.statuses = {Status::waiting}; }},
      {"NotResolvedIsEveryOtherDeadLetter", "resolved:no", [](Query& q) {
         for (const Status s : all_statuses()) if (!is_live(s) && s != Status::resolved) q.statuses.push_back(s);
       }},
      {"ResolvedYes", "resolved:yes", [](Query& q) { q.statuses = {Status::resolved}; }},
      {"NotNotResolved", "-resolved:no", [](Query& q) { q.statuses = {Status::resolved}; }},
      {"Texts", "type:T key:k message:m-1 error_type:E reason:R instance:i",
       [](Query& q) {
         q.event_type = "T"; q.key = "k"; q.message_id = "m-1"; q.error_type = "E"; q.reason = "R"; q.instance = "i";
       }},
      {"EmptyIsAValue", "key:\"\"", [](Query& q) { q.key = ""; }},
      {"QuotesHideSyntax", R"(source:"a, b:\"c\" \\d")", [](Query& q) { q.source = R"(a, b:"c" \d)"; }},
      {"ColonsInValues", "source:sb://bus/orders", [](Query& q) { q.source = "sb://bus/orders"; }},
      {"Group", std::string("group:") + hex, [](Query& q) { q.group = parse_id(hex); }},
      {"TwoGroups", std::string("group:") + hex + "," + hex, tests({{Field::group, "", {hex, hex}, false}})},
      {"Ids", std::string("id:0F1E2D3C4B5A69788796A5B4C3D2E1F0,") + hex,
       [](Query& q) { q.ids = {RecordId{*parse_id(hex)}, RecordId{*parse_id(hex)}}; }},
      {"NotAnId", std::string("-id:") + hex, tests({{Field::id, "", {hex}, true}})},
      {"SeveralSources", "source:a,\"b c\"", tests({{Field::source, "", {"a", "b c"}, false}})},
      {"NotASource", "-source:x -source:y,z", tests({{Field::source, "", {"x"}, true}, {Field::source, "", {"y", "z"}, true}})},
      {"Facts", "handler:h node:n1,n2 -build:1.4.2 tag:a tag:b",
       tests({{Field::handler, "", {"h"}, false}, {Field::node, "", {"n1", "n2"}, false},
              {Field::build, "", {"1.4.2"}, true}, {Field::tag, "", {"a"}, false}, {Field::tag, "", {"b"}, false}})},
      {"Paths", "-header.x-tenant:acme header.\"a b\":1 body./a.b/0:null body.list.2:x,y",
       tests({{Field::header, "x-tenant", {"acme"}, true}, {Field::header, "a b", {"1"}, false},
              {Field::body, "/a.b/0", {"null"}, false}, {Field::body, "list.2", {"x", "y"}, false}})},
      {"Words", "connection error:\"timed out\" \"at 12:30\" payload:4711 payload:\"order x\"",
       [](Query& q) { q.error_words = "connection timed out at 12:30"; q.payload_words = "4711 order x"; }},
      {"WordsThatMustNotBeThere", "-refused -error:\"timed out\" -payload:test",
       tests({{Field::error, "", {"refused"}, true}, {Field::error, "", {"timed out"}, true}, {Field::payload, "", {"test"}, true}})},
      {"EitherWords", "error:refused,\"timed out\"", tests({{Field::error, "", {"refused", "timed out"}, false}})},
      {"TimesAreFreeText", "12:30:05", [](Query& q) { q.error_words = "12:30:05"; }},
      {"SmallOr", "either or", [](Query& q) { q.error_words = "either or"; }},
      {"QuotedOr", "\"OR\"", [](Query& q) { q.error_words = "OR"; }},
      {"Unsettled", "unsettled:yes order:oldest",
       [](Query& q) { q.source_unsettled = true; q.order = Order::oldest_first; }},
      {"Settled", "unsettled:no order:newest", [](Query& q) { q.source_unsettled = false; }},
  };
}

std::vector<Row> ranges() {
  return {
      {"OlderThan", "age:>2d", [](Query& q) { q.until = now - days{2}; }},
      {"AtLeastAsOld", "age:>=2d", [](Query& q) { q.until = now - days{2} + ms; }},
      {"YoungerThan", "age:<2d", [](Query& q) { q.from = now - days{2} + ms; }},
      {"AtMostAsOld", "age:<=1h30m", [](Query& q) { q.from = now - Millis{5'400'000}; }},
      {"Between", "age:1d..3d", [](Query& q) { q.from = now - days{3}; q.until = now - days{1} + ms; }},
      {"TwoBoundsMeet", "age:>1d age:>2d age:<9d age:<3d",
       [](Query& q) { q.until = now - days{2}; q.from = now - days{3} + ms; }},
      {"FailedLongAgo", "failed:>24h", [](Query& q) { q.until = now - hours{24}; }},
      {"Day", "died:2026-03-01", [](Query& q) { q.from = march; q.until = march + days{1}; }},
      {"AfterADay", "died:>2026-03-01", [](Query& q) { q.from = march + days{1}; }},
      {"FromADay", "died:>=2026-03-01", [](Query& q) { q.from = march; }},
      {"BeforeADay", "died:<2026-03-01", [](Query& q) { q.until = march; }},
      {"UpToADay", "died:<=2026-03-01", [](Query& q) { q.until = march + days{1}; }},
      {"Days", "died:2026-03-01..2026-03-03", [](Query& q) { q.from = march; q.until = march + days{3}; }},
      {"FromAMoment", "died:2026-03-01T12:00:00.5+01:00..", [](Query& q) { q.from = march + hours{11} + Millis{500}; }},
      {"UpToAMoment", "died:..2026-03-01T12:00:00Z", [](Query& q) { q.until = march + hours{12} + ms; }},
      {"NextRetryLater", "next_retry:>1h", [](Query& q) { q.next_retry_from = now + hours{1} + ms; }},
      {"NextRetryOnADay", "next_retry:2026-03-01", [](Query& q) { q.next_retry_from = march; q.next_retry_until = march + days{1}; }},
      {"ResolvedLately", "resolved:<7d", [](Query& q) { q.resolved_from = now - days{7} + ms; }},
      {"ResolvedBefore", "resolved:<2026-03-01", [](Query& q) { q.resolved_until = march; }},
      {"ExactlyThree", "attempts:3", [](Query& q) { q.attempts_over = 2; q.attempts_below = 4; }},
      {"None", "attempts:0", [](Query& q) { q.attempts_below = 1; }},
      {"AtLeastNone", "attempts:>=0", [](Query&) {}},
      {"ThreeToFive", "attempts:3..5", [](Query& q) { q.attempts_over = 2; q.attempts_below = 6; }},
      {"FewerThanThree", "attempts:<3 replayed:<=1", [](Query& q) { q.attempts_below = 3; q.replays_below = 2; }},
      {"MoreThanThereCanBe", "attempts:>4294967295", [](Query& q) { q.attempts_over = 4294967295U; }},
      {"AsManyAsThereCanBe", "attempts:<=4294967295", [](Query&) {}},
  };
}
// clang-format on

std::string row_name(const ::testing::TestParamInfo<Row>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(OfTheDocuments, QueryText, ::testing::ValuesIn(documents()), row_name);
INSTANTIATE_TEST_SUITE_P(OfFields, QueryText, ::testing::ValuesIn(fields()), row_name);
INSTANTIATE_TEST_SUITE_P(OfRanges, QueryText, ::testing::ValuesIn(ranges()), row_name);

TEST(QueryText, HoldsAtTheEndsOfTime) {
  for (const TimePoint end : {TimePoint::min(), TimePoint::max()}) {
    for (const char* text : {"age:>3650d", "age:<=3650d", "next_retry:<3650d", "next_retry:>0s"}) {
      EXPECT_TRUE(parse_query(text, end)) << text;
    }
  }
}

TEST(QueryText, OfManyShortTermsIsReadInOneGo) {
  std::string words;
  while (words.size() + 3 < longest_query_text) words += "ab ";
  EXPECT_TRUE(parse_query(words, now));
  words += std::string(8, 'x');
  const auto refused = parse_query(words, now);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("65536 bytes at most"), std::string::npos);
}

}  // namespace
}  // namespace dlo::testing
