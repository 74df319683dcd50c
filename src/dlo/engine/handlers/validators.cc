#include "dlo/engine/handlers/validators.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "dlo/core/spelling.h"
#include "dlo/engine/handlers/failures.h"
#include "dlo/json/text/value.h"

namespace dlo {

namespace {

constexpr std::string_view event_type_header = "event-type";
constexpr std::size_t most_named = 10;

constexpr std::array<std::string_view, 7> type_names{"any",     "string", "number", "integer",
                                                     "boolean", "array",  "object"};

Failure failure(std::string_view type, std::string_view code, std::string text) {
  Failure out;
  out.type = type;
  out.code = code;
  out.text = std::move(text);
  return out;
}

std::string_view event_type_of(const Message& message) noexcept {
  if (!message.event_type.empty()) return message.event_type;
  const Header* header = find_header(message.headers, event_type_header);
  return header == nullptr ? std::string_view() : std::string_view(header->value);
}

std::string present_headers(const Message& message) {
  if (message.headers.empty()) return "it has no headers at all";
  std::string out = "it has ";
  for (std::size_t i = 0; i < std::min(message.headers.size(), most_named); ++i) {
    out += (i > 0 ? ", " : "") + in_quotes(message.headers[i].name);
  }
  return out + (message.headers.size() > most_named ? ", ..." : "");
}

class HeaderValidator final : public Validator {
 public:
  explicit HeaderValidator(std::vector<std::string> names) : names_(std::move(names)) {}
  [[nodiscard]] Stage stage() const noexcept override { return Stage::header; }

