#include "dlo/repair/difference.h"

#include <algorithm>
#include <set>

#include "dlo/core/encoding.h"
#include "dlo/core/header_class.h"
#include "dlo/core/spelling.h"
#include "dlo/repair/json_tree.h"
#include "dlo/repair/text_diff.h"

namespace dlo {
namespace {

using Steps = std::vector<std::string>;

std::optional<std::string> values_of(const Headers& headers, const std::string& lower_name) {
  std::optional<std::string> out;
  for (const Header& header : headers) {
    if (ascii_lower(header.name) != lower_name) continue;
    out = out ? *out + "\n" + header.value : header.value;
  }
  return out;
}

std::vector<HeaderChange> header_changes(const Headers& before, const Headers& after) {
  std::vector<HeaderChange> changes;
  std::set<std::string> seen;
  for (const Headers* headers : {&before, &after}) {
    for (const Header& header : *headers) {
      const std::string name = ascii_lower(header.name);
      if (!seen.insert(name).second) continue;
      HeaderChange change{header.name, values_of(before, name), values_of(after, name)};
      if (change.before != change.after) changes.push_back(std::move(change));
    }
  }
  return changes;
}

class Paths {
 public:
  Paths(std::vector<PathChange>& out, bool& more) : out_(out), more_(more) {}

  void compare(const JsonTree& a, const JsonTree& b) {
    if (a.kind == JsonKind::object && b.kind == JsonKind::object) {
      compare_members(a, b);
    } else if (a.kind == JsonKind::array && b.kind == JsonKind::array) {
      compare_items(a, b);
    } else if (!same(a, b)) {
      add(&a, &b);
    }
  }

 private:
  void compare_members(const JsonTree& a, const JsonTree& b) {
    for (const auto& [name, value] : a.members) at(name, &value, find(b, {name}));
    for (const auto& [name, value] : b.members) {
      if (find(a, {name}) == nullptr) at(name, nullptr, &value);
    }
  }
  void compare_items(const JsonTree& a, const JsonTree& b) {
    for (std::size_t i = 0; i < std::max(a.items.size(), b.items.size()); ++i) {
      at(std::to_string(i), i < a.items.size() ? &a.items[i] : nullptr,
         i < b.items.size() ? &b.items[i] : nullptr);
    }
  }
  void at(const std::string& step, const JsonTree* a, const JsonTree* b) {
    steps_.push_back(step);
    if (a != nullptr && b != nullptr) {
      compare(*a, *b);
    } else {
      add(a, b);
    }
    steps_.pop_back();
  }
  void add(const JsonTree* a, const JsonTree* b) {
    if (out_.size() == most_paths) {
      more_ = true;
      return;
    }
    PathChange change;
    change.path = pointer_of(steps_);
    if (a != nullptr) change.before = print_tree(*a);
    if (b != nullptr) change.after = print_tree(*b);
    out_.push_back(std::move(change));
  }

  std::vector<PathChange>& out_;
  bool& more_;
  Steps steps_;
};

void write_value(JsonWriter& json, std::string_view name, const std::optional<std::string>& value) {
  if (value) {
    json.member(name, std::string_view(*value));
  } else {
    json.key(name).null();
  }
}

}  // namespace

std::vector<PathChange> path_changes(std::string_view before, std::string_view after, bool& more) {
  std::vector<PathChange> changes;
  const auto a = parse_tree(before);
  const auto b = parse_tree(after);
  if (a && b) Paths(changes, more).compare(*a, *b);
  return changes;
}

Difference difference_of(const Draft& before, const Draft& after) {
  Difference out;
  out.headers = header_changes(before.headers, after.headers);
  out.payload_differs = before.payload != after.payload;
  if (!out.payload_differs || !before.payload || !after.payload) return out;
  const std::string& a = *before.payload;
  const std::string& b = *after.payload;
  if (parse_tree(a) && parse_tree(b)) {
    out.paths = path_changes(a, b, out.more_paths);
  } else if (is_utf8(a) && is_utf8(b)) {
    out.unified = unified_diff(a, b, "before", "after");
  }
  return out;
}

void write_json(JsonWriter& json, const Difference& difference) {
  json.begin_object().key("headers").begin_array();
  for (const HeaderChange& change : difference.headers) {
    json.begin_object().member("name", std::string_view(change.name));
    json.member("class", name_of(header_class(change.name)));
    write_value(json, "before", change.before);
    write_value(json, "after", change.after);
    json.end_object();
  }
  json.end_array().key("payload_differs").boolean(difference.payload_differs);
  json.key("paths").begin_array();
  for (const PathChange& change : difference.paths) {
    json.begin_object().member("path", std::string_view(change.path));
    json.key("before").raw(change.before.value_or("null"));
    json.key("after").raw(change.after.value_or("null"));
    json.member("change", !change.before ? "added" : !change.after ? "removed" : "changed");
    json.end_object();
  }
  json.end_array().key("more_paths").boolean(difference.more_paths);
  if (!difference.unified.empty()) json.member("unified", std::string_view(difference.unified));
  json.end_object();
}

}  // namespace dlo
