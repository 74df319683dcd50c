#include "dlo/api/report_reading.h"

#include <utility>

#include "dlo/api/body.h"
#include "dlo/json/read_parts.h"

namespace dlo::api {
namespace {

constexpr std::uint64_t most_attempts = 1'000'000;

/// The counters of a message whose attempt number `attempts` has just failed; that failure itself
/// is counted by the core.
Counters counters_after(std::uint32_t attempts) {
  Counters counters;
  counters.fetch = counters.attempt = counters.total = attempts;
  counters.failure = counters.retry = attempts - 1;
  return counters;
}

Failure read_why(JsonFields& fields) {
  Failure failure;
  if (const JsonValue* value = fields.find("failure")) {
    JsonFields inside(*value, fields.place_of("failure"), fields.complaints());
    failure = read_failure(inside);
    if (fields.has("error")) fields.complain("error", "stands beside `failure`: use one of them");
  } else if (fields.has("error")) {
    failure.text = fields.text("error");
  } else {
    fields.complain("failure", "must say why it failed (or `error`, for text alone)");
  }
  return failure;
}

}  // namespace

Message read_sent_message(JsonFields& fields, TimePoint now) {
  Message message = read_message(fields);
  if (const JsonValue* json = fields.find("json")) {
    if (message.payload) fields.complain("json", "stands beside `payload`: use one of them");
    message.payload = std::string(json->raw);
    if (message.content_type.empty()) message.content_type = "application/json";
  }
  if (!fields.has("enqueued_at")) message.enqueued_at = now;
  return message;
}

Result<Reading> read_report(std::string_view text, TimePoint now) {
  Reading reading;
  const auto read = read_object(text, [&](JsonFields& fields) {
    fields.require("source");
    auto message = std::make_shared<Message>(read_sent_message(fields, now));
    if (message->source.empty()) fields.complain("source", "must not be empty");
    reading.report.message = std::move(message);
    reading.report.failure = read_why(fields);
    std::uint32_t attempts = 1;
    if (fields.has("attempts")) {
      attempts = static_cast<std::uint32_t>(fields.number("attempts", most_attempts));
      if (attempts == 0) fields.complain("attempts", "must be 1 or more: it has failed once");
      reading.final = false;
    }
    if (fields.has("final")) reading.final = fields.boolean("final");
    reading.report.counters = counters_after(std::max<std::uint32_t>(attempts, 1));
    if (fields.has("profile")) reading.profile = fields.text("profile");
    reading.report.handler = fields.text("handler");
    reading.report.metadata = fields.embedded("metadata");
    for (const JsonValue& tag : fields.items("tags")) {
      if (tag.kind != JsonKind::string) fields.complain("tags", "must hold strings");
      reading.report.tags.push_back(tag.text());
    }
  });
  if (!read) return read.error();
  return reading;
}

}  // namespace dlo::api
