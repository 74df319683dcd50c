#include "dlo/core/forms.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "dlo/core/encoding.h"
#include "dlo/core/format_time.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr auto form_names = std::to_array<std::string_view>(
    {"service-bus", "booking", "booking-document", "workflow", "durable", "kafka"});

// --- reasons

/// What kinds of death the documents have names for.
enum class Death : std::uint8_t { limit, poison, pointless, never, undecodable, headerless };

struct KnownReason {
  std::string_view reason;
  Death death;
};
/// Every reason of the built-in profiles.
constexpr auto known_reasons = std::to_array<KnownReason>({
    {"MaxAttemptsExceeded", Death::limit},
    {"MaxDeliveryCountExceeded", Death::limit},
    {"MaxRequeueAttemptsExceeded", Death::limit},
    {"MaxPublishAttemptsExceeded", Death::limit},
    {"Maximum retry attempts reached", Death::limit},
    {"exhausted", Death::limit},
    {"PoisonMessage", Death::poison},
    {"Poisoned", Death::poison},
    {"Poison", Death::poison},
    {"crash", Death::poison},
    {"NonRetryableError", Death::pointless},
    {"UnexpectedException", Death::pointless},
    {"NeverRetried", Death::never},
    {"DeserializationFailure", Death::undecodable},
    {"JsonException", Death::undecodable},
    {"SchemaViolation", Death::undecodable},
    {"Invalid event format", Death::undecodable},
    {"validation", Death::undecodable},
    {"MissingEventTypeHeader", Death::headerless},
});

/// What each document calls them: limit, poison, pointless, never, undecodable, headerless.
using ReasonRow = std::array<std::string_view, 6>;
constexpr ReasonRow service_bus_reasons = {"MaxDeliveryCountExceeded", "PoisonMessage",
                                           "NonRetryableError",        "NonRetryableError",
                                           "NonRetryableError",        "NonRetryableError"};
constexpr ReasonRow booking_reasons = {"Maximum retry attempts reached",
                                       "Maximum retry attempts reached",
                                       "NonRetryableError",
                                       "NonRetryableError",
                                       "Invalid event format",
                                       "Invalid event format"};
constexpr ReasonRow workflow_reasons = {"exhausted", "exhausted",  "permanent",
                                        "never",     "validation", "validation"};
constexpr ReasonRow durable_reasons = {"Poisoned", "Poisoned", "Poisoned",
                                       "Poisoned", "Poisoned", "Poisoned"};
constexpr ReasonRow kafka_reasons = {"UnexpectedException",    "UnexpectedException",
                                     "UnexpectedException",    "UnexpectedException",
                                     "DeserializationFailure", "MissingEventTypeHeader"};

const ReasonRow& reasons_of(Form form) noexcept {
  switch (form) {
    case Form::service_bus:
      return service_bus_reasons;
    case Form::booking:
    case Form::booking_document:
      return booking_reasons;
    case Form::workflow:
      return workflow_reasons;
    case Form::durable:
      return durable_reasons;
    case Form::kafka:
      return kafka_reasons;
  }
  return service_bus_reasons;
}

// --- values

FormValue number(std::uint64_t value) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, most));
}
FormValue text(std::string_view value) {
  return std::string(value);
}
FormValue text_or_null(std::string_view value) {
  if (value.empty()) return std::monostate{};
  return std::string(value);
}
FormValue payload_of(const Message& message) {
  if (!message.payload) return std::monostate{};
  return FormBytes{*message.payload};
}
FormValue time(const std::optional<TimePoint>& value) {
  if (!value) return std::monostate{};
  return to_iso8601_short(*value);
}
TimePoint failed_at(const DeadLetter& record) {
  return record.last_failed_at.value_or(record.died_at);
}

// --- one function per document

std::vector<FormField> service_bus(const DeadLetter& record) {
  const Message& message = *record.message;
  return {
      {"MessageId", text(message.id.empty() ? to_string(record.id) : message.id)},
      {"DeadLetterReason", text(reason_in(Form::service_bus, record.reason))},
      {"DeadLetterErrorDescription", text(record.description)},
      {"DeliveryCount", number(record.counters.fetch)},
      {"DeadLetterSource", text(message.source)},
      {"EnqueuedTime", time(message.enqueued_at)},
      {"CorrelationId", text_or_null(message.correlation_id)},
      {"ContentType", text_or_null(message.content_type)},
      {"Body", payload_of(message)},
  };
}

