#pragma once

#include <vector>

#include "dlo/api/collected.h"
#include "dlo/api/queue_hall.h"
#include "dlo/api/router.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Where messages come from: queues of this server, dead-letter queues of others that it drains,
/// outbox tables whose rows it sends, and whoever reports dead letters.
///   GET  /v1/sources                  who has most to do first
///   GET  /v1/sources/{source}
///   POST /v1/sources/{source}/pause   a queue hands out nothing; also resume
///   POST /v1/sources/{source}/test    whether it works; nothing is taken or sent
/// `hall` null: there are no queues. `collected` empty: nothing is drained; `relayed` likewise.
[[nodiscard]] std::vector<Route> source_routes(Office& office, QueueHall* hall,
                                               ListCollected collected = {},
                                               ListRelayed relayed = {});

}  // namespace dlo::api
