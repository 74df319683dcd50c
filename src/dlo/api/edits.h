#pragma once

#include <vector>

#include "dlo/api/router.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// GET    /v1/dead-letters/{id}/versions   who changed it, when and why
/// GET    /v1/dead-letters/{id}/diff       ?from=0&to=2: by header, by path, by line
/// POST   /v1/dead-letters/{id}/edit       {payload | json, headers, recipe, reason, dry_run}
/// GET    /v1/schemas, PUT, GET, DELETE /v1/schemas/{source}   what edited payloads must fit
[[nodiscard]] std::vector<Route> edit_routes(Office& office);

/// GET    /v1/recipes, /v1/recipes/{name}  ?version=N, ?versions=true
/// PUT    /v1/recipes/{name}               {steps, notes}: a new version
/// DELETE /v1/recipes/{name}
/// POST   /v1/recipes/try                  {recipe | steps, query | ids, limit}: differences only
[[nodiscard]] std::vector<Route> recipe_routes(Office& office);

}  // namespace dlo::api
