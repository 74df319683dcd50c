#include "dlo/api/report_reading.h"

#include <optional>
#include <utility>

#include "dlo/api/body.h"
#include "dlo/api/report_template.h"
#include "dlo/json/read_parts.h"

namespace dlo::api {
namespace {

constexpr std::uint64_t most_attempts = 1'000'000;
constexpr std::size_t longest_name = 1'024;

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

/// A task under the names of document 002 (S2-18): `task_id` and `task` are id and payload.
void read_task(JsonFields& fields, Message& message) {
  if (fields.has("task_id")) {
    if (!message.id.empty()) fields.complain("task_id", "stands beside `id`: use one of them");
    message.id = fields.text("task_id");
  }
  if (const JsonValue* task = fields.find("task")) {
    if (message.payload) fields.complain("task", "stands beside another payload: use one of them");
    message.payload = std::string(task->raw);
    if (message.content_type.empty()) message.content_type = "application/json";
  }
}

/// Where the task was to act: kept in the metadata, as the form `workflow` shows it, and carried by
/// the task, so that its executor is told (S2-17).
void read_targets(JsonFields& fields, std::string& metadata, Headers& headers) {
  const JsonValue* targets = fields.find("targets");
  const JsonValue* repos = fields.find("repos");
  if (targets != nullptr && repos != nullptr) {
    fields.complain("repos", "stands beside `targets`: use one of them");
  }
  const JsonValue* given = targets != nullptr ? targets : repos;
  if (given == nullptr) return;
  if (given->kind != JsonKind::array) {
    return fields.complain(targets != nullptr ? "targets" : "repos", "must be a list");
  }
  for (const JsonValue& each : given->items) {
    if (each.kind == JsonKind::string) continue;
    return fields.complain(targets != nullptr ? "targets" : "repos", "must be a list of strings");
  }
  headers.push_back({std::string(targets_header), std::string(given->raw)});
  const auto before = metadata.empty() ? Result<JsonValue>(JsonValue{}) : parse_json(metadata);
  if (!before || (!metadata.empty() && before->kind != JsonKind::object)) {
    return fields.complain("metadata", "must be an object where there are targets");
  }
  std::string more = "{\"targets\":" + std::string(given->raw);
  for (const JsonMember& member : before->members) {
    if (member.name == "targets") fields.complain("metadata", "has targets of its own");
  }
  if (before->members.empty()) {
    metadata = more + "}";
  } else {
    metadata = more + "," + metadata.substr(metadata.find('{') + 1);
  }
}

/// What a template says, where the report says nothing itself (S2-56).
std::optional<RetryTemplate> read_template(JsonFields& fields, const RetryNames& names) {
  if (!fields.has("template")) return std::nullopt;
  auto found = names.find_template(fields.text("template"));
  if (found) return std::move(*found);
  fields.complain("template", "cannot be used: " + found.error().detail);
  return std::nullopt;
}

void read_retry(JsonFields& fields, const NamedPolicies& named, Reading& reading) {
  constexpr std::uint64_t most_retries = 1'000;
  if (fields.has("policy")) {
    const std::string said = fields.text("policy");
    auto policy = parse_workflow_policy(said, named);
    if (policy) {
      reading.asked.policy = std::move(*policy);
      reading.asked.plain = is_workflow_policy(said);
    } else {
      fields.complain("policy", "cannot be used: " + policy.error().detail);
    }
  }
  if (fields.has("max_retries")) {
    reading.asked.max_retries =
        static_cast<std::uint32_t>(fields.number("max_retries", most_retries));
  }
  for (const JsonValue& task : fields.items("depends_on")) {
    if (task.kind != JsonKind::string) fields.complain("depends_on", "must hold task ids");
    reading.depends_on.push_back(task.text());
  }
  if (fields.has("category")) reading.category = fields.text("category");
  if (fields.has("requested")) reading.requested = fields.boolean("requested");
}

/// How often it was tried, and whether that was all.
void read_attempts(JsonFields& fields, Reading& reading) {
  std::uint32_t attempts = 1;
  if (fields.has("attempts")) {
    attempts = static_cast<std::uint32_t>(fields.number("attempts", most_attempts, 1));
    reading.final = false;
  }
  if (fields.has("final")) {
    reading.final = fields.boolean("final");
    reading.says_final = true;
  }
  reading.report.counters = counters_after(std::max<std::uint32_t>(attempts, 1));
}

/// Names stand in every list, count and index: what is larger belongs into the payload.
void check_names(JsonFields& fields, const TaskReport& reading) {
  const Message& message = *reading.report.message;
  const auto check = [&](const char* member, const std::string& name) {
    if (name.size() <= longest_name) return;
    fields.complain(member, "has " + std::to_string(name.size()) + " bytes; at most " +
                                std::to_string(longest_name) + " are possible");
  };
  check("source", message.source);
  check(fields.has("task_id") ? "task_id" : "id", message.id);
  check("event_type", message.event_type);
  check("key", message.key);
  check("correlation_id", message.correlation_id);
  check("handler", reading.report.handler);
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

Result<Reading> read_report(std::string_view text, TimePoint now, const RetryNames& names) {
  Reading reading;
  const auto read = read_object(text, [&](JsonFields& fields) {
    fields.require("source");
    auto message = std::make_shared<Message>(read_sent_message(fields, now));
    read_task(fields, *message);
    const auto made_by = read_template(fields, names);
    if (made_by) {
      reading.asked = made_by->asked;
      reading.category = made_by->category;
      reading.report.tags = made_by->tags;
      if (made_by->priority && !fields.has("priority")) message->priority = *made_by->priority;
    }
    read_retry(fields, names.policies, reading);
    put_request(message->headers, reading.asked);
    if (message->source.empty()) fields.complain("source", "must not be empty");
    reading.report.failure = read_why(fields);
    read_attempts(fields, reading);
    reading.error = reading.report.failure.text;
    if (fields.has("profile")) reading.profile = fields.text("profile");
    reading.report.handler = fields.text("handler");
    reading.report.metadata = fields.embedded("metadata");
    if (made_by) {
      reading.report.metadata =
          metadata_by(fields.text("template"), made_by->metadata, reading.report.metadata);
    }
    read_targets(fields, reading.report.metadata, message->headers);
    reading.report.message = std::move(message);
    check_names(fields, reading);
    for (const JsonValue& tag : fields.items("tags")) {
      if (tag.kind != JsonKind::string) fields.complain("tags", "must hold strings");
      reading.report.tags.push_back(tag.text());
    }
  });
  if (!read) return read.error();
  return reading;
}

}  // namespace dlo::api
