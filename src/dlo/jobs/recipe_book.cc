#include "dlo/jobs/recipe_book.h"

#include <algorithm>
#include <utility>

#include "dlo/core/spelling.h"
#include "dlo/json/fields.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

constexpr const char* kind = "recipe";
constexpr std::size_t page = 500;
constexpr std::size_t longest_name = 100;

std::string version_kind(const std::string& name) {
  return "recipe_version:" + name;
}
std::string version_key(std::uint32_t version) {
  const std::string digits = std::to_string(version);
  return std::string(10 - std::min<std::size_t>(10, digits.size()), '0') + digits;
}

Error no_recipe(const std::string& name) {
  return {Code::not_found, "jobs.recipe", "There is no recipe " + in_quotes(name) + "."};
}

Result<KeptRecipe> read(const Document& document) {
  const auto value = parse_json(document.body);
  if (!value) return value.error();
  JsonComplaints complaints("jobs.recipe");
  KeptRecipe recipe;
  const JsonValue* steps = nullptr;
  {
    JsonFields fields(*value, "", complaints);
    recipe.name = fields.text("name");
    recipe.version = fields.small("version");
    steps = fields.find("steps");
    recipe.notes = fields.text("notes");
    recipe.at = fields.time("at").value_or(TimePoint{});
    recipe.by = fields.text("by");
  }
  if (complaints.first()) return *complaints.first();
  if (steps == nullptr) return no_recipe(recipe.name);
  auto read_steps = read_recipe(*steps);
  if (!read_steps) return read_steps.error();
  recipe.steps = std::move(*read_steps);
  recipe.etag = document.version;
  return recipe;
}

Result<std::vector<KeptRecipe>> read_all(Office& office, const std::string& of_kind) {
  std::vector<KeptRecipe> all;
  std::string after;
  while (true) {
    const auto documents = office.extras().ledger->documents(of_kind, after, page);
    if (!documents) return documents.error();
    for (const Document& document : *documents) {
      auto recipe = read(document);
      if (!recipe) return recipe.error();
      all.push_back(std::move(*recipe));
    }
    if (documents->size() < page) return all;
    after = documents->back().key;
  }
}

}  // namespace

std::string to_json(const KeptRecipe& recipe) {
  JsonWriter json;
  json.begin_object()
      .member("name", std::string_view(recipe.name))
      .member("version", recipe.version)
      .key("steps")
      .raw(print_recipe(recipe.steps))
      .member("notes", std::string_view(recipe.notes))
      .member("at", recipe.at)
      .member("by", std::string_view(recipe.by))
      .end_object();
  return json.take();
}

Result<void> check_recipe_name(const std::string& name) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  if (!name.empty() && name.size() <= longest_name && std::all_of(name.begin(), name.end(), fine)) {
    return {};
  }
  return Error{Code::invalid_argument, "jobs.recipe",
               in_quotes(name) +
                   " is no name for a recipe: letters, digits, dots, dashes and "
                   "underscores, up to 100"};
}

Result<KeptRecipe> RecipeBook::put(KeptRecipe recipe, std::optional<std::uint64_t> expected,
                                   AddAudit audit, const Also& also) {
  if (auto fine = check_recipe_name(recipe.name); !fine) return fine.error();
  const auto known = office_.extras().ledger->document(kind, recipe.name);
  if (!known) return known.error();
  std::uint64_t before = 0;
  const auto all = versions(recipe.name);
  if (!all) return all.error();
  recipe.version = all->empty() ? 1 : all->back().version + 1;
  if (*known) before = (*known)->version;
  if (expected && *expected != before) {
    return Error{Code::conflict, "jobs.recipe",
                 "Recipe " + in_quotes(recipe.name) + " was changed meanwhile: look at it again."};
  }
  const std::string body = to_json(recipe);
  std::vector<Change> changes{
      PutDocument{kind, recipe.name, body, before},
      PutDocument{version_kind(recipe.name), version_key(recipe.version), body, 0},
      std::move(audit)};
  if (also) {
    if (auto more = also(recipe)) changes.push_back(std::move(*more));
  }
  const auto applied = office_.apply(changes);
  if (!applied) return applied.error();
  recipe.etag = applied->front().version;
  return recipe;
}

Result<KeptRecipe> RecipeBook::get(const std::string& name, std::optional<std::uint32_t> version) {
  Ledger& ledger = *office_.extras().ledger;
  const auto found = version ? ledger.document(version_kind(name), version_key(*version))
                             : ledger.document(kind, name);
  if (!found) return found.error();
  if (!*found) return no_recipe(name);
  return read(**found);
}

Result<std::vector<KeptRecipe>> RecipeBook::list() {
  return read_all(office_, kind);
}

Result<std::vector<KeptRecipe>> RecipeBook::versions(const std::string& name) {
  return read_all(office_, version_kind(name));
}

Result<void> RecipeBook::remove(const std::string& name, AddAudit audit) {
  const auto known = office_.extras().ledger->document(kind, name);
  if (!known) return known.error();
  if (!*known) return no_recipe(name);
  const std::vector<Change> changes{PutDocument{kind, name, std::nullopt, (*known)->version},
                                    std::move(audit)};
  const auto applied = office_.apply(changes);
  return applied ? Result<void>{} : applied.error();
}

}  // namespace dlo
