#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dlo/api/service.h"
#include "dlo/cli/consumers.h"
#include "dlo/cli/context.h"
#include "dlo/config/config.h"
#include "dlo/core/result.h"
#include "dlo/engine/clock.h"
#include "dlo/nodes/node.h"

namespace dlo::cli {

/// What this server is called: as configured, else as its machine.
[[nodiscard]] std::string node_name(const Config& config);
/// Whether a name can be shown to others.
[[nodiscard]] Result<void> check_node_name(const std::string& name);

/// This server among those that share an office in a database. Where the office is in a directory
/// it is alone, and all of this does nothing.
/// Threads  `status` from any; the others from one at a time.
class Membership {
 public:
  explicit Membership(const Config& config);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  [[nodiscard]] bool is_shared() const noexcept { return !address_.empty(); }
  /// Under which name others are told of what it writes; empty: there are no others.
  [[nodiscard]] const std::string& hints_as() const noexcept { return hints_as_; }

  /// From now on `clock` shows what that of the database shows: leases are judged by it everywhere.
  /// Refused if the machine's own differs by more than a quarter of `lease`.
  [[nodiscard]] Result<void> share_clock(SystemClock& clock, Millis lease);

  /// What a service says of it; empty: it is alone.
  [[nodiscard]] std::function<NodeStatus()> says();

  struct Parts {
    const Config& config;
    api::Service& service;
    SystemClock& clock;
    SourceTimers& timers;
    Consumers& consumers;
  };
  /// Everything outlives `stop`.
  void start(Context& context, const Parts& parts);
  /// Ends what it does as the leader, and lets another one lead.
  void stop();

 private:
  class Running;
  const std::string address_;
  const std::string name_;
  std::string hints_as_;
  std::unique_ptr<Running> running_;
};

}  // namespace dlo::cli
