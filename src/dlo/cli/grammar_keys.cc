#include <CLI/CLI.hpp>
#include <memory>

#include "dlo/cli/grammar.h"
#include "dlo/cli/key.h"

namespace dlo::cli {

void add_keys(const Grammar& grammar) {
  auto* command = grammar.app.add_subcommand("key", "Keys with which an office is encrypted")
                      ->require_subcommand(1);
  const auto arguments = std::make_shared<KeyArguments>();
  auto* create = command->add_subcommand("create", "Add a new master key to a key file");
  create->add_option("file", arguments->file, "Made if it is not there")->required();
  add_data(create, grammar.context);
  create->callback([&verb = grammar.verb, arguments] {
    verb = [arguments](Context& context) { return key_create(context, *arguments); };
  });
  auto* all = command->add_subcommand("list", "Which keys there are and which are in use");
  add_data(all, grammar.context);
  add_output(all, grammar.context);
  all->callback(
      [&verb = grammar.verb] { verb = [](Context& context) { return key_list(context); }; });
  auto* rotate = command->add_subcommand("rotate", "Bring the office under the newest master key");
  rotate->add_flag("--data-key", arguments->data_key,
                   "Make a new data key, with which everything is encrypted anew");
  add_data(rotate, grammar.context);
  rotate->callback([&verb = grammar.verb, arguments] {
    verb = [arguments](Context& context) { return key_rotate(context, *arguments); };
  });
}

}  // namespace dlo::cli
