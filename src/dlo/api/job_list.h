#pragma once

#include <vector>

#include "dlo/api/router.h"
#include "dlo/jobs/job_book.h"
#include "dlo/server/worker_pool.h"

namespace dlo::api {

/// GET /v1/jobs: newest first, a page at a time by `cursor`; `limit`, `state` and `act` choose. As
/// NDJSON all of them (or `limit`), as fast as they are read.
[[nodiscard]] std::vector<Route> job_list_routes(JobBook& book, WorkerPool& slow);

}  // namespace dlo::api
