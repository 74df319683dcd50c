#pragma once

#include <span>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/pending.h"

namespace dlo {

/// The two calls of a Broker that wait for a disk, in two halves: everything but the wait is over
/// when they return. For those who have several things written and wait once for all of them.
class EagerBroker {
 public:
  virtual ~EagerBroker() = default;
  virtual Pending<std::vector<PublishAnswer>> publish_soon(std::span<const Publication> messages,
                                                           Instant now) = 0;
  virtual Pending<std::vector<SettleAnswer>> settle_soon(std::span<const Settlement> settlements,
                                                         Instant now) = 0;
};

}  // namespace dlo