/// S1-31: the retry API records its retries, everything else the failed attempts.
std::uint32_t booking_count(const DeadLetter& record) {
  const bool by_retries = record.profile.starts_with("booking-retry-api");
  return by_retries ? record.counters.retry : record.counters.failure;
}

/// One model under two spellings (S1-14).
using BookingNames = std::array<std::string_view, 12>;
constexpr BookingNames booking_names = {
    "Id",           "SourceQueue",  "EventType",      "Payload",
    "ErrorMessage", "AttemptCount", "FirstAttemptAt", "FailedAt",
    "Resolved",     "ResolvedAt",   "ResolvedBy",     "ResolutionNotes"};
constexpr BookingNames booking_document_names = {
    "_id",           "source_queue",  "event_type",       "payload",
    "error_message", "attempt_count", "first_attempt_at", "failed_at",
    "resolved",      "resolved_at",   "resolved_by",      "resolution_notes"};

/// The exception's message (S1-22); under the recommended profile with its stack (S1-50).
std::string error_message(const DeadLetter& record) {
  std::string said(record.failure.text.empty() ? reason_in(Form::booking, record.reason)
                                               : std::string_view(record.failure.text));
  const bool is_rich = record.profile.ends_with("+safe") && !record.failure.stack.empty();
  if (is_rich) said += "\n" + record.failure.stack;
  return said;
}

std::vector<FormField> booking(const DeadLetter& record, const BookingNames& names) {
  const Message& message = *record.message;
  const bool resolved = record.status == Status::resolved;
  const Resolution how = resolved && record.resolution ? *record.resolution : Resolution{};
  const std::array<FormValue, 12> values = {
      text(to_uuid(record.id)),
      text(message.source),
      text(message.event_type),
      payload_of(message),
      text(error_message(record)),
      number(booking_count(record)),
      time(record.first_attempt_at),
      time(failed_at(record)),
      resolved,
      resolved ? time(how.at) : FormValue{},
      text_or_null(how.by),
      text_or_null(how.notes),
  };
  std::vector<FormField> fields;
  for (std::size_t i = 0; i < names.size(); ++i) fields.push_back({names[i], values[i]});
  return fields;
}

/// The first word of a printed policy: S2-37 has a keyword there.
std::string_view policy_word(std::string_view printed) {
  const std::string_view word = printed.substr(0, printed.find(' '));
  return word.empty() ? std::string_view("never") : word;
}

std::vector<FormField> workflow(const DeadLetter& record, const FormContext& context) {
  const Message& message = *record.message;
  return {
      {"task_id", text(message.id.empty() ? to_string(record.id) : message.id)},
      {"task", FormJson{message.payload.value_or("null")}},
      {"repos", FormMember{record.metadata, "targets"}},
      {"error", text(context.first_error.value_or(record.failure.text))},
      {"failed_at", time(record.first_failed_at.value_or(record.died_at))},
      {"retry_count", number(record.counters.retry)},
      {"max_retries", number(record.limit)},
      {"retry_policy", text(policy_word(record.policy))},
      {"next_retry_at", time(record.next_retry_at)},
      {"status", text(workflow_status(record))},
      {"metadata", FormJson{record.metadata.empty() ? "{}" : record.metadata}},
      {"error_category", text(record.category)},
      {"last_error", text(record.failure.text)},
      {"total_attempts", number(record.counters.total)},
      {"updated_at", time(context.updated_at.value_or(failed_at(record)))},
  };
}

std::vector<FormField> durable(const DeadLetter& record) {
  const Message& message = *record.message;
  const Owner owner = message.owner.value_or(Owner{});
  std::vector<FormField> fields = {
      {"poison_id", FormValue{record.number}},
      {"instance_id", text(owner.instance)},
  };
  if (owner.activity) {
    fields.push_back({"execution_id", number(owner.execution)});
    fields.push_back({"activity_name", text(owner.activity->name)});
    fields.push_back({"activity_id", number(owner.activity->id)});
  }
  fields.push_back({"abandon_count", number(record.counters.abandon)});
  fields.push_back({"last_error", text_or_null(record.failure.text)});
  fields.push_back({"poisoned_at", time(record.died_at)});
  fields.push_back({"work_item", payload_of(message)});
  if (owner.activity) fields.push_back({"input", payload_of(message)});
  fields.push_back({"original_created_at", time(message.enqueued_at)});
  return fields;
}

