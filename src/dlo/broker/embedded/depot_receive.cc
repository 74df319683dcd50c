#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "dlo/broker/embedded/claim.h"
#include "dlo/broker/embedded/depot.h"
#include "dlo/broker/embedded/waited.h"
#include "dlo/broker/moments.h"

namespace dlo::embedded {
namespace {

using Steady = std::chrono::steady_clock;
}  // namespace

Depot::Claim Depot::claim_of(SlotNumber number) const {
  const Slot& slot = holdings_.slots()[number];
  Claim claim;
  claim.slot = number;
  claim.at = holdings_.address_of(number);
  claim.leased = slot.place == Place::leased;
  claim.has_state = slot.has_state;
  claim.carries = slot.carries;
  claim.can_expire = slot.can_expire;
  claim.repeat = slot.repeat;
  claim.redriven = slot.redriven;
  return claim;
}

void Depot::catch_up(Instant& now) {
  advance(now);
  const Instant latest = holdings_.latest_instant();
  now = {std::max(now.wall, latest.wall), std::max(now.steady, latest.steady)};
}

// Takes what is next.
Result<std::vector<Depot::Claim>> Depot::claim(QueueState& queue, const ReceiveRequest& request,
                                               Instant& now, std::uint64_t& sequence) {
  catch_up(now);
  std::vector<SlotNumber> slots;
  if (queue.totals.paused) return claim_these(slots, request, now, sequence);
  std::uint64_t bytes = 0;
  while (slots.size() < request.limit && (slots.empty() || bytes < request.bytes)) {
    const auto slot = holdings_.pop_ready(queue);
    if (slot == no_slot) break;
    slots.push_back(slot);
    bytes += std::max<std::uint64_t>(holdings_.slots()[slot].size, 1);
  }
  return claim_these(slots, request, now, sequence);
}

// Takes what has expired, wherever it stands, also while the queue is paused: a slice at a time.
Result<std::vector<Depot::Claim>> Depot::claim_expired(QueueState& queue,
                                                       const ReceiveRequest& request, Instant& now,
                                                       std::uint64_t& sequence) {
  if (const auto room = wait_for_room(true); !room) return room.error();
  while (true) {
    Lock lock(mutex_);
    if (const auto ok = usable(queue.record.number, "embedded.receive"); !ok) return ok.error();
    catch_up(now);
    if (!holdings_.may_hold_expired(queue, now.wall) || request.limit == 0) {
      if (const auto done = hand_over_ends(lock); !done) return done.error();
      return std::vector<Claim>();
    }
    const auto slots = holdings_.take_expired(queue, now.wall, request.limit);
    if (!slots.empty()) return claim_these(slots, request, now, sequence);
  }
}

/// Whether expired messages could be dropped now. Needs the lock.
bool Depot::may_drop(const QueueState& queue, TimePoint now) const noexcept {
  return queue.options().drop_expired && holdings_.may_hold_expired(queue, now);
}

/// Drops what has expired of a queue that is set to do so. One at a time: what one has taken out of
/// its line and not yet dropped, nobody else would find.
Result<void> Depot::drop_overdue(std::uint16_t number, const Instant& now) {
  const auto count = [&](std::uint32_t by) {
    const Lock lock(mutex_);
    doorbells_[number].dropping += by;
    return &doorbells_[number].drops;
  };
  const std::lock_guard one_at_a_time(*count(1));
  const auto done = drop_all(number, now);
  count(-1U);
  return done;
}

Result<void> Depot::drop_all(std::uint16_t number, const Instant& now) {
  ReceiveRequest request;
  request.limit = 1024;
  request.expired_only = true;
  const auto unreadable = receive(number, request, now);
  if (!unreadable) return unreadable.error();
  if (unreadable->empty()) return {};
  std::vector<Settlement> back;  // whoever receives them will see
  for (const Delivery& each : *unreadable) back.push_back({each.lease, ReleasedUnrun{}});
  const auto settled = settle(number, back, now);
  return settled ? Result<void>{} : settled.error();
}

/// Of all queues, as late as it was when somebody last called.
void Depot::drop_all_overdue() {
  std::vector<std::uint16_t> numbers;
  Instant now;
  {
    const Lock lock(mutex_);
    now = holdings_.latest_instant();
    for (std::size_t i = 0; i < holdings_.queue_count(); ++i) {
      const auto number = static_cast<std::uint16_t>(i);
      const bool open = usable(number, "embedded.tidy").has_value();
      if (open && may_drop(*holdings_.queue(number), now.wall)) numbers.push_back(number);
    }
  }
  for (const auto number : numbers) (void)drop_overdue(number, now);  // or another time
}

// Counts them as claimed and writes that down.
Result<std::vector<Depot::Claim>> Depot::claim_these(const std::vector<SlotNumber>& slots,
                                                     const ReceiveRequest& request,
                                                     const Instant& now, std::uint64_t& sequence) {
  std::vector<Claim> claims;
  if (slots.empty()) return claims;
  std::string record;
  encode_slots(slots, record);
  RecordList records;
  records.add(RecordType::claimed, std::move(record));
  const auto placed = append(records);
  if (!placed) {
    for (const auto slot : slots) holdings_.push_ready(slot, now.wall);
    return placed.error();
  }
  sequence = placed->last;
  const auto until = later(now, request.lease_for);
  claims.reserve(slots.size());
  for (const auto slot : slots) {
    Claim& claim = claims.emplace_back(claim_of(slot));
    claim.number = ++leases_granted_;
    claim.until = until;
    claim.phase = reading_phase_;
    holdings_.lease(slot, claim.number, until.steady);
  }
  ++reading_[reading_phase_];
  return claims;
}

/// When whoever waits for something in this queue has to look again, `deadline` at the latest.
Steady::time_point Depot::wait_until(const QueueState& queue, Millis longest,
                                     Steady::time_point deadline) const {
  const auto due = holdings_.next_due(queue);  // others' delays wake nobody here
  const Instant latest = holdings_.latest_instant();
  if (!due || *due >= later(latest.wall, longest)) return deadline;
  return std::min(deadline, seen_ + std::max(Millis{0}, *due - latest.wall));
}

// As `claim`, waiting as long as the caller allows. `now` becomes the moment it was decided at.
Result<std::vector<Depot::Claim>> Depot::wait_and_claim(QueueState& queue,
                                                        const ReceiveRequest& request, Instant& now,
                                                        std::uint64_t& sequence) {
  const auto number = queue.record.number;
  const auto began = Steady::now();
  const auto longest = std::min(request.wait, Millis{std::chrono::hours{24}});
  const auto deadline = began + longest;
  if (const auto room = wait_for_room(true); !room) return room.error();
  Lock lock(mutex_);
  Doorbell& bell = doorbells_[number];
  std::optional<Steady::time_point> counted;  // until `now`, to the millisecond
  while (true) {
    if (const auto ok = usable(number, "embedded.receive"); !ok) return ok.error();
    auto claims = claim(queue, request, now, sequence);
    if (counted) seen_ = *counted;
    if (!claims || !claims->empty() || request.limit == 0 || longest <= Millis{0} ||
        Steady::now() >= deadline) {
      // Whoever else waits must know of the deadlines this one leaves behind.
      if (bell.waiting > 0) bell.rung.notify_one();
      if (claims && claims->empty()) {
        if (const auto done = hand_over_ends(lock); !done) return done.error();
      }
      return claims;
    }
    if (last_end_ > handed_over_) {  // it may be long until somebody calls
      const auto last = last_end_;
      if (const auto done = hand_over_ends(lock); !done) return done.error();
      lock.lock();
      handed_over_ = std::max(handed_over_, last);
    } else {
      ++bell.waiting;
      bell.rung.wait_until(lock, wait_until(queue, longest, deadline));
      --bell.waiting;
    }
    // From here on it is as late as the last caller said, and as long ago as that was: the clock
    // may have been set while this one waited.
    const auto so_far = waited(seen_, Steady::now());
    now = later(holdings_.latest_instant(), so_far.elapsed);
    counted = so_far.until;
  }
}

// What the holder's ending will need.
void Depot::fill_leases(const std::vector<Claim>& claims, std::vector<Loaded>& loaded) {
  const auto counted = [](MessageState& state) {
    if (state.counters.fetch != UINT32_MAX) ++state.counters.fetch;
  };
  for (Loaded& each : loaded) counted(each.state);
  bool needed = false;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    needed = needed || claims[i].has_state || claims[i].carries || claims[i].can_expire ||
             loaded[i].state.undecodable != nullptr;
  }
  if (!needed) return;
  const Lock lock(mutex_);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Lease* lease = holdings_.find(claims[i].slot, claims[i].number);
    if (lease == nullptr) {
      // Whatever was read may be another's by now: its new holder reads it anew.
      loaded[i].left_out = true;
      continue;
    }
    lease->expires_at = loaded[i].message->expires_at;
    // Of a damaged one nobody knows it any more.
    const bool unknown = claims[i].can_expire && !lease->expires_at;
    if (unknown) holdings_.slots().set_expiry(claims[i].slot, never_expires);
    if (lease->loaded) continue;
    lease->state = loaded[i].state;
    lease->body = loaded[i].body;
    lease->loaded = true;
  }
}

