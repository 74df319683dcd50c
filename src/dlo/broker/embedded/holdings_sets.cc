// What is done to all of a queue at once.
#include <algorithm>

#include "dlo/broker/embedded/holdings.h"

namespace dlo::embedded {

void Holdings::unline(QueueState& queue) {
  queue.lineup.clear();
  queue.delays.reset();
  queue.next_expiry = never_expires;
  queue.sweeping = false;
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
    slot.set_time(std::max(slot.time(), even(now)));
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
    slots_.edit(number).set_time(even(now));
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

/// From the newest to the oldest: who became ready later than somebody published after him strayed,
/// because he was retried, delayed or returned. His `next` is himself until he stands in line.
Holdings::Strays Holdings::find_strays(QueueState& queue, TimePoint now) {
  constexpr SlotNumber soon = 64;  // neighbours are usually published one after the other
  Strays strays;
  auto earliest = end_of_time;
  const auto moment = by_now(now);
  for (auto at = queue.all.newest; at != no_slot; at = slots_[at].older) {
    if (at >= soon) __builtin_prefetch(&slots_[at - soon]);
    const Slot& slot = slots_[at];
    if (slot.place != Place::ready && slot.place != Place::delayed) continue;
    const auto time = slot.time();
    const auto place = time > moment ? Place::delayed : Place::ready;
    if (slot.place != place) move_to(at, place);
    if (place == Place::delayed) continue;
    const bool strayed = slot.ahead || time > earliest;
    slots_.set_next(at, strayed ? at : no_slot);
    if (strayed) (slot.ahead ? strays.ahead : strays.others).push_back(at);
    if (!strayed) earliest = time;
  }
  const auto older = [this](SlotNumber a, SlotNumber b) {
    return slots_[a].time() < slots_[b].time();
  };
  for (auto* all : {&strays.ahead, &strays.others}) {
    std::reverse(all->begin(), all->end());
    std::stable_sort(all->begin(), all->end(), older);
  }
  return strays;
}

/// Everybody who stands nowhere takes the place that is his at `now`. Twice over the chain rather
/// than once with a list of it: there may be many millions.
void Holdings::line_up(QueueState& queue, TimePoint now) {
  queue.unlined = false;
  const Strays strays = find_strays(queue, now);
  for (const auto number : strays.ahead) stand_ahead(queue, number);
  auto stray = strays.others.begin();
  for (auto at = queue.all.oldest; at != no_slot; at = slots_[at].newer) {
    const Slot& slot = slots_[at];
    if (slot.place == Place::delayed) delay(at, now);
    if (slot.place != Place::ready || slot.ahead || slot.next == at) continue;
    const auto time = slot.time();
    for (; stray != strays.others.end() && slots_[*stray].time() < time; ++stray) {
      stand(queue, *stray);
    }
    stand(queue, at);
  }
  for (; stray != strays.others.end(); ++stray) stand(queue, *stray);
}

void Holdings::begin_work(TimePoint now) {
  slots_.rebuild_free_list();
  // Set back while nothing ran: then no time has passed, or some would have to wait for ever.
  if (const auto last = latest(); even(now) + slack < latest_) clock_was_set(now - last);
  std::vector<Lease*> nobody;
  advance(Instant(now), nobody);
  drift_ = {};  // callers have a steady clock, too: its first reading counts
  heard_ = false;
  working_ = true;
  for (auto& queue : queues_) {
    if (!queue) continue;
    queue->dedupe.opened(unpack(even(now)));
    line_up(*queue, now);
  }
  unlooked_ = set_by_ != Millis{0} ? 0 : no_slot;
}

}  // namespace dlo::embedded
