#pragma once

#include <vector>

#include "dlo/api/router.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Dead letters of another office, as `GET /v1/dead-letters/{id}` prints them, one a line: kept
/// under their own ids with attempts, versions and notes. What is there already stays as it is.
[[nodiscard]] std::vector<Route> import_routes(Office& office);

}  // namespace dlo::api
