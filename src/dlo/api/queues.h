#pragma once

#include <vector>

#include "dlo/api/queue_hall.h"
#include "dlo/api/router.h"

namespace dlo::api {

/// What people do to queues.
///   GET  /v1/queues                 all, with their numbers
///   PUT  /v1/queues/{q}             declare, or change the settings
///   GET  /v1/queues/{q}
///   GET  /v1/queues/{q}/messages    peek
///   POST /v1/queues/{q}/pause       nothing is handed out until
///   POST /v1/queues/{q}/resume
///   POST /v1/queues/{q}/purge       {confirm: the queue's name}
///   POST /v1/queues/{q}/move        {to: another queue}
[[nodiscard]] std::vector<Route> queue_routes(QueueHall& hall, Office& office, const Clock& clock);

/// What programs do with them.
///   POST /v1/queues/{q}/messages    the body is one message's payload; or many, as NDJSON or
///   frames POST /v1/queues/{q}/receive     long poll POST /v1/queues/{q}/settle      one as JSON,
///   or many as NDJSON or settlements
[[nodiscard]] std::vector<Route> queue_message_routes(QueueHall& hall);

}  // namespace dlo::api