  [[nodiscard]] std::optional<Failure> check(const Message& message) const override {
    for (const std::string& name : names_) {
      const bool is_event_type = ascii_lower(name) == event_type_header;
      if (is_event_type && !event_type_of(message).empty()) continue;
      const Header* header = find_header(message.headers, name);
      if (header != nullptr && header->type != HeaderType::null && !header->value.empty()) continue;
      return failure(
          is_event_type ? failure_type::missing_event_type : failure_type::missing_header,
          "missing_header",
          "the message has no " + in_quotes(name) + " header; " + present_headers(message) +
              ". Its publisher must set it");
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string> names_;
};

bool is_integer(std::string_view number) noexcept {
  return number.find_first_of(".eE") == std::string_view::npos;
}

bool has_type(const JsonFound& found, FieldType type) noexcept {
  switch (type) {
    case FieldType::any:
      return true;
    case FieldType::string:
      return found.kind == JsonKind::string;
    case FieldType::number:
      return found.kind == JsonKind::number;
    case FieldType::integer:
      return found.kind == JsonKind::number && is_integer(found.raw);
    case FieldType::boolean:
      return found.kind == JsonKind::boolean;
    case FieldType::array:
      return found.kind == JsonKind::array;
    case FieldType::object:
      return found.kind == JsonKind::object;
  }
  return false;
}

std::string with_article(std::string_view type) {
  const bool vowel = std::string_view("aeiou").find(type.front()) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(type);
}

/// Field rules with their paths parsed.
class Fields {
 public:
  static Result<Fields> make(const std::vector<FieldRule>& rules) {
    Fields out;
    for (const FieldRule& rule : rules) {
      auto path = JsonPath::parse(rule.path);
      if (!path) return std::move(path).error();
      out.rules_.push_back({std::move(*path), rule.type, rule.event_type});
    }
    return out;
  }

  /// Calls `judge(path, type, found)` for each rule that applies to the message.
  template <typename Judge>
  void each(const Message& message, std::size_t deepest, const Judge& judge) const {
    const std::string_view type = event_type_of(message);
    std::vector<JsonPath> paths;
    std::vector<FieldType> types;
    for (const Rule& rule : rules_) {
      if (!rule.event_type.empty() && rule.event_type != type) continue;
      paths.push_back(rule.path);
      types.push_back(rule.type);
    }
    if (paths.empty()) return;
    const auto found = find_paths(*message.payload, paths, deepest);
    for (std::size_t i = 0; i < paths.size(); ++i) judge(paths[i].text, types[i], found[i]);
  }

 private:
  struct Rule {
    JsonPath path;
    FieldType type;
    std::string event_type;
  };
  std::vector<Rule> rules_;
};

class JsonValidator final : public Validator {
 public:
  JsonValidator(JsonRules rules, Fields fields)
      : rules_(std::move(rules)), fields_(std::move(fields)) {}
  [[nodiscard]] Stage stage() const noexcept override { return Stage::decode; }

  [[nodiscard]] std::optional<Failure> check(const Message& message) const override {
    if (!message.payload) {
      if (rules_.null_payload) return std::nullopt;
      return failure(failure_type::json, "invalid_json", "the message has no payload");
    }
    if (const auto mistake = json_mistake(*message.payload, rules_.deepest)) {
      return failure(failure_type::json, "invalid_json", "the payload is not JSON: " + *mistake);
    }
    std::optional<Failure> out;
    fields_.each(message, rules_.deepest,
                 [&out](const std::string& path, FieldType type, const JsonFound& found) {
                   const bool absent = !found.kind || found.kind == JsonKind::null;
                   if (out || absent || has_type(found, type)) return;
                   out =
                       failure(failure_type::json, "json_type",
                               "the payload's " + path + " must be " + with_article(name_of(type)) +
                                   ", but is " + with_article(name_of(*found.kind)));
                 });
    return out;
  }

 private:
  JsonRules rules_;
  Fields fields_;
};

class SchemaValidator final : public Validator {
 public:
  explicit SchemaValidator(Fields fields) : fields_(std::move(fields)) {}
  [[nodiscard]] Stage stage() const noexcept override { return Stage::schema; }

  [[nodiscard]] std::optional<Failure> check(const Message& message) const override {
    if (!message.payload || json_mistake(*message.payload, deepest)) {
      return failure(failure_type::schema, "schema",
                     "the payload is not JSON, so it cannot have the fields its schema asks for");
    }
    std::string wrong;
    fields_.each(message, deepest,
                 [&wrong](const std::string& path, FieldType type, const JsonFound& found) {
                   const bool absent = !found.kind || found.kind == JsonKind::null;
                   if (!absent && has_type(found, type)) return;
                   wrong += wrong.empty() ? "" : "; ";
                   wrong += absent ? path + " is missing"
                                   : path + " must be " + with_article(name_of(type)) +
                                         ", but is " + with_article(name_of(*found.kind));
                 });
    if (wrong.empty()) return std::nullopt;
    const std::string_view type = event_type_of(message);
    return failure(failure_type::schema, "schema",
                   "the payload" + (type.empty() ? std::string() : " of " + in_quotes(type)) +
                       " violates its schema: " + wrong);
  }

 private:
  /// The decode stage has its own bound; here anything that can be scanned will do.
  static constexpr std::size_t deepest = 10'000;
  Fields fields_;
};

}  // namespace

std::string_view name_of(FieldType type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < type_names.size() ? type_names[index] : "any";
}

Result<FieldType> parse_field_type(std::string_view name) {
  const auto* found = std::find(type_names.begin(), type_names.end(), name);
  if (found != type_names.end()) return static_cast<FieldType>(found - type_names.begin());
  return Error{Code::invalid_argument, "validators.field",
               unknown_name("field type", name, type_names)};
}

std::shared_ptr<const Validator> require_headers(std::vector<std::string> names) {
  return std::make_shared<HeaderValidator>(std::move(names));
}

Result<std::shared_ptr<const Validator>> require_json(JsonRules rules) {
  auto fields = Fields::make(rules.fields);
  if (!fields) return std::move(fields).error();
  return std::shared_ptr<const Validator>(
      std::make_shared<JsonValidator>(std::move(rules), std::move(*fields)));
}

Result<std::shared_ptr<const Validator>> require_fields(std::vector<FieldRule> fields) {
  auto parsed = Fields::make(fields);
  if (!parsed) return std::move(parsed).error();
  return std::shared_ptr<const Validator>(std::make_shared<SchemaValidator>(std::move(*parsed)));
}

}  // namespace dlo
