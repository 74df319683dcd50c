#include "dlo/outbox/shape.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"

namespace dlo::outbox {
namespace {

constexpr const char* where = "outbox.shape";
constexpr std::size_t longest_name = 63;  // NAMEDATALEN - 1

constexpr std::array all_roles = {
    Role{"id", &Columns::id},
    Role{"order", &Columns::order},
    Role{"key", &Columns::key},
    Role{"type", &Columns::type},
    Role{"payload", &Columns::payload},
    Role{"headers", &Columns::headers},
    Role{"message_id", &Columns::message_id},
    Role{"correlation_id", &Columns::correlation_id},
    Role{"content_type", &Columns::content_type},
    Role{"destination", &Columns::destination},
    Role{"created_at", &Columns::created_at},
    Role{"expires_at", &Columns::expires_at},
    Role{"not_before", &Columns::not_before},
    Role{"attempts", &Columns::attempts},
    Role{"due_at", &Columns::due_at},
    Role{"first_attempt_at", &Columns::first_attempt_at},
    Role{"last_error", &Columns::last_error},
    Role{"trail", &Columns::trail},
    Role{"done_at", &Columns::done_at},
    Role{"dead_letter", &Columns::dead_letter},
};

Shape own() {
  Shape shape;
  shape.name = "own";
  shape.summary = "a table made for dlo, or one that is like it in its columns";
  shape.table = "dlo_outbox";
  Columns& c = shape.columns;
  c.id = "id";
  c.key = "key";
  c.type = "event_type";
  c.payload = "payload";
  c.headers = "headers";
  c.message_id = "message_id";
  c.correlation_id = "correlation_id";
  c.content_type = "content_type";
  c.destination = "destination";
  c.created_at = "created_at";
  c.expires_at = "expires_at";
  c.not_before = "not_before";
  c.attempts = "attempts";
  c.due_at = "due_at";
  c.first_attempt_at = "first_attempt_at";
  c.last_error = "last_error";
  c.trail = "trail";
  c.done_at = "published_at";
  c.dead_letter = "dead_letter";
  shape.needed = {"id", "type", "payload", "done_at"};
  return shape;
}

// https://debezium.io/documentation/reference/transformations/outbox-event-router.html
Shape debezium() {
  Shape shape;
  shape.name = "debezium";
  shape.summary = "the outbox event router's table; rows that were sent are deleted";
  shape.table = "outbox";
  Columns& c = shape.columns;
  c.id = "id";
  c.key = "aggregateid";
  c.type = "type";
  c.payload = "payload";
  c.destination = "aggregatetype";
  shape.needed = {"id", "key", "type", "payload", "destination"};
  shape.id_header = "id";
  return shape;
}

// MassTransit.EntityFrameworkCoreIntegration, OutboxMessage; its delivery service deletes as well.
// Rows without an OutboxId belong to a consumer, which sends them itself.
Shape masstransit() {
  Shape shape;
  shape.name = "masstransit";
  shape.summary = "MassTransit's OutboxMessage; rows that were sent are deleted";
  shape.table = "OutboxMessage";
  Columns& c = shape.columns;
  c.id = "SequenceNumber";
  c.key = "OutboxId";
  c.type = "MessageType";
  c.payload = "Body";
  c.headers = "Headers";
  c.message_id = "MessageId";
  c.correlation_id = "CorrelationId";
  c.content_type = "ContentType";
  c.destination = "DestinationAddress";
  c.created_at = "SentTime";
  c.expires_at = "ExpirationTime";
  c.not_before = "EnqueueTime";
  shape.needed = {"id", "key", "payload", "message_id"};
  shape.pending = {{"OutboxId", {}}};
  return shape;
}

// DotNetCore.CAP.PostgreSql. Its collector removes what is Succeeded and past ExpiresAt; while a
// row is Delayed, that is when it is to be sent. Content has headers and value in one.
Shape cap() {
  Shape shape;
  shape.name = "cap";
  shape.summary = "CAP's published; rows become Succeeded, or Failed with a dead letter";
  shape.schema = "cap";
  shape.table = "published";
  Columns& c = shape.columns;
  c.id = "Id";
  c.type = "Name";
  c.payload = "Content";
  c.destination = "Name";
  c.created_at = "Added";
  c.not_before = "ExpiresAt";
  c.attempts = "Retries";
  shape.needed = {"id", "type", "payload"};
  shape.pending = {{"StatusName", {"Scheduled", "Delayed"}}};
  shape.wrapping = {"Value", "Headers", "cap-msg-id"};
  shape.done = {{"StatusName", Setting::To::text, "Succeeded"},
                {"ExpiresAt", Setting::To::in_a_day, {}}};
  shape.dead = {{"StatusName", Setting::To::text, "Failed"}};
  return shape;
}

// Wolverine: owner 0 is "any node"; an envelope that was sent is deleted.
Shape wolverine() {
  Shape shape;
  shape.name = "wolverine";
  shape.summary = "Wolverine's outgoing envelopes of no node; rows that were sent are deleted";
  shape.table = "wolverine_outgoing_envelopes";
  Columns& c = shape.columns;
  c.id = "id";
  c.type = "message_type";
  c.payload = "body";
  c.destination = "destination";
  c.correlation_id = "correlation_id";  // earlier versions had these two
  c.content_type = "content_type";
  c.expires_at = "deliver_by";
  c.attempts = "attempts";
  shape.needed = {"id", "payload"};
  shape.pending = {{"owner_id", {"0"}}};
  return shape;
}

Error no_name(std::string_view what, std::string_view name) {
  return {Code::invalid_argument, where,
          std::string(what) + " " + in_quotes(name) +
              " cannot be the name of a column or table in PostgreSQL: it has 1 to 63 bytes"};
}

const Role* find_role(std::string_view name) {
  const auto* found = std::ranges::find(all_roles, name, &Role::name);
  return found == all_roles.end() ? nullptr : found;
}

}  // namespace

std::span<const Role> roles() noexcept {
  return all_roles;
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {own(), debezium(), masstransit(), cap(), wolverine()};
  return all;
}

Result<Shape> find_shape(std::string_view name) {
  const auto found = std::ranges::find(shapes(), name, &Shape::name);
  if (found != shapes().end()) return *found;
  std::vector<std::string_view> names;
  for (const Shape& each : shapes()) names.push_back(each.name);
  return Error{Code::not_found, where, unknown_name("shape", name, names)};
}

bool is_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= longest_name &&
         name.find('\0') == std::string_view::npos && is_utf8(name);
}

