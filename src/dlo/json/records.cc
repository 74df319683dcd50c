#include "dlo/core/dependencies.h"
#include "dlo/core/encoding.h"
#include "dlo/json/json.h"
#include "dlo/json/names.h"
#include "dlo/json/parts.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

void member(JsonWriter& json, std::string_view name, Millis value) {
  json.key(name).number(std::int64_t{value.count()});
}

void write_json(JsonWriter& json, const Owner& owner) {
  json.begin_object().member("instance", owner.instance).member("execution", owner.execution);
  json.key("activity");
  if (owner.activity) {
    json.begin_object().member("name", owner.activity->name).member("id", owner.activity->id);
    json.end_object();
  } else {
    json.null();
  }
  json.member("parent", owner.parent).end_object();
}

void write_json(JsonWriter& json, const Resolution& resolution) {
  json.begin_object()
      .member("at", resolution.at)
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
  dlo::write_json(json.key("failure"), record.failure);
  json.key("group").begin_object();
  json.member("id", to_string(record.fingerprint.hash))
      .member("title", record.fingerprint.title)
      .member("basis", record.fingerprint.basis)
      .end_object();
  dlo::write_json(json.key("counters"), record.counters);
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

/// A list of texts; one that is not UTF-8 is an object {text, text_base64} in its place.
void write_tags(JsonWriter& json, const std::vector<std::string>& tags) {
  json.key("tags").begin_array();
  for (const std::string& tag : tags) {
    if (is_utf8(tag)) {
      json.text(tag);
    } else {
      json.begin_object().member("text", tag).end_object();
    }
  }
  json.end_array();
}

void write_members(JsonWriter& json, const DeadLetter& record) {
  json.member("id", to_string(record.id))
      .member("occurrence", record.occurrence)
      .member("profile", record.profile)
      .member("status", name_of(record.status));
  write_why(json, record);
  write_times(json, record);
  json.member("handler", record.handler)
      .member("node", record.node)
      .member("build", record.build)
      .embed("metadata", record.metadata);
  json.key("depends_on").begin_array();
  for (const RecordId& id : record.depends_on) json.text(to_string(id));
  if (record.message != nullptr) {
    for (const std::string& task : depends_on(record.message->headers)) {
      if (is_utf8(task)) json.text(task);
    }
  }
  json.end_array();
  write_tags(json, record.tags);
  json.key("resolution");
  if (record.resolution) {
    write_json(json, *record.resolution);
  } else {
    json.null();
  }
  json.key("source_unsettled").boolean(record.source_unsettled);
  json.key("died").boolean(record.died);
  json.member("version", record.version).member("change", record.change);
  json.key("number").number(record.number);
  dlo::write_json(json.key("message"), *record.message);
}

template <typename Value>
std::string written(const Value& value) {
  JsonWriter json;
  dlo::write_json(json, value);
  return json.take();
}

}  // namespace

void write_json(JsonWriter& json, const Counters& counters) {
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

void write_json(JsonWriter& json, const Headers& headers) {
  json.begin_array();
  for (const Header& header : headers) {
    json.begin_object().member("name", header.name).bytes("value", header.value);
    json.member("type", json_name(header.type)).end_object();
  }
  json.end_array();
}

void write_json(JsonWriter& json, const Failure& failure) {
  json.begin_object()
      .member("type", failure.type)
      .member("text", failure.text)
      .member("code", failure.code)
      .key("status");
  if (failure.status) {
    json.number(std::int64_t{*failure.status});
  } else {
    json.null();
  }
  json.key("causes").begin_array();
  for (const Cause& cause : failure.causes) {
    json.begin_object().member("type", cause.type).member("text", cause.text).end_object();
  }
  json.end_array().member("stack", failure.stack);
  if (failure.retry_after) {
    member(json, "retry_after_ms", *failure.retry_after);
  } else {
    json.key("retry_after_ms").null();
  }
  json.end_object();
}

void write_json(JsonWriter& json, const Message& message) {
  json.begin_object().member("id", message.id).member("source", message.source);
  if (message.position) {
    json.member("partition", message.position->partition);
    json.key("offset").number(message.position->offset);
  } else {
    json.key("partition").null().key("offset").null();
  }
  json.member("event_type", message.event_type)
      .member("key", message.key)
      .member("correlation_id", message.correlation_id)
      .member("content_type", message.content_type)
      .member("enqueued_at", message.enqueued_at)
      .member("expires_at", message.expires_at)
      .member("priority", json_name(message.priority))
      .key("owner");
  if (message.owner) {
    write_json(json, *message.owner);
  } else {
    json.null();
  }
  write_json(json.key("headers"), message.headers);
  json.bytes("payload", message.payload).end_object();
}

void write_json(JsonWriter& json, const Attempt& attempt) {
  json.begin_object().member("number", attempt.number).member("started_at", attempt.started_at);
  member(json, "took_ms", attempt.took);
  json.member("outcome", json_name(attempt.outcome))
      .member("category", attempt.category)
      .member("rule", attempt.rule)
      .member("error_type", attempt.error_type)
      .member("error_text", attempt.error_text);
  member(json, "next_delay_ms", attempt.next_delay);
  json.member("node", attempt.node).end_object();
}

void write_json(JsonWriter& json, const Version& version) {
  json.begin_object().member("number", version.number);
  write_json(json.key("headers"), version.headers);
  json.bytes("payload", version.payload)
      .member("at", version.at)
      .member("by", version.by)
      .member("why", version.why)
      .end_object();
}

void write_json(JsonWriter& json, const RecordHead& head) {
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
  write_json(json.key("counters"), head.counters);
  json.member("limit", head.limit)
      .member("died_at", head.died_at)
      .member("next_retry_at", head.next_retry_at)
      .member("payload_size", head.payload_size)
      .member("version", head.version)
      .member("change", head.change)
      .key("number")
      .number(head.number)
      .end_object();
}

std::string to_json(const RecordHead& head) {
  return written(head);
}

std::string to_json(const Attempt& attempt) {
  return written(attempt);
}

std::string to_json(const Version& version) {
  return written(version);
}

std::string to_json(const Message& message) {
  return written(message);
}

std::string to_json(const Page& page) {
  JsonWriter json;
  json.begin_object().key("dead_letters").begin_array();
  for (const RecordHead& head : page.rows) write_json(json, head);
  json.end_array().key("next");
  if (page.next) {
    json.text(to_string(*page.next));
  } else {
    json.null();
  }
  json.key("partial").boolean(page.partial).end_object();
  return json.take();
}

std::string to_json(const DeadLetter& record) {
  JsonWriter json;
  json.begin_object();
  write_members(json, record);
  json.end_object();
  return json.take();
}

std::string to_json(const RecordDetail& detail) {
  JsonWriter json;
  json.begin_object();
  write_members(json, detail.record);
  json.key("attempts").begin_array();
  for (const Attempt& attempt : detail.attempts) write_json(json, attempt);
  json.end_array().key("versions").begin_array();
  for (const Version& version : detail.versions) write_json(json, version);
  json.end_array().end_object();
  return json.take();
}

}  // namespace dlo
