#include "dlo/cli/grammar.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/cli/config_file.h"
#include "dlo/core/spelling.h"

namespace dlo::cli {
namespace {

const std::map<std::string, Format> formats = {{"table", Format::table}, {"wide", Format::wide},
                                               {"json", Format::json},   {"ndjson", Format::ndjson},
                                               {"csv", Format::csv},     {"id", Format::id}};

}  // namespace

void add_output(CLI::App* command, Context& context) {
  command
      ->add_option_function<std::string>(
          "-o,--output", [&context](const std::string& name) { context.format = formats.at(name); },
          "How to answer")
      ->check([](const std::string& name) {
        if (formats.contains(name)) return std::string();
        std::vector<std::string_view> names;
        for (const auto& each : formats) names.push_back(each.first);
        return unknown_name("format", name, names);
      })
      ->type_name("{table,wide,json,ndjson,csv,id}");
}

void add_data(CLI::App* command, Context& context) {
  command
      ->add_option_function<std::string>(
          "--data",
          [&context](const std::string& directory) {
            context.data = directory;
            context.data_named = true;
          },
          "Directory of the office; also DLO_DATA")
      ->default_str(Context::usual_data);
}

void add_target(CLI::App* command, Context& context) {
  add_data(command, context);
  add_server(command, context);
}

void add_server(CLI::App* command, Context& context) {
  command
      ->add_option("--server", context.server,
                   "Ask this server, such as http://host:8080; also DLO_SERVER")
      ->type_name("URL");
  command
      ->add_option("--token", context.token, "Its token, also DLO_TOKEN; a file hides it from ps")
      ->type_name("TOKEN");
  command
      ->add_option("--token-file", context.token_file,
                   "A file that begins with the token; also DLO_TOKEN_FILE")
      ->type_name("FILE");
  command
      ->add_option("--ca-file", context.ca_file,
                   "Who vouches for the server (PEM); also DLO_CA_FILE")
      ->type_name("FILE");
}

std::string variable(const Context& context, std::string_view name) {
  for (const auto& [each, value] : context.environment) {
    if (each == name) return value;
  }
  return {};
}

void fill_from_environment(Context& context) {
  // A directory that was named is meant, whatever server the environment prefers.
  if (context.server.empty() && !context.data_named) {
    context.server = variable(context, "DLO_SERVER");
  }
  if (const std::string data = variable(context, "DLO_DATA");
      !context.data_named && !data.empty()) {
    context.data = data;
  } else if (const std::string file = variable(context, "DLO_CONFIG");
             !context.data_named && !file.empty()) {
    // What a server would serve; one that cannot be read is complained about by those who need it.
    if (const auto reading = load_config(context, file))
      context.data = reading->config.text("data");
  }
  if (context.token.empty() && context.token_file.empty()) {
    context.token = variable(context, "DLO_TOKEN");
    context.token_file = variable(context, "DLO_TOKEN_FILE");
  }
  if (context.ca_file.empty()) context.ca_file = variable(context, "DLO_CA_FILE");
}

void add_watch(CLI::App* command, WatchArguments& watch) {
  command->add_flag("--watch", watch.on, "Again every two seconds, until Ctrl-C");
}

namespace {

/// Nothing where a name belongs is mostly a variable that was not set. It must not mean everything.
std::string refuse_empty(const std::string& value) {
  return value.empty() ? "is empty: name one, or leave the option out to take all" : "";
}

}  // namespace

void add_selection(CLI::App* command, Selection& selection, bool positional) {
  command->add_option(positional ? "query,--query,--where" : "--where,--query", selection.query,
                      "Such as 'status:open error:\"timed out\" age:>2d' (docs/query.md)");
  command->add_option("--status", selection.statuses, "One or more, or 'open'")
      ->delimiter(',')
      ->check(refuse_empty);
  command->add_option("--source", selection.source)->check(refuse_empty);
  command->add_option("--category", selection.category)->check(refuse_empty);
  command->add_option("--group", selection.group, "Group id")->check(refuse_empty);
  command->add_option("--type", selection.type, "Event type")->check(refuse_empty);
  command->add_option("--key", selection.key)->check(refuse_empty);
  command->add_option("--error", selection.words, "Words of the error text; all must be there")
      ->check(refuse_empty);
  command->add_option("--since", selection.since, "Died since then: 2d, 2026-03-01")
      ->check(refuse_empty);
  command->add_option("--until", selection.until, "Died until then")->check(refuse_empty);
}

}  // namespace dlo::cli
