#pragma once

#include "dlo/api/retries.h"
#include "dlo/config/config.h"
#include "dlo/core/result.h"

namespace dlo::cli {

/// Scheduled retries as a configuration wants them: who runs them, and how. Refused with the
/// executor's name if one cannot be made.
[[nodiscard]] Result<api::RetrySettings> retry_settings(const Config& config);

}  // namespace dlo::cli
