#include <variant>

#include "dlo/json/json.h"
#include "dlo/json/parts.h"
#include "dlo/json/text/value.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

struct FieldWriter {
  JsonWriter& json;
  std::string_view name;

  void operator()(std::monostate) const { json.key(name).null(); }
  void operator()(bool value) const { json.key(name).boolean(value); }
  void operator()(std::int64_t value) const { json.key(name).number(value); }
  void operator()(const std::string& text) const { json.member(name, text); }
  void operator()(const FormBytes& value) const { json.bytes(name, value.bytes); }
  void operator()(const FormJson& value) const { json.embed_or_bytes(name, value.text); }
  void operator()(const FormMember& value) const {
    const auto object = parse_json(value.object);
    const JsonValue* found = object ? object->find(value.name) : nullptr;
    if (found == nullptr || found->kind == JsonKind::null) {
      json.key(name).begin_array().end_array();
    } else {
      json.embed_or_bytes(name, std::string(found->raw));
    }
  }
};

void write_fields(JsonWriter& json, const std::vector<FormField>& fields) {
  json.begin_object();
  for (const FormField& field : fields) std::visit(FieldWriter{json, field.name}, field.value);
  json.end_object();
}

}  // namespace

void write_json(JsonWriter& json, const RenderedForm& form) {
  if (form.headers.empty()) return write_fields(json, form.body);
  json.begin_object();
  write_fields(json.key("headers"), form.headers);
  write_fields(json.key("body"), form.body);
  json.end_object();
}

std::string to_json(const RenderedForm& form) {
  JsonWriter json;
  write_json(json, form);
  return json.take();
}

}  // namespace dlo
