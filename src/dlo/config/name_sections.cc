#include "dlo/config/name_sections.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "dlo/config/config.h"
#include "dlo/core/backoff_expression.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::uint32_t most_retries = 1'000;
constexpr std::array<std::string_view, 4> schedule_settings = {"expression", "delays", "cap",
                                                               "jitter"};
constexpr std::array<std::string_view, 6> template_settings = {
    "policy", "max_retries", "category", "priority", "metadata", "tags"};
constexpr std::array<std::string_view, 4> priorities = {"low", "medium", "normal", "high"};

Error refuse(std::string detail) {
  return {Code::invalid_argument, "config.names", std::move(detail)};
}

bool is_kind(std::string_view name) {
  return std::ranges::any_of(every_policy_kind,
                             [&](PolicyKind kind) { return name_of(kind) == name; });
}

/// What could be mistaken for a policy in full, or would not fit into one word.
bool is_own_name(std::string_view name) {
  const auto plain = [](char c) {
    const char lower = ascii_lower(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, plain);
}

/// The scalars of a list, or the only one, with commas between.
Result<std::string> joined(const TextNode& node) {
  if (node.kind == TextNode::Kind::scalar) return node.scalar;
  std::string text;
  for (const TextNode& each : node.list) {
    if (each.kind != TextNode::Kind::scalar) return refuse("holds something that is no time.");
    text += (text.empty() ? "" : ",") + each.scalar;
  }
  return text;
}

Result<RetryPolicy> from_settings(const TextNode& node) {
  std::string line;
  std::string more;
  for (const auto& [setting, value] : node.map) {
    if (std::ranges::find(schedule_settings, setting) == schedule_settings.end()) {
      return refuse(unknown_name("setting", setting, schedule_settings));
    }
    const bool is_schedule = setting == "expression" || setting == "delays";
    if (is_schedule && !line.empty()) return refuse("is either an expression or delays.");
    auto text = joined(value);
    if (!text) return text.error();
    if (setting == "expression") {
      text = check_expression(*text);
      if (!text) return refuse("expression, " + text.error().detail);
      line = "expression delay=" + *text;
    } else if (setting == "delays") {
      line = "list delays=" + *text;
    } else {
      more += " " + setting + "=" + *text;
    }
  }
  if (line.empty()) return refuse("must have `expression` or `delays`.");
  return parse_policy(line + more);
}

Result<RetryPolicy> schedule_of(const TextNode& node) {
  if (node.kind == TextNode::Kind::map) return from_settings(node);
  if (node.kind == TextNode::Kind::scalar) return parse_workflow_policy(node.scalar);
  const auto delays = joined(node);
  if (!delays) return delays.error();
  return parse_policy("list delays=" + *delays);
}

/// One entry of `templates`.
class TemplateEntry {
 public:
  TemplateEntry(std::string path, const NamedPolicies& named, ConfigReading& reading)
      : path_(std::move(path)), named_(named), reading_(reading) {
    made_.metadata.kind = TextNode::Kind::map;
  }

  RetryTemplate read(const TextNode& node) {
    for (const auto& [setting, value] : node.map) take(setting, value);
    return std::move(made_);
  }

 private:
  void complain(const TextNode& at, const std::string& text) {
    reading_.problems.push_back({at.line, path_ + text});
  }

  void take(const std::string& setting, const TextNode& value) {
    if (setting == "policy") return policy(value);
    if (setting == "max_retries") return max_retries(value);
    if (setting == "category") {
      made_.category = value.scalar;
    } else if (setting == "priority") {
      priority(value);
    } else if (setting == "metadata") {
      if (value.kind != TextNode::Kind::map) {
        return complain(value, ".metadata holds settings by name: `name: value`.");
      }
      made_.metadata = value;
    } else if (setting == "tags") {
      tags(value);
    } else {
      complain(value, ": " + unknown_name("setting", setting, template_settings));
    }
  }

  void policy(const TextNode& value) {
    auto read = parse_workflow_policy(value.scalar, named_);
    if (!read) return complain(value, ".policy: " + read.error().detail);
    made_.asked.policy = std::move(*read);
    made_.asked.plain = is_workflow_policy(value.scalar);
  }

  void max_retries(const TextNode& value) {
    std::uint32_t count = 0;
    const char* const end = value.scalar.data() + value.scalar.size();
    const auto [stop, error] = std::from_chars(value.scalar.data(), end, count);
    if (error != std::errc{} || stop != end || count > most_retries) {
      return complain(value, ".max_retries: " + in_quotes(value.scalar) +
                                 " is not a whole number from 0 to 1000.");
    }
    made_.asked.max_retries = count;
  }

  void priority(const TextNode& value) {
    if (std::ranges::find(priorities, value.scalar) == priorities.end()) {
      return complain(value, ".priority: " + unknown_name("value", value.scalar, priorities));
    }
    made_.priority = value.scalar == "low"    ? Priority::low
                     : value.scalar == "high" ? Priority::high
                                              : Priority::normal;
  }

  void tags(const TextNode& value) {
    if (value.kind == TextNode::Kind::scalar) return made_.tags.push_back(value.scalar);
    for (const TextNode& each : value.list) {
      if (each.kind != TextNode::Kind::scalar) return complain(value, ".tags is a list of words.");
      made_.tags.push_back(each.scalar);
    }
  }

  const std::string path_;
  const NamedPolicies& named_;
  ConfigReading& reading_;
  RetryTemplate made_;
};

bool is_map(const TextNode& node, const std::string& path, ConfigReading& reading) {
  if (node.kind == TextNode::Kind::map) return true;
  reading.problems.push_back({node.line, path + " holds settings by name: `name: value`."});
  return false;
}

}  // namespace

