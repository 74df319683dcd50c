#pragma once

#include <string>

#include "dlo/cli/context.h"
#include "dlo/config/config.h"

namespace dlo::cli {

/// Reads the file (none if `path` is empty) and the environment. An error: the file cannot be read.
[[nodiscard]] Result<ConfigReading> load_config(const Context& context, const std::string& path);

/// The file that DLO_CONFIG names, if it does, and the environment: what a server that is started
/// here goes by.
[[nodiscard]] Result<ConfigReading> usual_config(const Context& context);

/// "dlo.yaml:12: …", one line each.
[[nodiscard]] std::string problem_text(const std::string& path, const ConfigProblem& problem);

/// Says everything that is wrong, and the warnings. True: the configuration may be used.
bool report_problems(Context& context, const std::string& path, const ConfigReading& reading);

}  // namespace dlo::cli
