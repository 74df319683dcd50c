#include "dlo/config/entity_section.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "dlo/config/config.h"
#include "dlo/config/section_parts.h"
#include "dlo/config/values.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 8> known = {"title", "source", "type",    "profile",
                                                   "limit", "fields", "payload", "effect"};
constexpr std::array<std::string_view, 5> payload_keys = {"id", "retry_count", "last_retry_at",
                                                          "created_at", "error"};
constexpr std::array<std::string_view, 6> of_effect = {"http",     "sql",    "secret_file",
                                                       "database", "values", "timeout"};
constexpr std::size_t longest_name = 200;
constexpr std::size_t most_kinds = 100;
constexpr std::size_t most_fields = 100;

/// One entry of the section.
class Entry {
 public:
  Entry(const TextEntry& entry, ConfigReading& reading)
      : entry_(entry), path_("entities." + entry.key), reading_(reading) {}

  void read() {
    if (!is_kind_name(entry_.key)) {
      return complain(entry_.value.line,
                      path_ +
                          ": the name of a kind stands in addresses: lower case letters, digits, "
                          "_ and -, a letter first, at most 64.");
    }
    if (!is_map(entry_.value, path_)) return;
    auto& all = reading_.config.entities;
    const auto built_in = std::ranges::find_if(
        all, [&](const EntitySettings& each) { return each.kind.name == entry_.key; });
    made_.kind = built_in == all.end() ? entity_kind(entry_.key) : built_in->kind;
    for (const auto& [name, value] : entry_.value.map) setting(name, value);
    check_effect();
    check_keys();
    made_.kind.has_effect = !made_.effect.kind.empty();
    reading_.config.sections[path_] = entry_.value.line;
    if (built_in == all.end()) {
      all.push_back(std::move(made_));
    } else {
      *built_in = std::move(made_);
    }
  }

 private:
  void complain(std::size_t line, std::string text) {
    reading_.problems.push_back({line, std::move(text)});
  }
  bool is_map(const TextNode& node, const std::string& path) {
    if (node.kind == TextNode::Kind::map) return true;
    complain(node.line, path + " holds settings by name: `name: value`.");
    return false;
  }
  /// A name of at most 200 bytes; empty, and complained of, if it is none.
  std::optional<std::string> name_in(const std::string& path, const TextNode& value) {
    const bool fine = value.kind == TextNode::Kind::scalar && !value.scalar.empty() &&
                      value.scalar.size() <= longest_name;
    if (fine) return value.scalar;
    complain(value.line, path + " takes one value: a name of at most 200 bytes.");
    return std::nullopt;
  }
  std::optional<std::uint64_t> number(const std::string& path, const TextNode& value,
                                      ValueKind kind, std::uint64_t least, std::uint64_t most) {
    return read_bounded(path, value, {kind, least, most}, reading_);
  }

