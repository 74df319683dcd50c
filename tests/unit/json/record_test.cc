#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <rapidcheck/gtest.h>
#include <string>

#include "support/must.h"
#include "unit/json/samples.h"

#include "dlo/core/dependencies.h"
#include "dlo/json/json.h"
#include "dlo/json/text/scanner.h"

namespace dlo {
namespace {

using namespace std::string_literals;
using dlo::testing::must;
using dlo::testing::noon;
using dlo::testing::random_detail;
using dlo::testing::same;
using dlo::testing::sample_detail;
using ::testing::HasSubstr;

TEST(RecordJson, HasStableNamesInAStableOrder) {
  EXPECT_EQ(
      to_json(sample_detail()),
      R"j({"id":"00000000000000010000000000000002","occurrence":2,"profile":"standard",)j"
      R"j("status":"exhausted","reason":"MaxDeliveryCountExceeded","description":"gave up",)j"
      R"j("category":"network","rule":"net","failure":{"type":"IOException","text":"no route",)j"
      R"j("code":"ENETUNREACH","status":503,"causes":[{"type":"Inner","text":"deep"}],)j"
      R"j("stack":"at f()","retry_after_ms":1500},"group":{"id":"00000000000000070000000000000008",)j"
      R"j("title":"IOException in f","basis":"frames"},"counters":{"fetch":3,"attempt":3,"failure":3,)j"
      R"j("abandon":0,"retry":2,"replay":1,"total":6},"limit":3,"policy":"fixed base=1s",)j"
      R"j("first_attempt_at":"2026-03-01T12:00:00.000Z","first_failed_at":null,)j"
      R"j("last_failed_at":"2026-03-01T12:00:01.001Z","died_at":"2026-03-01T12:00:02.000Z",)j"
      R"j("next_retry_at":null,"expires_at":null,"handler":"http","node":"n1","build":"b1",)j"
      R"j("metadata":{"amount":1.10,"big":12345678901234567890},)j"
      R"j("depends_on":["00000000000000000000000000000009"],"tags":["red","blue"],)j"
      R"j("resolution":{"at":"2026-03-01T12:00:03.000Z","by":"ann","how":"manual","notes":"done"},)j"
      R"j("source_unsettled":true,"died":true,"version":4,"change":5,"number":6,)j"
      R"j("message":{"id":"m-1","source":"orders","partition":"0","offset":42,)j"
      R"j("event_type":"OrderPlaced","key":"k","correlation_id":"c","content_type":"text/plain",)j"
      R"j("enqueued_at":"2026-03-01T12:00:00.000Z","expires_at":null,"priority":"high",)j"
      R"j("owner":{"instance":"i","execution":2,"activity":{"name":"Charge","id":3},"parent":"p"},)j"
      R"j("headers":[{"name":"h","value":"v","type":"text"},)j"
      R"j({"name":"h","value":"/w==","value_encoding":"base64","type":"bytes"}],)j"
      R"j("payload":"hello \"world\"\n"},)j"
      R"j("attempts":[{"number":6,"started_at":"2026-03-01T12:00:00.000Z","took_ms":7,)j"
      R"j("outcome":"crashed","category":"network","rule":"net","error_type":"IOException",)j"
      R"j("error_text":"no route","next_delay_ms":0,"node":"n1"}],)j"
      R"j("versions":[{"number":0,"headers":[],"payload":null,"at":"2026-03-01T12:00:00.000Z",)j"
      R"j("by":"ann","why":"typo"}]})j");
}

TEST(RecordJson, ReadsBackWhatItWrote) {
  const RecordDetail detail = sample_detail();
  EXPECT_EQ(same(must(parse_record_detail(to_json(detail))), detail), "");
}

TEST(RecordJson, SaysForWhichTasksItWaits) {  // S2-54
  RecordDetail detail = sample_detail();
  auto message = std::make_shared<Message>(*detail.record.message);
  put_depends_on(message->headers, {"wf_a", "wf_b"});
  detail.record.message = std::move(message);
  detail.record.depends_on.clear();
  const std::string text = to_json(detail);
  EXPECT_THAT(text, HasSubstr(R"("depends_on":["wf_a","wf_b"])"));
  EXPECT_EQ(same(must(parse_record_detail(text)), detail), "");
}

RC_GTEST_PROP(RecordJson, EveryRecordSurvivesTheRoundTripByteForByte, ()) {
  const RecordDetail detail = *random_detail();
  const std::string text = to_json(detail);
  RC_ASSERT(json_mistake(text) == std::nullopt);
  RC_ASSERT(text.find('\n') == std::string::npos);
  const auto read = parse_record_detail(text);
  RC_ASSERT(read.has_value());
  RC_ASSERT(same(*read, detail) == "");
  RC_ASSERT(to_json(*read) == text);
}

