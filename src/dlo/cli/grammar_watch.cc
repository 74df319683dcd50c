#include <CLI/CLI.hpp>
#include <memory>

#include "dlo/cli/grammar.h"
#include "dlo/cli/watching.h"

namespace dlo::cli {
namespace {

void add_portable(const Grammar& grammar) {
  auto* out = grammar.app.add_subcommand("export",
                                         "Dead letters as a file that another office can take in");
  const auto arguments = std::make_shared<PortableArguments>();
  add_selection(out, arguments->selection, true);
  out->add_option("--file", arguments->file, "Write there; default: standard output");
  out->add_flag("--reveal", arguments->reveal, "Masked places too; that is audited");
  out->add_flag("--masked", arguments->masked,
                "Masks instead of them: a file to look at, which no office takes in");
  out->add_option(
      "--form", arguments->form,
      "In the words of a document, for other programs; import takes only those without");
  add_target(out, grammar.context);
  out->callback([&verb = grammar.verb, arguments] {
    verb = [arguments](Context& context) { return export_letters(context, *arguments); };
  });
  auto* in =
      grammar.app.add_subcommand("import", "Take in what export wrote; repeating it is fine");
  in->add_option("file", arguments->file, "File; - or none reads standard input");
  add_target(in, grammar.context);
  in->callback([&verb = grammar.verb, arguments] {
    verb = [arguments](Context& context) { return import_letters(context, *arguments); };
  });
}

}  // namespace

void add_watching(const Grammar& grammar) {
  auto* follow = grammar.app.add_subcommand("tail", "Dead letters as they die, until Ctrl-C");
  const auto arguments = std::make_shared<TailArguments>();
  add_selection(follow, arguments->selection, true);
  follow->add_option("--last,-n", arguments->last, "How many of those that are there")
      ->check(CLI::Range(0, 999))
      ->capture_default_str();
  follow->add_flag("--no-follow", arguments->once, "Only what is there");
  add_target(follow, grammar.context);
  add_output(follow, grammar.context);
  follow->callback([&verb = grammar.verb, arguments] {
    verb = [arguments](Context& context) { return tail(context, *arguments); };
  });
  add_portable(grammar);
  auto* board = grammar.app.add_subcommand("top", "Numbers, groups, jobs and queues on one screen");
  add_target(board, grammar.context);
  board->callback([&verb = grammar.verb] { verb = [](Context& context) { return top(context); }; });
  auto* checks =
      grammar.app.add_subcommand("doctor", "Check what can be wrong, and say what to do");
  const auto deep = std::make_shared<DoctorArguments>();
  checks->add_flag("--deep", deep->deep, "The whole audit trail too");
  add_target(checks, grammar.context);
  add_output(checks, grammar.context);
  checks->callback([&verb = grammar.verb, deep] {
    verb = [deep](Context& context) { return doctor(context, *deep); };
  });
}

}  // namespace dlo::cli
