#include <ostream>

#include "dlo/cli/config_file.h"
#include "dlo/cli/output.h"
#include "dlo/cli/retry_settings.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"

namespace dlo::cli {
namespace {

int say_count(Context& context, std::size_t problems) {
  context.err << "dlo: " << problems << (problems == 1 ? " problem" : " problems")
              << " found; docs/config.md describes every setting.\n";
  return exit_error;
}

}  // namespace

int config_check(Context& context, const ConfigArguments& arguments) {
  auto reading = load_config(context, arguments.file);
  if (!reading) return fail(context, reading.error());
  for (ConfigProblem& each : executor_problems(reading->config)) {
    reading->problems.push_back(std::move(each));
  }
  if (!report_problems(context, arguments.file, *reading)) {
    return say_count(context, reading->problems.size());
  }
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