TEST(RecordJson, SixtyFourMegabytesOfAnyBytesSurvive) {
  RecordDetail detail = sample_detail();
  auto message = std::make_shared<Message>(*detail.record.message);
  std::string big(64 * 1024 * 1024, '\0');
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 2654435761U >> 13U);
  message->payload = big;
  detail.record.message = message;
  EXPECT_TRUE(must(parse_record_detail(to_json(detail))).record.message->payload == big);
  message->payload = std::string(64 * 1024 * 1024, '"');
  EXPECT_TRUE(must(parse_record_detail(to_json(detail))).record.message->payload ==
              message->payload);
}

std::string payload_part(const std::optional<std::string>& payload) {
  Message message;
  message.payload = payload;
  const std::string text = to_json(message);
  return text.substr(text.find("\"payload\""));
}

TEST(RecordJson, NullEmptyTextAndBytesAreFourDifferentPayloads) {
  EXPECT_EQ(payload_part(std::nullopt), R"("payload":null})");
  EXPECT_EQ(payload_part(""), R"("payload":""})");
  EXPECT_EQ(payload_part("a\0b"s), R"("payload":"a\u0000b"})");
  EXPECT_EQ(payload_part("\xFF"), R"("payload":"/w==","payload_encoding":"base64"})");
}

TEST(RecordJson, TextThatIsNotUtf8IsReadableAndExact) {
  Message message;
  message.key = "caf\xE9";
  const std::string text = to_json(message);
  EXPECT_THAT(text, HasSubstr("\"key\":\"caf\uFFFD\",\"key_base64\":\"Y2Fm6Q==\""));
  EXPECT_EQ(must(parse_message(text)).key, "caf\xE9");
}

struct MetadataRow {
  const char* name;
  std::string metadata;
  const char* written;
};
void PrintTo(const MetadataRow& row, std::ostream* out) {
  *out << row.name;
}
class Metadata : public ::testing::TestWithParam<MetadataRow> {};

