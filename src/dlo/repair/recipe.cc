#include "dlo/repair/recipe.h"

#include <algorithm>
#include <array>
#include <optional>

#include "dlo/core/header_class.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

using Kind = RecipeStep::Kind;
using Steps = std::vector<std::string>;

constexpr std::array<std::string_view, 6> kinds = {"set",        "remove",        "rename",
                                                   "set_header", "remove_header", "patch"};

Error refusal(std::string detail) {
  return {Code::invalid_argument, "repair.recipe", std::move(detail)};
}

std::string nth(std::size_t place, Kind kind) {
  return "step " + std::to_string(place + 1) + " (" +
         std::string(kinds.at(static_cast<std::size_t>(kind))) + "): ";
}

Result<Kind> read_kind(const JsonValue& value) {
  if (value.kind != JsonKind::object) return refusal("it is no object");
  std::optional<Kind> found;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (value.find(kinds.at(i)) == nullptr) continue;
    if (found) return refusal("it says two things at once: make two steps of it");
    found = static_cast<Kind>(i);
  }
  if (!found) {
    return refusal(
        "it needs one of \"set\", \"remove\", \"rename\", \"set_header\", "
        "\"remove_header\" and \"patch\"");
  }
  return *found;
}

std::optional<std::string_view> second_member(Kind kind) {
  if (kind == Kind::set || kind == Kind::set_header) return "value";
  if (kind == Kind::rename) return "to";
  return std::nullopt;
}

Result<void> check_members(const JsonValue& value, Kind kind) {
  const std::string_view first = kinds.at(static_cast<std::size_t>(kind));
  const auto second = second_member(kind);
  for (const JsonMember& member : value.members) {
    if (member.name == first || member.name == second) continue;
    return refusal("the member " + in_quotes(member.name) + " is unknown here");
  }
  if (second && value.find(*second) == nullptr) {
    return refusal("it needs a member " + in_quotes(*second));
  }
  const std::size_t expected = second ? 2 : 1;
  if (value.members.size() != expected) return refusal("a member is there twice");
  return {};
}

Result<Steps> read_path(const JsonValue& value) {
  if (value.kind != JsonKind::string) return refusal("a path is a text");
  auto path = JsonPath::parse(value.text());
  if (!path) return path.error();
  return std::move(path->steps);
}

Result<std::string> read_header_name(const JsonValue& value) {
  const std::string name = value.text();
  if (value.kind != JsonKind::string || name.empty()) return refusal("a header has a name");
  if (header_class(name) == HeaderClass::locked) {
    return refusal("the header " + in_quotes(name) +
                   " is locked: " + std::string(header_warning(name)));
  }
  return name;
}

Result<void> read_paths(const JsonValue& value, RecipeStep& step) {
  auto path = read_path(*value.find(kinds.at(static_cast<std::size_t>(step.kind))));
  if (!path) return path.error();
  step.path = std::move(*path);
  if (step.kind == Kind::set) step.value = tree_of(*value.find("value"));
  if (step.kind != Kind::rename) return {};
  auto to = read_path(*value.find("to"));
  if (!to) return to.error();
  step.to = std::move(*to);
  return {};
}

Result<RecipeStep> read_step(const JsonValue& value) {
  const auto kind = read_kind(value);
  if (!kind) return kind.error();
  RecipeStep step;
  step.kind = *kind;
  if (auto fine = check_members(value, *kind); !fine) return fine.error();
  const JsonValue& first = *value.find(kinds.at(static_cast<std::size_t>(*kind)));
  if (*kind == Kind::patch) {
    auto patch = read_patch(first);
    if (!patch) return patch.error();
    step.patch = std::move(*patch);
  } else if (*kind == Kind::set_header || *kind == Kind::remove_header) {
    auto name = read_header_name(first);
    if (!name) return name.error();
    step.name = std::move(*name);
    if (*kind == Kind::set_header) {
      const JsonValue& text = *value.find("value");
      if (text.kind != JsonKind::string) return refusal("the value of a header is a text");
      step.text = text.text();
    }
  } else if (auto read = read_paths(value, step); !read) {
    return read.error();
  }
  return step;
}

bool touches_payload(const RecipeStep& step) {
  return step.kind != Kind::set_header && step.kind != Kind::remove_header;
}

Result<void> set_at(JsonTree& tree, const Steps& path, const JsonTree& value) {
  Steps here;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    here.push_back(path[i]);
    if (find(tree, here) != nullptr) continue;
    JsonTree object;
    object.kind = JsonKind::object;
    if (auto made = add_at(tree, here, std::move(object)); !made) return made;
  }
  if (find(tree, path) == nullptr) return add_at(tree, path, value);
  // In an array `add` would make room instead.
  auto replaced = apply_patch({{PatchOperation::Kind::replace, path, {}, value}}, std::move(tree));
  if (!replaced) return replaced.error();
  tree = std::move(*replaced);
  return {};
}

Result<void> rename_at(JsonTree& tree, const Steps& from, const Steps& to) {
  if (find(tree, from) == nullptr || from == to) return {};
  if (find(tree, to) != nullptr) {
    return refusal("there is something at " + in_quotes(pointer_of(to)) + " already");
  }
  if (to.size() > from.size() && std::equal(from.begin(), from.end(), to.begin())) {
    return refusal("a value cannot be moved into itself");
  }
  auto taken = remove_at(tree, from);
  if (!taken) return taken.error();
  return set_at(tree, to, *taken);
}

