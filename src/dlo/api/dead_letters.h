#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "dlo/api/router.h"
#include "dlo/broker/broker.h"
#include "dlo/retries/fallback_shelf.h"
#include "dlo/server/worker_pool.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// The hold that a dead letter puts on its key; empty: none.
using HoldOf = std::function<std::optional<KeyHold>(const DeadLetter&)>;

/// GET /v1/dead-letters             list by query, keyset cursor; NDJSON streams all that match
/// GET /v1/dead-letters/{id}        the record with attempts, versions and notes; ?form=
/// GET /v1/dead-letters/{id}/payload  the bytes, of the newest or of ?version=
/// GET /v1/suggestions              what could follow in a query
/// What is on the shelf is shown as what it is: not durable.
[[nodiscard]] std::vector<Route> dead_letter_routes(Office& office, WorkerPool& slow,
                                                    const FallbackShelf& shelf, HoldOf hold);

}  // namespace dlo::api