void Depot::deliver(const std::string& source, const std::vector<Claim>& claims,
                    std::vector<Loaded>& loaded, TimePoint now, std::vector<Delivery>& out) {
  out.reserve(out.size() + claims.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Loaded& from = loaded[i];
    if (from.left_out) continue;
    if (!source.empty()) from.message->source = source;
    Delivery& delivery = out.emplace_back();
    delivery.lease = LeaseToken{{std::uint64_t{epoch_} << 32 | claims[i].slot, claims[i].number}};
    delivery.expired = from.message->expires_at && *from.message->expires_at <= now;
    delivery.message = std::move(from.message);
    delivery.counters = from.state.counters;
    delivery.leased_until = claims[i].until.wall;
    delivery.steady_until = claims[i].until.steady;
    delivery.may_be_repeat = claims[i].repeat || from.state.counters.fetch > 1;
    delivery.interrupted = from.state.interrupted;
    delivery.interruptions = from.state.interruptions;
    delivery.undecodable = std::move(from.state.undecodable);
    delivery.first_attempt_at = from.state.first_attempt_at;
    delivery.previous_delay = from.state.previous_delay;
    delivery.last_error = std::move(from.state.last_error);
    delivery.trail = std::move(from.state.trail);
  }
}

Result<void> Depot::drop_expired(const std::vector<Claim>& expired, const Instant& instant) {
  if (expired.empty()) return {};
  Lock lock(mutex_);
  advance(instant);  // somebody may have set the clock meanwhile
  const TimePoint now = instant.wall;
  std::vector<Removal> removals;
  for (const Claim& each : expired) {
    const Lease* lease = holdings_.find(each.slot, each.number);
    if (lease != nullptr) {
      removals.push_back({each.slot, Why::expired, lease->body.location.segment});
    }
  }
  std::string record;
  embedded::encode(removals, now, record);
  RecordList records;
  records.add(RecordType::removed, std::move(record));
  const auto placed = append(records);
  if (!placed) return placed.error();
  for (const Removal& each : removals) holdings_.remove(each, now);
  tidy_if_due();
  lock.unlock();
  return journal_->written(placed->last);
}

