#include "dlo/repair/json_patch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dlo/core/spelling.h"
#include "dlo/json/text/scanner.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

using Kind = PatchOperation::Kind;
using Steps = std::vector<std::string>;

constexpr std::size_t most_copied = 64 << 20;  // bytes, of all copies together
constexpr std::array<std::string_view, 6> kinds = {"add",  "remove", "replace",
                                                   "move", "copy",   "test"};

Error refusal(std::string detail) {
  return {Code::invalid_argument, "json.patch", std::move(detail)};
}
Error not_there(const Steps& steps) {
  return refusal("there is nothing at " + in_quotes(pointer_of(steps)));
}

bool needs_value(Kind kind) {
  return kind == Kind::add || kind == Kind::replace || kind == Kind::test;
}
bool needs_from(Kind kind) {
  return kind == Kind::move || kind == Kind::copy;
}

Result<Steps> read_pointer(const JsonValue& operation, std::string_view name) {
  const JsonValue* pointer = operation.find(name);
  if (pointer == nullptr || pointer->kind != JsonKind::string) {
    return refusal("it needs a text member " + in_quotes(name));
  }
  return pointer_steps(pointer->text());
}

Result<Kind> read_kind(const JsonValue& value) {
  if (value.kind != JsonKind::object) return refusal("it is no object");
  const JsonValue* op = value.find("op");
  const std::string name = op == nullptr ? "" : op->text();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds.at(i) == name) return static_cast<Kind>(i);
  }
  return refusal("\"op\" must be add, remove, replace, move, copy or test, not " +
                 in_quotes(name.substr(0, 80)));
}

Result<PatchOperation> read_operation(const JsonValue& value) {
  PatchOperation out;
  const auto kind = read_kind(value);
  if (!kind) return kind.error();
  out.kind = *kind;
  auto path = read_pointer(value, "path");
  if (!path) return path.error();
  out.path = std::move(*path);
  if (needs_from(out.kind)) {
    auto from = read_pointer(value, "from");
    if (!from) return from.error();
    out.from = std::move(*from);
  }
  if (needs_value(out.kind)) {
    const JsonValue* wanted = value.find("value");
    if (wanted == nullptr) return refusal("it needs a member \"value\"");
    out.value = tree_of(*wanted);
  }
  return out;  // RFC 6902: members it does not define are ignored
}

std::string nth(std::size_t place, Kind kind, const Steps& path) {
  return "operation " + std::to_string(place + 1) + " (" + std::string(name_of(kind)) + " " +
         in_quotes(pointer_of(path)) + "): ";
}

/// The array or object that holds the last of `steps`.
Result<JsonTree*> parent_of(JsonTree& tree, const Steps& steps) {
  const Steps parent(steps.begin(), steps.end() - 1);
  JsonTree* found = find(tree, parent);
  if (found == nullptr) return not_there(parent);
  if (found->kind != JsonKind::object && found->kind != JsonKind::array) {
    return refusal("what stands at " + in_quotes(pointer_of(parent)) + " is a " +
                   std::string(name_of(found->kind)) + " and holds nothing");
  }
  return found;
}

bool is_inside(const Steps& path, const Steps& from) {
  return path.size() > from.size() && std::equal(from.begin(), from.end(), path.begin());
}

/// What is put somewhere must not make the whole deeper than anybody would read.
Result<void> check_depth(const Steps& steps, const JsonTree& value) {
  if (steps.size() + depth_of(value) <= json_depth) return {};
  return refusal("it would be nested deeper than " + std::to_string(json_depth));
}

Result<void> replace_at(JsonTree& tree, const Steps& steps, const JsonTree& value) {
  if (auto fine = check_depth(steps, value); !fine) return fine;
  JsonTree* found = find(tree, steps);
  if (found == nullptr) return not_there(steps);
  *found = value;
  return {};
}

Result<void> move_to(JsonTree& tree, const PatchOperation& operation) {
  if (is_inside(operation.path, operation.from)) {
    return refusal("a value cannot be moved into itself");
  }
  auto taken = remove_at(tree, operation.from);
  if (!taken) return taken.error();
  return add_at(tree, operation.path, std::move(*taken));
}

