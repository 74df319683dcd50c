#pragma once

#include <vector>

#include "dlo/api/queue_hall.h"
#include "dlo/api/router.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Poisoned items of durable runtimes (S3-31..39), by kind.
///   GET    /v1/poison/stats                        ?orchestrator_queue= ?worker_queue=
///   GET    /v1/poison/orchestrations               ?instance=
///   GET    /v1/poison/orchestrations/{poison_id}
///   DELETE /v1/poison/orchestrations/{poison_id}   {"removed": true|false}
///   POST   /v1/poison/orchestrations/{poison_id}/retry   {"retried": true|false}
/// and the same under /v1/poison/activities. A retry sends the item to the queue it came from with
/// its count reset; `hall` null: there are no queues, and a retry is refused.
[[nodiscard]] std::vector<Route> poison_routes(Office& office, QueueHall* hall);

}  // namespace dlo::api