Result<std::vector<Delivery>> Depot::receive(std::uint16_t number, const ReceiveRequest& request,
                                             Instant now) {
  if (request.lease_for < Millis{1}) {
    return refuse("embedded.receive",
                  "lease_for must be at least 1 ms, or the lease is over before it is answered; "
                  "nothing was leased");
  }
  QueueState* queue = nullptr;
  bool drops = false;
  std::string source;  // settings may change while bodies are read
  {
    const Lock lock(mutex_);
    auto found = usable(number, "embedded.receive");
    if (!found) return found.error();
    queue = *found;
    drops = queue->options().drop_expired;
    source = queue->options().source;
  }
  std::vector<Delivery> out;
  auto wanted = request;
  while (out.size() < request.limit || request.limit == 0) {
    std::uint64_t sequence = 0;
    auto claims = wanted.expired_only ? claim_expired(*queue, wanted, now, sequence)
                                      : wait_and_claim(*queue, wanted, now, sequence);
    if (!claims) return claims.error();
    if (claims->empty()) break;
    const Reading reading(reading_[claims->front().phase]);
    // A crash of this process must count: the claim is with the kernel before anybody has it.
    if (const auto written = journal_->written(sequence); !written) return written.error();
    auto loaded = load(*claims);
    const auto returned = give_back_unread(*claims, loaded, now);
    fill_leases(*claims, loaded);
    std::vector<Claim> expired;
    for (std::size_t i = 0; drops && i < claims->size(); ++i) {
      const auto& expires_at = loaded[i].message->expires_at;
      if (!expires_at || *expires_at > now.wall) continue;
      loaded[i].left_out = true;
      expired.push_back((*claims)[i]);
    }
    if (const auto dropped = drop_expired(expired, now); !dropped) return dropped.error();
    deliver(source, *claims, loaded, now.wall, out);
    if (!returned && out.empty()) return returned.error();
    if (expired.empty() || !returned) break;
    wanted.limit = request.limit - out.size();
    if (!out.empty()) wanted.wait = Millis{0};
  }
  return out;
}

}  // namespace dlo::embedded