void read_policies(const TextNode& section, ConfigReading& reading) {
  if (!is_map(section, "policies", reading)) return;
  RetryNames names = *reading.config.rules.names();
  for (const auto& [name, node] : section.map) {
    const std::string path = "policies." + name;
    if (is_kind(name) || !is_own_name(name)) {
      reading.problems.push_back(
          {node.line, path + ": choose another name, of letters, digits, '_', '-' and '.', that is "
                             "no kind of policy itself."});
      continue;
    }
    auto policy = schedule_of(node);
    if (!policy) {
      reading.problems.push_back({node.line, path + ": " + policy.error().detail});
      continue;
    }
    names.policies.insert_or_assign(name, std::move(*policy));
    reading.config.sections[path] = node.line;
  }
  reading.config.rules.set_names(std::move(names));
}

void read_templates(const TextNode& section, ConfigReading& reading) {
  if (!is_map(section, "templates", reading)) return;
  RetryNames names = *reading.config.rules.names();
  for (const auto& [name, node] : section.map) {
    const std::string path = "templates." + name;
    if (!is_map(node, path, reading)) continue;
    names.templates.insert_or_assign(name, TemplateEntry(path, names.policies, reading).read(node));
    reading.config.sections[path] = node.line;
  }
  reading.config.rules.set_names(std::move(names));
}

Result<RetryPolicy> read_policy(std::string_view text, const NamedPolicies& named) {
  return parse_workflow_policy(text, named);
}

void spell_out_policies(TextNode& settings, const NamedPolicies& named) {
  for (auto& [setting, value] : settings.map) {
    const bool holds = setting == "retry" || setting == "policy" || setting == "unregistered";
    if (holds && value.kind == TextNode::Kind::scalar) {
      if (const auto found = named.find(value.scalar); found != named.end()) {
        value.scalar = print(found->second);
      }
    } else if (value.kind == TextNode::Kind::map) {
      spell_out_policies(value, named);
    }
  }
}

std::string describe_name(const RetryNames& names, const std::string& path) {
  const std::string name = path.substr(path.find('.') + 1);
  if (path.starts_with("policies.")) {
    const auto found = names.policies.find(name);
    return found == names.policies.end() ? "" : print(found->second);
  }
  const auto found = names.templates.find(name);
  if (found == names.templates.end()) return "";
  const RetryRequest& asked = found->second.asked;
  std::string text = asked.policy ? print(*asked.policy) : "";
  if (asked.max_retries) {
    text += (text.empty() ? "" : ", ") + std::to_string(*asked.max_retries) + " retries";
  }
  return text;
}

}  // namespace dlo