Result<void> carry_out(const PatchOperation& operation, JsonTree& tree) {
  switch (operation.kind) {
    case Kind::add:
      return add_at(tree, operation.path, operation.value);
    case Kind::remove: {
      const auto removed = remove_at(tree, operation.path);
      return removed ? Result<void>{} : removed.error();
    }
    case Kind::replace:
      return replace_at(tree, operation.path, operation.value);
    case Kind::move:
      return move_to(tree, operation);
    case Kind::copy: {
      const JsonTree* from = find(std::as_const(tree), operation.from);
      if (from == nullptr) return not_there(operation.from);
      return add_at(tree, operation.path, JsonTree(*from));
    }
    case Kind::test: {
      const JsonTree* found = find(std::as_const(tree), operation.path);
      if (found == nullptr) return not_there(operation.path);
      if (same(*found, operation.value)) return {};
      return refusal("it is " + print_tree(*found).substr(0, 200) + ", not " +
                     print_tree(operation.value).substr(0, 200));
    }
  }
  return {};
}

}  // namespace

std::string_view name_of(PatchOperation::Kind kind) noexcept {
  return kinds[static_cast<std::size_t>(kind)];
}

Result<JsonPatch> read_patch(const JsonValue& value) {
  if (value.kind != JsonKind::array) return refusal("a JSON Patch is an array of operations");
  if (value.items.size() > most_operations) {
    return refusal("a JSON Patch holds at most " + std::to_string(most_operations) + " operations");
  }
  JsonPatch patch;
  for (const JsonValue& item : value.items) {
    auto operation = read_operation(item);
    if (!operation) {
      return refusal("operation " + std::to_string(patch.size() + 1) + ": " +
                     operation.error().detail);
    }
    patch.push_back(std::move(*operation));
  }
  return patch;
}

Result<JsonPatch> parse_patch(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return value.error();
  return read_patch(*value);
}

std::string print_patch(const JsonPatch& patch) {
  JsonWriter json;
  json.begin_array();
  for (const PatchOperation& operation : patch) {
    json.begin_object().key("op").text(name_of(operation.kind));
    if (needs_from(operation.kind)) json.key("from").text(pointer_of(operation.from));
    json.key("path").text(pointer_of(operation.path));
    if (needs_value(operation.kind)) json.key("value").raw(print_tree(operation.value));
    json.end_object();
  }
  json.end_array();
  return json.take();
}

Result<JsonTree> apply_patch(const JsonPatch& patch, JsonTree tree) {
  // A copy of a copy of a copy doubles each time: a few operations could fill any memory.
  std::size_t copied = 0;
  for (std::size_t i = 0; i < patch.size(); ++i) {
    if (patch[i].kind == Kind::copy) {
      const JsonTree* from = find(std::as_const(tree), patch[i].from);
      copied += from == nullptr ? 0 : weight_of(*from);
      if (copied > most_copied) {
        return refusal(nth(i, patch[i].kind, patch[i].path) + "copies add up to too much");
      }
    }
    if (auto done = carry_out(patch[i], tree); !done) {
      return refusal(nth(i, patch[i].kind, patch[i].path) + done.error().detail);
    }
  }
  return tree;
}

Result<void> add_at(JsonTree& tree, const Steps& steps, JsonTree value) {
  if (auto fine = check_depth(steps, value); !fine) return fine;
  if (steps.empty()) {
    tree = std::move(value);
    return {};
  }
  const auto parent = parent_of(tree, steps);
  if (!parent) return parent.error();
  JsonTree& holder = **parent;
  if (holder.kind == JsonKind::object) {
    if (JsonTree* known = find(holder, {steps.back()})) {
      *known = std::move(value);
    } else {
      holder.members.push_back({steps.back(), std::move(value)});
    }
    return {};
  }
  const std::size_t size = holder.items.size();
  const auto place = steps.back() == "-" ? std::optional(size) : index_of(steps.back(), size + 1);
  if (!place) {
    return refusal("the array at " + in_quotes(pointer_of(Steps(steps.begin(), steps.end() - 1))) +
                   " has " + std::to_string(size) + " elements: there is no place " +
                   in_quotes(steps.back().substr(0, 80)));
  }
  holder.items.insert(holder.items.begin() + static_cast<std::ptrdiff_t>(*place), std::move(value));
  return {};
}

Result<JsonTree> remove_at(JsonTree& tree, const Steps& steps) {
  if (steps.empty()) return refusal("the whole value cannot be removed");
  if (find(tree, steps) == nullptr) return not_there(steps);
  const auto parent = parent_of(tree, steps);
  if (!parent) return parent.error();
  JsonTree& holder = **parent;
  if (holder.kind == JsonKind::object) {
    const auto place = std::find_if(holder.members.begin(), holder.members.end(),
                                    [&](const auto& m) { return m.name == steps.back(); });
    JsonTree taken = std::move(place->value);
    holder.members.erase(place);
    return taken;
  }
  const auto place = holder.items.begin() +
                     static_cast<std::ptrdiff_t>(*index_of(steps.back(), holder.items.size()));
  JsonTree taken = std::move(*place);
  holder.items.erase(place);
  return taken;
}

}  // namespace dlo
