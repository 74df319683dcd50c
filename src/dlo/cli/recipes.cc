#include <ostream>
#include <string>

#include "dlo/cli/client.h"
#include "dlo/cli/editing.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

std::string path_of(const RecipeArguments& arguments) {
  return Address("/v1/recipes").step(arguments.name).text();
}

Table table_of(Context& context, const std::vector<JsonValue>& recipes) {
  Table table({{"RECIPE"},
               {"VERSION", Align::right},
               {"MADE"},
               {"BY"},
               {"NOTES", Align::left, true},
               {"STEPS", Align::left, true}});
  for (const JsonValue& each : recipes) {
    table.add({text_of(each, "name"), text_of(each, "version"), when(context, time_of(each, "at")),
               text_of(each, "by"), text_of(each, "notes"),
               std::string(member(each, "steps").raw)});
  }
  return table;
}

int list_from(Context& context, const std::string& target, const char* none) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", target});
  if (!reply) return refuse(context, reply.error());
  const auto& recipes = member(reply->value, "recipes").items;
  print_items(context, *reply, recipes, "name", [&] { return table_of(context, recipes); });
  if (recipes.empty()) context.err << none;
  return recipes.empty() ? exit_nothing_matched : exit_ok;
}

/// A trial of one dead letter, for people.
void print_trial(Context& context, const JsonValue& trial) {
  const std::string problem = text_of(trial, "problem");
  context.out << text_of(trial, "id") << "  ";
  if (!problem.empty()) {
    context.out << "cannot be repaired: " << printable(problem) << "\n";
    return;
  }
  context.out << (is_true(trial, "changes") ? "would become" : "stays as it is");
  if (!is_true(trial, "editable")) context.out << " (but it cannot be edited in its state)";
  context.out << "\n";
  print_difference(context, member(trial, "diff"));
  for (const char* list : {"warnings", "complaints"}) {
    for (const JsonValue& each : member(trial, list).items) {
      context.out << "! " << printable(each.text()) << "\n";
    }
  }
}

Table trial_table(const std::vector<JsonValue>& tried) {
  Table table({{"ID"}, {"CHANGES"}, {"EDITABLE"}, {"PROBLEM", Align::left, true}});
  for (const JsonValue& each : tried) {
    table.add({text_of(each, "id"), text_of(each, "changes"), text_of(each, "editable"),
               text_of(each, "problem")});
  }
  return table;
}

Result<std::string> trial_body(Context& context, const RecipeArguments& arguments) {
  const auto recipe = recipe_json(context, arguments.name, arguments.steps);
  if (!recipe) return recipe.error();
  const std::string query = query_of(arguments.on.selection);
  if (recipe->empty() || arguments.on.ids.empty() == query.empty()) {
    return Error{Code::invalid_argument, "cli.recipe",
                 "Say what is tried, a NAME or --steps FILE, and on what: --id ID, --group G or "
                 "--where QUERY."};
  }
  JsonWriter json;
  json.begin_object().key(arguments.steps.empty() ? "recipe" : "steps").raw(*recipe);
  if (query.empty()) {
    json.key("ids").begin_array();
    for (const std::string& id : arguments.on.ids) json.text(id);
    json.end_array();
  } else {
    json.member("query", query);
  }
  if (arguments.limit > 0) json.member("limit", arguments.limit);
  json.end_object();
  return json.take();
}

}  // namespace

Result<std::string> recipe_json(Context& context, const std::string& name,
                                const std::string& file) {
  if (!name.empty() && !file.empty()) {
    return Error{Code::invalid_argument, "cli.recipe",
                 "Give the name of a recipe or a file with steps, not both."};
  }
  if (file.empty()) return name.empty() ? std::string() : json_text(name);
  auto steps = text_of_file(context, file);
  if (!steps) return steps.error();
  if (const auto read = parse_json(*steps); !read || read->kind != JsonKind::array) {
    return Error{Code::invalid_argument, "cli.recipe",
                 "The steps of a recipe are a JSON array, such as [{\"set\": \"currency\", "
                 "\"value\": \"EUR\"}]" +
                     (read ? std::string(".") : ": " + read.error().detail)};
  }
  return steps;
}

