// What has expired, and a clock that somebody set.
#include <algorithm>

#include "dlo/broker/memory/queue.h"
#include "dlo/broker/moments.h"

namespace dlo::memory {

// Delays are time that passes, and none did: they end as much later, or sooner.
void Queue::clock_was_set(Millis by, TimePoint now) {
  for (auto at = oldest_; at != no_slot; at = slab_[at].newer) {
    Slot& slot = slab_[at];
    const bool waits = slot.place == Place::delayed || slot.place == Place::held;
    if (!waits || slot.due <= latest_ || slot.due == TimePoint::max()) continue;
    slot.due = later(slot.due, by) + std::min(by, Millis{0});
    // Only who has expired by that: the clock may be set again.
    if (slot.can_expire && *slot.message->expires_at <= now) wait_until(slot, slot.due);
    if (slot.place == Place::delayed) delays_.set(at, slot.due);
  }
}

void Queue::note_expiry(const Slot& slot) noexcept {
  if (slot.can_expire) next_expiry_ = std::min(next_expiry_, *slot.message->expires_at);
}

std::vector<SlotNumber> Queue::take_expired(TimePoint now, std::size_t limit) {
  std::vector<SlotNumber> out;
  if (next_expiry_ > now) return out;
  next_expiry_ = TimePoint::max();
  const auto goes = [&](SlotNumber number) {
    const Slot& slot = slab_[number];
    const bool over = slot.can_expire && *slot.message->expires_at <= now;
    if (!over || out.size() == limit) {
      note_expiry(slot);
      return false;
    }
    out.push_back(number);
    return true;
  };
  (void)lineup_.sweep(slab_, goes, SIZE_MAX);
  return out;
}

// Whoever stood behind one of them may be next, and as old.
void Queue::drop_expired(TimePoint now, Gone& gone) {
  if (!options_.drop_expired) return;
  while (true) {
    const auto expired = take_expired(now, SIZE_MAX);
    if (expired.empty()) return;
    stats_.expired += expired.size();
    for (const auto number : expired) remove(number, now, gone);
  }
}

void Queue::claim_expired(const ReceiveRequest& request, const Instant& now,
                          std::vector<Delivery>& out, Gone& gone) {
  drop_expired(now.wall, gone);
  for (const auto number : take_expired(now.wall, request.limit)) {
    auto& delivery = out.emplace_back();
    lease(number, later(now, request.lease_for), delivery);
    delivery.expired = true;
  }
}

}  // namespace dlo::memory
