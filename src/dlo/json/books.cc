// The audit trail and the poison book.

#include "dlo/json/fields.h"
#include "dlo/json/json.h"
#include "dlo/json/parts.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

/// S3-10, S3-11.
void write_message_type(JsonWriter& json, const std::optional<Activity>& activity) {
  json.key("message_type");
  if (!activity) {
    json.text("Orchestration");
    return;
  }
  json.begin_object().key("Activity").begin_object();
  json.member("activity_name", activity->name).member("activity_id", activity->id);
  json.end_object().end_object();
}

void write_members(JsonWriter& json, const PoisonItem& item) {
  json.key("poison_id").number(item.poison_id);
  json.member("kind", item.activity ? "activity" : "orchestration");
  write_message_type(json, item.activity);
  json.member("id", to_string(item.record)).member("instance_id", item.instance_id);
  if (item.activity) {
    json.member("execution_id", item.execution_id)
        .member("activity_name", item.activity->name)
        .member("activity_id", item.activity->id);
  }
  json.member("abandon_count", item.abandon_count);
  if (item.last_error) {
    json.member("last_error", *item.last_error);
  } else {
    json.key("last_error").null();
  }
  json.member("poisoned_at", item.poisoned_at);
}

}  // namespace

void write_json(JsonWriter& json, const AuditEntry& entry) {
  json.begin_object()
      .member("number", entry.number)
      .member("at", entry.act.at)
      .member("actor", entry.act.actor)
      .member("act", entry.act.act)
      .member("subject", entry.act.subject)
      .member("detail", entry.act.detail)
      .member("previous", entry.previous)
      .member("hash", entry.hash)
      .end_object();
}

void write_json(JsonWriter& json, const PoisonItem& item) {
  json.begin_object();
  write_members(json, item);
  json.end_object();
}

void write_json(JsonWriter& json, const PoisonDetail& detail) {
  json.begin_object();
  write_members(json, detail.item);
  json.bytes("work_item", detail.work_item->payload);
  if (detail.item.activity) json.bytes("input", detail.work_item->payload);
  json.member("original_created_at", detail.original_created_at).end_object();
}

std::string to_json(const AuditEntry& entry) {
  JsonWriter json;
  write_json(json, entry);
  return json.take();
}

std::string to_json(const PoisonItem& item) {
  JsonWriter json;
  write_json(json, item);
  return json.take();
}

std::string to_json(const PoisonDetail& detail) {
  JsonWriter json;
  write_json(json, detail);
  return json.take();
}

Result<AuditEntry> parse_audit_entry(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return value.error();
  JsonComplaints complaints("json.audit");
  AuditEntry entry;
  {
    JsonFields fields(*value, "", complaints);
    for (const char* name :
         {"number", "at", "actor", "act", "subject", "detail", "previous", "hash"}) {
      fields.require(name);
    }
    entry.number = fields.number("number");
    entry.act = {fields.time("at").value_or(TimePoint{}), fields.text("actor"), fields.text("act"),
                 fields.text("subject"), fields.text("detail")};
    entry.previous = fields.text("previous");
    entry.hash = fields.text("hash");
  }
  if (complaints.first()) return *complaints.first();
  return entry;
}

}  // namespace dlo
