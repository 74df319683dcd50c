#include "dlo/config/rule_sections.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "dlo/config/collector_section.h"
#include "dlo/config/config.h"
#include "dlo/config/consumer_section.h"
#include "dlo/config/entity_section.h"
#include "dlo/config/executor_section.h"
#include "dlo/config/name_sections.h"
#include "dlo/config/outbox_section.h"
#include "dlo/config/replay_section.h"
#include "dlo/core/caution.h"
#include "dlo/core/decide.h"
#include "dlo/core/profile_text.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

struct Refusal {
  std::string_view setting;
  std::string_view why;
};
/// What a profile has and a server does not carry out yet. A base keeps its own; a file that asks
/// for another is refused rather than ignored.
constexpr std::string_view by_engine =
    "programs that embed the engine can set it, a server cannot yet";
constexpr std::array<Refusal, 11> not_yet = {{
    {"name", "the profile is called what its entry is called"},
    {"capacity", "it is workflow.max_size, for the profiles of document 002"},
    {"retention",
     "it goes with the base: those of document 002 archive what is exhausted after 7 days"},
    {"strategy", "it is workflow.strategy, for the profiles of document 002"},
    {"inner", by_engine},
    {"validation", by_engine},
    {"unregistered", by_engine},
    {"owner_effect", by_engine},
    {"store_failure", "it is workflow.store_failure, for the profiles of document 002"},
    {"claims_count", "it goes with the base: durable-fetch counts claims, the others starts"},
    {"form", "ask for a form with ?form="},
}};

class Rules {
 public:
  Rules(ConfigReading& reading, const RegexCompiler& regex) : reading_(reading), regex_(regex) {}

  /// What `service_bus` and `workflow` say about the profiles of their documents.
  void work_in_settings() {
    const Config& config = reading_.config;
    if (is_set("service_bus.max_delivery_count")) {
      const auto limit = static_cast<std::uint32_t>(config.count("service_bus.max_delivery_count"));
      for (const char* name : {"service-bus", "service-bus+safe"}) change(name, limit, {});
    }
    std::optional<std::uint32_t> limit;
    std::optional<RetryPolicy> policy;
    if (is_set("workflow.max_retries")) {
      limit = static_cast<std::uint32_t>(config.count("workflow.max_retries"));
    }
    if (is_set("workflow.retry_policy"))
      policy = workflow_policy(config.text("workflow.retry_policy"));
    if (limit || policy) {
      for (const char* name : {"workflow", "workflow+safe"}) change(name, limit, policy);
    }
    for (const char* name : {"workflow", "workflow+safe"}) intake_of(name);
  }

  void profiles(const TextNode& section) {
    if (!is_map(section, "profiles")) return;
    // A profile may stand on one that comes later in the file: as long as there is progress.
    std::vector<const TextEntry*> left;
    for (const TextEntry& each : section.map) left.push_back(&each);
    for (bool progress = true; progress && !left.empty();) {
      progress = false;
      for (auto each = left.begin(); each != left.end();) {
        if (waits_for_another(**each, left)) {
          ++each;
          continue;
        }
        profile((*each)->key, (*each)->value);
        each = left.erase(each);
        progress = true;
      }
    }
    for (const TextEntry* each : left) {
      complain(each->value.line,
               "profiles." + each->key + " is built on itself; name another base.");
    }
  }

  /// What differs for one source, or for one event type.
  void overrides(const std::string& section_name, const TextNode& section) {
    if (!is_map(section, section_name)) return;
    ProfileBook& rules = reading_.config.rules;
    for (const auto& [name, node] : section.map) {
      const std::string path = section_name + "." + name;
      if (!is_map(node, path)) continue;
      Override wanted;
      for (const auto& [setting, value] : node.map) {
        if (section_name == "sources" && is_consumer_setting(setting)) continue;
        override_setting(path, setting, value, wanted);
      }
      Message of_it;
      if (section_name == "sources") {
        of_it.source = name;
        rules.set_source(name, std::move(wanted));
      } else {
        of_it.event_type = name;
        rules.set_event_type(name, std::move(wanted));
      }
      reading_.config.sections[path] = node.line;
      if (const auto usual = rules.find(default_profile_name, of_it)) prove(*usual, node.line);
    }
  }

