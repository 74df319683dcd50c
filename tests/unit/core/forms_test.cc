#include "dlo/core/forms.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/must.h"

#include "dlo/core/profile.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::must;
using testing::noon;

constexpr auto all_forms =
    std::to_array<Form>({Form::service_bus, Form::booking, Form::booking_document, Form::workflow,
                         Form::durable, Form::kafka});

Message payment() {
  Message message;
  message.id = "m-1";
  message.source = "payment-events";
  message.position = Position{"0", 1234};
  message.event_type = "PaymentCreated";
  message.correlation_id = "c-9";
  message.payload = R"({"paymentId":"p"})";
  message.enqueued_at = noon - 1h;
  return message;
}

DeadLetter letter(Message message = payment()) {
  DeadLetter record;
  record.id = RecordId{{0x0123456789abcdefULL, 0xfedcba9876543210ULL}};
  record.message = std::make_shared<Message>(std::move(message));
  record.profile = "kafka";
  record.reason = "InvalidOperationException";
  record.description = "gave up";
  record.category = "business";
  record.failure.type = "InvalidOperationException";
  record.failure.text = "Balance not found for merchant";
  record.failure.stack = "at Acme.Worker.Run()";
  record.counters =
      Counters{.fetch = 4, .attempt = 4, .failure = 4, .abandon = 5, .retry = 3, .total = 4};
  record.limit = 3;
  record.policy = "exponential base=1m factor=2 cap=1h";
  record.first_attempt_at = noon - 16s;
  record.first_failed_at = noon - 15s;
  record.last_failed_at = noon;
  record.died_at = noon + 500ms;
  record.number = 17;
  return record;
}

const FormValue* find(const std::vector<FormField>& fields, std::string_view name) {
  for (const FormField& field : fields) {
    if (field.name == name) return &field.value;
  }
  return nullptr;
}
std::vector<std::string_view> names(const std::vector<FormField>& fields) {
  std::vector<std::string_view> all;
  for (const FormField& field : fields) all.push_back(field.name);
  return all;
}
using Names = std::vector<std::string_view>;
const FormValue null;
FormValue text(std::string value) {
  return value;
}
FormValue whole(std::int64_t value) {
  return value;
}

TEST(Forms, KafkaHasTheHeadersOfItsDocument) {  // S4-15
  const RenderedForm form = render(Form::kafka, letter(), {.consumer_group = "fraud"});
  EXPECT_EQ(form.headers, (std::vector<FormField>{
                              {"original-topic", text("payment-events")},
                              {"original-event-type", text("PaymentCreated")},
                              {"failure-reason", text("InvalidOperationException")},
                              {"retry-count", text("3")},
                              {"consumer-group", text("fraud")},
                              {"dlq-timestamp", text("2026-03-01T12:00:00.5000000Z")},
                          }));
}

TEST(Forms, KafkaHasTheBodyOfItsDocument) {  // S4-16
  const RenderedForm form = render(Form::kafka, letter(), {.consumer_group = "fraud"});
  EXPECT_EQ(
      form.body,
      (std::vector<FormField>{
          {"originalTopic", text("payment-events")},
          {"eventType", text("PaymentCreated")},
          {"eventPayload", FormBytes{R"({"paymentId":"p"})"}},
          {"failureReason", text("InvalidOperationException")},
          {"exceptionDetails", text("Balance not found for merchant\n\nat Acme.Worker.Run()")},
          {"retryCount", whole(3)},
          {"firstFailedAt", text("2026-03-01T11:59:45Z")},
          {"lastFailedAt", text("2026-03-01T12:00:00Z")},
          {"consumerGroup", text("fraud")},
          {"originalPartition", whole(0)},
          {"originalOffset", whole(1234)},
          {"sentToDlqAt", text("2026-03-01T12:00:00.5Z")},
      }));
}

TEST(Forms, KafkaSaysUnknownWhereTheEventTypeIsMissing) {  // R4-5
  Message message = payment();
  message.event_type.clear();
  message.position = Position{"eu@7", 5};
  DeadLetter record = letter(message);
  record.failure.stack.clear();
  const RenderedForm form = render(Form::kafka, record);
  EXPECT_EQ(*find(form.body, "eventType"), text("Unknown"));
  EXPECT_EQ(*find(form.body, "originalPartition"), text("eu@7"));
  EXPECT_EQ(*find(form.body, "exceptionDetails"), text("Balance not found for merchant"));
}

TEST(Forms, ServiceBusShowsIdReasonAndDescription) {  // S0-30, S0-37
  DeadLetter record = letter();
  record.reason = "MaxDeliveryCountExceeded";
  const RenderedForm form = render(Form::service_bus, record);
  EXPECT_TRUE(form.headers.empty());
  EXPECT_EQ(*find(form.body, "MessageId"), text("m-1"));
  EXPECT_EQ(*find(form.body, "DeadLetterReason"), text("MaxDeliveryCountExceeded"));
  EXPECT_EQ(*find(form.body, "DeadLetterErrorDescription"), text("gave up"));
  EXPECT_EQ(*find(form.body, "DeliveryCount"), whole(4));
  EXPECT_EQ(*find(form.body, "DeadLetterSource"), text("payment-events"));
}

