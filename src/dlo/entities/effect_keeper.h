#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "dlo/core/entity.h"
#include "dlo/core/result.h"
#include "dlo/engine/clock.h"
#include "dlo/entities/entity_book.h"
#include "dlo/retries/rounds.h"
#include "dlo/store/office.h"

namespace dlo {

/// Tells the owner of an entity that it has failed for good. May be called again for the same
/// death, after a crash or by another node: whoever is told knows it by `entity.dead_letter`.
using CarryOutEffect = std::function<Result<void>(const Entity& entity, const std::stop_token&)>;

/// Carries out what is owed to the owners of one kind: when the record is durable, and again with
/// patience (core/entity_effect.h) until it worked. What is owed is in the office, so that a kill
/// costs nothing. One thread of its own: an owner who does not answer holds up no other kind.
class EffectKeeper {
 public:
  /// References outlive it.
  EffectKeeper(Office& office, const Clock& clock, std::string kind, CarryOutEffect carry_out);
  ~EffectKeeper();
  EffectKeeper(const EffectKeeper&) = delete;
  EffectKeeper& operator=(const EffectKeeper&) = delete;

  void start();
  /// Something is owed from now on.
  void ring();
  /// A call that is under way is told to end; what it did not get done is owed still.
  void stop();

  /// All that is due at `now`; answers when to come again. For `start`, and for tests.
  std::optional<TimePoint> work(TimePoint now);

 private:
  std::optional<TimePoint> look_at(const std::string& id, TimePoint now);
  std::optional<TimePoint> carry_out(const KeptEntity& kept);

  Office& office_;
  const Clock& clock_;
  EntityBook book_;
  const std::string kind_;
  const CarryOutEffect carry_out_;
  std::stop_source stop_;
  Rounds rounds_;
};

/// One for each kind whose owner is told. Threads  `ring` from any; the others from one.
class EffectKeepers {
 public:
  void start(Office& office, const Clock& clock,
             const std::map<std::string, CarryOutEffect>& effects);
  void ring(const std::string& kind);
  void stop();

 private:
  std::map<std::string, std::unique_ptr<EffectKeeper>> all_;
};

}  // namespace dlo
