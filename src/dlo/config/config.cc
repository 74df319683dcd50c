#include "dlo/config/config.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "dlo/config/rule_sections.h"
#include "dlo/core/sha256.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

/// Variables that begin like settings and are none: of the client, of our tests, and those that
/// container platforms set for a service that is called dlo.
constexpr std::array<std::string_view, 14> not_settings = {
    "DLO_SERVER",       "DLO_TOKEN_FILE",   "DLO_CA_FILE",  "DLO_TOKEN",       "DLO_REQUIRE",
    "DLO_CONFIG",       "DLO_SOAK",         "DLO_PATIENCE", "DLO_SABOTAGE",    "DLO_MODEL_SEEDS",
    "DLO_SOAK_SECONDS", "DLO_CRASH_ROUNDS", "DLO_PORT",     "DLO_SERVICE_HOST"};
constexpr std::array<std::string_view, 2> not_setting_prefixes = {"DLO_PORT_", "DLO_SERVICE_PORT"};

constexpr std::string_view old_prefix = "MAHAVISHNU_";

bool is_setting_variable(std::string_view name) {
  if (name.starts_with("MAHAVISHNU_DLQ_")) return true;
  if (!name.starts_with("DLO_")) return false;
  if (std::find(not_settings.begin(), not_settings.end(), name) != not_settings.end()) return false;
  return std::none_of(not_setting_prefixes.begin(), not_setting_prefixes.end(),
                      [&](std::string_view each) { return name.starts_with(each); });
}

/// A flag in the environment as the program of document 002 reads it; what that refuses stays.
std::string old_flag(const std::string& text) {
  const std::string word = ascii_lower(text);
  for (const char* yes : {"true", "t", "yes", "y", "on", "1"}) {
    if (word == yes) return "true";
  }
  for (const char* no : {"false", "f", "no", "n", "off", "0"}) {
    if (word == no) return "false";
  }
  return text;
}

struct Found {
  std::size_t key = 0;
  OldName old{};  // empty: it goes by its own name
};

std::string old_variable(std::string_view old_name) {
  return std::string(old_prefix) + variable_of(old_name).substr(4);
}

/// `name` as it may be spelt in `place`, by our names and by old ones.
template <typename Ours, typename Old>
std::optional<Found> find(std::string_view name, Ours ours, Old old_form) {
  const auto& keys = config_keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (ours(keys[i].path) == name) return Found{i, {}};
    for (const OldName& old : keys[i].old_names) {
      if (old_form(old.name) == name) return Found{i, old};
    }
  }
  return std::nullopt;
}

std::optional<Found> find_in_file(std::string_view path) {
  const auto same = [](std::string_view each) { return std::string(each); };
  return find(path, same, same);
}

std::optional<Found> find_variable(std::string_view name) {
  return find(name, variable_of, [](std::string_view old) {
    return old.starts_with("dlq_") ? old_variable(old) : std::string();
  });
}

class Reader {
 public:
  Reader(const ConfigInput& input, ConfigReading& reading) : input_(input), reading_(reading) {}

