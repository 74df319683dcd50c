#include "dlo/cli/config_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <ostream>

#include "dlo/cli/table.h"
#include "dlo/regex/re2_compiler.h"

namespace dlo::cli {

Result<ConfigReading> load_config(const Context& context, const std::string& path) {
  std::string text;
  if (!path.empty()) {
    std::ifstream file(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) {
      const int why = errno;
      return Error{Code::not_found, "cli.config",
                   "Cannot read the configuration '" + path + "': " + std::strerror(why) +
                       ". Name it with --config FILE."};
    }
  }
  return read_config({text, context.environment, re2_compiler()});
}

Result<ConfigReading> usual_config(const Context& context) {
  const auto named = std::find_if(context.environment.begin(), context.environment.end(),
                                  [](const auto& each) { return each.first == "DLO_CONFIG"; });
  return load_config(context, named == context.environment.end() ? "" : named->second);
}

std::string problem_text(const std::string& path, const ConfigProblem& problem) {
  const std::string place =
      problem.line == 0 ? std::string() : path + ":" + std::to_string(problem.line) + ": ";
  return printable(place + problem.text);
}

bool report_problems(Context& context, const std::string& path, const ConfigReading& reading) {
  for (const auto& each : reading.warnings) {
    context.err << "dlo: warning: " << problem_text(path, each) << "\n";
  }
  for (const auto& each : reading.problems) {
    context.err << "dlo: " << problem_text(path, each) << "\n";
  }
  return reading.problems.empty();
}

}  // namespace dlo::cli
