#pragma once

#include <vector>

#include "dlo/access/token_book.h"
#include "dlo/api/events.h"
#include "dlo/api/front.h"
#include "dlo/api/router.h"
#include "dlo/engine/clock.h"

namespace dlo::api {

/// Who asks, by token. While the office has none everybody is its admin, unless `always`. Both
/// outlive the answer.
/// `rate`: requests a second of tokens that have none of their own; zero: any number.
[[nodiscard]] Access token_access(TokenBook& book, const Clock& clock, bool always,
                                  std::uint32_t rate = 0);

/// Whether those who were admitted by this `Authorization`, or without one, still would be: for
/// answers that do not end. Counts neither as a request nor as an attempt.
[[nodiscard]] StillAdmitted token_watch(TokenBook& book, const Clock& clock, bool always);

/// `/v1/tokens` and `/v1/me`.
/// `actions` names what scopes may name; `version` is that of the program.
[[nodiscard]] std::vector<Route> token_routes(TokenBook& book,
                                              std::function<std::vector<std::string>()> actions,
                                              const std::string& version = {});

}  // namespace dlo::api
