#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <string>

#include "dlo/cli/grammar.h"
#include "dlo/cli/shell_help.h"

namespace dlo::cli {
namespace {

VerbInfo::Option option_of(const CLI::Option& option) {
  VerbInfo::Option out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.about = option.get_description();
  if (option.get_type_size() != 0) {
    out.value = out.names.empty() ? option.get_name() : option.get_type_name();
  }
  // A check that lists its values says so in the type: "FORMAT:{table,wide}".
  const auto from = out.value.find('{');
  const auto to = out.value.find('}');
  if (from == std::string::npos || to == std::string::npos) return out;
  std::string each;
  for (const char c : out.value.substr(from + 1, to - from - 1)) {
    if (c != ',') {
      each += c;
      continue;
    }
    out.choices.push_back(each);
    each.clear();
  }
  out.choices.push_back(each);
  return out;
}

VerbInfo info_of(const CLI::App& app, const std::string& path) {
  VerbInfo info;
  info.name = app.get_name();
  info.path = path;
  info.aliases = app.get_aliases();
  info.about = app.get_description();
  for (const CLI::Option* option : app.get_options()) info.options.push_back(option_of(*option));
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    info.verbs.push_back(info_of(*each, path + " " + each->get_name()));
  }
  return info;
}

}  // namespace

void add_help(const Grammar& grammar, const std::string& version) {
  auto* command = grammar.app.add_subcommand("completion", "What a shell needs to complete dlo");
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app = grammar.app, &verb = grammar.verb, shell] {
    verb = [&app, shell](Context& context) {
      const VerbInfo program = info_of(app, "");
      context.out << (*shell == "bash"  ? bash_completion(program)
                      : *shell == "zsh" ? zsh_completion(program)
                                        : fish_completion(program));
      return int{exit_ok};
    };
  });
  auto* page = grammar.app.add_subcommand("man", "The manual page; dlo man | man -l - shows it");
  page->callback([&app = grammar.app, &verb = grammar.verb, version] {
    verb = [&app, version](Context& context) {
      context.out << manual(info_of(app, ""), version);
      return int{exit_ok};
    };
  });
}

}  // namespace dlo::cli
