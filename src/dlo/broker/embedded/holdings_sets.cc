// What is done to all of a queue at once.
#include <algorithm>

#include "dlo/broker/embedded/holdings.h"

namespace dlo::embedded {

void Holdings::unline(QueueState& queue) {
  queue.lineup.clear();
  queue.delays.reset();
  queue.unlined = true;
}

std::vector<SlotNumber> Holdings::next_of_walk(std::size_t limit) const {
  std::vector<SlotNumber> slots;
  for (auto at = walk_; at != no_slot && slots.size() < limit; at = slots_[at].newer) {
    slots.push_back(at);
  }
  return slots;
}

std::vector<SlotNumber> Holdings::between(const QueueState& queue, SlotNumber first,
                                          SlotNumber last) const {
  const auto here = [&](SlotNumber slot) {
    return slot < slots_.size() && slots_[slot].queue == queue.record.number &&
           (waits(slot) || slots_[slot].place == Place::leased);
  };
  std::vector<SlotNumber> slots;
  if (!here(first) || !here(last)) return slots;
  for (auto at = first; at != no_slot; at = slots_[at].newer) {
    slots.push_back(at);
    if (at == last) return slots;
  }
  return {};
}

std::uint64_t Holdings::purge_fresh(const std::vector<SlotNumber>& slots, TimePoint now) {
  std::uint64_t count = 0;
  for (const auto number : slots) {
    if (!waits(number) || slots_[number].has_state) continue;
    remove({number, Why::purged, 0}, now);
    ++count;
  }
  return count;
}

// A key goes as a whole: its head goes first, and whoever is next is the head when its turn comes.
std::uint64_t Holdings::move(const std::vector<SlotNumber>& slots, QueueState& to, TimePoint now) {
  std::uint64_t count = 0;
  for (const auto number : slots) {
    if (!waits(number) || slots_[number].place == Place::held) continue;
    QueueState& from = queue_of(number);
    const auto next = slots_[number].keyed ? from.keys.leave(slots_, number, false) : no_slot;
    unlink(number);
    --from.in(slots_[number].place);
    --from.totals.published;
    Slot& slot = slots_.edit(number);
    from.totals.bytes -= slot.size;
    slot.queue = to.record.number;
    slot.place = Place::arriving;
    slot.set_time(std::max(slot.time(), pack(now)));
    ++to.in(Place::arriving);
    to.totals.bytes += slot.size;
    slot.keyed = slot.keyed && to.options().keys_in_order;
    arrive(number, now);
    begin_turn(next, now);
    ++count;
  }
  return count;
}

std::uint64_t Holdings::redrive(QueueState& queue, SlotNumber last, TimePoint now) {
  std::uint64_t count = 0;
  for (auto at = queue.dead.oldest; at != no_slot;) {
    const auto number = at;
    at = number == last ? no_slot : slots_[at].newer;
    unlink(number);
    slots_.edit(number).set_time(pack(now));
    slots_.edit(number).redriven = true;
    wait_or_ready(number, now);
    link(number);
    ++count;
  }
  queue.totals.dead_lettered -= count;
  return count;
}

std::uint64_t Holdings::leased_bytes(const QueueState& queue) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < leases_.size(); ++i) {
    const auto slot = leases_[i].slot;
    if (slot != no_slot && slots_[slot].queue == queue.record.number) bytes += slots_[slot].size;
  }
  return bytes;
}

void Holdings::detach(SlotNumber number) {
  QueueState& queue = queue_of(number);
  if (slots_[number].place == Place::dead) {
    unlink(number);
    move_to(number, Place::ready);
    link(number);
    --queue.totals.dead_lettered;
    return;
  }
  if (slots_[number].place != Place::held) return;
  (void)queue.keys.leave(slots_, number, false);
  slots_.edit(number).keyed = false;
  move_to(number, Place::ready);
}

/// Everybody who stands nowhere takes the place that is his at `now`.
void Holdings::line_up(QueueState& queue, TimePoint now) {
  queue.unlined = false;
  const auto moment = pack(now);
  std::vector<SlotNumber> strayed;  // not in the order of publication: retried, delayed, returned
  std::vector<SlotNumber> ahead;
  std::vector<SlotNumber> in_order;
  std::uint64_t last = 0;
  for (auto at = queue.all.oldest; at != no_slot; at = slots_[at].newer) {
    if (!waits(at) || slots_[at].place == Place::held) continue;
    const auto time = slots_[at].time();
    move_to(at, time > moment ? Place::delayed : Place::ready);
    if (time > moment) {
      delay(at, now);
    } else if (slots_[at].ahead) {
      ahead.push_back(at);
    } else if (time < last) {
      strayed.push_back(at);
    } else {
      last = time;
      in_order.push_back(at);
    }
  }
  const auto older = [this](SlotNumber a, SlotNumber b) {
    return slots_[a].time() < slots_[b].time();
  };
  std::stable_sort(strayed.begin(), strayed.end(), older);
  std::stable_sort(ahead.begin(), ahead.end(), older);
  for (const auto number : ahead) queue.lineup.push_interrupted(slots_, number);
  auto stray = strayed.begin();
  for (const auto number : in_order) {
    for (; stray != strayed.end() && older(*stray, number); ++stray) {
      queue.lineup.push(slots_, *stray);
    }
    queue.lineup.push(slots_, number);
  }
  for (; stray != strayed.end(); ++stray) queue.lineup.push(slots_, *stray);
}

void Holdings::begin_work(TimePoint now) {
  slots_.rebuild_free_list();
  std::vector<Lease*> nobody;
  advance(now, nobody);
  working_ = true;
  for (auto& queue : queues_) {
    if (queue) line_up(*queue, now);
  }
}

}  // namespace dlo::embedded
