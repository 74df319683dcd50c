#pragma once

#include <string>
#include <vector>

#include "dlo/api/router.h"

namespace dlo::api {

/// The description of everything under /v1 (OpenAPI 3.1): openapi/*.yaml, joined when the program
/// is built.
[[nodiscard]] const std::string& openapi_yaml();
[[nodiscard]] const std::string& openapi_json();

/// Where it is served.
[[nodiscard]] std::vector<Route> description_routes();

}  // namespace dlo::api
