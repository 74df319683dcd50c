#pragma once

#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/engine/item.h"
#include "dlo/engine/status_board.h"

namespace dlo {

/// Renews every lease of which half is gone, wherever its item is: waiting, running or being
/// recorded. One that cannot be renewed is marked lost; nothing of it is settled by us.
class LeaseKeeper {
 public:
  LeaseKeeper(Broker& broker, ItemPool& pool, StatusBoard& board, Millis lease_for)
      : broker_(broker), pool_(pool), board_(board), lease_for_(lease_for) {}

  /// One thread at a time.
  void tick(const Instant& now);

 private:
  void renew(std::span<const ItemPool::Due> due, const Instant& now);

  Broker& broker_;
  ItemPool& pool_;
  StatusBoard& board_;
  const Millis lease_for_;
  TimePoint next_look_{};  // by the steady clock
  std::vector<ItemPool::Due> due_;
  std::vector<LeaseToken> leases_;
};

}  // namespace dlo
