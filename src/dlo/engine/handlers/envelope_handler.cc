#include "dlo/engine/handlers/envelope_handler.h"

#include <string_view>

#include "dlo/core/retry_request.h"
#include "dlo/core/spelling.h"
#include "dlo/json/text/value.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

bool is_targets(const Header& header) {
  return ascii_lower(header.name) == targets_header;
}

/// JSON text of the targets; an empty list if there are none.
std::string targets_in(const Message& task) {
  const Header* const carried = find_header(task.headers, targets_header);
  if (carried == nullptr || !parse_json(carried->value)) return "[]";
  return carried->value;
}

void write_metadata(JsonWriter& json, const std::string& metadata) {
  const auto parsed = parse_json(metadata);
  if (!parsed || parsed->kind != JsonKind::object) {
    json.embed("metadata", metadata.empty() ? "{}" : metadata);
    return;
  }
  json.key("metadata").begin_object();
  for (const JsonMember& member : parsed->members) {
    if (member.name != "targets") json.key(member.name).raw(member.value.raw);
  }
  json.end_object();
}

}  // namespace

std::string envelope_of(const Message& task, const RunContext& context) {
  JsonWriter json;
  json.begin_object().member("task_id", task.id);
  if (task.payload && parse_json(*task.payload)) {
    json.key("task").raw(*task.payload);
  } else {
    json.bytes("task", task.payload);
  }
  json.key("targets").raw(targets_in(task));
  write_metadata(json, context.metadata);
  json.member("attempt", std::uint64_t{context.counters.attempt});
  json.end_object();
  return json.take();
}

Outcome EnvelopeHandler::run(const Message& message, const RunContext& context) {
  Message enveloped = message;
  enveloped.payload = envelope_of(message, context);
  enveloped.content_type = "application/json";
  std::erase_if(enveloped.headers, is_targets);  // they are inside, whatever their size
  return inner_->run(enveloped, context);
}

}  // namespace dlo