TEST(Forms, BookingHasTheFieldsOfItsRecord) {  // S1-12
  const RenderedForm form = render(Form::booking, letter());
  EXPECT_EQ(form.body, (std::vector<FormField>{
                           {"Id", text("01234567-89ab-cdef-fedc-ba9876543210")},
                           {"SourceQueue", text("payment-events")},
                           {"EventType", text("PaymentCreated")},
                           {"Payload", FormBytes{R"({"paymentId":"p"})"}},
                           {"ErrorMessage", text("Balance not found for merchant")},
                           {"AttemptCount", whole(4)},
                           {"FirstAttemptAt", text("2026-03-01T11:59:44Z")},
                           {"FailedAt", text("2026-03-01T12:00:00Z")},
                           {"Resolved", false},
                           {"ResolvedAt", null},
                           {"ResolvedBy", null},
                           {"ResolutionNotes", null},
                       }));
}

TEST(Forms, BookingDocumentIsTheSameUnderItsOwnNames) {  // S1-13, S1-14
  DeadLetter record = letter();
  record.status = Status::resolved;
  record.resolution = Resolution{noon + 1h, "ann", "manual", "Manually processed"};
  const RenderedForm relational = render(Form::booking, record);
  const RenderedForm document = render(Form::booking_document, record);
  EXPECT_EQ(names(document.body),
            (Names{"_id", "source_queue", "event_type", "payload", "error_message", "attempt_count",
                   "first_attempt_at", "failed_at", "resolved", "resolved_at", "resolved_by",
                   "resolution_notes"}));
  ASSERT_EQ(relational.body.size(), document.body.size());
  for (std::size_t i = 0; i < document.body.size(); ++i) {
    EXPECT_EQ(relational.body[i].value, document.body[i].value) << document.body[i].name;
  }
  EXPECT_EQ(*find(document.body, "resolved"), FormValue{true});
  EXPECT_EQ(*find(document.body, "resolved_at"), text("2026-03-01T13:00:00Z"));
  EXPECT_EQ(*find(document.body, "resolved_by"), text("ann"));
  EXPECT_EQ(*find(document.body, "resolution_notes"), text("Manually processed"));
}

TEST(Forms, BookingCountsRetriesForTheRetryApi) {  // S1-31
  DeadLetter record = letter();
  record.profile = "booking-retry-api";
  EXPECT_EQ(*find(render(Form::booking, record).body, "AttemptCount"), whole(3));
}

TEST(Forms, WorkflowHasTheFieldsOfItsIndex) {  // S2-37
  DeadLetter record = letter();
  record.status = Status::exhausted;
  record.metadata = R"({"targets":["a","b"]})";
  const RenderedForm form =
      render(Form::workflow, record, {.first_error = "first", .updated_at = noon + 2h});
  EXPECT_EQ(form.body, (std::vector<FormField>{
                           {"task_id", text("m-1")},
                           {"task", FormJson{R"({"paymentId":"p"})"}},
                           {"repos", FormMember{R"({"targets":["a","b"]})", "targets"}},
                           {"error", text("first")},
                           {"failed_at", text("2026-03-01T11:59:45Z")},
                           {"retry_count", whole(3)},
                           {"max_retries", whole(3)},
                           {"retry_policy", text("exponential")},
                           {"next_retry_at", null},
                           {"status", text("exhausted")},
                           {"metadata", FormJson{R"({"targets":["a","b"]})"}},
                           {"error_category", text("business")},
                           {"last_error", text("Balance not found for merchant")},
                           {"total_attempts", whole(4)},
                           {"updated_at", text("2026-03-01T14:00:00Z")},
                       }));
}

TEST(Forms,
     WorkflowKnowsSixStatusesAndOneOfOurs) {  // R9: completed = resolved, removed = discarded
  DeadLetter record = letter();
  const auto word = [&](Status status) {
    record.status = status;
    return workflow_status(record);
  };
  EXPECT_EQ(word(Status::waiting), "pending");
  EXPECT_EQ(word(Status::pending), "pending");
  EXPECT_EQ(word(Status::retrying), "retrying");
  EXPECT_EQ(word(Status::exhausted), "exhausted");
  EXPECT_EQ(word(Status::quarantined), "quarantined") << "it has not used up its retries";
  EXPECT_EQ(word(Status::resolved), "completed");
  EXPECT_EQ(word(Status::archived), "archived");
  EXPECT_EQ(word(Status::discarded), "removed");
}

