#include "dlo/repair/schema.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "dlo/core/spelling.h"
#include "dlo/json/text/scanner.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 19> words = {
    "type",    "enum",     "const",    "properties", "required",    "additionalProperties",
    "items",   "minItems", "maxItems", "minLength",  "maxLength",   "minimum",
    "maximum", "$schema",  "$id",      "title",      "description", "examples",
    "default"};
constexpr std::array<std::string_view, 6> notes = {"$schema",     "$id",      "title",
                                                   "description", "examples", "default"};
constexpr std::array<std::string_view, 7> types = {"null",   "boolean", "number", "integer",
                                                   "string", "array",   "object"};

Error refusal(const std::string& place, const std::string& what) {
  return {Code::invalid_argument, "repair.schema",
          "the schema" + (place.empty() ? "" : " at " + in_quotes(place)) + " " + what};
}

std::string text_of(const JsonTree& tree) {
  return tree.kind == JsonKind::string ? json_unescape(tree.scalar) : std::string();
}
const JsonTree* word(const JsonTree& schema, const char* name) {
  return find(schema, {name});
}
double number_of(const JsonTree& tree) {
  double value = 0;
  std::from_chars(tree.scalar.data(), tree.scalar.data() + tree.scalar.size(), value);
  return value;
}
bool is_schema(const JsonTree& tree) {
  return tree.kind == JsonKind::object || tree.kind == JsonKind::boolean;
}

Result<void> check_type_word(const JsonTree& type, const std::string& place) {
  const auto known = [](const JsonTree& each) {
    return std::find(types.begin(), types.end(), text_of(each)) != types.end();
  };
  const bool fine = type.kind == JsonKind::array
                        ? std::all_of(type.items.begin(), type.items.end(), known)
                        : known(type);
  if (fine) return {};
  return refusal(place,
                 "has an unknown \"type\": null, boolean, number, integer, string, array "
                 "and object there are");
}

/// Whether every word has the kind of value that it needs.
Result<void> check_values(const JsonTree& schema, const std::string& place) {
  if (const JsonTree* type = word(schema, "type")) {
    if (auto fine = check_type_word(*type, place); !fine) return fine;
  }
  for (const char* name : {"enum", "required"}) {
    const JsonTree* list = word(schema, name);
    if (list != nullptr && list->kind != JsonKind::array) {
      return refusal(place, std::string("needs an array under \"") + name + "\"");
    }
  }
  for (const char* name :
       {"minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"}) {
    const JsonTree* number = word(schema, name);
    if (number != nullptr && number->kind != JsonKind::number) {
      return refusal(place, std::string("needs a number under \"") + name + "\"");
    }
  }
  return {};
}

Result<void> check_schema(const JsonTree& schema, const std::string& place) {
  if (schema.kind == JsonKind::boolean) return {};
  if (schema.kind != JsonKind::object) return refusal(place, "must be an object");
  for (const auto& [name, value] : schema.members) {
    if (std::find(words.begin(), words.end(), name) == words.end()) {
      return refusal(place, "uses " + in_quotes(name) +
                                ", which is not checked here; see docs/api.md "
                                "for the words that are");
    }
  }
  if (auto fine = check_values(schema, place); !fine) return fine;
  for (const char* name : {"items", "additionalProperties"}) {
    const JsonTree* inner = word(schema, name);
    if (inner == nullptr) continue;
    if (!is_schema(*inner)) return refusal(place, std::string("needs a schema under ") + name);
    if (auto fine = check_schema(*inner, place + "/" + name); !fine) return fine;
  }
  const JsonTree* properties = word(schema, "properties");
  if (properties == nullptr) return {};
  if (properties->kind != JsonKind::object) return refusal(place, "needs an object of properties");
  for (const auto& [name, inner] : properties->members) {
    if (auto fine = check_schema(inner, place + "/properties/" + name); !fine) return fine;
  }
  return {};
}