  void run() {
    YamlReading yaml = read_yaml(input_.file);
    reading_.problems = std::move(yaml.problems);
    walk(yaml.root, "");
    for (const auto& [name, value] : input_.environment) {
      if (is_setting_variable(name)) variable(name, value);
    }
    check_pairs();
    read_rule_sections(sections_, input_.regex, reading_);
    std::stable_sort(reading_.problems.begin(), reading_.problems.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
  }

 private:
  void complain(std::size_t line, std::string text) {
    reading_.problems.push_back({line, std::move(text)});
  }

  /// Settings that mean nothing without each other.
  void check_pairs() {
    const Config& config = reading_.config;
    const bool certificate = !config.text("tls.certificate").empty();
    if (certificate == !config.text("tls.key").empty()) return;
    const char* given = certificate ? "tls.certificate" : "tls.key";
    complain(config.origin(given).line, std::string(given) + " needs " +
                                            (certificate ? "tls.key" : "tls.certificate") +
                                            " beside it.");
  }

  void walk(const TextNode& node, const std::string& prefix) {
    for (const auto& [key, value] : node.map) {
      const std::string path = prefix + key;
      if (prefix.empty() && is_rule_section(key)) {
        sections_.push_back({key, value});
      } else if (const auto found = find_in_file(path)) {
        from_file(*found, path, value);
      } else if (is_section(path) && value.kind == TextNode::Kind::map) {
        walk(value, path + ".");
      } else if (is_section(path)) {
        complain(value.line, path + " holds settings by name, not a value.");
      } else {
        unknown(path, prefix, value.line);
      }
    }
  }

  static bool is_section(const std::string& path) {
    const auto& keys = config_keys();
    const std::string start = path + ".";
    return std::any_of(keys.begin(), keys.end(), [&](const ConfigKey& each) {
      return each.path.starts_with(start) ||
             std::any_of(each.old_names.begin(), each.old_names.end(),
                         [&](const OldName& old) { return old.name.starts_with(start); });
    });
  }

  /// Names that could stand where this one does.
  static std::vector<std::string> names_beside(const std::string& prefix) {
    std::vector<std::string> names;
    if (prefix.empty()) {
      for (const auto section : rule_sections) names.emplace_back(section);
    }
    const auto add = [&](std::string_view path) {
      if (!path.starts_with(prefix)) return;
      const std::string rest(path.substr(prefix.size()));
      const std::string name = rest.substr(0, rest.find('.'));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const ConfigKey& key : config_keys()) {
      add(key.path);
      if (prefix.empty()) continue;
      for (const OldName& old : key.old_names) add(old.name);
    }
    return names;
  }

  void unknown(const std::string& path, const std::string& prefix, std::size_t line) {
    const auto names = names_beside(prefix);
    const std::vector<std::string_view> valid(names.begin(), names.end());
    const std::string what =
        prefix.empty() ? "setting" : "setting of " + prefix.substr(0, prefix.size() - 1);
    complain(line, unknown_name(what, std::string_view(path).substr(prefix.size()), valid));
  }

  /// A list of scalars as one text; nothing if it is something else.
  static std::optional<std::string> joined(const TextNode& value) {
    std::string text;
    for (const TextNode& each : value.list) {
      if (each.kind != TextNode::Kind::scalar) return std::nullopt;
      text += (text.empty() ? "" : ", ") + each.scalar;
    }
    return text;
  }

  void from_file(const Found& found, const std::string& path, TextNode value) {
    const ConfigKey& key = config_keys()[found.key];
    if (key.kind == ValueKind::places && value.kind == TextNode::Kind::list) {
      if (auto text = joined(value)) {
        value.kind = TextNode::Kind::scalar;
        value.scalar = std::move(*text);
      }
    }
    if (value.kind != TextNode::Kind::scalar) {
      return complain(value.line,
                      path + " takes one value: " + std::string(name_of(key.kind)) + ".");
    }
    const ConfigOrigin& before = reading_.config.origin(key.path);
    if (before.kind == ConfigOrigin::Kind::file) {
      return complain(value.line, path + " and line " + std::to_string(before.line) + " both set " +
                                      std::string(key.path) + ". Keep one of them.");
    }
    take(found, value.scalar, {ConfigOrigin::Kind::file, value.line, std::string(found.old.name)});
  }

  void variable(const std::string& name, const std::string& value) {
    const auto found = find_variable(name);
    if (!found) return unknown_variable(name);
    const ConfigKey& key = config_keys()[found->key];
    const ConfigOrigin before = reading_.config.origin(key.path);
    if (before.kind == ConfigOrigin::Kind::environment) {
      const bool ours = found->old.name.empty();
      reading_.warnings.push_back({0, (ours ? name : before.name) + " wins over " +
                                          (ours ? before.name : name) + ": both set " +
                                          std::string(key.path) + "."});
      if (!ours) return;
    }
    const bool loose = key.kind == ValueKind::flag && !found->old.name.empty();
    take(*found, loose ? old_flag(value) : value, {ConfigOrigin::Kind::environment, 0, name});
  }

  void unknown_variable(const std::string& name) {
    std::vector<std::string> names;
    for (const ConfigKey& key : config_keys()) names.push_back(variable_of(key.path));
    const std::vector<std::string_view> valid(names.begin(), names.end());
    const std::string_view close = nearest(name, valid);
    complain(0, "environment: " + in_quotes(name) + " is not a setting" +
                    (close.empty() ? "" : "; did you mean " + std::string(close) + "?") +
                    (close.empty() ? ". `dlo config keys` lists them." : ""));
  }

  void take(const Found& found, const std::string& text, ConfigOrigin origin) {
    const ConfigKey& key = config_keys()[found.key];
    std::string place;  // where people have to look, if it is not under the setting's own name
    if (origin.kind == ConfigOrigin::Kind::environment) place = "environment: ";
    if (!origin.name.empty()) place += origin.name + ": ";
    auto value = read_value(key, text, found.old.unit);
    if (!value) return complain(origin.line, place + value.error().detail);
    if (!key.refused.empty()) {
      return complain(origin.line, place + std::string(key.path) + " cannot be set: " +
                                       std::string(key.refused) + ". Take it out.");
    }
    reading_.config.set(found.key, std::move(*value), std::move(origin));
  }

  const ConfigInput& input_;
  ConfigReading& reading_;
  std::vector<TextEntry> sections_;
};

std::string where(const ConfigOrigin& origin, const std::string& file) {
  switch (origin.kind) {
    case ConfigOrigin::Kind::otherwise:
      return "default";
    case ConfigOrigin::Kind::file:
      return file + ":" + std::to_string(origin.line) +
             (origin.name.empty() ? "" : " (as " + origin.name + ")");
    case ConfigOrigin::Kind::environment:
      return "environment " + origin.name;
  }
  return "";
}

}  // namespace

