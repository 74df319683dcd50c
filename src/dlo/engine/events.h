#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "dlo/core/breaker.h"
#include "dlo/core/dead_letter.h"
#include "dlo/core/decide.h"
#include "dlo/core/message.h"
#include "dlo/core/result.h"

namespace dlo {

/// Told about a death after its record is durable and before the source is settled: the place for
/// owner effects (step 8). An error, or a throw, keeps the source unsettled and is tried again with
/// patience. A crash repeats the call, so it must be idempotent by record id and occurrence.
/// Threads  One call at a time per processor.
class DeathListener {
 public:
  virtual ~DeathListener() = default;
  virtual Result<void> on_death(const DeadLetter& record, OwnerEffect effect) = 0;
  /// Many at once, for who can do that faster. An answer each, in order; none at all: they are told
  /// one by one.
  virtual std::vector<Result<void>> on_deaths(std::span<const DeadLetter* const> /*records*/,
                                              OwnerEffect /*effect*/) {
    return {};
  }
};

/// What the engine does, as it does it. Observability decorates by deriving from this; an engine
/// without an observer pays one comparison with null.
/// Threads  Called from every thread of the engine at once. Must not block and must not throw.
class EngineEvents {
 public:
  virtual ~EngineEvents() = default;
  virtual void received(std::size_t /*count*/) {}
  virtual void started(const Message& /*message*/, const Counters& /*counters*/) {}
  virtual void succeeded(const Message& /*message*/, const Counters& /*counters*/,
                         Millis /*took*/) {}
  /// `failure` without its secrets (R26).
  virtual void failed(const Message& /*message*/, const Failure& /*failure*/,
                      const Decision& /*decision*/, Millis /*took*/) {}
  /// It will run again: at its source, or (`in_office`) from the office.
  virtual void retried(const Message& /*message*/, const RetryAt& /*when*/) {}
  /// Its record is durable.
  virtual void dead_lettered(const DeadLetter& /*record*/) {}
  /// A repeat of something the office has already: settled, not run (R2).
  virtual void repeated(const Message& /*message*/, const RecordId& /*record*/) {}
  /// A legal loss (R8): the profile says that this kind of invalid message is dropped.
  virtual void dropped(const Message& /*message*/, std::string_view /*reason*/) {}
  /// Given back unrun: the engine stops, or its handler's circuit is open.
  virtual void released(const Message& /*message*/) {}
  /// Somebody else owns it now; whatever became of it here is forgotten.
  virtual void lease_lost(const Message& /*message*/) {}
  /// A message that was running when its process died runs alone now (R7).
  virtual void suspect_started(const Message& /*message*/) {}
  virtual void handler_timed_out(const Message& /*message*/, bool /*thread_lost*/) {}
  virtual void store_down(const Error& /*error*/) {}
  virtual void store_up() {}
  virtual void source_down(const Error& /*error*/) {}
  virtual void source_up() {}
  virtual void breaker_moved(std::string_view /*handler*/, BreakerState /*state*/) {}
};

}  // namespace dlo
