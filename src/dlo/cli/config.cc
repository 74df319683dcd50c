#include <algorithm>
#include <fstream>
#include <ostream>
#include <string_view>
#include <vector>

#include "dlo/api/queue_settings.h"
#include "dlo/cli/collectors.h"
#include "dlo/cli/config_file.h"
#include "dlo/cli/consumers.h"
#include "dlo/cli/entity_effects.h"
#include "dlo/cli/open_office.h"
#include "dlo/cli/outboxes.h"
#include "dlo/cli/output.h"
#include "dlo/cli/retry_settings.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/spelling.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

constexpr std::size_t most_queues = 10'000;

int say_count(Context& context, std::size_t problems) {
  context.err << "dlo: " << problems << (problems == 1 ? " problem" : " problems")
              << " found; docs/config.md describes every setting.\n";
  return exit_error;
}

/// Queues are declared at the server, not in the file: where its directory is here, a target that
/// is none of them is worth a word.
void warn_of_targets(Context& context, const std::string& file, const Config& config) {
  if (config.redirects.empty() || !config.text("office").empty()) return;
  SqliteOptions looking;
  looking.read_only = true;
  const auto office = SqliteOffice::open(config.text("data"), looking);
  if (!office) return;
  const auto queues = (*office)->extras().ledger->documents(api::queue_kind, "", most_queues);
  if (!queues) return;
  std::vector<std::string_view> names;
  for (const Document& each : *queues) names.push_back(each.key);
  for (std::size_t i = 0; i < config.redirects.size(); ++i) {
    const std::string& to = config.redirects[i].to;
    if (to.starts_with("amqp:")) continue;  // a queue elsewhere
    if (std::find(names.begin(), names.end(), to) != names.end()) continue;
    const std::string_view close = nearest(to, names);
    context.err << "dlo: warning: "
                << problem_text(
                       file,
                       {config.sections.at("replay.redirects"),
                        "replay.redirects[" + std::to_string(i + 1) + "].to: there is no queue " +
                            in_quotes(to) +
                            (close.empty() ? "" : "; did you mean " + in_quotes(close) + "?") +
                            " Nothing it is about could be sent."})
                << "\n";
  }
}

/// Who can read the file of a secret has the secret; without it nothing is served.
void warn_of_files(Context& context, const std::string& file, const Config& config) {
  const auto warn = [&](const std::string& path, std::size_t line, const std::string& setting) {
    if (path.empty()) return;
    const bool there = std::ifstream(path).is_open();
    if (there && !is_open_to_all(path)) return;
    context.err << "dlo: warning: "
                << problem_text(file,
                                {line, setting + (there ? ": everybody on this machine can "
                                                          "read '" +
                                                              path + "'; chmod 600 takes that away"
                                                        : ": '" + path +
                                                              "' cannot be read here; `dlo "
                                                              "serve` would not start")})
                << "\n";
  };
  for (const char* setting : {"vault.key_file", "tls.key"}) {
    warn(config.text(setting), config.origin(setting).line, setting);
  }
  for (const ExecutorSettings& each : config.executors) {
    warn(each.secret_file, 0, "executors." + each.name + ".secret_file");
  }
}

}  // namespace

int config_check(Context& context, const ConfigArguments& arguments) {
  auto reading = load_config(context, arguments.file);
  if (!reading) return fail(context, reading.error());
  for (auto&& part : {executor_problems(reading->config), entity_problems(reading->config),
                      rabbitmq_problems(reading->config), consumer_problems(reading->config),
                      outbox_problems(reading->config)}) {
    reading->problems.insert(reading->problems.end(), part.begin(), part.end());
  }
  if (!report_problems(context, arguments.file, *reading)) {
    return say_count(context, reading->problems.size());
  }
  warn_of_targets(context, arguments.file, reading->config);
  warn_of_files(context, arguments.file, reading->config);
  context.out << "'" << printable(arguments.file) << "' is fine.\n";
  return exit_ok;
}

int config_show(Context& context, const ConfigArguments& arguments) {
  const auto reading = load_config(context, arguments.file);
  if (!reading) return fail(context, reading.error());
  if (!report_problems(context, arguments.file, *reading)) {
    return say_count(context, reading->problems.size());
  }
  const auto shown = show_config(reading->config, arguments.file, arguments.effective);
  if (is_for_people(context)) {
    Table table({{"SETTING"}, {"VALUE"}, {"FROM"}});
    for (const ShownSetting& each : shown) table.add({each.path, each.value, each.from});
    print(context, table);
    return exit_ok;
  }
  Rows rows(context, {"setting", "value", "from"});
  for (const ShownSetting& each : shown) rows.add({each.path, each.value, each.from});
  rows.end();
  return exit_ok;
}

int config_keys_list(Context& context) {
  for (const ConfigKey& key : config_keys()) context.out << markdown_row(key) << "\n";
  return exit_ok;
}

}  // namespace dlo::cli
