#pragma once

#include <string>

#include "dlo/engine/clock.h"
#include "dlo/engine/handler.h"
#include "dlo/jobs/replay.h"

namespace dlo::api {

/// Sends a task to a queue of this server: whoever works there does the retry. It carries the
/// stamps of its record as a replay does, so its death there is the next occurrence of that record
/// and no second record (R3). A queue that is gone or full is a failure of the task.
class QueueExecutor final : public dlo::Handler {
 public:
  QueueExecutor(const ReplayTargets& targets, std::string queue, const Clock& clock)
      : send_(targets.send), queue_(std::move(queue)), clock_(clock) {}

  Outcome run(const Message& message, const RunContext& context) override;

 private:
  decltype(ReplayTargets::send) send_;  // not all of them: they hold the executors, and so this
  std::string queue_;
  const Clock& clock_;
};

}  // namespace dlo::api