 private:
  void complain(std::size_t line, std::string text) {
    reading_.problems.push_back({line, std::move(text)});
  }
  [[nodiscard]] bool is_set(std::string_view path) const {
    return reading_.config.origin(path).kind != ConfigOrigin::Kind::otherwise;
  }
  bool is_map(const TextNode& node, const std::string& path) {
    if (node.kind == TextNode::Kind::map) return true;
    complain(node.line, path + " holds settings by name: `name: value`.");
    return false;
  }

  static RetryPolicy workflow_policy(const std::string& name) {
    const auto read = parse_policy(name);  // one of the four of document 002 (S2-4..7)
    return read ? *read : RetryPolicy{};
  }

  /// What a report meets before it is kept (S2-2, S2-10, S2-26).
  void intake_of(const std::string& name) {
    const Config& config = reading_.config;
    const bool fallback = is_set("workflow.store_failure");
    if (!is_set("workflow.max_size") && !is_set("workflow.strategy") && !fallback) return;
    auto profile = reading_.config.rules.find(name);
    if (!profile) return;
    profile->capacity.records = config.count("workflow.max_size");
    constexpr std::array<Strategy, 4> all = {Strategy::automatic, Strategy::selective,
                                             Strategy::manual, Strategy::disabled};
    for (const Strategy each : all) {
      if (name_of(each) == config.text("workflow.strategy")) profile->strategy = each;
    }
    if (fallback) {
      profile->store_failure = config.text("workflow.store_failure") == "memory"
                                   ? StoreFailure::memory_fallback
                                   : StoreFailure::reject;
    }
    reading_.config.rules.set(std::move(*profile));
  }

  void change(const std::string& name, std::optional<std::uint32_t> limit,
              const std::optional<RetryPolicy>& policy) {
    auto profile = reading_.config.rules.find(name);
    if (!profile) return;
    if (limit) *profile = with_limit(std::move(*profile), *limit);
    if (policy) {
      const Jitter jitter = profile->retry.jitter;  // `+safe` has one
      profile->retry = *policy;
      const bool waits = policy->kind != PolicyKind::never && policy->kind != PolicyKind::immediate;
      if (waits) profile->retry.jitter = jitter;
    }
    if (const auto valid = check(*profile); !valid) complain(0, valid.error().detail);
    reading_.config.rules.set(std::move(*profile));
  }

  static const TextNode* member(const TextNode& node, std::string_view name) {
    for (const auto& [key, value] : node.map) {
      if (key == name) return &value;
    }
    return nullptr;
  }

  static bool waits_for_another(const TextEntry& entry, const std::vector<const TextEntry*>& left) {
    const TextNode* base = member(entry.value, "base");
    if (base == nullptr || base->scalar == entry.key) return false;
    return std::any_of(left.begin(), left.end(),
                       [&](const TextEntry* each) { return each->key == base->scalar; });
  }

  void profile(const std::string& name, const TextNode& given) {
    const std::string path = "profiles." + name;
    if (!is_map(given, path)) return;
    const std::size_t before = reading_.problems.size();
    TextNode settings = given;
    std::string base = name;
    std::erase_if(settings.map, [&](const TextEntry& each) {
      if (each.key == "base") base = each.value.scalar;
      if (each.key == "base") return true;
      const auto found = std::find_if(not_yet.begin(), not_yet.end(), [&](const Refusal& refusal) {
        return refusal.setting == each.key;
      });
      if (found == not_yet.end()) return false;
      complain(each.value.line, path + "." + each.key + " cannot be set: " +
                                    std::string(found->why) + ". Take it out.");
      return true;
    });
    auto profile = reading_.config.rules.find(base);
    if (!profile) {
      const TextNode* said = member(given, "base");
      complain(said == nullptr ? given.line : said->line,
               said == nullptr ? path +
                                     " needs a base: the profile it starts from, such as "
                                     "`base: standard`."
                               : path + ".base: " + profile.error().detail);
      // The rest is looked at all the same, so that nobody is told of one mistake at a time.
      profile = reading_.config.rules.find(default_profile_name);
      if (!profile) return;
    }
    profile->name = name;
    spell_out_policies(settings, reading_.config.rules.names()->policies);
    const bool own_checks = member(settings, "pre_check") || member(settings, "post_check");
    for (TextComplaint& each : read_settings(settings, *profile)) {
      complain(each.line, path + ": " + each.text);
    }
    if (member(settings, "limit") != nullptr && !own_checks) {
      *profile = with_limit(std::move(*profile), profile->limit);
    }
    if (reading_.problems.size() == before) prove(*profile, given.line);
    if (const auto said = caution(*profile, base); !said.empty()) {
      reading_.warnings.push_back({given.line, path + ": " + said});
    }
    reading_.config.rules.set(std::move(*profile));
    reading_.config.sections[path] = given.line;
  }