TEST_P(Metadata, IsEmbeddedWithoutLosingAByte) {
  RecordDetail detail = sample_detail();
  detail.record.metadata = GetParam().metadata;
  const std::string text = to_json(detail);
  EXPECT_THAT(text,
              HasSubstr(std::string("\"build\":\"b1\",") + GetParam().written + ",\"depends_on\""));
  EXPECT_EQ(must(parse_record_detail(text)).record.metadata, GetParam().metadata);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(RecordJson, Metadata, ::testing::ValuesIn<MetadataRow>({
    {"None",         "",                           R"("metadata":null)"},
    {"ExactNumbers", R"({"a":1.0,"b":1e400,"c":-0})", R"("metadata":{"a":1.0,"b":1e400,"c":-0})"},
    {"RepeatedKeys", R"({"a":1,"a":2})",           R"("metadata":{"a":1,"a":2})"},
    {"Blanks",       "{ \"a\" :\n [1, 2] }",       R"("metadata":{"a":[1,2]},"metadata_text":"{ \"a\" :\n [1, 2] }")"},
    {"JsonNull",     "null",                       R"("metadata":null,"metadata_text":"null")"},
    {"NotJson",      "{oops",                      R"("metadata":null,"metadata_text":"{oops")"},
    {"NotUtf8",      "\xFF",                       "\"metadata\":null,\"metadata_text\":\"\uFFFD\",\"metadata_text_base64\":\"/w==\""},
    {"Scalar",       "7",                          R"("metadata":7)"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(RecordJson, MetadataOfAnyDepthSurvives) {
  for (const std::size_t depth :
       {std::size_t{100}, json_depth, json_depth + 1, std::size_t{5'000}}) {
    RecordDetail detail = sample_detail();
    detail.record.metadata = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_EQ(must(parse_record_detail(to_json(detail))).record.metadata, detail.record.metadata);
  }
}

struct RefusalRow {
  const char* name;
  const char* text;
  const char* why;
};
void PrintTo(const RefusalRow& row, std::ostream* out) {
  *out << row.name;
}
class Refusals : public ::testing::TestWithParam<RefusalRow> {};

TEST_P(Refusals, SayWhatIsWrongAndWhere) {
  const auto refused = parse_record_detail(GetParam().text);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr(GetParam().why));
}

// clang-format off
#define ID R"("id":"00000000000000010000000000000002")"
INSTANTIATE_TEST_SUITE_P(RecordJson, Refusals, ::testing::ValuesIn<RefusalRow>({
    {"NotJson",        "{",                                        "not JSON: expected a key"},
    {"NoObject",       "[]",                                       "the document must be an object"},
    {"NoId",           R"({"message":{}})",                        "id is missing"},
    {"NoMessage",      "{" ID "}",                                 "message is missing"},
    {"BadId",          R"({"id":"12","message":{}})",              "id must be 32 hex digits"},
    {"UnknownMember",  "{" ID R"(,"message":{"keey":1}})",         "message has an unknown member \"keey\": did you mean \"key\"?"},
    {"UnknownStatus",  "{" ID R"(,"message":{},"status":"pendng"})", "did you mean \"pending\"?"},
    {"UnknownType",    "{" ID R"(,"message":{"headers":[{"type":"txt"}]}})", "message.headers.0.type"},
    {"TextForNumber",  "{" ID R"(,"message":{},"limit":"3"})",     "limit must be a whole number from 0 to 4294967295"},
    {"TooBig",         "{" ID R"(,"message":{},"limit":4294967296})", "limit must be a whole number"},
    {"Fraction",       "{" ID R"(,"message":{},"limit":1.0})",     "limit must be a whole number"},
    {"Negative",       "{" ID R"(,"message":{},"version":-1})",    "version must be a whole number"},
    {"NumberForText",  "{" ID R"(,"message":{"key":7}})",          "message.key must be a string"},
    {"BadTime",        "{" ID R"(,"message":{},"died_at":"now"})", "died_at must be a time such as"},
    {"BadBase64",      "{" ID R"(,"message":{"payload":"?","payload_encoding":"base64"}})", "message.payload is not base64"},
    {"BadEncoding",    "{" ID R"(,"message":{"payload":"x","payload_encoding":"hex"}})", "message.payload_encoding must be utf8 or base64"},
    {"HalfAPosition",  "{" ID R"(,"message":{"partition":"1"}})",  "message.partition stands without an offset"},
    {"NoArray",        "{" ID R"(,"message":{},"attempts":{}})",   "attempts must be an array"},
    {"BadDependsOn",   "{" ID R"(,"message":{},"depends_on":["x"]})", "depends_on must hold ids"},
    {"BadTag",         "{" ID R"(,"message":{},"tags":[1]})",      "tags must hold strings"},
    {"BadBoolean",     "{" ID R"(,"message":{},"died":1})",        "died must be true or false"},
}), [](const auto& row) { return row.param.name; });
#undef ID
// clang-format on

RC_GTEST_PROP(RecordJson, AFlippedByteIsReadOrRefusedButNeverACrash, ()) {
  std::string text = to_json(sample_detail());
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = *rc::gen::arbitrary<char>();
  const auto read = parse_record_detail(text);
  RC_CLASSIFY(read.has_value(), "read");
  if (read) RC_ASSERT(parse_record_detail(to_json(*read)).has_value());
}

TEST(ListJson, APageNamesItsCursorAndWhetherItIsPartial) {
  Page page;
  RecordHead head;
  head.id = RecordId{{1, 2}};
  head.source = "orders";
  head.error_text = "no \"route\"";
  head.died_at = noon;
  head.payload_size = 7;
  head.number = 9;
  page.rows = {head};
  EXPECT_EQ(
      to_json(page),
      R"({"dead_letters":[{"id":"00000000000000010000000000000002","occurrence":1,)"
      R"("status":"pending","source":"orders","event_type":"","key":"","message_id":"","reason":"",)"
      R"("category":"","error_type":"","error_text":"no \"route\"",)"
      R"("group":"00000000000000000000000000000000","counters":{"fetch":0,"attempt":0,"failure":0,)"
      R"("abandon":0,"retry":0,"replay":0,"total":0},"limit":0,)"
      R"("died_at":"2026-03-01T12:00:00.000Z","next_retry_at":null,"payload_size":7,"version":0,)"
      R"("change":0,"number":9}],"next":null,"partial":false})");
  page.next = Cursor{noon, 9};
  page.partial = true;
  EXPECT_THAT(to_json(page),
              HasSubstr("\"next\":\"" + to_string(*page.next) + "\",\"partial\":true"));
}

TEST(ListJson, NumbersCarryCountsAndGroups) {
  Aggregate aggregate;
  aggregate.tallies = {{"orders", Status::exhausted, "network", 12}};
  GroupSummary group;
  group.fingerprint = {7, 8};
  group.title = "T";
  group.status = GroupStatus::snoozed;
  group.snoozed_until = noon;
  group.open = 3;
  aggregate.groups = {group};
  aggregate.last_change = 99;
  const std::string text = to_json(aggregate);
  EXPECT_EQ(json_mistake(text), std::nullopt);
  EXPECT_THAT(text, HasSubstr(R"("counts":[{"source":"orders","status":"exhausted",)"
                              R"("category":"network","count":12}])"));
  EXPECT_THAT(text, HasSubstr(R"("status":"snoozed")"));
  EXPECT_THAT(text, HasSubstr(R"("snoozed_until":"2026-03-01T12:00:00.000Z","open":3)"));
  EXPECT_THAT(text, HasSubstr(R"("last_change":99)"));
}

}  // namespace
}  // namespace dlo
