#include "dlo/json/json.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

std::string_view name_of(HeaderType type) {
  switch (type) {
    case HeaderType::text:
      return "text";
    case HeaderType::bytes:
      return "bytes";
    case HeaderType::boolean:
      return "boolean";
    case HeaderType::integer:
      return "integer";
    case HeaderType::real:
      return "real";
    case HeaderType::timestamp:
      return "timestamp";
    case HeaderType::null:
      return "null";
    case HeaderType::structured:
      return "structured";
  }
  return "text";
}

std::string_view name_of(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::ok:
      return "ok";
    case OutcomeKind::failed:
      return "failed";
    case OutcomeKind::crashed:
      return "crashed";
    case OutcomeKind::never_started:
      return "never_started";
  }
  return "failed";
}

std::string_view name_of(Priority priority) {
  switch (priority) {
    case Priority::low:
      return "low";
    case Priority::normal:
      return "normal";
    case Priority::high:
      return "high";
  }
  return "normal";
}

std::uint64_t millis(Millis value) {
  return static_cast<std::uint64_t>(value.count());
}

void write(JsonWriter& json, const Counters& counters) {
  json.begin_object()
      .member("fetch", counters.fetch)
      .member("attempt", counters.attempt)
      .member("failure", counters.failure)
      .member("abandon", counters.abandon)
      .member("retry", counters.retry)
      .member("replay", counters.replay)
      .member("total", counters.total)
      .end_object();
}

void write(JsonWriter& json, const Headers& headers) {
  json.begin_array();
  for (const Header& header : headers) {
    json.begin_object().member("name", header.name).bytes("value", header.value);
    json.member("type", name_of(header.type)).end_object();
  }
  json.end_array();
}

void write(JsonWriter& json, const Failure& failure) {
  json.begin_object()
      .member("type", failure.type)
      .member("text", failure.text)
      .member("code", failure.code);
  if (failure.status) json.key("status").number(std::int64_t{*failure.status});
  json.key("causes").begin_array();
  for (const Cause& cause : failure.causes) {
    json.begin_object().member("type", cause.type).member("text", cause.text).end_object();
  }
  json.end_array().member("stack", failure.stack);
  if (failure.retry_after) json.member("retry_after_ms", millis(*failure.retry_after));
  json.end_object();
}

void write(JsonWriter& json, const Owner& owner) {
  json.begin_object().member("instance", owner.instance).member("execution", owner.execution);
  if (owner.activity) {
    json.key("activity").begin_object();
    json.member("name", owner.activity->name).member("id", owner.activity->id).end_object();
  }
  json.member("parent", owner.parent).end_object();
}

void write(JsonWriter& json, const Message& message) {
  json.begin_object().member("id", message.id).member("source", message.source);
  if (message.position) {
    json.member("partition", message.position->partition);
    json.key("offset").number(message.position->offset);
  }
  json.member("event_type", message.event_type)
      .member("key", message.key)
      .member("correlation_id", message.correlation_id)
      .member("content_type", message.content_type)
      .member("enqueued_at", message.enqueued_at)
      .member("expires_at", message.expires_at)
      .member("priority", name_of(message.priority));
  if (message.owner) write(json.key("owner"), *message.owner);
  write(json.key("headers"), message.headers);
  json.bytes("payload", message.payload).end_object();
}

void write(JsonWriter& json, const Attempt& attempt) {
  json.begin_object()
      .member("number", attempt.number)
      .member("started_at", attempt.started_at)
      .member("took_ms", millis(attempt.took))
      .member("outcome", name_of(attempt.outcome))
      .member("category", attempt.category)
      .member("rule", attempt.rule)
      .member("error_type", attempt.error_type)
      .member("error_text", attempt.error_text)
      .member("next_delay_ms", millis(attempt.next_delay))
      .member("node", attempt.node)
      .end_object();
}

