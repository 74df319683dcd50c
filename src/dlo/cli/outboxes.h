#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dlo/api/collected.h"
#include "dlo/broker/broker.h"
#include "dlo/cli/context.h"
#include "dlo/config/config.h"
#include "dlo/core/result.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/record.h"
#include "dlo/store/office.h"

namespace dlo::postgres {
class Escorts;
}

namespace dlo::cli {

/// What of `outboxes` a server could not carry out here, and why; a server would not start with it.
[[nodiscard]] std::vector<ConfigProblem> outbox_problems(const Config& config);

/// What is committed with records of an office in a database; null if a configuration has no use
/// for it.
[[nodiscard]] std::shared_ptr<postgres::Escorts> outbox_escorts(const Config& config);

/// The outbox tables a configuration wants to be sent. A database or broker that is not there is no
/// reason not to start: the log says when it goes and comes.
/// Threads  `list` from any; the others from one.
class Outboxes {
 public:
  Outboxes();
  ~Outboxes();
  Outboxes(const Outboxes&) = delete;
  Outboxes& operator=(const Outboxes&) = delete;

  struct Parts {
    Office& office;
    const Clock& clock;
    Origin origin;
    /// Into a queue of this server.
    std::function<Result<void>(const std::string& queue, std::span<const Publication>,
                               const std::string& who)>
        send;
    std::shared_ptr<postgres::Escorts> escorts;  // of `office`, or null
  };
  /// Refused if one cannot be made. Everything outlives `stop`.
  [[nodiscard]] Result<void> start(Context& context, const Config& config, Parts parts);
  /// From now on these profiles decide. Refused, with nothing changed, if one is not among them.
  [[nodiscard]] Result<void> use(const ProfileBook& rules);
  [[nodiscard]] std::vector<api::RelayedSource> list() const;
  void stop();

 private:
  class Running;
  std::unique_ptr<Running> running_;
};

}  // namespace dlo::cli
