#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlo/core/dependencies.h"
#include "dlo/json/fields.h"
#include "dlo/json/json.h"
#include "dlo/json/names.h"
#include "dlo/json/read_parts.h"

namespace dlo {
namespace {

template <typename Enum>
Enum read_enum(JsonFields& fields, std::string_view name, Enum otherwise) {
  const auto found = fields.choice(name, json_names<Enum>);
  return found ? static_cast<Enum>(*found) : otherwise;
}

/// `medium` is what others call normal (S2-51).
Priority read_priority(JsonFields& fields) {
  constexpr std::array<std::string_view, 4> names = {"low", "medium", "normal", "high"};
  const auto found = fields.choice("priority", names).value_or(1);
  return found == 0 ? Priority::low : found == 3 ? Priority::high : Priority::normal;
}

Id128 read_id(JsonFields& fields, std::string_view name) {
  if (!fields.has(name)) return {};
  const auto id = parse_id(fields.text(name));
  if (!id) fields.complain(name, "must be 32 hex digits");
  return id.value_or(Id128{});
}

Status read_status(JsonFields& fields, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Status status : all_statuses()) names.push_back(name_of(status));
  const auto found = fields.choice(name, names);
  return found ? all_statuses().at(*found) : Status::pending;
}

/// Calls `read` with the fields of each object in an array.
template <typename Read>
void each(JsonFields& fields, std::string_view name, const Read& read,
          std::string_view example = {}) {
  std::size_t index = 0;
  for (const JsonValue& item : fields.items(name, example)) {
    JsonFields inside(item, fields.place_of(name) + "." + std::to_string(index++),
                      fields.complaints());
    read(inside);
  }
}

/// Calls `read` with the fields of an object, if it is there.
template <typename Read>
void inside(JsonFields& fields, std::string_view name, const Read& read) {
  const JsonValue* value = fields.find(name);
  if (value == nullptr) return;
  JsonFields object(*value, fields.place_of(name), fields.complaints());
  read(object);
}

}  // namespace

Headers read_headers(JsonFields& fields) {
  Headers headers;
  const auto read = [&headers](JsonFields& header) {
    headers.push_back({header.text("name"), header.bytes("value").value_or(""),
                       read_enum(header, "type", HeaderType::text)});
  };
  each(fields, "headers", read, R"([{"name": "tenant", "value": "acme"}])");
  return headers;
}

namespace {

Counters read_counters(JsonFields& fields) {
  Counters out;
  out.fetch = fields.small("fetch");
  out.attempt = fields.small("attempt");
  out.failure = fields.small("failure");
  out.abandon = fields.small("abandon");
  out.retry = fields.small("retry");
  out.replay = fields.small("replay");
  out.total = fields.small("total");
  return out;
}

Owner read_owner(JsonFields& fields) {
  Owner owner;
  owner.instance = fields.text("instance");
  owner.execution = fields.number("execution");
  inside(fields, "activity", [&owner](JsonFields& activity) {
    owner.activity = Activity{activity.text("name"), activity.number("id")};
  });
  owner.parent = fields.text("parent");
  return owner;
}

}  // namespace

Message read_message(JsonFields& fields) {
  Message message;
  message.id = fields.text("id");
  message.source = fields.text("source");
  const bool has_partition = fields.has("partition");
  std::string partition = fields.text("partition");
  if (const auto offset = fields.integer("offset")) {
    message.position = Position{std::move(partition), *offset};
  } else if (has_partition) {
    fields.complain("partition", "stands without an offset");
  }
  message.event_type = fields.text("event_type");
  message.key = fields.text("key");
  message.correlation_id = fields.text("correlation_id");
  message.content_type = fields.text("content_type");
  message.enqueued_at = fields.time("enqueued_at").value_or(TimePoint{});
  message.expires_at = fields.time("expires_at");
  message.priority = read_priority(fields);
  inside(fields, "owner", [&message](JsonFields& owner) { message.owner = read_owner(owner); });
  message.headers = read_headers(fields);
  message.payload = fields.bytes("payload");
  return message;
}

namespace {}  // namespace

Failure read_failure(JsonFields& fields) {
  Failure failure;
  failure.type = fields.text("type");
  failure.text = fields.text("text");
  failure.code = fields.text("code");
  if (const auto status = fields.integer("status")) {
    if (*status < INT32_MIN || *status > INT32_MAX) fields.complain("status", "is out of range");
    failure.status = static_cast<int>(*status);
  }
  each(fields, "causes", [&failure](JsonFields& cause) {
    failure.causes.push_back({cause.text("type"), cause.text("text")});
  });
  failure.stack = fields.text("stack");
  if (const auto wait = fields.integer("retry_after_ms")) failure.retry_after = Millis{*wait};
  return failure;
}