std::size_t code_points(const JsonTree& text) {
  const std::string said = json_unescape(text.scalar);
  return static_cast<std::size_t>(std::count_if(said.begin(), said.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

bool is_of_type(const JsonTree& value, const std::string& type) {
  if (type == "integer") {
    return value.kind == JsonKind::number && value.scalar.find_first_of(".eE") == std::string::npos;
  }
  return name_of(value.kind) == type;
}

class Checker {
 public:
  explicit Checker(std::vector<SchemaComplaint>& out) : out_(out) {}

  void check(const JsonTree& schema, const JsonTree& value) {
    if (schema.kind == JsonKind::boolean) {
      if (schema.scalar == "false") complain("must not be there");
      return;
    }
    if (!check_type(schema, value)) return;
    check_choice(schema, value);
    check_size(schema, value);
    if (value.kind == JsonKind::object) check_object(schema, value);
    if (value.kind == JsonKind::array) check_array(schema, value);
  }

 private:
  void complain(const std::string& what, bool of_value = false) {
    if (out_.size() == JsonSchema::most_complaints) return;
    const std::string place = steps_.empty() ? std::string("the payload") : pointer_of(steps_);
    out_.push_back({place + " " + what, steps_, of_value});
  }

  bool check_type(const JsonTree& schema, const JsonTree& value) {
    const JsonTree* type = word(schema, "type");
    if (type == nullptr) return true;
    std::string wanted;
    const std::vector<JsonTree> one{*type};
    for (const JsonTree& each : type->kind == JsonKind::array ? type->items : one) {
      if (is_of_type(value, text_of(each))) return true;
      wanted += (wanted.empty() ? "" : " or ") + text_of(each);
    }
    complain("is " + std::string(name_of(value.kind)) + ", not " + wanted);
    return false;
  }

  void check_choice(const JsonTree& schema, const JsonTree& value) {
    const JsonTree* choices = word(schema, "enum");
    const auto is_it = [&](const JsonTree& each) { return same(each, value); };
    if (choices != nullptr && std::none_of(choices->items.begin(), choices->items.end(), is_it)) {
      complain("is none of " + print_tree(*choices).substr(0, 200), true);
    }
    const JsonTree* only = word(schema, "const");
    if (only != nullptr && !same(*only, value)) {
      complain("is not " + print_tree(*only).substr(0, 200), true);
    }
  }

  void at_least(const JsonTree& schema, const char* name, double value, const char* what) {
    const JsonTree* bound = word(schema, name);
    if (bound != nullptr && value < number_of(*bound)) {
      complain(std::string(what) + " less than " + bound->scalar);
    }
  }
  void at_most(const JsonTree& schema, const char* name, double value, const char* what) {
    const JsonTree* bound = word(schema, name);
    if (bound != nullptr && value > number_of(*bound)) {
      complain(std::string(what) + " more than " + bound->scalar);
    }
  }

  void check_size(const JsonTree& schema, const JsonTree& value) {
    if (value.kind == JsonKind::number) {
      at_least(schema, "minimum", number_of(value), "is");
      at_most(schema, "maximum", number_of(value), "is");
    } else if (value.kind == JsonKind::string) {
      const auto length = static_cast<double>(code_points(value));
      at_least(schema, "minLength", length, "has");
      at_most(schema, "maxLength", length, "has");
    } else if (value.kind == JsonKind::array) {
      const auto size = static_cast<double>(value.items.size());
      at_least(schema, "minItems", size, "holds");
      at_most(schema, "maxItems", size, "holds");
    }
  }

  void check_object(const JsonTree& schema, const JsonTree& value) {
    if (const JsonTree* required = word(schema, "required")) {
      for (const JsonTree& name : required->items) {
        if (find(value, {text_of(name)}) == nullptr) {
          complain("has no member " + in_quotes(text_of(name)));
        }
      }
    }
    const JsonTree* properties = word(schema, "properties");
    const JsonTree* others = word(schema, "additionalProperties");
    for (const auto& [name, inner] : value.members) {
      const JsonTree* known = properties == nullptr ? nullptr : find(*properties, {name});
      const JsonTree* rule = known != nullptr ? known : others;
      if (rule != nullptr) inside(name, *rule, inner);
    }
  }

  void check_array(const JsonTree& schema, const JsonTree& value) {
    const JsonTree* rule = word(schema, "items");
    if (rule == nullptr) return;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      inside(std::to_string(i), *rule, value.items[i]);
    }
  }

  void inside(const std::string& step, const JsonTree& schema, const JsonTree& value) {
    steps_.push_back(step);
    check(schema, value);
    steps_.pop_back();
  }

  std::vector<SchemaComplaint>& out_;
  std::vector<std::string> steps_;
};

bool has_rules(const JsonTree& schema) {
  return std::any_of(schema.members.begin(), schema.members.end(), [](const JsonTreeMember& each) {
    return std::find(notes.begin(), notes.end(), each.name) == notes.end();
  });
}

bool looks_at_steps(const JsonTree& schema, const std::vector<std::string>& steps,
                    std::size_t depth) {
  if (schema.kind != JsonKind::object) return false;
  if (depth == steps.size()) return has_rules(schema);
  if (word(schema, "const") != nullptr || word(schema, "enum") != nullptr) return true;
  const JsonTree* properties = word(schema, "properties");
  const JsonTree* named = properties == nullptr ? nullptr : find(*properties, {steps[depth]});
  const JsonTree* member = named != nullptr ? named : word(schema, "additionalProperties");
  for (const JsonTree* inner : {member, word(schema, "items")}) {
    if (inner != nullptr && looks_at_steps(*inner, steps, depth + 1)) return true;
  }
  return false;
}

}  // namespace

Result<JsonSchema> JsonSchema::parse(std::string_view text) {
  auto tree = parse_tree(text);
  if (!tree) return tree.error();
  if (auto fine = check_schema(*tree, ""); !fine) return fine.error();
  return JsonSchema(std::move(*tree));
}

bool JsonSchema::looks_at(const std::vector<std::string>& steps) const {
  return looks_at_steps(tree_, steps, 0);
}

std::vector<SchemaComplaint> JsonSchema::check(std::string_view payload) const {
  std::vector<SchemaComplaint> complaints;
  const auto tree = parse_tree(payload);
  if (!tree) return {{"the payload cannot be read: " + tree.error().detail, {}, true}};
  Checker(complaints).check(tree_, *tree);
  return complaints;
}

}  // namespace dlo
