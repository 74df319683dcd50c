#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>

#include "support/must.h"
#include "unit/json/samples.h"

#include "dlo/json/json.h"
#include "dlo/json/text/scanner.h"

namespace dlo {
namespace {

using dlo::testing::random_detail;
using dlo::testing::sample_detail;

constexpr auto all_forms =
    std::to_array<Form>({Form::service_bus, Form::booking, Form::booking_document, Form::workflow,
                         Form::durable, Form::kafka});

struct FormRow {
  const char* name;
  Form form;
  const char* written;
};
void PrintTo(const FormRow& row, std::ostream* out) {
  *out << row.name;
}
class FormAsJson : public ::testing::TestWithParam<FormRow> {};

DeadLetter sample_record() {
  DeadLetter record = sample_detail().record;
  record.metadata = R"({"amount": 1.10, "targets": ["a", "b"]})";
  return record;
}

TEST_P(FormAsJson, HasTheNamesAndTheOrderOfItsDocument) {
  const RenderedForm form =
      render(GetParam().form, sample_record(), {.consumer_group = "fraud", .first_error = "first"});
  EXPECT_EQ(to_json(form), GetParam().written);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Forms, FormAsJson, ::testing::ValuesIn<FormRow>({
    {"ServiceBus", Form::service_bus,  // S0-37
     R"j({"MessageId":"m-1","DeadLetterReason":"MaxDeliveryCountExceeded",)j"
     R"j("DeadLetterErrorDescription":"gave up","DeliveryCount":3,"DeadLetterSource":"orders",)j"
     R"j("EnqueuedTime":"2026-03-01T12:00:00Z","CorrelationId":"c","ContentType":"text/plain",)j"
     R"j("Body":"hello \"world\"\n"})j"},
    {"Booking", Form::booking,  // S1-12
     R"j({"Id":"00000000-0000-0001-0000-000000000002","SourceQueue":"orders",)j"
     R"j("EventType":"OrderPlaced","Payload":"hello \"world\"\n","ErrorMessage":"no route",)j"
     R"j("AttemptCount":3,"FirstAttemptAt":"2026-03-01T12:00:00Z",)j"
     R"j("FailedAt":"2026-03-01T12:00:01.001Z","Resolved":false,"ResolvedAt":null,)j"
     R"j("ResolvedBy":null,"ResolutionNotes":null})j"},
    {"BookingDocument", Form::booking_document,  // S1-13
     R"j({"_id":"00000000-0000-0001-0000-000000000002","source_queue":"orders",)j"
     R"j("event_type":"OrderPlaced","payload":"hello \"world\"\n","error_message":"no route",)j"
     R"j("attempt_count":3,"first_attempt_at":"2026-03-01T12:00:00Z",)j"
     R"j("failed_at":"2026-03-01T12:00:01.001Z","resolved":false,"resolved_at":null,)j"
     R"j("resolved_by":null,"resolution_notes":null})j"},
    {"Workflow", Form::workflow,  // S2-37
     R"j({"task_id":"m-1","task":"hello \"world\"\n","repos":["a","b"],"error":"first",)j"
     R"j("failed_at":"2026-03-01T12:00:02Z","retry_count":2,"max_retries":3,)j"
     R"j("retry_policy":"fixed","next_retry_at":null,"status":"exhausted",)j"
     R"j("metadata":{"amount":1.10,"targets":["a","b"]},"error_category":"network",)j"
     R"j("last_error":"no route","total_attempts":6,"updated_at":"2026-03-01T12:00:01.001Z"})j"},
    {"Durable", Form::durable,  // S3-38
     R"j({"poison_id":6,"instance_id":"i","execution_id":2,"activity_name":"Charge",)j"
     R"j("activity_id":3,"abandon_count":0,"last_error":"no route",)j"
     R"j("poisoned_at":"2026-03-01T12:00:02Z","work_item":"hello \"world\"\n",)j"
     R"j("input":"hello \"world\"\n","original_created_at":"2026-03-01T12:00:00Z"})j"},
    {"Kafka", Form::kafka,  // S4-15, S4-16
     R"j({"headers":{"original-topic":"orders","original-event-type":"OrderPlaced",)j"
     R"j("failure-reason":"UnexpectedException","retry-count":"2","consumer-group":"fraud",)j"
     R"j("dlq-timestamp":"2026-03-01T12:00:02.0000000Z"},)j"
     R"j("body":{"originalTopic":"orders","eventType":"OrderPlaced",)j"
     R"j("eventPayload":"hello \"world\"\n","failureReason":"UnexpectedException",)j"
     R"j("exceptionDetails":"no route\n\nat f()","retryCount":2,)j"
     R"j("firstFailedAt":"2026-03-01T12:00:02Z","lastFailedAt":"2026-03-01T12:00:01.001Z",)j"
     R"j("consumerGroup":"fraud","originalPartition":0,"originalOffset":42,)j"
     R"j("sentToDlqAt":"2026-03-01T12:00:02Z"}})j"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

