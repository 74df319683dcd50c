#pragma once

#include <vector>

#include "dlo/api/collected.h"
#include "dlo/api/consumed.h"
#include "dlo/api/queue_hall.h"
#include "dlo/api/router.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Where messages come from: queues of this server, queues of others that it handles, dead-letter
/// queues of others that it drains, outbox tables whose rows it sends, whoever reports dead
/// letters, and those of which messages wait in the office although nobody runs them any more
/// (left_behind.h).
///   GET  /v1/sources                  who has most to do first
///   GET  /v1/sources/{source}
///   POST /v1/sources/{source}/pause   nothing is handed out or handled; also resume
///   POST /v1/sources/{source}/test    whether it works; nothing is taken or sent
/// `hall` null: there are no queues. `collected`, `relayed` or `consumed` empty: nothing is
/// drained, sent or handled.
[[nodiscard]] std::vector<Route> source_routes(Office& office, QueueHall* hall,
                                               ListCollected collected = {},
                                               ListRelayed relayed = {},
                                               ConsumedSources consumed = {});

}  // namespace dlo::api
