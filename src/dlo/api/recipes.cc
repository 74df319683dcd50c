// Repair recipes: kept under names, in versions, and tried before they are used.
#include <algorithm>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/curtain.h"
#include "dlo/api/edits.h"
#include "dlo/api/idempotency.h"
#include "dlo/core/acts.h"
#include "dlo/core/spelling.h"
#include "dlo/jobs/batch.h"
#include "dlo/jobs/drafts.h"
#include "dlo/jobs/recipe_book.h"
#include "dlo/json/writer.h"
#include "dlo/query/query_text.h"

namespace dlo::api {
namespace {

constexpr std::uint64_t usual_tries = 5;
constexpr std::uint64_t most_tries = 50;

HttpResponse with_etag(const KeptRecipe& recipe, int status = 200) {
  HttpResponse response = json_answer(to_json(recipe), status);
  set_etag(response, recipe.etag);
  return response;
}

HttpResponse write_list(const Result<std::vector<KeptRecipe>>& all) {
  if (!all) return problem_of(all.error());
  JsonWriter json;
  json.begin_object().key("recipes").begin_array();
  for (const KeptRecipe& each : *all) json.raw(to_json(each));
  json.end_array().end_object();
  return json_answer(json.take());
}

HttpResponse show(Office& office, const Request& request) {
  RecipeBook book(office);
  const auto all = request.flag("versions");
  if (!all) return problem_of(all.error());
  if (*all) return write_list(book.versions(request.path.front()));
  std::optional<std::uint32_t> version;
  if (request.find("version") != nullptr) {
    const auto wanted = request.number("version", 1, 1, UINT32_MAX);
    if (!wanted) return problem_of(wanted.error());
    version = static_cast<std::uint32_t>(*wanted);
  }
  const auto recipe = book.get(request.path.front(), version);
  return recipe ? with_etag(*recipe) : problem_of(recipe.error());
}

void read_steps(JsonFields& fields, const char* name, Recipe& into) {
  const JsonValue* steps = fields.find(name);
  if (steps == nullptr) return;
  auto recipe = read_recipe(*steps);
  if (!recipe) {
    fields.complain(name, recipe.error().detail);
    return;
  }
  into = std::move(*recipe);
}

int made(const KeptRecipe& recipe) {
  return recipe.version == 1 ? 201 : 200;
}

/// What was answered under this key before, if anything was.
std::optional<HttpResponse> told_before(Office& office, const std::optional<IdempotencyKey>& key) {
  if (!key) return std::nullopt;
  auto before = key->find(office);
  return before ? std::move(*before) : problem_of(before.error());
}

/// What the trail keeps of the recipe as it is; empty if there is none.
std::string described(Office& office, const std::string& name) {
  const auto kept = RecipeBook(office).get(name, std::nullopt);
  return kept ? digest_json(print_recipe(kept->steps)) : std::string();
}

HttpResponse put(Office& office, const Request& request) {
  KeptRecipe recipe;
  recipe.name = request.path.front();
  recipe.at = request.now;
  recipe.by = request.actor.name;
  const auto read = read_body(request, [&](JsonFields& fields) {
    fields.require("steps");
    read_steps(fields, "steps", recipe.steps);
    recipe.notes = fields.text("notes");
  });
  if (!read) return problem_of(read.error());
  const auto expected = request.if_match();
  if (!expected) return problem_of(expected.error());
  const auto key = IdempotencyKey::of(request);
  if (!key) return problem_of(key.error());
  if (auto told = told_before(office, *key)) return std::move(*told);
  const std::string name = recipe.name;
  std::string said =
      before_and_after(described(office, name), digest_json(print_recipe(recipe.steps)));
  const auto kept = RecipeBook(office).put(std::move(recipe), *expected,
                                           audit_of(request, "recipe", name, std::move(said)),
                                           [&](const KeptRecipe& next) -> std::optional<Change> {
                                             if (!*key) return std::nullopt;
                                             return (*key)->keep(with_etag(next, made(next)));
                                           });
  if (!kept) {  // somebody may have been quicker with the same key
    if (auto told = told_before(office, *key)) return std::move(*told);
  }
  if (!kept && kept.error().code == Code::conflict && *expected) {
    return problem(412, "version_changed", kept.error().detail);
  }
  if (!kept) return problem_of(kept.error());
  if (*key) IdempotencyKey::forget_old(office, request.now);
  return with_etag(*kept, made(*kept));
}

HttpResponse remove(Office& office, const Request& request) {
  const std::string& name = request.path.front();
  std::string said = before_and_after(described(office, name), {});
  const auto gone =
      RecipeBook(office).remove(name, audit_of(request, "recipe.remove", name, std::move(said)));
  return gone ? json_answer(R"({"removed":true})") : problem_of(gone.error());
}

/// What is tried, and on which dead letters.
struct Trial {
  std::string name;
  Recipe steps;
  std::string query;
  std::vector<RecordId> ids;
  std::uint64_t limit = usual_tries;
};

void read_trial(JsonFields& fields, Trial& trial) {
  const bool named = fields.has("recipe");
  if (named == fields.has("steps")) {
    fields.complain("recipe", "or `steps` must say what is tried, and only one of them");
  }
  if (named) trial.name = fields.text("recipe");
  read_steps(fields, "steps", trial.steps);
  const bool by_ids = fields.has("ids");
  if (by_ids == fields.has("query")) {
    fields.complain("query", "or `ids` must say on which dead letters, and only one of them");
  }
  trial.query = fields.text("query");
  for (const JsonValue& item : fields.items("ids")) {
    const auto id = parse_id(item.text());
    if (!id) fields.complain("ids", "must hold ids of 32 hex digits");
    trial.ids.emplace_back(RecordId{id.value_or(Id128{})});
  }
  if (fields.has("limit")) trial.limit = fields.number("limit", most_tries);
}

Result<std::vector<RecordId>> sample_of(Office& office, const Trial& trial,
                                        const Request& request) {
  Query query;
  if (trial.ids.empty()) {
    auto parsed = parse_query(trial.query, request.now);
    if (!parsed) return parsed.error();
    if (auto fine = curtain_of(request).check(*parsed, request); !fine) return fine.error();
    query = std::move(*parsed);
  } else {
    query.ids = trial.ids;
  }
  query.limit = trial.limit;
  const auto page = office.list(query);
  if (!page) return page.error();
  std::vector<RecordId> ids;
  for (const RecordHead& row : page->rows) ids.push_back(row.id);
  return ids;
}

void write_trial(JsonWriter& json, Office& office, const RecordId& id, const Recipe& steps,
                 const Request& request) {
  json.begin_object().member("id", to_string(id));
  const auto detail = office.get(id);
  auto repair = detail ? check_recipe(office, *detail, steps) : detail.error();
  if (!repair) {
    json.key("changes").boolean(false).member("problem", repair.error().detail).end_object();
    return;
  }
  json.key("changes").boolean(repair->changes());
  json.key("editable").boolean(is_editable(detail->record.status));
  json.key("warnings").begin_array();
  for (const std::string& each : repair->warnings) json.text(each);
  json.end_array().key("complaints").begin_array();
  curtain_of(request).hide(repair->complaints, request);
  for (const SchemaComplaint& each : repair->complaints) json.text(each.text);
  json.end_array().key("diff");
  write_json(json, curtain_of(request).difference(newest_draft(*detail), repair->after));
  json.end_object();
}

HttpResponse try_out(Office& office, const Request& request) {
  Trial trial;
  const auto read = read_body(request, [&](JsonFields& fields) { read_trial(fields, trial); });
  if (!read) return problem_of(read.error());
  if (!trial.name.empty()) {
    auto kept = RecipeBook(office).get(trial.name, std::nullopt);
    if (!kept) return problem_of(kept.error());
    trial.steps = std::move(kept->steps);
  }
  if (auto fine = curtain_of(request).check(trial.steps, request); !fine) {
    return problem_of(fine.error());
  }
  const auto ids = sample_of(office, trial, request);
  if (!ids) return problem_of(ids.error());
  JsonWriter json;
  json.begin_object().key("steps").raw(print_recipe(trial.steps)).key("tried").begin_array();
  for (const RecordId& id : *ids) {
    write_trial(json, office, id, trial.steps, request);
  }
  json.end_array().end_object();
  return json_answer(json.take());
}

}  // namespace

std::vector<Route> recipe_routes(Office& office) {
  const auto row = [](std::string_view method, std::string_view pattern, Role role, Lane lane,
                      std::vector<std::string_view> query,
                      std::function<HttpResponse(const Request&)> run) {
    return Route{method, pattern, role, lane, std::move(query), answering(std::move(run))};
  };
  return {
      row("GET", "/v1/recipes", Role::reader, Lane::quick, {},
          [&office](const Request&) { return write_list(RecipeBook(office).list()); }),
      row("POST", "/v1/recipes/try", Role::operator_, Lane::slow, {},
          [&office](const Request& r) { return try_out(office, r); }),
      row("GET", "/v1/recipes/{name}", Role::reader, Lane::quick, {"version", "versions"},
          [&office](const Request& r) { return show(office, r); }),
      row("PUT", "/v1/recipes/{name}", Role::operator_, Lane::quick, {},
          [&office](const Request& r) { return put(office, r); }),
      row("DELETE", "/v1/recipes/{name}", Role::operator_, Lane::quick, {},
          [&office](const Request& r) { return remove(office, r); }),
  };
}

}  // namespace dlo::api
