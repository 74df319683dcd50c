#pragma once

#include <vector>

#include "dlo/api/entities.h"
#include "dlo/config/config.h"
#include "dlo/core/result.h"

namespace dlo::cli {

/// Entities as a configuration wants them: which kinds there are, and how their owners hear of
/// deaths. Refused with the kind's name if an effect cannot be made.
[[nodiscard]] Result<api::EntityOptions> entity_options(const Config& config);

/// The kinds alone: what their owners have to hear is written down, and a server tells it.
[[nodiscard]] std::vector<EntityKind> entity_kinds(const Config& config);

/// Every effect that could not be made here, and why: a server would not start with it.
[[nodiscard]] std::vector<ConfigProblem> entity_problems(const Config& config);

}  // namespace dlo::cli
