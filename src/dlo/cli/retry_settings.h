#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlo/api/retries.h"
#include "dlo/config/config.h"
#include "dlo/core/result.h"
#include "dlo/engine/handler.h"

namespace dlo::cli {

/// Scheduled retries as a configuration wants them: who runs them, and how. Refused with the
/// executor's name if one cannot be made.
[[nodiscard]] Result<api::RetrySettings> retry_settings(const Config& config);

/// What runs messages, over HTTP or as a command; with `timeout` if it has none of its own.
[[nodiscard]] Result<std::shared_ptr<Handler>> make_handler(const ExecutorSettings& executor,
                                                            Millis timeout);

/// One secret a line; the first is the newest. Receivers take either while they change over. Empty
/// path: none.
[[nodiscard]] Result<std::vector<std::string>> secrets_in(const std::string& path);

/// Every executor that could not be made here, and why: a server would not start with it.
[[nodiscard]] std::vector<ConfigProblem> executor_problems(const Config& config);

}  // namespace dlo::cli
