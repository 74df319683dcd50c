#pragma once

#include <vector>

#include "dlo/access/token_book.h"
#include "dlo/api/front.h"
#include "dlo/api/router.h"
#include "dlo/engine/clock.h"

namespace dlo::api {

/// Who asks, by token. While the office has none everybody is its admin, unless `always`. Both
/// outlive the answer.
[[nodiscard]] Access token_access(TokenBook& book, const Clock& clock, bool always);

/// `/v1/tokens` and `/v1/me`.
[[nodiscard]] std::vector<Route> token_routes(TokenBook& book);

}  // namespace dlo::api
