#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "dlo/cli/editing.h"
#include "dlo/cli/grammar_on.h"

namespace dlo::cli {
namespace {

void add_recipes(const Grammar& grammar) {
  auto* recipes = grammar.app.add_subcommand("recipe", "Repairs under a name, in versions")
                      ->alias("recipes")
                      ->require_subcommand(1);
  const auto arguments = std::make_shared<RecipeArguments>();
  auto* all = recipes->add_subcommand("list", "Every recipe");
  add_output(all, grammar.context);
  on(grammar, all, arguments, [](Context& c, const RecipeArguments&) { return recipe_list(c); });
  auto* shown = recipes->add_subcommand("show", "The steps of one");
  shown->add_option("name", arguments->name)->required();
  shown->add_option("--version", arguments->version, "Not the newest, but this one");
  shown->add_flag("--versions", arguments->versions, "Every version there was");
  add_output(shown, grammar.context);
  on(grammar, shown, arguments, recipe_show);
  auto* made = recipes->add_subcommand("create", "Keep steps under a name, or a new version of it")
                   ->alias("put");
  made->add_option("name", arguments->name)->required();
  made->add_option("steps,--steps", arguments->steps, "A file with JSON; - reads standard input")
      ->required();
  made->add_option("--notes,--reason", arguments->notes, "What it is for");
  on(grammar, made, arguments, recipe_create);
  auto* tried = recipes->add_subcommand("try", "What it would make of a few; nothing is changed");
  tried->add_option("name", arguments->name, "A recipe, or");
  tried->add_option("--steps", arguments->steps, "... a file with steps");
  tried->add_option("--id", arguments->on.ids, "On these dead letters");
  add_selection(tried, arguments->on.selection, false);
  tried->add_option("--limit", arguments->limit, "On how many");
  add_output(tried, grammar.context);
  on(grammar, tried, arguments, recipe_try);
  auto* gone = recipes->add_subcommand("remove", "Forget it; jobs that use it keep their steps");
  gone->add_option("name", arguments->name)->required();
  gone->add_flag("--yes,-y", arguments->yes, "Do not ask");
  on(grammar, gone, arguments, recipe_remove);
}

void add_repair(const Grammar& grammar) {
  auto* command =
      grammar.app.add_subcommand("repair", "Make new versions of dead letters by a recipe");
  const auto arguments = std::make_shared<RepairArguments>();
  BulkArguments& bulk = arguments->bulk;
  command->add_option("id", bulk.ids, "Ids; - reads them from standard input");
  add_selection(command, bulk.selection, false);
  command->add_option("--recipe", arguments->recipe, "The name of a recipe");
  command->add_option("--patch", arguments->patch, "... or a file with steps");
  command->add_option("--limit", bulk.limit, "Not more than this many");
  command->add_option("--rate", bulk.rate, "Not more than this many a second");
  command->add_option("--notes,--reason", bulk.notes, "Why; kept with each version");
  command->add_flag("--yes,-y", bulk.will.yes, "Do not ask");
  command->add_flag("--dry-run", bulk.will.dry_run, "Only say what would be done");
  command->add_flag("--wait", bulk.will.wait, "Until it is over, with a progress bar");
  on(grammar, command, arguments, repair);
}

}  // namespace

void add_editing(const Grammar& grammar) {
  auto* editing = grammar.app.add_subcommand(
      "edit", "Change what a dead letter says, in $EDITOR; a replay sends the new version");
  const auto arguments = std::make_shared<EditArguments>();
  editing->add_option("id", arguments->id, "Its id")->required();
  editing->add_option("--payload", arguments->payload,
                      "Take the payload from this file instead; - reads standard input");
  editing->add_option("--reason,--notes", arguments->reason, "Why; kept with the version");
  editing->add_flag("--yes,-y", arguments->yes, "Do not ask");
  editing->add_flag("--dry-run", arguments->dry_run, "Only show the difference");
  on(grammar, editing, arguments, edit);
  auto* comparing = grammar.app.add_subcommand("diff", "How two versions of a dead letter differ");
  const auto versions = std::make_shared<DiffArguments>();
  comparing->add_option("id", versions->id, "Its id")->required();
  comparing->add_option("from", versions->from, "v0 is the message as it died [v0]");
  comparing->add_option("to", versions->to, "[the newest]");
  add_output(comparing, grammar.context);
  on(grammar, comparing, versions, diff);
  add_repair(grammar);
  add_recipes(grammar);
}

}  // namespace dlo::cli
