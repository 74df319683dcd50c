#pragma once

#include <vector>

#include "dlo/api/jobs.h"
#include "dlo/api/router.h"

namespace dlo::api {

/// Acts that are jobs, asked for at what they are about. The bodies and answers are those of
/// POST /v1/jobs without `act`, `query` and `ids`; they begin at once unless `start` is false.
///   POST /v1/dead-letters/{id}/replay
///   POST /v1/groups/{id}/ACT   replay, retry, resolve, archive, restore, discard, tag, repair,
///                              quarantine
[[nodiscard]] std::vector<Route> bulk_act_routes(const JobParts& parts);

}  // namespace dlo::api
