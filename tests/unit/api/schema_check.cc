#include "unit/api/schema_check.h"

#include <algorithm>
#include <array>
#include <regex>
#include <utility>

#include "dlo/core/encoding.h"

namespace dlo::api {
namespace {

constexpr std::array<std::string_view, 23> known = {
    "$ref",      "type",        "properties", "required",    "patternProperties",
    "items",     "enum",        "pattern",    "format",      "additionalProperties",
    "allOf",     "oneOf",       "minimum",    "maximum",     "minLength",
    "maxLength", "minItems",    "maxItems",   "description", "default",
    "title",     "x-each-line", "example"};

bool is_of(std::string_view type, const JsonValue& value) {
  if (type == "integer") {
    return value.kind == JsonKind::number &&
           value.raw.find_first_of(".eE") == std::string_view::npos;
  }
  return name_of(value.kind) == type;
}

std::vector<std::string> texts_of(const JsonValue* value) {
  std::vector<std::string> texts;
  if (value == nullptr) return texts;
  if (value->kind == JsonKind::string) texts.push_back(value->text());
  for (const JsonValue& item : value->items) texts.push_back(item.text());
  return texts;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

/// An object schema with everything that its allOf brings along.
struct Shape {
  std::vector<const JsonValue*> properties;
  std::vector<const JsonValue*> patterns;
  std::vector<std::string> required;
  const JsonValue* others = nullptr;
};

}  // namespace

struct SchemaCheck::Walk {
  const SchemaCheck& check;
  std::vector<std::string>& found;

  void complain(const std::string& place, const std::string& what) const {
    found.push_back((place.empty() ? "the value" : place) + " " + what);
  }

  void gather(const JsonValue& schema, Shape& shape) const {
    const JsonValue& at = check.resolved(schema);
    if (const auto* all = at.find("allOf")) {
      for (const JsonValue& part : all->items) gather(part, shape);
    }
    if (const auto* each = at.find("properties")) shape.properties.push_back(each);
    if (const auto* each = at.find("patternProperties")) shape.patterns.push_back(each);
    if (const auto* each = at.find("additionalProperties")) shape.others = each;
    for (auto& name : texts_of(at.find("required"))) shape.required.push_back(std::move(name));
  }

  [[nodiscard]] static const JsonValue* schema_of(const Shape& shape, const std::string& name) {
    for (const auto* properties : shape.properties) {
      if (const auto* schema = properties->find(name)) return schema;
    }
    for (const auto* patterns : shape.patterns) {
      for (const JsonMember& each : patterns->members) {
        if (std::regex_search(name, std::regex(each.name))) return &each.value;
      }
    }
    const bool open = shape.others != nullptr && shape.others->raw != "false";
    return open ? shape.others : nullptr;
  }

  void object(const JsonValue& schema, const JsonValue& value, const std::string& place) const {
    Shape shape;
    gather(schema, shape);
    for (const auto& name : shape.required) {
      if (value.find(name) == nullptr) complain(place, "lacks the member \"" + name + "\"");
    }
    for (const JsonMember& member : value.members) {
      const std::string inside = (place.empty() ? "" : place + ".") + member.name;
      const JsonValue* described = schema_of(shape, member.name);
      if (described == nullptr) {
        complain(inside, "is not described. Add to the properties of its schema:\n        " +
                             member.name + ": {type: " + std::string(name_of(member.value.kind)) +
                             "}");
      } else if (described->kind == JsonKind::object) {
        walk(*described, member.value, inside);
      }
    }
  }

  void scalar(const JsonValue& at, const JsonValue& value, const std::string& place) const {
    const std::string text = value.text();
    if (const auto* choices = at.find("enum")) {
      const auto allowed = texts_of(choices);
      if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
        complain(place, "is \"" + text + "\", which is none of: " + joined(allowed));
      }
    }
    if (value.kind == JsonKind::string) {
      const auto* pattern = at.find("pattern");
      if (pattern != nullptr && !std::regex_search(text, std::regex(pattern->text()))) {
        complain(place, "is \"" + text + "\", which does not fit " + pattern->text());
      }
      const auto* format = at.find("format");
      if (format != nullptr && format->text() == "date-time" && !parse_iso8601(text)) {
        complain(place, "is \"" + text + "\", which is no time");
      }
    }
    bounds(at, value, place);
  }

  void bounds(const JsonValue& at, const JsonValue& value, const std::string& place) const {
    const auto number = value.to_int64();
    const auto* least = at.find("minimum");
    const auto* most = at.find("maximum");
    if (least != nullptr && number && *number < least->to_int64().value_or(INT64_MIN)) {
      complain(place, "is below " + std::string(least->raw));
    }
    if (most != nullptr && number && *number > most->to_int64().value_or(INT64_MAX)) {
      complain(place, "is above " + std::string(most->raw));
    }
  }

  void choose(const JsonValue& choices, const JsonValue& value, const std::string& place) const {
    std::vector<std::string> closest;
    std::size_t fitting = 0;
    for (const JsonValue& each : choices.items) {
      std::vector<std::string> problems;
      Walk{check, problems}.walk(each, value, place);
      fitting += problems.empty() ? 1 : 0;
      if (closest.empty() || problems.size() < closest.size()) closest = std::move(problems);
    }
    if (fitting == 1) return;
    complain(place, "fits " + std::to_string(fitting) + " of the oneOf, not one");
    found.insert(found.end(), closest.begin(), closest.end());
  }

  void walk(const JsonValue& schema, const JsonValue& value, const std::string& place) const {
    const JsonValue& at = check.resolved(schema);
    for (const JsonMember& keyword : at.members) {
      if (std::find(known.begin(), known.end(), keyword.name) == known.end()) {
        complain(place, "has a schema with the keyword \"" + keyword.name +
                            "\", which schema_check.cc does not know; teach it");
      }
    }
    if (const auto* choices = at.find("oneOf")) return choose(*choices, value, place);
    const auto types = texts_of(at.find("type"));
    if (!types.empty() && std::none_of(types.begin(), types.end(),
                                       [&](const auto& type) { return is_of(type, value); })) {
      return complain(place, "is of type " + std::string(name_of(value.kind)) + " (" +
                                 std::string(value.raw.substr(0, 40)) + "), described as " +
                                 joined(types));
    }
    if (value.kind == JsonKind::object && !types.empty()) return object(schema, value, place);
    if (value.kind != JsonKind::array) return scalar(at, value, place);
    const auto* items = at.find("items");
    if (items == nullptr && !types.empty()) complain(place, "is an array without items");
    if (items == nullptr) return;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      walk(*items, value.items[i], place + "." + std::to_string(i));
    }
  }
};

const JsonValue& SchemaCheck::resolved(const JsonValue& schema) const {
  const auto* reference = schema.find("$ref");
  if (reference == nullptr) return schema;
  const JsonValue* at = &document_;
  std::string rest = reference->text();
  rest.erase(0, std::min<std::size_t>(rest.size(), 2));  // "#/"
  while (at != nullptr && !rest.empty()) {
    const auto slash = std::min(rest.find('/'), rest.size());
    at = at->find(rest.substr(0, slash));
    rest.erase(0, slash + 1);
  }
  return at == nullptr ? schema : resolved(*at);
}

std::vector<std::string> SchemaCheck::complaints(const JsonValue& schema,
                                                 const JsonValue& value) const {
  std::vector<std::string> found;
  Walk{*this, found}.walk(schema, value, "");
  return found;
}

}  // namespace dlo::api
