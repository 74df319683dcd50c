#include "dlo/api/report_template.h"

#include "dlo/json/text/value.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

void write(JsonWriter& json, const TextNode& node) {
  switch (node.kind) {
    case TextNode::Kind::map:
      json.begin_object();
      for (const auto& [key, value] : node.map) {
        json.key(key);
        write(json, value);
      }
      json.end_object();
      return;
    case TextNode::Kind::list:
      json.begin_array();
      for (const TextNode& each : node.list) write(json, each);
      json.end_array();
      return;
    case TextNode::Kind::scalar:
      break;
  }
  const auto parsed = parse_json(node.scalar);
  const bool plain = !node.quoted && parsed && parsed->raw == node.scalar &&
                     (parsed->kind == JsonKind::number || parsed->kind == JsonKind::boolean ||
                      parsed->kind == JsonKind::null);
  if (plain) {
    json.raw(node.scalar);
  } else {
    json.text(node.scalar);
  }
}

}  // namespace

std::string json_of(const TextNode& node) {
  JsonWriter json;
  write(json, node);
  return json.take();
}

std::string metadata_by(const std::string& name, const TextNode& metadata,
                        const std::string& reported) {
  const auto said = reported.empty() ? Result<JsonValue>(JsonValue{}) : parse_json(reported);
  if (!said || (!reported.empty() && said->kind != JsonKind::object)) return reported;
  JsonWriter json;
  json.begin_object();
  bool named = said->find("template") != nullptr;
  for (const auto& [key, value] : metadata.map) {
    named = named || key == "template";
    if (said->find(key) == nullptr) json.key(key).raw(json_of(value));
  }
  if (!named) json.key("template").text(name);
  for (const JsonMember& member : said->members) json.key(member.name).raw(member.value.raw);
  json.end_object();
  return json.take();
}

}  // namespace dlo::api
