#pragma once

#include <span>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/pending.h"

namespace dlo {

/// The two calls of a Broker that wait for a disk, in two halves: everything but the wait is over
/// when they return. For those who have several things written and wait once for all of them, or
/// have another thread wait for them.
class EagerBroker {
 public:
  virtual ~EagerBroker() = default;
  virtual Pending<std::vector<PublishAnswer>> publish_soon(std::span<const Publication> messages,
                                                           Instant now) = 0;
  virtual Pending<std::vector<SettleAnswer>> settle_soon(std::span<const Settlement> settlements,
                                                         Instant now) = 0;

  /// True: these two would wait for nobody now, but for a lock that is held briefly. False: the
  /// disk is behind, or has to make room first.
  [[nodiscard]] virtual bool places_at_once() = 0;
  /// Waits until all that was placed before is durable, or never will be: each `Pending` of it
  /// answers without waiting from then on.
  virtual void flush() = 0;
};

}  // namespace dlo