  void prove(const Profile& profile, std::size_t line) {
    if (const auto built = RuleBook::build(profile, regex_); !built) {
      complain(line, built.error().detail);
    }
  }

  void override_setting(const std::string& path, const std::string& setting, const TextNode& value,
                        Override& wanted) {
    std::vector<std::string_view> known = {"limit", "retry"};
    if (path.starts_with("sources.")) {
      known.insert(known.end(), consumer_settings.begin(), consumer_settings.end());
    }
    if (setting == "limit") {
      std::uint32_t limit = 0;
      const char* const end = value.scalar.data() + value.scalar.size();
      const auto [stop, problem] = std::from_chars(value.scalar.data(), end, limit);
      if (problem != std::errc{} || stop != end || limit == 0 || limit > 1'000) {
        return complain(value.line, path + ".limit: " + in_quotes(value.scalar) +
                                        " is not a whole number from 1 to 1000.");
      }
      wanted.limit = limit;
    } else if (setting == "retry") {
      auto policy = read_policy(value.scalar, reading_.config.rules.names()->policies);
      if (!policy) return complain(value.line, path + ".retry: " + policy.error().detail);
      wanted.policy = std::move(*policy);
    } else {
      complain(value.line, unknown_name("setting of " + path, setting, known));
    }
  }

  ConfigReading& reading_;
  const RegexCompiler& regex_;
};

}  // namespace

bool is_rule_section(std::string_view name) {
  return std::find(rule_sections.begin(), rule_sections.end(), name) != rule_sections.end();
}

void read_rule_sections(const std::vector<TextEntry>& sections, const RegexCompiler& regex,
                        ConfigReading& reading) {
  Rules rules(reading, regex);
  rules.work_in_settings();
  const auto each = [&](std::string_view wanted, const auto& read) {
    for (const auto& [name, node] : sections) {
      if (name == wanted) read(node);
    }
  };
  // Names first: whatever follows may use them, wherever it stands in the file.
  each("policies", [&](const TextNode& node) { read_policies(node, reading); });
  each("templates", [&](const TextNode& node) { read_templates(node, reading); });
  each("profiles", [&](const TextNode& node) { rules.profiles(node); });
  each("sources", [&](const TextNode& node) { rules.overrides("sources", node); });
  each("event_types", [&](const TextNode& node) { rules.overrides("event_types", node); });
  each("executors", [&](const TextNode& node) { read_executors(node, reading); });
  each("replay", [&](const TextNode& node) { read_replay_section(node, reading); });
  each("collectors", [&](const TextNode& node) { read_collectors(node, reading); });
  each("entities", [&](const TextNode& node) { read_entities(node, reading); });
  each("outboxes", [&](const TextNode& node) { read_outboxes(node, reading); });
  each("sources", [&](const TextNode& node) { read_consumers(node, reading); });
}

std::string describe_section(const ProfileBook& rules, const std::string& path) {
  const std::string name = path.substr(path.find('.') + 1);
  if (path.starts_with("profiles.")) {
    const auto profile = rules.find(name);
    return profile ? "limit " + std::to_string(profile->limit) + ", " + print(profile->retry) +
                         ", " + std::to_string(profile->rules.size()) + " rules"
                   : "";
  }
  if (path.starts_with("executors.")) return "runs retries";
  if (path.starts_with("policies.") || path.starts_with("templates.")) {
    return describe_name(*rules.names(), path);
  }
  const OverrideTable& table =
      path.starts_with("sources.") ? rules.sources() : rules.overrides().by_event_type;
  const auto found = table.find(name);
  if (found == table.end()) return "";
  std::string text;
  if (found->second.limit) text = "limit " + std::to_string(*found->second.limit);
  if (found->second.policy) text += (text.empty() ? "" : ", ") + print(*found->second.policy);
  return text;
}

}  // namespace dlo