Config::Config() {
  for (const ConfigKey& key : config_keys()) {
    ConfigValue value;
    if (!key.otherwise.empty()) {
      if (auto read = read_value(key, key.otherwise)) value = std::move(*read);
    }
    values_.push_back(std::move(value));
  }
  origins_.resize(values_.size());
}

std::size_t Config::at(std::string_view path) const {
  const std::size_t key = find_key(path);
  if (key >= values_.size()) std::abort();  // a setting our own code misspelt
  return key;
}

const std::string& Config::text(std::string_view path) const {
  return values_[at(path)].text;
}
std::uint64_t Config::count(std::string_view path) const {
  return values_[at(path)].number;
}
bool Config::flag(std::string_view path) const {
  return values_[at(path)].number != 0;
}
Millis Config::duration(std::string_view path) const {
  return Millis{static_cast<std::int64_t>(values_[at(path)].number)};
}
std::vector<std::string> Config::places(std::string_view path) const {
  return split_places(text(path));
}
const ConfigOrigin& Config::origin(std::string_view path) const {
  return origins_[at(path)];
}
void Config::set(std::size_t key, ConfigValue value, ConfigOrigin origin) {
  values_[key] = std::move(value);
  origins_[key] = std::move(origin);
}

ConfigReading read_config(const ConfigInput& input) {
  ConfigReading reading;
  Reader(input, reading).run();
  if (!input.file.empty()) reading.config.file_sha256 = to_hex(sha256(input.file));
  return reading;
}

std::vector<ShownSetting> show_config(const Config& config, const std::string& file,
                                      bool effective) {
  std::vector<ShownSetting> shown;
  for (const ConfigKey& key : config_keys()) {
    const ConfigOrigin& origin = config.origin(key.path);
    const bool set = origin.kind != ConfigOrigin::Kind::otherwise;
    if (!set && (!effective || !key.refused.empty())) continue;
    const std::string& value = config.text(key.path);
    shown.push_back({std::string(key.path), key.secret && !value.empty() ? "(hidden)" : value,
                     where(origin, file)});
  }
  for (const auto& [name, line] : config.sections) {
    std::string text;
    if (name == "replay.redirects") {
      for (const RedirectRule& each : config.redirects) {
        text += (text.empty() ? "" : "; ") + print(each);
      }
    } else if (name.starts_with("entities.")) {
      text = describe_entity(config.entities, name);
    } else if (name.starts_with("collectors.")) {
      for (const CollectorSettings& each : config.collectors) {
        if (name == "collectors." + each.name) text = describe(each);
      }
    } else if (name.starts_with("outboxes.")) {
      for (const OutboxSettings& each : config.outboxes) {
        if (name == "outboxes." + each.name) text = describe(each);
      }
    } else {
      text = describe_section(config.rules, name);
    }
    for (const ConsumerSettings& each : config.consumers) {
      if (name != "sources." + each.source) continue;
      text = describe(each) + (text.empty() ? "" : ", ") + text;
    }
    shown.push_back({name, std::move(text), file + ":" + std::to_string(line)});
  }
  return shown;
}

std::vector<std::string> needs_restart(const Config& before, const Config& after) {
  std::vector<std::string> changed;
  for (const ConfigKey& key : config_keys()) {
    if (!key.reloadable && before.text(key.path) != after.text(key.path)) {
      changed.emplace_back(key.path);
    }
  }
  if (before.executors != after.executors) changed.emplace_back("executors");
  if (before.collectors != after.collectors) changed.emplace_back("collectors");
  if (before.entities != after.entities) changed.emplace_back("entities");
  if (before.outboxes != after.outboxes) changed.emplace_back("outboxes");
  if (before.consumers != after.consumers) changed.emplace_back("sources");
  return changed;
}

}  // namespace dlo
