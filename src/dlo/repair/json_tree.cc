#include "dlo/repair/json_tree.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "dlo/core/spelling.h"
#include "dlo/json/text/scanner.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

void print(const JsonTree& tree, std::string& out);

void print_name(std::string_view name, std::string& out) {
  JsonWriter json;
  out += json.text(name).take();
  out += ':';
}

template <typename Range, typename Print>
void print_list(char open, char close, const Range& range, std::string& out, const Print& one) {
  out += open;
  bool first = true;
  for (const auto& each : range) {
    if (!first) out += ',';
    first = false;
    one(each);
  }
  out += close;
}

void print(const JsonTree& tree, std::string& out) {
  if (tree.kind == JsonKind::array) {
    print_list('[', ']', tree.items, out, [&](const JsonTree& item) { print(item, out); });
  } else if (tree.kind == JsonKind::object) {
    print_list('{', '}', tree.members, out, [&](const auto& member) {
      print_name(member.name, out);
      print(member.value, out);
    });
  } else {
    out += tree.scalar;
  }
}

/// A number without what does not count: sign, digits without zeros at either end, exponent.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
  bool operator==(const Decimal&) const = default;
};

/// Nothing if the exponent is absurd: then only the same text is the same number.
std::optional<Decimal> decimal_of(std::string_view text) {
  constexpr std::int64_t absurd = 1'000'000'000'000;
  Decimal out;
  if (text.starts_with('-')) {
    out.negative = true;
    text.remove_prefix(1);
  }
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto read = std::from_chars(power.data(), power.data() + power.size(), out.exponent);
    if (read.ec != std::errc{} || out.exponent > absurd || out.exponent < -absurd) {
      return std::nullopt;
    }
    text = text.substr(0, e);
  }
  const std::size_t dot = text.find('.');
  out.digits = std::string(text.substr(0, dot));
  if (dot != std::string_view::npos) {
    out.digits += text.substr(dot + 1);
    out.exponent -= static_cast<std::int64_t>(text.size() - dot - 1);
  }
  while (!out.digits.empty() && out.digits.back() == '0') {
    out.digits.pop_back();
    ++out.exponent;
  }
  out.digits.erase(0, std::min(out.digits.find_first_not_of('0'), out.digits.size()));
  if (out.digits.empty()) return Decimal{};
  return out;
}

bool same_number(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto left = decimal_of(a);
  return left && left == decimal_of(b);
}

bool same_members(const JsonTree& a, const JsonTree& b) {
  if (a.members.size() != b.members.size()) return false;
  return std::all_of(a.members.begin(), a.members.end(), [&](const auto& member) {
    const JsonTree* other = find(b, {member.name});
    return other != nullptr && same(member.value, *other);
  });
}

template <typename Tree>
Tree* step_into(Tree& tree, const std::string& step) {
  if (tree.kind == JsonKind::object) {
    for (auto& [name, value] : tree.members) {
      if (name == step) return &value;
    }
  } else if (tree.kind == JsonKind::array) {
    if (const auto index = index_of(step, tree.items.size())) return &tree.items[*index];
  }
  return nullptr;
}

template <typename Tree>
Tree* walk(Tree& tree, const std::vector<std::string>& steps) {
  Tree* here = &tree;
  for (const std::string& step : steps) {
    here = step_into(*here, step);
    if (here == nullptr) return nullptr;
  }
  return here;
}

std::optional<std::string> repeated_name(const JsonTree& tree) {
  std::set<std::string_view> names;
  for (const auto& [name, value] : tree.members) {
    if (!names.insert(name).second) return name;
    if (auto inside = repeated_name(value)) return inside;
  }
  for (const JsonTree& item : tree.items) {
    if (auto inside = repeated_name(item)) return inside;
  }
  return std::nullopt;
}

}  // namespace

