#include "dlo/broker/embedded/holdings.h"

#include <algorithm>
#include <utility>

namespace dlo::embedded {

QueueState::QueueState(const QueueRecord& settings)
    : record(settings),
      lineup(std::max(settings.options.ageing, Millis{0})),
      dedupe(settings.options.dedupe_window) {}

std::uint64_t QueueState::messages() const noexcept {
  std::uint64_t count = 0;
  for (const auto in_place : places) count += in_place;
  return count - places[static_cast<std::size_t>(Place::free)] -
         places[static_cast<std::size_t>(Place::dead)];
}

QueueState& Holdings::declare(const QueueRecord& record) {
  while (queues_.size() <= record.number) queues_.push_back(nullptr);
  auto& queue = queues_[record.number];
  if (queue == nullptr) {
    queue = std::make_unique<QueueState>(record);
  } else {
    const bool lets_go =
        queue->options().on_death == OnDeath::hold && record.options.on_death != OnDeath::hold;
    queue->record = record;
    if (lets_go) free_all_keys(*queue);
    queue->dedupe.set_window(record.options.dedupe_window);
    queue->lineup.set_ageing(slots_, std::max(record.options.ageing, Millis{0}));
  }
  return *queue;
}

QueueState* Holdings::queue(std::uint16_t number) noexcept {
  return number < queues_.size() ? queues_[number].get() : nullptr;
}

Address Holdings::address_of(SlotNumber number) const noexcept {
  const Slot& slot = slots_[number];
  return {{slot.segment(), slot.offset}, segments_.base(slot.segment()) + slot.relative()};
}

void Holdings::set_record(Slot& slot, const Address& at) noexcept {
  const auto segment = at.location.segment;
  const auto base = segments_.at(segment, at.sequence).base;
  slot.set_record(segment, at.location.offset, static_cast<std::uint32_t>(at.sequence - base));
}

void Holdings::move_to(SlotNumber number, Place place) noexcept {
  Slot& slot = slots_.edit(number);
  QueueState& queue = *queues_[slot.queue];
  if (slot.place == Place::dead) queue.dead_bytes -= slot.size;
  if (place == Place::dead) queue.dead_bytes += slot.size;
  --queue.in(slot.place);
  ++queue.in(place);
  slot.place = place;
}

void Holdings::put(const PublishTail& tail, const Address& at, std::uint32_t weight, KeyDigest key,
                   Expiry expiry) {
  slots_.grow_to(tail.slot + 1);
  slots_.own(tail.slot);
  Slot& slot = slots_.edit(tail.slot);
  slot = Slot{};
  set_record(slot, at);
  segments_.add(at.location.segment, weight);
  slot.queue = tail.queue;
  slot.size = weight;
  slot.priority = tail.priority;
  slot.can_expire = tail.can_expire;
  if (tail.can_expire) slots_.set_expiry(tail.slot, expiry);
  slot.keyed = tail.keyed && key != 0;
  if (slot.keyed) slots_.set_key(tail.slot, key);
  slot.carries = tail.carries;
  slot.set_time(even(tail.due));
  slot.place = Place::arriving;
  QueueState& queue = *queues_[tail.queue];
  ++queue.in(Place::arriving);
  queue.totals.bytes += weight;
  if (tail.dedupe && queue.dedupe.on()) {
    queue.dedupe.remember(*tail.dedupe, at.sequence, unpack(even(tail.now)));
  }
}

std::optional<std::uint64_t> Holdings::accepted_as(const QueueState& queue, const IdDigest& id,
                                                   TimePoint now,
                                                   DedupeBook::Whose whose) const noexcept {
  return queue.dedupe.find(id, unpack(even(now)), whose);
}

void Holdings::arrive(SlotNumber number, TimePoint now) {
  QueueState& queue = queue_of(number);
  ++queue.totals.published;
  if (working_) queue.in_rate.add(1, latest_steady_);
  link(number);
  if (slots_[number].keyed && !queue.keys.join(slots_, number)) {
    return move_to(number, Place::held);
  }
  wait_or_ready(number, now);
}

void Holdings::depart(SlotNumber number) {
  QueueState& queue = queue_of(number);
  --queue.totals.published;
  unlink(number);
  if (slots_[number].keyed) (void)queue.keys.leave(slots_, number, false);
  move_to(number, Place::arriving);
}

void Holdings::wait_or_ready(SlotNumber number, TimePoint now) {
  const Slot& slot = slots_[number];
  if (!working_) return move_to(number, Place::ready);  // begin_work looks again
  QueueState& queue = *queues_[slot.queue];
  if (slot.time() > by_now(now)) {
    move_to(number, Place::delayed);
    return queue.unlined ? void() : delay(number, now);
  }
  move_to(number, Place::ready);
  if (queue.unlined) return;
  if (slot.ahead) return stand_ahead(queue, number);
  stand(queue, number);
}

void Holdings::stand(QueueState& queue, SlotNumber number) {
  queue.lineup.push(slots_, number);
  note_expiry(queue, number);
}

void Holdings::stand_ahead(QueueState& queue, SlotNumber number) {
  queue.lineup.push_interrupted(slots_, number);
  note_expiry(queue, number);
}

void Holdings::delay(SlotNumber number, TimePoint now) {
  QueueState& queue = queue_of(number);
  if (!queue.delays) {
    queue.delays = std::make_unique<Delays>();
    (void)queue.delays->advance(slots_, unpack(by_now(now)), [](SlotNumber) {});
  }
  queue.delays->set(slots_, number);
  // Not when it ends, but when it wants to be looked at: whoever waits is told that moment, too.
  if (const auto next = queue.delays->next(slots_))
    next_delay_ = std::min(next_delay_, pack(*next));
}

void Holdings::link(SlotNumber number) noexcept {
  Slot& slot = slots_.edit(number);
  Chain& chain = queue_of(number).chain(slot.place);
  slot.older = chain.newest;
  slot.newer = no_slot;
  (chain.newest == no_slot ? chain.oldest : slots_.edit(chain.newest).newer) = number;
  chain.newest = number;
}

void Holdings::unlink(SlotNumber number) noexcept {
  const Slot slot = slots_[number];
  Chain& chain = queue_of(number).chain(slot.place);
  (slot.older == no_slot ? chain.oldest : slots_.edit(slot.older).newer) = slot.newer;
  (slot.newer == no_slot ? chain.newest : slots_.edit(slot.newer).older) = slot.older;
  if (walk_ == number) [[unlikely]]
    walk_ = slot.newer;
}

void Holdings::relocate(SlotNumber number, const Address& at) {
  Slot& slot = slots_.edit(number);
  segments_.drop(slot.segment(), slot.size);
  set_record(slot, at);
  segments_.add(at.location.segment, slot.size);
  if (Lease* lease = lease_of(number)) lease->body = at;
}

void Holdings::end_lease(SlotNumber number) noexcept {
  if (slots_[number].place == Place::leased) {
    leases_.give_back(leases_[slots_[number].time()]);
  }
}

void Holdings::set_state(const StateRecord& record, const Address& at, TimePoint now) {
  const auto number = record.slot;
  Lease* const lease = lease_of(number);
  const bool moves = lease == nullptr || record.left_segment;
  if (!moves) end_lease(number);
  Slot& slot = slots_.edit(number);
  if (slot.has_state) segments_.drop(slot.segment(), slot.state_bytes());
  set_record(slot, at);
  slot.has_state = true;
  slot.set_state_bytes(record.state.text_size());
  segments_.add(at.location.segment, slot.state_bytes());
  if (record.left_segment) {
    segments_.drop(*record.left_segment, slot.size);
    segments_.at(record.body.location.segment, record.body.sequence);
    segments_.add(record.body.location.segment, slot.size);
  }
  if (lease != nullptr && moves) lease->body = record.body;  // whoever has it does not notice
  if (moves) return;  // only its place in the journal, or what a publication brought along
  slot.repeat = record.repeat;
  slot.ahead = record.ahead;
  slot.redriven = false;
  slot.set_time(even(record.due));
  if (record.dead) return bury(number, record.holds_key, now);
  wait_or_ready(number, now);
}

/// Into the queue's own dead set. From there it comes back without its place in a key's order.
void Holdings::bury(SlotNumber number, bool holds_key, TimePoint now) {
  QueueState& queue = queue_of(number);
  ++queue.totals.dead_lettered;
  if (working_) queue.out_rate.add(1, latest_steady_);
  unlink(number);
  move_to(number, Place::dead);
  link(number);
  if (!slots_[number].keyed) return;
  slots_.edit(number).keyed = false;
  begin_turn(queue.keys.leave(slots_, number, holds_key), now);
}

void Holdings::return_unchanged(const Return& record, TimePoint now) {
  end_lease(record.slot);
  Slot& slot = slots_.edit(record.slot);
  slot.repeat = record.repeat;
  slot.ahead = false;
  slot.set_time(even(record.due));
  wait_or_ready(record.slot, now);
}

void Holdings::remove(const Removal& removal, TimePoint now) {
  QueueState& queue = queue_of(removal.slot);
  end_lease(removal.slot);
  const bool handled = removal.why != Why::expired && removal.why != Why::purged;
  if (working_ && handled) queue.out_rate.add(1, latest_steady_);
  switch (removal.why) {
    case Why::completed:
      ++queue.totals.completed;
      break;
    case Why::dead_lettered:
    case Why::dead_and_held:
      ++queue.totals.dead_lettered;
      break;
    case Why::expired:
      ++queue.totals.expired;
      break;
    case Why::purged:
      ++queue.totals.purged;
      break;
  }
  const auto next = slots_[removal.slot].keyed
                        ? queue.keys.leave(slots_, removal.slot, removal.why == Why::dead_and_held)
                        : no_slot;
  drop(removal.slot, removal.body_segment);
  begin_turn(next, now);
}

void Holdings::drop(SlotNumber number, std::uint32_t body_segment) noexcept {
  const Slot& slot = slots_[number];
  segments_.drop(slot.segment(), slot.has_state ? slot.state_bytes() : slot.size);
  if (slot.has_state) segments_.drop(body_segment, slot.size);
  QueueState& queue = queue_of(number);
  queue.totals.bytes -= slot.size;
  if (slot.place == Place::dead) queue.dead_bytes -= slot.size;
  --queue.in(slot.place);
  unlink(number);
  slots_.give_back(number);
}

// The head of a key left, and this one, if there is one, takes its place.
void Holdings::begin_turn(SlotNumber head, TimePoint now) {
  if (head == no_slot) return;
  // Ready since now, not since it was published: so keys take turns.
  Slot& slot = slots_.edit(head);
  slot.set_time(std::max(slot.time(), even(now)));
  wait_or_ready(head, now);
}

void Holdings::free_all_keys(QueueState& queue) {
  std::vector<KeyDigest> held;
  queue.keys.for_each_note([&](const KeyNote& note) {
    if (note.on_hold) held.push_back(note.key);
  });
  for (const KeyDigest key : held) free_key(queue, key, latest());
}

void Holdings::free_key(QueueState& queue, KeyDigest key, TimePoint now) {
  begin_turn(queue.keys.free(slots_, key), now);
}

Lease& Holdings::lease(SlotNumber number, std::uint64_t lease_number, TimePoint until) {
  Lease& lease = leases_.take();
  const Slot& before = slots_[number];
  lease.slot = number;
  lease.number = lease_number;
  lease.until = until;
  lease.loaded = !before.has_state && !before.carries;
  if (lease.loaded) {
    lease.body = address_of(number);
    lease.state.counters.fetch = 1;
  }
  move_to(number, Place::leased);
  Slot& slot = slots_.edit(number);
  slot.set_time(lease.index);
  if (working_) leases_.timing().set(lease.index, until);
  return lease;
}

Lease& Holdings::adopt_lease(SlotNumber number) {
  move_to(number, Place::ready);
  return lease(number, 0, TimePoint{});
}

Lease* Holdings::lease_of(SlotNumber number) noexcept {
  if (number >= slots_.size() || slots_[number].place != Place::leased) return nullptr;
  return &leases_[slots_[number].time()];
}

Lease* Holdings::find(SlotNumber number, std::uint64_t lease_number) noexcept {
  Lease* lease = lease_of(number);
  if (lease == nullptr || lease->number != lease_number || lease->ending) return nullptr;
  return lease;
}

}  // namespace dlo::embedded
