#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlo/api/collected.h"
#include "dlo/cli/context.h"
#include "dlo/config/config.h"
#include "dlo/core/result.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/record.h"
#include "dlo/jobs/replay.h"
#include "dlo/store/office.h"

namespace dlo::cli {

/// What of RabbitMQ a server could not carry out here, and why; a server would not start with it.
[[nodiscard]] std::vector<ConfigProblem> rabbitmq_problems(const Config& config);

/// Replays to the RabbitMQ server a configuration names; none if it names none.
[[nodiscard]] Result<OutsideTargets> rabbitmq_targets(const Config& config);

/// The dead-letter queues a configuration wants to be drained. A broker that is not there is no
/// reason not to start: it is looked for in the background, and the log says when it goes and
/// comes. Threads  `list` from any; the others from one.
class Collectors {
 public:
  Collectors();
  ~Collectors();
  Collectors(const Collectors&) = delete;
  Collectors& operator=(const Collectors&) = delete;

  struct Parts {
    Office& office;
    const Clock& clock;
    Origin origin;
  };
  /// Refused if one cannot be made. Everything outlives `stop`.
  [[nodiscard]] Result<void> start(Context& context, const Config& config, Parts parts);
  /// From now on these profiles decide. Refused, with nothing changed, if one is not among them.
  [[nodiscard]] Result<void> use(const ProfileBook& rules);
  [[nodiscard]] std::vector<api::CollectedSource> list() const;
  void stop();

 private:
  class Running;
  std::unique_ptr<Running> running_;
};

}  // namespace dlo::cli