TEST(Forms, DurableTellsOrchestrationsFromActivities) {  // S3-37, S3-38
  Message message = payment();
  message.owner = Owner{"order-7", 2, std::nullopt, ""};
  const RenderedForm orchestration = render(Form::durable, letter(message));
  EXPECT_EQ(orchestration.body, (std::vector<FormField>{
                                    {"poison_id", whole(17)},
                                    {"instance_id", text("order-7")},
                                    {"abandon_count", whole(5)},
                                    {"last_error", text("Balance not found for merchant")},
                                    {"poisoned_at", text("2026-03-01T12:00:00.5Z")},
                                    {"work_item", FormBytes{R"({"paymentId":"p"})"}},
                                    {"original_created_at", text("2026-03-01T11:00:00Z")},
                                }));
  message.owner->activity = Activity{"charge", 3};
  const RenderedForm activity = render(Form::durable, letter(message));
  EXPECT_EQ(names(activity.body),
            (Names{"poison_id", "instance_id", "execution_id", "activity_name", "activity_id",
                   "abandon_count", "last_error", "poisoned_at", "work_item", "input",
                   "original_created_at"}));
  EXPECT_EQ(*find(activity.body, "execution_id"), whole(2));
  EXPECT_EQ(*find(activity.body, "activity_name"), text("charge"));
  EXPECT_EQ(*find(activity.body, "activity_id"), whole(3));
  EXPECT_EQ(*find(activity.body, "input"), (FormValue{FormBytes{R"({"paymentId":"p"})"}}));
}

TEST(Forms, NameReasonsAsTheirDocumentDoes) {
  EXPECT_EQ(reason_in(Form::service_bus, "Poisoned"), "PoisonMessage");
  EXPECT_EQ(reason_in(Form::service_bus, "MaxAttemptsExceeded"), "MaxDeliveryCountExceeded");
  EXPECT_EQ(reason_in(Form::service_bus, "DeserializationFailure"), "NonRetryableError");
  EXPECT_EQ(reason_in(Form::workflow, "MaxAttemptsExceeded"), "exhausted");
  EXPECT_EQ(reason_in(Form::kafka, "JsonException"), "JsonException") << "S4-23";
  EXPECT_EQ(reason_in(Form::kafka, "MissingEventTypeHeader"), "MissingEventTypeHeader");
  EXPECT_EQ(reason_in(Form::service_bus, "CustomBusinessRule"), "CustomBusinessRule") << "S0-36";
}

TEST(Forms, GiveServiceBusItsThreeReasonsForEveryBuiltInLimit) {  // S0-31
  const std::vector<std::string_view> three = {"PoisonMessage", "NonRetryableError",
                                               "MaxDeliveryCountExceeded"};
  for (const Profile& profile : builtin_profiles()) {
    for (const auto* check : {&profile.pre_check, &profile.post_check}) {
      if (!*check) continue;
      const auto name = reason_in(Form::service_bus, (*check)->reason);
      EXPECT_NE(std::ranges::find(three, name), three.end()) << profile.name << ": " << name;
    }
  }
}

TEST(Forms, LeaveEachDocumentsOwnReasonsAlone) {
  for (const Profile& profile : builtin_profiles()) {
    if (profile.form.empty() || profile.form == "durable") continue;
    const Form form = must(parse_form(profile.form));
    if (form != Form::service_bus && form != Form::kafka && form != Form::workflow) continue;
    if (profile.post_check) {
      EXPECT_EQ(reason_in(form, profile.post_check->reason), profile.post_check->reason)
          << profile.name;
    }
  }
}

TEST(Forms, ReadBackFromTheirNamesAndRefuseOthersWithHelp) {
  for (const Form form : all_forms) EXPECT_EQ(must(parse_form(name_of(form))), form);
  const auto refused = parse_form("bookin");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("\"booking\""), std::string::npos)
      << refused.error().detail;
  EXPECT_NE(refused.error().detail.find("service-bus"), std::string::npos);
}

TEST(Forms, ExistForTheBarestRecord) {
  DeadLetter bare;
  bare.message = std::make_shared<Message>();
  for (const Form form : all_forms) {
    const RenderedForm rendered = render(form, bare);
    EXPECT_FALSE(rendered.body.empty()) << name_of(form);
  }
  EXPECT_EQ(*find(render(Form::booking, bare).body, "Payload"), null) << "null is not empty";
}

TEST(Uuid, KeepsTheDigitsOfTheId) {
  EXPECT_TRUE(rc::check([](std::uint64_t high, std::uint64_t low) {
    std::string digits = to_uuid(Id128{high, low});
    RC_ASSERT(digits.size() == 36U);
    std::erase(digits, '-');
    RC_ASSERT(parse_id(digits) == (Id128{high, low}));
  }));
}

}  // namespace
}  // namespace dlo
