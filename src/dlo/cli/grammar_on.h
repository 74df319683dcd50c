#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "dlo/cli/grammar.h"

namespace dlo::cli {

/// `command` runs `run` with the arguments it owns from now on.
template <typename Arguments, typename Run>
void on(const Grammar& grammar, CLI::App* command, const std::shared_ptr<Arguments>& arguments,
        Run run) {
  add_target(command, grammar.context);
  if (command->get_option_no_throw("--output") == nullptr) add_output(command, grammar.context);
  command->callback([&verb = grammar.verb, arguments, run] {
    verb = [arguments, run](Context& context) { return run(context, *arguments); };
  });
}

}  // namespace dlo::cli
