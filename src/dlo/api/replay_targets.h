#pragma once

#include <functional>

#include "dlo/api/queue_hall.h"
#include "dlo/api/retries.h"
#include "dlo/core/profile.h"
#include "dlo/jobs/replay.h"

namespace dlo::api {

/// Dead letters are sent back to queues of this server, or (`exec:NAME`) run by an executor that
/// also runs retries; `outside` are those of other brokers, which come first. `hall` null: there
/// are no queues.
[[nodiscard]] ReplayTargets replay_targets(
    QueueHall* hall, const RetrySettings& retries,
    std::function<Result<Profile>(const DeadLetter&)> profile, OutsideTargets outside = {});

}  // namespace dlo::api
