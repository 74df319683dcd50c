#include <CLI/CLI.hpp>
#include <memory>

#include "dlo/cli/grammar_on.h"
#include "dlo/cli/verbs.h"

namespace dlo::cli {
namespace {

void add_explain(const Grammar& grammar) {
  auto* command = grammar.app.add_subcommand(
      "explain", "Say what would become of a message that failed like this, and why");
  const auto arguments = std::make_shared<ExplainArguments>();
  command->add_option("what", arguments->what, "Error text, or the id of a dead letter");
  command->add_option("--profile", arguments->profile,
                      "Rule set; 'dlo profile list' names them [standard]");
  command->add_option("--config", arguments->config,
                      "Configuration file (docs/config.md); also DLO_CONFIG");
  command->add_option("--source", arguments->source,
                      "Of this source: 'sources' of a configuration");
  command->add_option("--event-type", arguments->event_type,
                      "Of this event type: 'event_types' of a configuration");
  command->add_option("--error", arguments->error, "Error text, whatever it looks like");
  command->add_option("--type", arguments->type, "Error type, such as JsonException");
  command->add_option("--status", arguments->status, "HTTP status")->check(CLI::Range(100, 599));
  command->add_option("--code", arguments->code, "Typed code, such as ECONNREFUSED");
  command
      ->add_option("--attempt", arguments->attempt,
                   "Which execution failed; all before it too [1, or that of the dead letter]")
      ->check(CLI::Range(1U, 4'000'000'000U));
  command->add_option("--counter", arguments->counters,
                      "NAME=NUMBER, instead of what follows from --attempt");
  on(grammar, command, arguments, [](Context& context, ExplainArguments& given) {
    if (given.config.empty()) given.config = variable(context, "DLO_CONFIG");
    return explain(context, given);
  });
}

}  // namespace

void add_rules(const Grammar& grammar) {
  add_explain(grammar);
  auto* command = grammar.app.add_subcommand("profile", "Rule sets")->require_subcommand(1);
  auto* all = command->add_subcommand("list", "Every rule set there is, and which to prefer");
  add_output(all, grammar.context);
  all->callback([&verb = grammar.verb] { verb = [](Context& c) { return profile_list(c); }; });
  auto* one = command->add_subcommand("show", "One rule set, complete, as a file would hold it");
  const auto name = std::make_shared<std::string>();
  one->add_option("name", *name)->required();
  one->callback([&verb = grammar.verb, name] {
    verb = [name](Context& c) { return profile_show(c, *name); };
  });
}

}  // namespace dlo::cli
