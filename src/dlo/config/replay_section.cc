#include "dlo/config/replay_section.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "dlo/config/config.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 1> of_section = {"redirects"};
constexpr std::array<std::string_view, 3> of_rule = {"from", "type", "to"};
constexpr std::size_t most_rules = 1'000;

void complain(ConfigReading& reading, std::size_t line, std::string text) {
  reading.problems.push_back({line, std::move(text)});
}

/// What is wrong is said; what is left of the rule is answered.
RedirectRule read_rule(const TextNode& node, const std::string& path, ConfigReading& reading) {
  RedirectRule rule;
  for (const auto& [name, value] : node.map) {
    if (value.kind != TextNode::Kind::scalar || value.scalar.empty()) {
      complain(reading, value.line, path + "." + name + " takes one value: text.");
    } else if (name == "from") {
      rule.from = value.scalar;
    } else if (name == "type") {
      rule.type = value.scalar;
    } else if (name == "to") {
      rule.to = value.scalar;
    } else {
      complain(reading, value.line, unknown_name("setting of " + path, name, of_rule));
    }
  }
  if (rule.from.empty()) {
    complain(reading, node.line,
             path + " must say whom it is about: `from: SOURCE`, in which * stands for anything.");
  }
  if (rule.to.empty()) {
    complain(reading, node.line, path + " must say where they go: `to: QUEUE`.");
  } else if (rule.to.starts_with("exec:") || rule.to.find('*') != std::string::npos) {
    complain(reading, node.line,
             path + ".to: " + in_quotes(rule.to) +
                 " is no queue. Executors run what `dlo replay --to exec:NAME` sends them.");
  }
  return rule;
}

void read_redirects(const TextNode& list, ConfigReading& reading) {
  const std::string path = "replay.redirects";
  if (list.kind != TextNode::Kind::list) {
    return complain(reading, list.line,
                    path + " is a list of rules: `- {from: 'orders*', to: orders-v2}`.");
  }
  if (list.list.size() > most_rules) {
    return complain(reading, list.line, path + " must not hold more than 1000 rules.");
  }
  auto& rules = reading.config.redirects;
  std::size_t number = 0;
  for (const TextNode& node : list.list) {
    const std::string place = path + "[" + std::to_string(++number) + "]";
    if (node.kind != TextNode::Kind::map) {
      complain(reading, node.line, place + " holds settings by name: from, type, to.");
      continue;
    }
    rules.push_back(read_rule(node, place, reading));
    if (const auto before = hidden_by(rules, rules.size() - 1)) {
      reading.warnings.push_back({node.line, place + " is never reached: rule " +
                                                 std::to_string(*before + 1) + " (" +
                                                 print(rules[*before]) + ") comes first."});
    }
  }
  reading.config.sections[path] = list.line;
}

}  // namespace

void read_replay_section(const TextNode& section, ConfigReading& reading) {
  if (section.kind != TextNode::Kind::map) {
    return complain(reading, section.line, "replay holds settings by name: `name: value`.");
  }
  for (const auto& [name, value] : section.map) {
    if (name == "redirects") {
      read_redirects(value, reading);
    } else {
      complain(reading, value.line, unknown_name("setting of replay", name, of_section));
    }
  }
}

}  // namespace dlo