JsonTree tree_of(const JsonValue& value) {
  JsonTree tree;
  tree.kind = value.kind;
  if (value.kind == JsonKind::array) {
    for (const JsonValue& item : value.items) tree.items.push_back(tree_of(item));
  } else if (value.kind == JsonKind::object) {
    for (const JsonMember& member : value.members) {
      tree.members.push_back({member.name, tree_of(member.value)});
    }
  } else {
    tree.scalar = std::string(value.raw);
  }
  return tree;
}

Result<JsonTree> parse_tree(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return value.error();
  JsonTree tree = tree_of(*value);
  if (const auto name = repeated_name(tree)) {
    return Error{Code::invalid_argument, "json.tree",
                 "the member " + in_quotes(*name) + " is there twice: which one is meant?"};
  }
  return tree;
}

std::string print_tree(const JsonTree& tree) {
  std::string out;
  print(tree, out);
  return out;
}

JsonTree text_tree(std::string_view text) {
  JsonTree tree;
  tree.kind = JsonKind::string;
  JsonWriter json;
  tree.scalar = json.text(text).take();
  return tree;
}

bool same(const JsonTree& a, const JsonTree& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case JsonKind::null:
      return true;
    case JsonKind::boolean:
      return a.scalar == b.scalar;
    case JsonKind::number:
      return same_number(a.scalar, b.scalar);
    case JsonKind::string:
      return a.scalar == b.scalar || json_unescape(a.scalar) == json_unescape(b.scalar);
    case JsonKind::array:
      return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same);
    case JsonKind::object:
      return same_members(a, b);
  }
  return false;
}

std::size_t depth_of(const JsonTree& tree) {
  std::size_t deepest = 0;
  for (const JsonTree& item : tree.items) deepest = std::max(deepest, depth_of(item));
  for (const auto& [name, value] : tree.members) deepest = std::max(deepest, depth_of(value));
  return deepest + (tree.kind == JsonKind::array || tree.kind == JsonKind::object ? 1 : 0);
}

std::size_t weight_of(const JsonTree& tree) {
  std::size_t weight = sizeof(JsonTree) + tree.scalar.size();
  for (const JsonTree& item : tree.items) weight += weight_of(item);
  for (const auto& [name, value] : tree.members) weight += name.size() + weight_of(value);
  return weight;
}

JsonTree* find(JsonTree& tree, const std::vector<std::string>& steps) {
  return walk(tree, steps);
}
const JsonTree* find(const JsonTree& tree, const std::vector<std::string>& steps) {
  return walk(tree, steps);
}

std::optional<std::size_t> index_of(std::string_view step, std::size_t size) {
  if (step.empty() || (step.size() > 1 && step.front() == '0')) return std::nullopt;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
  if (error != std::errc{} || end != step.data() + step.size() || index >= size) {
    return std::nullopt;
  }
  return index;
}

Result<std::vector<std::string>> pointer_steps(std::string_view pointer) {
  std::vector<std::string> steps;
  if (pointer.empty()) return steps;
  const auto refusal = [&](const char* why) {
    return Error{Code::invalid_argument, "json.pointer",
                 in_quotes(pointer.substr(0, 200)) + " is no JSON pointer (RFC 6901): " + why};
  };
  if (pointer.front() != '/') return refusal("it has to begin with a slash, or be empty");
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      steps.emplace_back();
    } else if (pointer[i] == '~') {
      const char next = i + 1 < pointer.size() ? pointer[i + 1] : '\0';
      if (next != '0' && next != '1') return refusal("~ is followed by 0 or 1");
      steps.back() += next == '0' ? '~' : '/';
      ++i;
    } else {
      steps.back() += pointer[i];
    }
  }
  return steps;
}

std::string pointer_of(const std::vector<std::string>& steps) {
  std::string out;
  for (const std::string& step : steps) {
    out += '/';
    for (const char c : step) {
      if (c == '~') {
        out += "~0";
      } else if (c == '/') {
        out += "~1";
      } else {
        out += c;
      }
    }
  }
  return out;
}

}  // namespace dlo
