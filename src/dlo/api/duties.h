#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "dlo/engine/clock.h"
#include "dlo/entities/effect_keeper.h"
#include "dlo/jobs/job_runner.h"
#include "dlo/jobs/replay.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// What is done once on an office, by the server that leads or has it to itself: jobs, what time
/// does to groups, discarded and old dead letters, and what owners of entities are owed.
/// Threads  `begin` and `end` from one; the others from any.
class Duties {
 public:
  /// References outlive it.
  struct Parts {
    Office& office;
    const Clock& clock;
    ReplayTargets targets;
    std::optional<JobRunner::Options> jobs{};  // empty: somebody else does them
    std::map<std::string, CarryOutEffect> effects{};
  };
  explicit Duties(Parts parts) : parts_(std::move(parts)) {}
  ~Duties() { end(); }
  Duties(const Duties&) = delete;
  Duties& operator=(const Duties&) = delete;

  /// `term`: everything is written on it, and nothing once another has begun. Empty: nobody else is
  /// there who could.
  void begin(std::optional<std::uint64_t> term);
  /// Returns when nothing of it is under way.
  void end();
  [[nodiscard]] bool are_ours() const { return running() != nullptr; }

  /// A job was started, resumed, paused or cancelled, perhaps.
  void wake_jobs();
  /// Something is owed to owners of this kind.
  void ring(const std::string& kind);
  /// Others may have started jobs or left something owed.
  void look_again();

 private:
  struct Running;
  [[nodiscard]] std::shared_ptr<Running> running() const;

  const Parts parts_;
  mutable std::mutex mutex_;
  std::shared_ptr<Running> running_;
};

}  // namespace dlo::api
