#include "dlo/broker/memory/queue.h"

#include <algorithm>
#include <utility>

#include "dlo/broker/moments.h"

namespace dlo::memory {
namespace {

// Callers that read one clock disagree by a little; only more than this is a jump.
constexpr Millis slack{1000};

void give_back(std::uint32_t& count) noexcept {
  if (count > 0) --count;
}

/// As if it had not been claimed: the claim, and the start if there was one (I8).
void unclaim(Slot& slot) noexcept {
  give_back(slot.counters.fetch);
  if (!slot.started) return;
  slot.counters = without_start(slot.counters);
  if (slot.first_start) slot.first_attempt_at = Slot::never;
}

}  // namespace

Queue::Queue(const SourceOptions& options)
    : options_(options), lineup_(std::max(options.ageing, Millis{0})) {}

void Queue::advance(const Instant& instant) {
  const auto now = instant.wall;
  steady_ = instant.steady;
  if (latest_ != TimePoint::min() && now < latest_ && latest_ - now > slack) {
    // Whoever waited keeps the age it had, or newcomers of a higher priority would pass for ever.
    const auto jump = latest_ - now;
    for (auto at = oldest_; at != no_slot; at = slab_[at].newer) slab_[at].since -= jump;
    lineup_.shift(jump);
    latest_ = now;
  }
  if (const auto by = drift_.since_last(instant); by != Millis{0}) clock_was_set(by, now);
  latest_ = std::max(latest_, now);
  over_.clear();
  delays_.advance(now, [&](SlotNumber number, TimePoint due) { over_.push_back({due, number}); });
  const auto delays = static_cast<std::ptrdiff_t>(over_.size());
  leasing_.advance(instant.steady, [&](SlotNumber number, TimePoint due) {
    over_.push_back({instant.wall_at(due), number});
  });
  std::inplace_merge(over_.begin(), over_.begin() + delays, over_.end(),
                     [](const Over& a, const Over& b) { return a.due < b.due; });
  for (const Over& each : over_) end_of_wait(each.number, each.due);
}

std::optional<TimePoint> Queue::next_due(const Instant& now) const noexcept {
  const auto delay = delays_.next();
  auto lease = leasing_.next();
  if (lease) lease = now.wall_at(*lease);
  if (!delay || !lease) return delay ? delay : lease;
  return std::min(*delay, *lease);
}

void Queue::end_of_wait(SlotNumber number, TimePoint due) {
  Slot& slot = slab_[number];
  if (slot.place == Place::leased) {
    slot.lease = 0;
    slot.repeat = true;
    if (slot.started) {
      slot.started = false;
      slot.interrupted = true;
      ++slot.interruptions;
      slot.since = due;
      move_to(slot, Place::ready);
      note_expiry(slot);
      return lineup_.push_interrupted(slab_, number);
    }
    if (!options_.claims_count) give_back(slot.counters.fetch);
  }
  slot.since = due;
  stand(number);
}

void Queue::stand(SlotNumber number) {
  Slot& slot = slab_[number];
  move_to(slot, Place::ready);
  note_expiry(slot);
  lineup_.push(slab_, number);
}

void Queue::move_to(Slot& slot, Place place) noexcept {
  --in(slot.place);
  ++in(place);
  slot.place = place;
}

void Queue::add(Arrival arrival, TimePoint now) {
  const auto number = slab_.take();
  Slot& slot = slab_[number];
  slot.counters = arrival.counters;
  slot.bytes = arrival.bytes;
  slot.priority = arrival.message->priority;
  slot.can_expire = arrival.message->expires_at.has_value();
  slot.since = now;
  if (arrival.undecodable) {
    slot.remarks = std::make_unique<Remarks>();
    slot.remarks->undecodable = std::move(arrival.undecodable);
  }
  if (arrival.past) remember(slot, *arrival.past);
  slot.message = std::move(arrival.message);
  wait_until(slot, arrival.due);
  slot.older = newest_;
  (newest_ == no_slot ? oldest_ : slab_[newest_].newer) = number;
  newest_ = number;
  ++stats_.published;
  in_rate_.add(1, steady_);
  stats_.bytes += slot.bytes;
  ++in(Place::free);  // as move_to expects of a slot that comes from nowhere

  const auto& key = slot.message->key;
  if (options_.keys_in_order && !key.empty() && !(arrival.past_hold && hold_on(key).held)) {
    auto& line = line_of(key);
    slot.key = &line;
    if (line.head != no_slot || line.on_hold || !line.followers.empty()) {
      move_to(slot, Place::held);
      return line.followers.push(slab_, number);
    }
    line.head = number;
  }
  wait_or_ready(number, now);
}

void Queue::remember(Slot& slot, const Past& past) {
  slot.first_attempt_at = past.first_attempt_at;
  slot.previous_delay = past.previous_delay;
  slot.repeat = past.repeat;
  note(slot, past.last_error, past.trail);
}

// Waiting longer than a message lives helps nobody.
void Queue::wait_until(Slot& slot, TimePoint due) noexcept {
  slot.due = slot.can_expire ? std::min(due, *slot.message->expires_at) : due;
}

void Queue::wait_or_ready(SlotNumber number, TimePoint now) {
  Slot& slot = slab_[number];
  if (slot.due > now) {
    move_to(slot, Place::delayed);
    return delays_.set(number, slot.due);
  }
  stand(number);
}

void Queue::claim(const ReceiveRequest& request, const Instant& instant, std::vector<Delivery>& out,
                  Gone& gone) {
  advance(instant);
  const auto now = instant.wall;
  if (request.expired_only) return claim_expired(request, instant, out, gone);
  if (stats_.paused) return;
  out.reserve(std::min<std::uint64_t>(request.limit, in(Place::ready)));
  const auto until = later(instant, request.lease_for);
  std::uint64_t bytes = 0;
  while (out.size() < request.limit && (out.empty() || bytes < request.bytes)) {
    const auto number = lineup_.pop(slab_);
    if (number == no_slot) break;
    const Slot& slot = slab_[number];
    const bool expired = slot.can_expire && *slot.message->expires_at <= now;
    if (expired && options_.drop_expired) {
      ++stats_.expired;
      remove(number, now, gone);
      continue;
    }
    bytes += std::max<std::uint64_t>(slot.bytes, 1);
    auto& delivery = out.emplace_back();
    lease(number, until, delivery);
    delivery.expired = expired;
  }
}

void Queue::lease(SlotNumber number, const Instant& until, Delivery& delivery) {
  Slot& slot = slab_[number];
  if (slot.counters.fetch != UINT32_MAX) ++slot.counters.fetch;
  slot.lease = ++leases_;
  slot.due = until.wall;
  move_to(slot, Place::leased);
  leasing_.set(number, until.steady);

  delivery.lease = LeaseToken{{(std::uint64_t{epoch_} << 32) | number, slot.lease}};
  delivery.message = slot.message;
  delivery.counters = slot.counters;
  delivery.leased_until = until.wall;
  delivery.steady_until = until.steady;
  delivery.may_be_repeat = slot.repeat || slot.counters.fetch > 1;
  delivery.interrupted = slot.interrupted;
  delivery.interruptions = slot.interruptions;
  if (slot.first_attempt_at != Slot::never) delivery.first_attempt_at = slot.first_attempt_at;
  delivery.previous_delay = slot.previous_delay;
  if (slot.remarks) {
    delivery.undecodable = slot.remarks->undecodable;
    delivery.last_error = slot.remarks->last_error;
    delivery.trail = slot.remarks->trail;
  }
}

Slot* Queue::find(const LeaseToken& token, SlotNumber& number) noexcept {
  number = static_cast<SlotNumber>(token.high);
  if (token.high >> 32 != epoch_ || number >= slab_.size() || token.low == 0) return nullptr;
  Slot& slot = slab_[number];
  return slot.lease == token.low ? &slot : nullptr;
}

const Slot* Queue::leased(const LeaseToken& lease) noexcept {
  SlotNumber number = no_slot;
  return find(lease, number);
}

bool Queue::start(const LeaseToken& lease, TimePoint now) {
  SlotNumber number = no_slot;
  Slot* slot = find(lease, number);
  if (slot == nullptr) return false;
  if (slot->started) return true;
  slot->started = true;
  slot->counters = with_start(slot->counters);
  slot->first_start = slot->first_attempt_at == Slot::never;
  if (slot->first_start) slot->first_attempt_at = now;
  return true;
}

bool Queue::renew(const LeaseToken& lease, const Instant& until) {
  SlotNumber number = no_slot;
  Slot* slot = find(lease, number);
  if (slot == nullptr) return false;
  slot->due = until.wall;
  leasing_.set(number, until.steady);
  return true;
}

std::uint64_t Queue::end_all_leases(TimePoint now) {
  std::uint64_t ended = 0;
  for (auto at = oldest_; at != no_slot; at = slab_[at].newer) {
    if (slab_[at].place != Place::leased) continue;
    leasing_.clear(at);
    end_of_wait(at, now);
    ++ended;
  }
  return ended;
}

SettleAnswer Queue::settle(const Settlement& settlement, TimePoint now, Gone& gone) {
  SlotNumber number = no_slot;
  Slot* slot = find(settlement.lease, number);
  if (slot == nullptr) return {Settled::lease_lost, 0};
  slot->lease = 0;
  leasing_.clear(number);
  SettleAnswer answer;
  if (std::holds_alternative<Completed>(settlement.ending)) {  // most of them, by far
    end(number, Completed{}, now, gone);
    return answer;
  }
  if (const auto* abandoned = std::get_if<Abandoned>(&settlement.ending)) {
    end(number, *abandoned, now, gone);
    answer.abandon_count = slot->counters.abandon;
    return answer;
  }
  std::visit([&](const auto& ending) { end(number, ending, now, gone); }, settlement.ending);
  return answer;
}

void Queue::end(SlotNumber number, const Completed& /*ending*/, TimePoint now, Gone& gone) {
  ++stats_.completed;
  out_rate_.add(1, steady_);
  remove(number, now, gone);
}

void Queue::end(SlotNumber number, const DeadLettered& ending, TimePoint now, Gone& gone) {
  ++stats_.dead_lettered;
  out_rate_.add(1, steady_);
  Slot& slot = slab_[number];
  const bool hold = ending.hold_key || options_.on_death == OnDeath::hold;
  if (hold && slot.key != nullptr) slot.key->on_hold = true;
  remove(number, now, gone);
}

void Queue::end(SlotNumber number, const Failed& ending, TimePoint now, Gone& /*gone*/) {
  Slot& slot = slab_[number];
  slot.counters = ending.counters;
  slot.previous_delay = ending.delay;
  slot.repeat = slot.interrupted = false;
  slot.interruptions = 0;
  note(slot, ending.error, ending.trail);
  take_back(number, ending.again_at, now);
}

void Queue::end(SlotNumber number, const Abandoned& ending, TimePoint now, Gone& /*gone*/) {
  Slot& slot = slab_[number];
  if (ending.increment_count) {
    slot.counters = after_abandon(ending, slot.counters);
    slot.repeat = slot.interrupted = false;
    slot.interruptions = 0;
  } else {
    unclaim(slot);
  }
  slot.previous_delay = std::max(Millis{0}, ending.again_at - now);
  if (!slot.remarks && (!ending.error.empty() || !ending.trail.empty())) {
    slot.remarks = std::make_unique<Remarks>();
  }
  if (!ending.error.empty()) slot.remarks->last_error = ending.error;
  if (!ending.trail.empty()) slot.remarks->trail = ending.trail;
  take_back(number, ending.again_at, now);
}

void Queue::end(SlotNumber number, const ReleasedUnrun& /*ending*/, TimePoint now, Gone& /*gone*/) {
  unclaim(slab_[number]);
  take_back(number, now, now);
}

// Out of its lease and back among the waiting: behind those that are ready (I10).
void Queue::take_back(SlotNumber number, TimePoint again_at, TimePoint now) {
  Slot& slot = slab_[number];
  slot.started = slot.first_start = false;
  wait_until(slot, again_at);
  slot.since = now;
  wait_or_ready(number, now);
}

void Queue::remove(SlotNumber number, TimePoint now, Gone& gone) {
  Slot& slot = slab_[number];
  KeyLine* line = slot.key;
  unlink(number);
  gone.push_back(std::move(slot.message));
  slab_.give_back(number);
  if (line != nullptr) {
    line->head = no_slot;
    promote(*line, now);
  }
}

void Queue::unlink(SlotNumber number) noexcept {
  Slot& slot = slab_[number];
  (slot.older == no_slot ? oldest_ : slab_[slot.older].newer) = slot.newer;
  (slot.newer == no_slot ? newest_ : slab_[slot.newer].older) = slot.older;
  stats_.bytes -= slot.bytes;
  --in(slot.place);
}

void Queue::note(Slot& slot, const std::string& error, const std::string& trail) {
  if (!slot.remarks) {
    if (error.empty() && trail.empty()) return;
    slot.remarks = std::make_unique<Remarks>();
  }
  slot.remarks->last_error = error;
  slot.remarks->trail = trail;
}

std::uint64_t Queue::purge(Gone& gone) {
  std::uint64_t count = 0;
  lineup_.clear();
  for (auto at = oldest_; at != no_slot;) {
    Slot& slot = slab_[at];
    const auto next = slot.newer;
    if (slot.place != Place::leased) {
      if (slot.key != nullptr) {
        slot.key->followers = {};
        if (slot.key->head == at) slot.key->head = no_slot;
      }
      delays_.clear(at);
      unlink(at);
      gone.push_back(std::move(slot.message));
      slab_.give_back(at);
      ++count;
    }
    at = next;
  }
  std::erase_if(keys_, [](const auto& entry) {
    return entry.second.head == no_slot && !entry.second.on_hold;
  });
  stats_.purged += count;
  return count;
}

std::vector<MessagePtr> Queue::peek(std::size_t limit) {
  std::vector<MessagePtr> out;
  for (auto at = oldest_; at != no_slot && out.size() < limit; at = slab_[at].newer) {
    if (slab_[at].place != Place::leased) out.push_back(slab_[at].message);
  }
  return out;
}

std::uint64_t Queue::messages() const noexcept {
  std::uint64_t count = 0;
  for (const auto in_place : places_) count += in_place;
  return count;
}

SourceStats Queue::stats() {
  auto stats = stats_;
  stats.in_per_second = in_rate_.per_second(steady_);
  stats.out_per_second = out_rate_.per_second(steady_);
  stats.ready = in(Place::ready);
  stats.delayed = in(Place::delayed);
  stats.leased = in(Place::leased);
  stats.held = in(Place::held);
  if (oldest_ != no_slot) stats.oldest = slab_[oldest_].message->enqueued_at;
  return stats;
}

}  // namespace dlo::memory
