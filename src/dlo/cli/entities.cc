#include "dlo/cli/entities.h"

#include <ostream>
#include <utility>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

std::string path_of(const EntityArguments& arguments, const char* act = nullptr) {
  Address address("/v1/entities");
  address.step(arguments.kind).step(arguments.id);
  if (act != nullptr) address.step(act);
  return address.text();
}

void write_errors(JsonWriter& json, const EntityArguments& arguments) {
  if (arguments.error) json.member("error", *arguments.error);
  if (arguments.error_type) json.member("error_type", *arguments.error_type);
}

void line(Context& context, const char* name, const std::string& value) {
  if (value.empty()) return;
  std::string label(name);
  label.resize(12, ' ');
  context.out << label << printable(value) << "\n";
}

std::string effect_text(const JsonValue& effect) {
  const std::string state = text_of(effect, "state");
  const std::string why = text_of(effect, "why");
  if (state.empty() || why.empty()) return state;
  return state + " after " + text_of(effect, "tries") + " tries: " + why;
}

void print_entity(Context& context, const JsonValue& entity) {
  print_one(context, entity, "id", [&] {
    line(context, text_of(entity, "kind").c_str(), text_of(entity, "id"));
    line(context, "status", text_of(entity, "status"));
    line(context, "retries",
         text_of(entity, "retry_count") + " of " + text_of(entity, "max_retries"));
    line(context, "message", text_of(entity, "message"));
    const std::string error = text_of(entity, "error");
    if (error != text_of(entity, "message")) line(context, "error", error);
    line(context, "reason", text_of(entity, "reason"));
    line(context, "dead letter", text_of(entity, "dead_letter"));
    line(context, "owner told", effect_text(member(entity, "effect")));
    line(context, "created", text_of(entity, "created_at"));
    line(context, "last retry", text_of(entity, "last_retry_at"));
    line(context, "updated", text_of(entity, "updated_at"));
    line(context, "data", std::string(member(entity, "data").raw));
  });
}

/// Asks and prints the entity; `then` makes the exit code of it.
int ask_and_print(Context& context, const Ask& ask) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, ask);
  if (!reply) return refuse(context, reply.error());
  print_entity(context, reply->value);
  const JsonValue* allowed = reply->value.find("retry");
  return allowed != nullptr && allowed->raw != "true" ? exit_error : exit_ok;
}

}  // namespace

int entity_list(Context& context, const EntityListArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  Address address("/v1/entities");
  address.step(arguments.kind);
  const auto reply =
      ask_for(**client, {"GET", address.with("limit", std::to_string(arguments.limit))
                                    .with_some("status", arguments.status)
                                    .with_some("cursor", arguments.cursor)
                                    .text()});
  if (!reply) return refuse(context, reply.error());
  const auto& entities = member(reply->value, "entities").items;
  print_items(context, *reply, entities, "id", [&] {
    Table table({{"ID"},
                 {"STATUS", Align::left, false, colour_of_status},
                 {"RETRIES"},
                 {"UPDATED"},
                 {"OWNER TOLD"},
                 {"MESSAGE", Align::left, true}});
    for (const JsonValue& each : entities) {
      table.add({text_of(each, "id"), text_of(each, "status"),
                 text_of(each, "retry_count") + " of " + text_of(each, "max_retries"),
                 when(context, time_of(each, "updated_at")),
                 text_of(member(each, "effect"), "state"), text_of(each, "message")});
    }
    return table;
  });
  const std::string next = text_of(reply->value, "next");
  if (entities.empty() && next.empty()) context.err << "There are none.\n";
  if (!next.empty()) context.err << "More: add --cursor " << next << "\n";
  return entities.empty() ? exit_nothing_matched : exit_ok;
}

int entity_show(Context& context, const EntityArguments& arguments) {
  return ask_and_print(context, {"GET", path_of(arguments)});
}

int entity_register(Context& context, const EntityArguments& arguments) {
  JsonWriter json;
  json.begin_object();
  write_errors(json, arguments);
  if (!arguments.created_at.empty()) json.member("created_at", arguments.created_at);
  if (!arguments.data.empty()) {
    if (const auto read = parse_json(arguments.data); !read) {
      return refuse(context, {Code::invalid_argument, "cli.entity",
                              "--json is not JSON: " + read.error().detail});
    }
    json.key("data").raw(arguments.data);
  }
  return ask_and_print(context, {"PUT", path_of(arguments), json.end_object().take()});
}

int entity_retry(Context& context, const EntityArguments& arguments) {
  JsonWriter json;
  json.begin_object();
  write_errors(json, arguments);
  return ask_and_print(context, {"POST", path_of(arguments, "retries"), json.end_object().take()});
}

int entity_reopen(Context& context, const EntityArguments& arguments) {
  JsonWriter json;
  json.begin_object();
  if (!arguments.notes.empty()) json.member("notes", arguments.notes);
  return ask_and_print(context, {"POST", path_of(arguments, "reopen"), json.end_object().take()});
}

int entity_effect(Context& context, const EntityArguments& arguments) {
  return ask_and_print(context, {"POST", path_of(arguments, "effect"), "{}"});
}

int entity_remove(Context& context, const EntityArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"DELETE", path_of(arguments)});
  if (!reply) return refuse(context, reply.error());
  print_done(context, reply->value, arguments.id, [&] {
    context.out << printable(arguments.kind) << " " << printable(arguments.id) << " is removed\n";
  });
  return exit_ok;
}

}  // namespace dlo::cli