Result<void> carry_out(const RecipeStep& step, JsonTree& tree) {
  switch (step.kind) {
    case Kind::set:
      return set_at(tree, step.path, step.value);
    case Kind::remove: {
      if (find(tree, step.path) == nullptr) return {};
      const auto removed = remove_at(tree, step.path);
      return removed ? Result<void>{} : removed.error();
    }
    case Kind::rename:
      return rename_at(tree, step.path, step.to);
    case Kind::patch: {
      auto patched = apply_patch(step.patch, tree);
      if (!patched) return patched.error();
      tree = std::move(*patched);
      return {};
    }
    case Kind::set_header:
    case Kind::remove_header:
      break;
  }
  return {};
}

void carry_out(const RecipeStep& step, Headers& headers) {
  const std::string name = ascii_lower(step.name);
  const auto is_it = [&](const Header& header) { return ascii_lower(header.name) == name; };
  if (step.kind == Kind::set_header) {
    const auto first = std::find_if(headers.begin(), headers.end(), is_it);
    if (first != headers.end()) {
      *first = {first->name, step.text, HeaderType::text};
      headers.erase(std::remove_if(first + 1, headers.end(), is_it), headers.end());
    } else {
      headers.push_back({step.name, step.text, HeaderType::text});
    }
  } else if (step.kind == Kind::remove_header) {
    std::erase_if(headers, is_it);
  }
}

Result<std::string> repair_payload(const Recipe& recipe,
                                   const std::optional<std::string>& payload) {
  if (!payload) return refusal("the message has no payload, and the recipe is about one");
  auto tree = parse_tree(*payload);
  if (!tree) return refusal("the payload cannot be repaired as JSON: " + tree.error().detail);
  for (std::size_t i = 0; i < recipe.size(); ++i) {
    if (auto done = carry_out(recipe[i], *tree); !done) {
      return refusal(nth(i, recipe[i].kind) + done.error().detail);
    }
  }
  return print_tree(*tree);
}

void write_step(JsonWriter& json, const RecipeStep& step) {
  json.begin_object().key(kinds.at(static_cast<std::size_t>(step.kind)));
  switch (step.kind) {
    case Kind::set:
      json.text(pointer_of(step.path)).key("value").raw(print_tree(step.value));
      break;
    case Kind::remove:
      json.text(pointer_of(step.path));
      break;
    case Kind::rename:
      json.text(pointer_of(step.path)).key("to").text(pointer_of(step.to));
      break;
    case Kind::set_header:
      json.text(step.name).key("value").text(step.text);
      break;
    case Kind::remove_header:
      json.text(step.name);
      break;
    case Kind::patch:
      json.raw(print_patch(step.patch));
      break;
  }
  json.end_object();
}

}  // namespace

Result<Recipe> read_recipe(const JsonValue& value) {
  if (value.kind != JsonKind::array || value.items.empty()) {
    return refusal("a recipe is an array of steps, and has at least one");
  }
  if (value.items.size() > most_recipe_steps) {
    return refusal("a recipe has at most " + std::to_string(most_recipe_steps) + " steps");
  }
  Recipe recipe;
  for (const JsonValue& item : value.items) {
    auto step = read_step(item);
    if (!step) {
      return refusal("step " + std::to_string(recipe.size() + 1) + ": " + step.error().detail);
    }
    recipe.push_back(std::move(*step));
  }
  return recipe;
}

Result<Recipe> parse_recipe(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return value.error();
  return read_recipe(*value);
}

std::string print_recipe(const Recipe& recipe) {
  JsonWriter json;
  json.begin_array();
  for (const RecipeStep& step : recipe) write_step(json, step);
  json.end_array();
  return json.take();
}

Result<Draft> apply_recipe(const Recipe& recipe, Draft draft) {
  for (const RecipeStep& step : recipe) carry_out(step, draft.headers);
  if (!std::any_of(recipe.begin(), recipe.end(), touches_payload)) return draft;
  auto payload = repair_payload(recipe, draft.payload);
  if (!payload) return payload.error();
  // What came out the same keeps its bytes: blanks are nobody's to take away.
  bool more = false;
  if (!path_changes(*draft.payload, *payload, more).empty()) draft.payload = std::move(*payload);
  return draft;
}

std::vector<std::string> warnings_of(const Difference& difference) {
  std::vector<std::string> warnings;
  for (const HeaderChange& change : difference.headers) {
    if (header_class(change.name) != HeaderClass::sensitive) continue;
    warnings.push_back("header " + in_quotes(change.name) +
                       " is sensitive: " + std::string(header_warning(change.name)));
  }
  return warnings;
}

Result<void> check_locked(const Difference& difference) {
  for (const HeaderChange& change : difference.headers) {
    if (header_class(change.name) != HeaderClass::locked) continue;
    return refusal("the header " + in_quotes(change.name) + " is locked: " +
                   std::string(header_warning(change.name)) + ". Nothing was changed.");
  }
  return {};
}

}  // namespace dlo