int recipe_list(Context& context) {
  return list_from(context, "/v1/recipes", "There are no recipes; dlo recipe create makes one.\n");
}

int recipe_show(Context& context, const RecipeArguments& arguments) {
  if (arguments.versions) {
    return list_from(context, path_of(arguments) + "?versions=true", "There is none.\n");
  }
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  std::string target = path_of(arguments);
  if (arguments.version > 0) target += "?version=" + std::to_string(arguments.version);
  const auto reply = ask_for(**client, {"GET", target});
  if (!reply) return refuse(context, reply.error());
  if (context.format == Format::table) {
    context.out << text_of(reply->value, "name") << " v" << text_of(reply->value, "version")
                << ", by " << printable(text_of(reply->value, "by")) << "\n"
                << printable(text_of(reply->value, "notes")) << "\n"
                << member(reply->value, "steps").raw << "\n";
    return exit_ok;
  }
  const std::vector<JsonValue> one{reply->value};
  print_items(context, *reply, one, "name", [&] { return table_of(context, one); });
  return exit_ok;
}

int recipe_create(Context& context, const RecipeArguments& arguments) {
  const auto steps = recipe_json(context, "", arguments.steps);
  if (!steps) return refuse(context, steps.error());
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  JsonWriter json;
  json.begin_object().key("steps").raw(*steps).member("notes", arguments.notes).end_object();
  const auto reply = ask_for(**client, {"PUT", path_of(arguments), json.take()});
  if (!reply) return refuse(context, reply.error());
  print_one(context, reply->value, "name", [&] {
    context.out << text_of(reply->value, "name") << "  version " << text_of(reply->value, "version")
                << "\n";
  });
  return exit_ok;
}

int recipe_try(Context& context, const RecipeArguments& arguments) {
  const auto body = trial_body(context, arguments);
  if (!body) return refuse(context, body.error());
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"POST", "/v1/recipes/try", *body});
  if (!reply) return refuse(context, reply.error());
  const auto& tried = member(reply->value, "tried").items;
  if (context.format == Format::table) {
    for (const JsonValue& each : tried) print_trial(context, each);
  } else {
    print_items(context, *reply, tried, "id", [&] { return trial_table(tried); });
  }
  if (tried.empty()) context.err << "Nothing matches.\n";
  return tried.empty() ? exit_nothing_matched : exit_ok;
}

int recipe_remove(Context& context, const RecipeArguments& arguments) {
  if (!confirmed(context, arguments.yes, "Remove recipe " + arguments.name + "?")) {
    return exit_usage;
  }
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"DELETE", path_of(arguments)});
  if (!reply) return refuse(context, reply.error());
  print_done(context, reply->value, arguments.name, [&] {
    context.out << "removed " << arguments.name << "; its versions stay readable\n";
  });
  return exit_ok;
}

int repair(Context& context, const RepairArguments& arguments) {
  const auto recipe = recipe_json(context, arguments.recipe, arguments.patch);
  if (!recipe) return refuse(context, recipe.error());
  if (recipe->empty()) {
    return refuse(context, {Code::invalid_argument, "cli.repair",
                            "Say how: --recipe NAME, or --patch FILE with its steps."});
  }
  const auto ids = ids_of(context, arguments.bulk);
  if (!ids) return refuse(context, ids.error());
  if (ids->empty() && !arguments.bulk.ids.empty()) return nothing_came(context);
  const auto steps = [&](JsonWriter& json) { json.key("recipe").raw(*recipe); };
  return run_bulk(context, "repair", arguments.bulk, *ids, steps, false);
}

}  // namespace dlo::cli