struct ValueRow {
  const char* name;
  FormValue value;
  const char* written;
};
void PrintTo(const ValueRow& row, std::ostream* out) {
  *out << row.name;
}
class FormValueAsJson : public ::testing::TestWithParam<ValueRow> {};

TEST_P(FormValueAsJson, FollowsTheTable) {
  RenderedForm form;
  form.body = {{"f", GetParam().value}};
  EXPECT_EQ(to_json(form), GetParam().written);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Forms, FormValueAsJson, ::testing::ValuesIn<ValueRow>({
    {"Null",              std::monostate{},                       R"({"f":null})"},
    {"Boolean",           true,                                   R"({"f":true})"},
    {"Number",            INT64_MIN,                              R"({"f":-9223372036854775808})"},
    {"Text",              std::string("a\"b"),                    R"({"f":"a\"b"})"},
    {"TextThatIsNotUtf8", std::string("caf\xE9"),                 "{\"f\":\"caf\uFFFD\",\"f_base64\":\"Y2Fm6Q==\"}"},
    {"Bytes",             FormBytes{"{\"a\":1}"},                 R"({"f":"{\"a\":1}"})"},
    {"NoBytes",           FormBytes{""},                          R"({"f":""})"},
    {"BytesNotUtf8",      FormBytes{"\xFF"},                      R"({"f":"/w==","f_encoding":"base64"})"},
    {"Json",              FormJson{"{\"a\" : [1.10, 1e400]}\n"},  R"({"f":{"a":[1.10,1e400]}})"},
    {"JsonNull",          FormJson{"null"},                       R"({"f":null})"},
    {"NotJson",           FormJson{"{oops"},                      R"({"f":"{oops"})"},
    {"EmptyIsNotJson",    FormJson{""},                           R"({"f":""})"},
    {"NotJsonNorUtf8",    FormJson{"\xFF"},                       R"({"f":"/w==","f_encoding":"base64"})"},
    {"Member",            FormMember{R"({"t":[ "x" ]})", "t"},    R"({"f":["x"]})"},
    {"LastMember",        FormMember{R"({"t":1,"t":2.0})", "t"},  R"({"f":2.0})"},
    {"NoMember",          FormMember{R"({"u":1})", "t"},          R"({"f":[]})"},
    {"NullMember",        FormMember{R"({"t":null})", "t"},       R"({"f":[]})"},
    {"NoObject",          FormMember{"[1]", "t"},                 R"({"f":[]})"},
    {"MemberOfNothing",   FormMember{"", "t"},                    R"({"f":[]})"},
    {"MemberOfRubbish",   FormMember{"{\"t\":", "t"},             R"({"f":[]})"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

RC_GTEST_PROP(FormJson, EveryRecordHasEveryFormInOneLineOfJson, ()) {
  const RecordDetail detail = *random_detail();
  for (const Form form : all_forms) {
    const std::string text = to_json(render(form, detail.record));
    RC_ASSERT(json_mistake(text) == std::nullopt);
    RC_ASSERT(text.find('\n') == std::string::npos);
  }
}

TEST(FormJson, EmbeddedJsonOfAnyDepthIsStillJson) {
  for (const std::size_t depth : {json_depth, json_depth + 1, std::size_t{5'000}}) {
    DeadLetter record = sample_record();
    record.metadata = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_EQ(json_mistake(to_json(render(Form::workflow, record)), depth + 8), std::nullopt);
  }
}

}  // namespace
}  // namespace dlo