Result<void> set_table(Shape& shape, std::string_view table) {
  const auto dot = table.find('.');
  if (dot != std::string_view::npos) {
    const std::string_view schema = table.substr(0, dot);
    if (!is_name(schema)) return no_name("schema", schema);
    shape.schema = schema;
    table.remove_prefix(dot + 1);
  }
  if (!is_name(table)) return no_name("table", table);
  shape.table = table;
  return {};
}

Result<void> set_column(Shape& shape, std::string_view role, std::string_view column) {
  const Role* found = find_role(role);
  if (found == nullptr) {
    std::vector<std::string_view> names;
    for (const Role& each : all_roles) names.push_back(each.name);
    return Error{Code::not_found, where, unknown_name("role of a column", role, names)};
  }
  const bool none = column == "none";
  if (!none && !is_name(column)) return no_name("column", column);
  if (none && (role == "id" || role == "payload")) {
    return Error{Code::invalid_argument, where,
                 "A table without a column for " + in_quotes(role) + " is no outbox"};
  }
  std::erase(shape.needed, std::string(role));
  shape.columns.*(found->column) = none ? "" : column;
  if (!none) shape.needed.emplace_back(role);
  return {};
}

std::string own_table_sql(const Shape& shape) {
  const std::string table = quoted(shape.schema) + "." + quoted(shape.table);
  return "CREATE TABLE " + table +
         " (\n"
         "  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,\n"
         "  event_type text NOT NULL,\n"
         "  key text,\n"
         "  payload jsonb,\n"
         "  headers jsonb,\n"
         "  message_id uuid NOT NULL DEFAULT gen_random_uuid(),\n"
         "  correlation_id text,\n"
         "  created_at timestamptz NOT NULL DEFAULT now(),\n"
         "  not_before timestamptz,\n"
         "  expires_at timestamptz,\n"
         "  attempts integer NOT NULL DEFAULT 0,\n"
         "  due_at timestamptz,\n"
         "  first_attempt_at timestamptz,\n"
         "  last_error text,\n"
         "  trail bytea,\n"
         "  published_at timestamptz,\n"
         "  dead_letter text\n"
         ");\n"
         "CREATE INDEX ON " +
         table + " (id) WHERE published_at IS NULL;\n";
}

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string literal(std::string_view text) {
  // E'' means the same whatever standard_conforming_strings says.
  std::string out = "E'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += c;
    out += c;
  }
  return out + "'";
}

}  // namespace dlo::outbox
