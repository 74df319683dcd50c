#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/eager_broker.h"
#include "dlo/broker/source_options.h"

namespace dlo {

/// A queue of our own: people pause it, look into it, and move what waits in it to another one.
class OwnQueue : public Broker, public QueueAdmin {
 public:
  /// Everything that waits here goes to `target`, in order, and stands behind what is there: as old
  /// as the move. Keys whose head is leased or dead stay. Refused as `full` if the target has no
  /// room for all, and where the two are not kept in one place. Answers how many went.
  virtual Result<std::uint64_t> move_to(OwnQueue& target) = 0;

  /// False: nothing can have become ready since a receive last found nothing, so there is no need
  /// to ask again. For those who look every few milliseconds.
  [[nodiscard]] virtual bool may_have_some(Instant /*now*/) { return true; }

  /// The same queue in two halves, where its disk can be waited for later. Null: it cannot.
  [[nodiscard]] virtual EagerBroker* eager() noexcept { return nullptr; }
};

/// How the queues of a place are.
struct QueuesHealth {
  bool works = true;    // false: nothing is acknowledged
  std::string trouble;  // what is wrong and what to do; empty: nothing
};

/// The queues of one place, by name.
/// Threads  Any method from any thread.
class OwnQueues {
 public:
  virtual ~OwnQueues() = default;
  /// The queue named `options.source`: made if it is new, else with these settings from now on.
  virtual Result<std::unique_ptr<OwnQueue>> make(const SourceOptions& options) = 0;
  /// Whether queues of this place can have such settings; says what they cannot.
  [[nodiscard]] virtual Result<void> check(const SourceOptions& options) const {
    return dlo::check(options);
  }
  /// A queue that exists, with the settings it has; `not_found` otherwise.
  virtual Result<std::unique_ptr<OwnQueue>> existing(const std::string& name) = 0;
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  /// Cheap, for those who ask every few seconds.
  [[nodiscard]] virtual QueuesHealth health() const = 0;
  /// In good order. Later calls answer unavailable.
  virtual Result<void> close() = 0;
};

}  // namespace dlo
