#pragma once

#include <vector>

#include "dlo/api/queue_hall.h"
#include "dlo/api/router.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Where messages come from: queues of this server, and whoever reports dead letters.
///   GET  /v1/sources                  who has most to do first
///   GET  /v1/sources/{source}
///   POST /v1/sources/{source}/pause   a queue hands out nothing; also resume
///   POST /v1/sources/{source}/test    whether it works; nothing is taken or sent
/// `hall` null: there are no queues.
[[nodiscard]] std::vector<Route> source_routes(Office& office, QueueHall* hall);

}  // namespace dlo::api