  void setting(const std::string& name, const TextNode& value) {
    const std::string path = path_ + "." + name;
    EntityKind& kind = made_.kind;
    if (name == "fields") {
      kind.fields = names(path, value);
    } else if (name == "payload") {
      payload(path, value);
    } else if (name == "effect") {
      effect(path, value);
    } else if (name == "limit") {
      const auto limit = number(path, value, ValueKind::count, 1, 1'000);
      if (limit) kind.limit = static_cast<std::uint32_t>(*limit);
    } else if (std::ranges::find(known, name) == known.end()) {
      complain(value.line, unknown_name("setting of " + path_, name, known));
    } else if (const auto text = name_in(path, value)) {
      if (name == "title") kind.title = *text;
      if (name == "source") kind.source = *text;
      if (name == "type") kind.event_type = *text;
      if (name == "profile") profile(path, value, *text);
    }
  }

  void profile(const std::string& path, const TextNode& value, const std::string& name) {
    made_.kind.profile = name;
    if (const auto found = reading_.config.rules.find(name); !found) {
      complain(value.line, path + ": " + found.error().detail);
    }
  }

  std::vector<std::string> names(const std::string& path, const TextNode& value) {
    std::vector<std::string> all;
    if (value.kind != TextNode::Kind::list || value.list.size() > most_fields) {
      complain(value.line, path + " is a list of at most 100 names: `[BookingId, Amount]`.");
      return all;
    }
    for (const TextNode& each : value.list) {
      auto name = name_in(path, each);
      if (name && std::ranges::find(all, *name) != all.end()) {
        complain(each.line, path + " names " + in_quotes(*name) + " twice.");
      }
      if (name) all.push_back(std::move(*name));
    }
    return all;
  }

  void payload(const std::string& path, const TextNode& node) {
    if (!is_map(node, path)) return;
    EntityKind& kind = made_.kind;
    const std::array<std::string*, 5> places = {&kind.id_key, &kind.retry_count_key,
                                                &kind.last_retry_key, &kind.created_key,
                                                &kind.error_key};
    for (const auto& [name, value] : node.map) {
      const auto found = std::ranges::find(payload_keys, name);
      if (found == payload_keys.end()) {
        complain(value.line, unknown_name("key of " + path, name, payload_keys));
      } else if (const auto text = name_in(path + "." + name, value)) {
        *places[static_cast<std::size_t>(found - payload_keys.begin())] = *text;
      }
    }
  }

  /// Every key of a payload is there once.
  void check_keys() {
    const EntityKind& kind = made_.kind;
    std::vector<std::string> all = kind.fields;
    for (const std::string& each : {kind.id_key, kind.retry_count_key, kind.last_retry_key,
                                    kind.created_key, kind.error_key}) {
      if (std::ranges::find(all, each) != all.end()) {
        complain(entry_.value.line, path_ + ": the payload of its dead letters would have two " +
                                        in_quotes(each) + ".");
      }
      all.push_back(each);
    }
  }

  void effect(const std::string& path, const TextNode& node) {
    if (!is_map(node, path)) return;
    EffectSettings& into = made_.effect;
    for (const auto& [name, value] : node.map) {
      const std::string place = path + "." + name;
      if (std::ranges::find(of_effect, name) == of_effect.end()) {
        complain(value.line, unknown_name("setting of " + path, name, of_effect));
      } else if (name == "values") {
        into.values = names(place, value);
        for (const std::string& each : into.values) {
          if (std::ranges::find(entity_values, each) != entity_values.end()) continue;
          complain(value.line, place + ": " + unknown_name("value", each, entity_values));
        }
      } else if (name == "timeout") {
        const auto read = number(place, value, ValueKind::duration, 1'000, 600'000);
        if (read) into.timeout = Millis{static_cast<std::int64_t>(*read)};
      } else if (value.kind != TextNode::Kind::scalar || value.scalar.empty()) {
        complain(value.line, place + " takes one value: text.");
      } else if (name == "http" || name == "sql") {
        if (!into.kind.empty()) complain(value.line, path + " is one thing: http or sql.");
        into.kind = name;
        into.target = value.scalar;
      } else {
        (name == "database" ? into.database : into.secret_file) = value.scalar;
      }
    }
    if (into.kind.empty()) {
      complain(node.line, path +
                              " must say how its owner hears of it: `http: URL` or `sql: "
                              "STATEMENT`.");
    }
  }

  void check_effect() {
    const EffectSettings& effect = made_.effect;
    const std::size_t line = entry_.value.line;
    const std::string path = path_ + ".effect";
    if (effect.kind != "http" && !effect.secret_file.empty()) {
      complain(line, path + ".secret_file: only what is sent over HTTP is signed. Take it out.");
    }
    if (effect.kind != "sql" && !(effect.database.empty() && effect.values.empty())) {
      complain(line, path + ": `database` and `values` are for sql. Take them out.");
    }
    const bool in_office = reading_.config.text("office").starts_with("postgres");
    if (effect.kind == "sql" && effect.database.empty() && !in_office) {
      complain(line, path +
                         " needs to know in which database: `database: postgresql://…`, or an "
                         "office that is in one.");
    }
    if (effect.kind == "sql" && effect.values.empty()) {
      complain(line, path +
                         ".values must say what $1, $2, … of the statement are: `values: [id, "
                         "message]`.");
    }
  }

  const TextEntry& entry_;
  const std::string path_;
  ConfigReading& reading_;
  EntitySettings made_;
};

}  // namespace

std::vector<EntitySettings> built_in_entities() {
  return {{payment_kind()}};
}

void read_entities(const TextNode& section, ConfigReading& reading) {
  if (!holds_entries("entities", section, most_kinds, reading)) return;
  for (const TextEntry& each : section.map) Entry(each, reading).read();
}

std::string describe_entity(const std::vector<EntitySettings>& all, const std::string& path) {
  for (const auto& [kind, effect] : all) {
    if (path != "entities." + kind.name) continue;
    return "source " + in_quotes(kind.source) + ", type " + in_quotes(kind.event_type) +
           ", profile " + kind.profile +
           (kind.limit ? ", limit " + std::to_string(*kind.limit) : "") +
           (effect.kind.empty() ? "" : ", owner told by " + effect.kind);
  }
  return "";
}

}  // namespace dlo
