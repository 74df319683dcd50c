#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlo/cli/acts.h"
#include "dlo/cli/context.h"
#include "dlo/json/text/value.h"

namespace dlo::cli {

struct EditArguments {
  std::string id;
  std::string payload;  // a file to take it from, `-`: standard input; empty: an editor is opened
  std::string reason;
  bool yes = false;
  bool dry_run = false;
};
/// A new version of a dead letter: shown as a difference, asked about, made.
int edit(Context& context, const EditArguments& arguments);

struct DiffArguments {
  std::string id;
  std::string from;  // "v0" or "0"; empty: as it died
  std::string to;    // empty: the newest
};
int diff(Context& context, const DiffArguments& arguments);
/// What the API says of two versions, for people.
void print_difference(Context& context, const JsonValue& difference);

struct RecipeArguments {
  std::string name;
  std::string steps;  // a file with JSON, `-`: standard input
  std::string notes;
  std::uint32_t version = 0;  // 0: the newest
  bool versions = false;
  bool yes = false;
  std::uint64_t limit = 0;
  BulkArguments on;  // what it is tried on
};
int recipe_list(Context& context);
int recipe_show(Context& context, const RecipeArguments& arguments);
int recipe_create(Context& context, const RecipeArguments& arguments);
int recipe_try(Context& context, const RecipeArguments& arguments);
int recipe_remove(Context& context, const RecipeArguments& arguments);

struct RepairArguments {
  BulkArguments bulk;
  std::string recipe;  // its name
  std::string patch;   // or a file with its steps
};
/// Makes versions by a recipe, as a job.
int repair(Context& context, const RepairArguments& arguments);

/// The whole of a file, or of standard input for `-`.
[[nodiscard]] Result<std::string> text_of_file(Context& context, const std::string& file);
/// The member `recipe` of a job: a name, or the steps in a file. Nothing is written without either.
[[nodiscard]] Result<std::string> recipe_json(Context& context, const std::string& name,
                                              const std::string& file);

}  // namespace dlo::cli