/// A number where it is one, as the document has it.
FormValue partition_of(const Message& message) {
  if (!message.position) return std::monostate{};
  const std::string& name = message.position->partition;
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error == std::errc{} && stop == name.data() + name.size()) return value;
  return name;
}

RenderedForm kafka(const DeadLetter& record, const FormContext& context) {
  const Message& message = *record.message;
  const std::string_view event_type =
      message.event_type.empty() ? std::string_view("Unknown") : message.event_type;
  const std::string_view reason = reason_in(Form::kafka, record.reason);
  std::string details = record.failure.text;
  if (!record.failure.stack.empty()) details += "\n\n" + record.failure.stack;
  return {
      {
          {"original-topic", text(message.source)},
          {"original-event-type", text(event_type)},
          {"failure-reason", text(reason)},
          {"retry-count", text(std::to_string(record.counters.retry))},
          {"consumer-group", text(context.consumer_group)},
          {"dlq-timestamp", to_iso8601_ticks(record.died_at)},
      },
      {
          {"originalTopic", text(message.source)},
          {"eventType", text(event_type)},
          {"eventPayload", payload_of(message)},
          {"failureReason", text(reason)},
          {"exceptionDetails", text(details)},
          {"retryCount", number(record.counters.retry)},
          {"firstFailedAt", time(record.first_failed_at.value_or(record.died_at))},
          {"lastFailedAt", time(failed_at(record))},
          {"consumerGroup", text(context.consumer_group)},
          {"originalPartition", partition_of(message)},
          {"originalOffset", message.position ? FormValue{message.position->offset} : FormValue{}},
          {"sentToDlqAt", time(record.died_at)},
      },
  };
}

}  // namespace

std::string_view name_of(Form form) noexcept {
  const auto place = static_cast<std::size_t>(form);
  return place < form_names.size() ? form_names[place] : std::string_view("unknown");
}

Result<Form> parse_form(std::string_view text) {
  for (std::size_t i = 0; i < form_names.size(); ++i) {
    if (form_names[i] == text) return static_cast<Form>(i);
  }
  return Error{Code::invalid_argument, "core.parse_form", unknown_name("form", text, form_names)};
}

std::string_view reason_in(Form form, std::string_view reason) noexcept {
  const auto known = std::ranges::find(known_reasons, reason,
                                       [](const KnownReason& entry) { return entry.reason; });
  if (known == known_reasons.end()) return reason;
  // A word of the document itself stays: JsonException is more exact than its kind.
  const bool own =
      (form == Form::kafka && (reason == "JsonException" || reason == "UnexpectedException"));
  return own ? reason : reasons_of(form)[static_cast<std::size_t>(known->death)];
}

std::string_view workflow_status(const DeadLetter& record) noexcept {
  switch (record.status) {
    case Status::waiting:
    case Status::parked:
    case Status::pending:
      return "pending";
    case Status::retrying:
    case Status::replaying:
    case Status::replayed:
      return "retrying";
    case Status::exhausted:
      return "exhausted";
    case Status::quarantined:  // no word of the document: it has retries left, and nobody runs it
      return "quarantined";
    case Status::resolved:
      return "completed";
    case Status::archived:
      return "archived";
    case Status::discarding:
    case Status::discarded:
    case Status::expired:
      return "removed";
  }
  return "pending";
}

std::string to_uuid(const Id128& id) {
  std::string text = to_string(id);
  for (const std::size_t place : {20U, 16U, 12U, 8U}) text.insert(place, 1, '-');
  return text;
}

RenderedForm render(Form form, const DeadLetter& record, const FormContext& context) {
  switch (form) {
    case Form::service_bus:
      return {{}, service_bus(record)};
    case Form::booking:
      return {{}, booking(record, booking_names)};
    case Form::booking_document:
      return {{}, booking(record, booking_document_names)};
    case Form::workflow:
      return {{}, workflow(record, context)};
    case Form::durable:
      return {{}, durable(record)};
    case Form::kafka:
      return kafka(record, context);
  }
  return {};
}

}  // namespace dlo
