#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "dlo/cli/context.h"
#include "dlo/cli/selection.h"
#include "dlo/cli/watch.h"

namespace CLI {
class App;
}

namespace dlo::cli {

/// The verb a command line chose, with its arguments.
using Verb = std::function<int(Context&)>;

/// What a command line can say, while it is put together: every `add_...` adds verbs to `app`,
/// whose options write into `context` and whose callbacks set `verb`.
struct Grammar {
  CLI::App& app;
  Context& context;
  Verb& verb;
};

void add_report(const Grammar& grammar);
void add_retries_clear(const Grammar& grammar, CLI::App* retries);
void add_rules(const Grammar& grammar);  // explain, profile
void add_acts(const Grammar& grammar);   // resolve, archive, discard, restore, retry, note, tag
void add_replay(const Grammar& grammar);
void add_jobs(const Grammar& grammar);
void add_groups(const Grammar& grammar);   // group
void add_editing(const Grammar& grammar);  // edit, diff, repair, recipe

void add_watching(const Grammar& grammar);  // tail, top, doctor, export, import
void add_sources(const Grammar& grammar);   // rule, source, migrate
void add_entities(const Grammar& grammar);  // entity
void add_audit(const Grammar& grammar);     // audit
void add_keys(const Grammar& grammar);      // key
void add_help(const Grammar& grammar, const std::string& version);  // completion, man; the last

/// What the environment says, where the command line says nothing. Not left to the parser: it would
/// take variables for every verb that was not called too, and they would win over the options of
/// the one that was.
void fill_from_environment(Context& context);
/// Empty if it is not set.
[[nodiscard]] std::string variable(const Context& context, std::string_view name);

// Options that many verbs share.
void add_output(CLI::App* command, Context& context);
void add_data(CLI::App* command, Context& context);
void add_target(CLI::App* command, Context& context);  // whom a verb asks: a server or a directory
void add_server(CLI::App* command, Context& context);  // ... a server only
void add_watch(CLI::App* command, WatchArguments& watch);
void add_selection(CLI::App* command, Selection& selection, bool positional);

}  // namespace dlo::cli
