#pragma once

#include <functional>

#include "dlo/api/queue_hall.h"
#include "dlo/api/retries.h"
#include "dlo/core/profile.h"
#include "dlo/jobs/replay.h"

namespace dlo::api {

/// Dead letters are sent back to queues of this server, or (`exec:NAME`) run by an executor that
/// also runs retries. `hall` null: there are no queues.
[[nodiscard]] ReplayTargets replay_targets(
    QueueHall* hall, const RetrySettings& retries,
    std::function<Result<Profile>(const DeadLetter&)> profile);

}  // namespace dlo::api
