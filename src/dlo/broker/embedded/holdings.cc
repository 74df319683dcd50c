#include "dlo/broker/embedded/holdings.h"

#include <algorithm>
#include <utility>

#include "dlo/broker/moments.h"

namespace dlo::embedded {
namespace {

// Callers that read one clock disagree by a little; only more than this is a jump.
constexpr Millis slack{1000};

}  // namespace

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
    queue->record = record;
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

void Holdings::put(const PublishTail& tail, const Address& at, std::uint32_t weight) {
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
  slot.keyed = tail.keyed;
  slot.carries = tail.carries;
  slot.set_time(pack(tail.due));
  slot.place = Place::arriving;
  QueueState& queue = *queues_[tail.queue];
  ++queue.in(Place::arriving);
  queue.totals.bytes += weight;
  if (tail.dedupe && queue.dedupe.on()) queue.dedupe.remember(*tail.dedupe, at.sequence, tail.now);
}

void Holdings::arrive(SlotNumber number, std::string_view key, TimePoint now) {
  QueueState& queue = queue_of(number);
  ++queue.totals.published;
  if (working_) queue.in_rate.add(1, now);
  link(number);
  if (slots_[number].keyed && !key.empty()) return join_key(queue, number, key, now);
  wait_or_ready(number, now);
}

void Holdings::join_key(QueueState& queue, SlotNumber number, std::string_view key, TimePoint now) {
  KeyEntry& line = queue.keys.at(key);
  if (line.head() != no_slot || line.on_hold || !line.followers.empty()) {
    move_to(number, Place::held);
    return line.followers.push(slots_, number);
  }
  queue.keys.set_head(line, number);
  wait_or_ready(number, now);
}

void Holdings::wait_or_ready(SlotNumber number, TimePoint now) {
  const Slot& slot = slots_[number];
  if (!working_) return move_to(number, Place::ready);  // begin_work looks again
  if (unpack(slot.time()) > now) {
    move_to(number, Place::delayed);
    return delays_.set(slots_, number);
  }
  move_to(number, Place::ready);
  QueueState& queue = *queues_[slot.queue];
  if (slot.ahead) return queue.lineup.push_interrupted(slots_, number);
  queue.lineup.push(slots_, number);
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
}

void Holdings::relocate(SlotNumber number, const Address& at) {
  Slot& slot = slots_.edit(number);
  segments_.drop(slot.segment(), slot.size);
  set_record(slot, at);
  segments_.add(at.location.segment, slot.size);
}

void Holdings::end_lease(SlotNumber number) noexcept {
  if (slots_[number].place == Place::leased) {
    leases_.give_back(leases_[slots_[number].time()]);
  }
}

void Holdings::set_state(const StateRecord& record, const Address& at, TimePoint now) {
  const auto number = record.slot;
  const bool waits = slots_[number].place != Place::leased;
  end_lease(number);
  Slot& slot = slots_.edit(number);
  if (slot.has_state) segments_.drop(slot.segment(), 0);
  set_record(slot, at);
  segments_.add(at.location.segment, 0);
  slot.has_state = true;
  if (record.left_segment) {
    segments_.drop(*record.left_segment, slot.size);
    segments_.at(record.body.location.segment, record.body.sequence);
    segments_.add(record.body.location.segment, slot.size);
  }
  if (waits) return;  // only its place in the journal, or what a publication brought along
  slot.repeat = record.repeat;
  slot.ahead = record.ahead;
  slot.redriven = false;
  slot.set_time(pack(record.due));
  if (record.dead) return bury(number, record.holds_key, now);
  wait_or_ready(number, now);
}

/// Into the queue's own dead set. From there it comes back without its place in a key's order.
void Holdings::bury(SlotNumber number, bool holds_key, TimePoint now) {
  QueueState& queue = queue_of(number);
  ++queue.totals.dead_lettered;
  if (working_) queue.out_rate.add(1, now);
  unlink(number);
  move_to(number, Place::dead);
  link(number);
  if (!slots_[number].keyed) return;
  slots_.edit(number).keyed = false;
  KeyEntry* line = leave_key(number);
  if (line == nullptr) return;
  line->on_hold = line->on_hold || holds_key;
  promote(queue, *line, now);
}

/// The head of a key leaves it; nullptr if it is none.
KeyEntry* Holdings::leave_key(SlotNumber number) {
  KeyBook& keys = queue_of(number).keys;
  KeyEntry* line = keys.headed_by(number);
  if (line != nullptr) keys.set_head(*line, no_slot);
  return line;
}

void Holdings::return_unchanged(const Return& record, TimePoint now) {
  end_lease(record.slot);
  Slot& slot = slots_.edit(record.slot);
  slot.repeat = record.repeat;
  slot.ahead = false;
  slot.set_time(pack(record.due));
  wait_or_ready(record.slot, now);
}

void Holdings::remove(const Removal& removal, TimePoint now) {
  QueueState& queue = queue_of(removal.slot);
  end_lease(removal.slot);
  const bool handled = removal.why != Why::expired && removal.why != Why::purged;
  if (working_ && handled) queue.out_rate.add(1, now);
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
  KeyEntry* line = slots_[removal.slot].keyed ? leave_key(removal.slot) : nullptr;
  drop(removal.slot, removal.body_segment);
  if (line == nullptr) return;
  if (removal.why == Why::dead_and_held) line->on_hold = true;
  promote(queue, *line, now);
}

void Holdings::drop(SlotNumber number, std::uint32_t body_segment) noexcept {
  const Slot& slot = slots_[number];
  segments_.drop(slot.segment(), slot.has_state ? 0 : slot.size);
  if (slot.has_state) segments_.drop(body_segment, slot.size);
  QueueState& queue = queue_of(number);
  queue.totals.bytes -= slot.size;
  if (slot.place == Place::dead) queue.dead_bytes -= slot.size;
  --queue.in(slot.place);
  unlink(number);
  slots_.give_back(number);
}

// The head left: the next of the key takes its place, or the key is forgotten.
void Holdings::promote(QueueState& queue, KeyEntry& line, TimePoint now) {
  if (line.on_hold) return;
  if (line.followers.empty()) {
    queue.keys.erase(line);
    return;
  }
  const auto head = line.followers.pop(slots_);
  queue.keys.set_head(line, head);
  // Ready since now, not since it was published: so keys take turns.
  Slot& slot = slots_.edit(head);
  slot.set_time(std::max(slot.time(), pack(now)));
  wait_or_ready(head, now);
}

void Holdings::free_key(QueueState& queue, const std::string& key, TimePoint now) {
  KeyEntry* line = queue.keys.find(key);
  if (line == nullptr || !line->on_hold) return;
  line->on_hold = false;
  promote(queue, *line, now);
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

void Holdings::forget_lines() {
  for (SlotNumber number = 0; number < slots_.size(); ++number) {
    if (slots_[number].place == Place::delayed) move_to(number, Place::ready);
  }
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

void Holdings::advance(TimePoint now, std::vector<Lease*>& ran_out) {
  if (latest_ != TimePoint::min() && now < latest_ && latest_ - now > slack) {
    clock_went_back(latest_ - now);
    latest_ = now;
  }
  latest_ = std::max(latest_, now);
  delays_.advance(slots_, now, [this](SlotNumber number) {
    move_to(number, Place::ready);
    queue_of(number).lineup.push(slots_, number);
  });
  leases_.timing().advance(
      now, [&](std::uint32_t index, TimePoint /*due*/) { ran_out.push_back(&leases_[index]); });
}

// Whoever waited keeps the age it had, or newcomers of a higher priority would pass for ever.
void Holdings::clock_went_back(Millis jump) {
  const auto back = static_cast<std::uint64_t>(jump.count());
  const auto before = pack(latest_);
  for (SlotNumber number = 0; number < slots_.size(); ++number) {
    const Slot& slot = slots_[number];
    const bool waits = slot.place == Place::ready || slot.place == Place::held;
    const bool aged = waits && slot.time() <= before;
    if (aged) slots_.edit(number).set_time(slot.time() - std::min(slot.time(), back));
  }
  for (auto& queue : queues_) {
    if (queue) queue->lineup.shift(jump);
  }
}

std::optional<TimePoint> Holdings::next_due() const noexcept {
  const auto delay = delays_.next(slots_);
  const auto lease = leases_.timing().next();
  if (!delay || !lease) return delay ? delay : lease;
  return std::min(*delay, *lease);
}

}  // namespace dlo::embedded
