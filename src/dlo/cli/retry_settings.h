#pragma once

#include <string>
#include <vector>

#include "dlo/api/retries.h"
#include "dlo/config/config.h"
#include "dlo/core/result.h"

namespace dlo::cli {

/// Scheduled retries as a configuration wants them: who runs them, and how. Refused with the
/// executor's name if one cannot be made.
[[nodiscard]] Result<api::RetrySettings> retry_settings(const Config& config);

/// One secret a line; the first is the newest. Receivers take either while they change over. Empty
/// path: none.
[[nodiscard]] Result<std::vector<std::string>> secrets_in(const std::string& path);

/// Every executor that could not be made here, and why: a server would not start with it.
[[nodiscard]] std::vector<ConfigProblem> executor_problems(const Config& config);

}  // namespace dlo::cli