namespace {

Attempt read_attempt(JsonFields& fields) {
  Attempt attempt;
  attempt.number = fields.small("number");
  attempt.started_at = fields.time("started_at").value_or(TimePoint{});
  attempt.took = fields.millis("took_ms");
  attempt.outcome = read_enum(fields, "outcome", OutcomeKind::failed);
  attempt.category = fields.text("category");
  attempt.rule = fields.text("rule");
  attempt.error_type = fields.text("error_type");
  attempt.error_text = fields.text("error_text");
  attempt.next_delay = fields.millis("next_delay_ms");
  attempt.node = fields.text("node");
  return attempt;
}

Version read_version(JsonFields& fields) {
  Version version;
  version.number = fields.small("number");
  version.headers = read_headers(fields);
  version.payload = fields.bytes("payload");
  version.at = fields.time("at").value_or(TimePoint{});
  version.by = fields.text("by");
  version.why = fields.text("why");
  return version;
}

void read_why(JsonFields& fields, DeadLetter& record) {
  record.reason = fields.text("reason");
  record.description = fields.text("description");
  record.category = fields.text("category");
  record.rule = fields.text("rule");
  inside(fields, "failure",
         [&record](JsonFields& failure) { record.failure = read_failure(failure); });
  inside(fields, "group", [&record](JsonFields& group) {
    record.fingerprint.hash = read_id(group, "id");
    record.fingerprint.title = group.text("title");
    record.fingerprint.basis = group.text("basis");
  });
  inside(fields, "counters",
         [&record](JsonFields& counters) { record.counters = read_counters(counters); });
  record.limit = fields.small("limit");
  record.policy = fields.text("policy");
}

void read_times(JsonFields& fields, DeadLetter& record) {
  record.first_attempt_at = fields.time("first_attempt_at");
  record.first_failed_at = fields.time("first_failed_at");
  record.last_failed_at = fields.time("last_failed_at");
  record.died_at = fields.time("died_at").value_or(TimePoint{});
  record.next_retry_at = fields.time("next_retry_at");
  record.expires_at = fields.time("expires_at");
}

/// Tasks that it waits for are in its headers, and only repeated here.
void read_lists(JsonFields& fields, const Headers& headers, DeadLetter& record) {
  const auto tasks = depends_on(headers);
  for (const JsonValue& item : fields.items("depends_on")) {
    const std::string name = item.text();
    if (std::find(tasks.begin(), tasks.end(), name) != tasks.end()) continue;
    const auto id = parse_id(name);
    if (!id) {
      fields.complain("depends_on",
                      "must hold ids of 32 hex digits, or tasks of the header dlo-depends-on");
    }
    record.depends_on.push_back(RecordId{id.value_or(Id128{})});
  }
  for (const JsonValue& item : fields.items("tags")) {
    if (item.kind == JsonKind::object) {
      JsonFields tag(item, fields.place_of("tags"), fields.complaints());
      record.tags.push_back(tag.text("text"));
    } else {
      if (item.kind != JsonKind::string) fields.complain("tags", "must hold strings");
      record.tags.push_back(item.text());
    }
  }
}

void read_ending(JsonFields& fields, DeadLetter& record) {
  inside(fields, "resolution", [&record](JsonFields& ending) {
    record.resolution = Resolution{ending.time("at").value_or(TimePoint{}), ending.text("by"),
                                   ending.text("how"), ending.text("notes")};
  });
  record.source_unsettled = fields.boolean("source_unsettled");
  record.died = fields.boolean("died");
  record.version = fields.number("version");
  record.change = fields.number("change");
  record.number = fields.integer("number").value_or(0);
}

DeadLetter read_record(JsonFields& fields) {
  DeadLetter record;
  fields.require("id");
  fields.require("message");
  record.id = RecordId{read_id(fields, "id")};
  record.occurrence = fields.has("occurrence") ? fields.small("occurrence") : 1;
  record.profile = fields.text("profile");
  record.status = read_status(fields, "status");
  read_why(fields, record);
  read_times(fields, record);
  record.handler = fields.text("handler");
  record.node = fields.text("node");
  record.build = fields.text("build");
  record.metadata = fields.embedded("metadata");
  auto message = std::make_shared<Message>();
  inside(fields, "message", [&message](JsonFields& inner) { *message = read_message(inner); });
  read_lists(fields, message->headers, record);
  read_ending(fields, record);
  record.message = std::move(message);
  return record;
}

/// Metadata may be nested as deeply as the writer embeds it, below a record.
constexpr std::size_t record_depth = json_depth + 8;

}  // namespace

Result<RecordDetail> parse_record_detail(std::string_view text) {
  const auto value = parse_json(text, record_depth);
  if (!value) return value.error();
  JsonComplaints complaints;
  RecordDetail detail;
  {
    JsonFields fields(*value, "", complaints);
    detail.record = read_record(fields);
    each(fields, "attempts",
         [&detail](JsonFields& attempt) { detail.attempts.push_back(read_attempt(attempt)); });
    each(fields, "versions",
         [&detail](JsonFields& version) { detail.versions.push_back(read_version(version)); });
  }
  if (complaints.first()) return *complaints.first();
  return detail;
}

Result<Message> parse_message(std::string_view text) {
  const auto value = parse_json(text, record_depth);
  if (!value) return value.error();
  JsonComplaints complaints;
  Message message;
  {
    JsonFields fields(*value, "", complaints);
    message = read_message(fields);
  }
  if (complaints.first()) return *complaints.first();
  return message;
}

}  // namespace dlo