void write(JsonWriter& json, const RecordHead& head) {
  json.begin_object()
      .member("id", to_string(head.id))
      .member("occurrence", head.occurrence)
      .member("status", name_of(head.status))
      .member("source", head.source)
      .member("event_type", head.event_type)
      .member("key", head.key)
      .member("message_id", head.message_id)
      .member("reason", head.reason)
      .member("category", head.category)
      .member("error_type", head.error_type)
      .member("error_text", head.error_text)
      .member("group", to_string(head.group));
  write(json.key("counters"), head.counters);
  json.member("limit", head.limit)
      .member("died_at", head.died_at)
      .member("next_retry_at", head.next_retry_at)
      .member("payload_size", head.payload_size)
      .member("version", head.version)
      .member("change", head.change)
      .end_object();
}

void write_resolution(JsonWriter& json, const Resolution& resolution) {
  json.key("resolution").begin_object();
  json.member("at", resolution.at)
      .member("by", resolution.by)
      .member("how", resolution.how)
      .member("notes", resolution.notes)
      .end_object();
}

void write_why(JsonWriter& json, const DeadLetter& record) {
  json.member("reason", record.reason)
      .member("description", record.description)
      .member("category", record.category)
      .member("rule", record.rule);
  write(json.key("failure"), record.failure);
  json.key("group").begin_object();
  json.member("id", to_string(record.fingerprint.hash))
      .member("title", record.fingerprint.title)
      .member("basis", record.fingerprint.basis)
      .end_object();
  write(json.key("counters"), record.counters);
  json.member("limit", record.limit).member("policy", record.policy);
}

void write_times(JsonWriter& json, const DeadLetter& record) {
  json.member("first_attempt_at", record.first_attempt_at)
      .member("first_failed_at", record.first_failed_at)
      .member("last_failed_at", record.last_failed_at)
      .member("died_at", record.died_at)
      .member("next_retry_at", record.next_retry_at)
      .member("expires_at", record.expires_at);
}

void write(JsonWriter& json, const DeadLetter& record) {
  json.member("id", to_string(record.id))
      .member("occurrence", record.occurrence)
      .member("profile", record.profile)
      .member("status", name_of(record.status));
  write_why(json, record);
  write_times(json, record);
  json.member("handler", record.handler)
      .member("node", record.node)
      .member("build", record.build)
      .member("metadata", record.metadata);
  json.key("depends_on").begin_array();
  for (const RecordId& id : record.depends_on) json.text(to_string(id));
  json.end_array().key("tags").begin_array();
  for (const std::string& tag : record.tags) json.text(tag);
  json.end_array();
  if (record.resolution) write_resolution(json, *record.resolution);
  json.key("source_unsettled").boolean(record.source_unsettled);
  json.member("version", record.version).member("change", record.change);
  json.key("number").number(record.number);
  write(json.key("message"), *record.message);
}

}  // namespace

std::string to_json(const RecordHead& head) {
  JsonWriter json;
  write(json, head);
  return json.take();
}

std::string to_json(const Page& page) {
  JsonWriter json;
  json.begin_object().key("dead_letters").begin_array();
  for (const RecordHead& head : page.rows) write(json, head);
  json.end_array();
  json.key("next");
  if (page.next) {
    json.text(to_string(*page.next));
  } else {
    json.null();
  }
  json.key("partial").boolean(page.partial).end_object();
  return json.take();
}

std::string to_json(const Attempt& attempt) {
  JsonWriter json;
  write(json, attempt);
  return json.take();
}

std::string to_json(const RecordDetail& detail) {
  JsonWriter json;
  json.begin_object();
  write(json, detail.record);
  json.key("attempts").begin_array();
  for (const Attempt& attempt : detail.attempts) write(json, attempt);
  json.end_array().key("versions").begin_array();
  for (const Version& version : detail.versions) {
    json.begin_object().member("number", version.number);
    write(json.key("headers"), version.headers);
    json.bytes("payload", version.payload)
        .member("at", version.at)
        .member("by", version.by)
        .member("why", version.why)
        .end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace dlo
