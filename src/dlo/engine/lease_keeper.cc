#include "dlo/engine/lease_keeper.h"

#include <algorithm>

namespace dlo {
namespace {

constexpr std::size_t batch = 1'024;

}  // namespace

void LeaseKeeper::tick(const Instant& now) {
  if (now.steady < next_look_) return;
  next_look_ = now.steady + std::max(Millis{1}, lease_for_ / 8);
  due_.clear();
  pool_.due_for_renewal(now.steady, due_);
  for (std::size_t at = 0; at < due_.size(); at += batch) {
    renew(std::span(due_).subspan(at, std::min(batch, due_.size() - at)), now);
  }
}

void LeaseKeeper::renew(std::span<const ItemPool::Due> due, const Instant& now) {
  leases_.clear();
  for (const ItemPool::Due& one : due) leases_.push_back(one.lease);
  const auto alive = broker_.renew(leases_, now, lease_for_);
  if (!alive) {
    board_.down(StatusBoard::source, alive.error());
    for (const ItemPool::Due& one : due) {
      if (!pool_.still_ours(one, now.steady)) pool_.mark_lost(one);
    }
    return;
  }
  board_.up(StatusBoard::source);
  for (std::size_t i = 0; i < due.size(); ++i) {
    if ((*alive)[i]) {
      pool_.renewed(due[i], now.steady, now.steady + lease_for_);
    } else {
      pool_.mark_lost(due[i]);
    }
  }
}

}  // namespace dlo
