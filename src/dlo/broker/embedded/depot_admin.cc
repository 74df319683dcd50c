// What people do to a queue, and what they ask of it.
#include <algorithm>

#include "dlo/broker/embedded/claim.h"
#include "dlo/broker/embedded/depot.h"

namespace dlo::embedded {

Result<SourceStats> Depot::stats(std::uint16_t number, TimePoint now) {
  Claim oldest;
  SourceStats stats;
  {
    Lock lock(mutex_);
    auto found = usable(number, "embedded.stats");
    if (!found) return found.error();
    advance(now);
    QueueState& queue = **found;
    stats = queue.totals;
    stats.trouble = trouble_;
    stats.ready = queue.in(Place::ready);
    stats.delayed = queue.in(Place::delayed);
    stats.leased = queue.in(Place::leased);
    stats.held = queue.in(Place::held);
    stats.in_per_second = queue.in_rate.per_second(now);
    stats.out_per_second = queue.out_rate.per_second(now);
    if (queue.all.oldest != no_slot) oldest = claim_of(queue.all.oldest);
    const auto& known = oldest_[number];
    if (known && known->first == oldest.at.sequence) stats.oldest = known->second;
    if (const auto done = hand_over_ends(lock); !done) return done.error();
  }
  if (oldest.slot == no_slot || stats.oldest) return stats;
  // Its age is in its record; read once, then remembered. It may be gone meanwhile.
  const auto loaded = load({oldest});
  if (loaded.front().state.undecodable && loaded.front().message->enqueued_at == TimePoint{}) {
    return stats;
  }
  stats.oldest = loaded.front().message->enqueued_at;
  const Lock lock(mutex_);
  oldest_[number] = std::pair(oldest.at.sequence, *stats.oldest);
  return stats;
}

std::uint64_t Depot::dead(std::uint16_t number) {
  const Lock lock(mutex_);
  QueueState* queue = holdings_.queue(number);
  return queue == nullptr ? 0 : queue->in(Place::dead);
}

// Writes a record down, carries it out, and waits until it is durable.
Result<void> Depot::write_down(Lock& lock, RecordType type, std::string bytes,
                               const std::function<void()>& then) {
  RecordList records;
  records.add(type, std::move(bytes));
  const auto placed = append(records);
  if (!placed) return placed.error();
  then();
  lock.unlock();
  const auto durable = journal_->durable(placed->last);
  return durable ? Result<void>{} : durable.error();
}

std::vector<SlotNumber> Depot::arriving_in(std::uint16_t queue) const {
  std::vector<SlotNumber> slots;
  for (const Arrival& each : arrivals_) {
    if (holdings_.slots()[each.slot].queue == queue) slots.push_back(each.slot);
  }
  return slots;
}

Result<void> Depot::pause(std::uint16_t number, bool paused) {
  Lock lock(mutex_);
  auto found = usable(number, paused ? "embedded.pause" : "embedded.resume");
  if (!found) return found.error();
  std::string bytes;
  ByteWriter out(bytes);
  out.u16(number);
  out.u8(paused);
  return write_down(lock, RecordType::paused, std::move(bytes), [&] {
    (*found)->totals.paused = paused;
    if (!paused) ring(number, 2);
  });
}

Result<void> Depot::free_key(std::uint16_t number, const std::string& key) {
  Lock lock(mutex_);
  auto found = usable(number, "embedded.free_key");
  if (!found) return found.error();
  std::string bytes;
  ByteWriter out(bytes);
  out.u16(number);
  out.moment(holdings_.latest());
  out.text(key);
  return write_down(lock, RecordType::key_freed, std::move(bytes), [&] {
    holdings_.free_key(**found, key, holdings_.latest());
    ring(number, 2);
  });
}

Result<std::uint64_t> Depot::move_all(std::uint16_t from, std::uint16_t to) {
  Lock lock(mutex_);
  auto source = usable(from, "embedded.move");
  if (!source) return source.error();
  auto target = usable(to, "embedded.move");
  if (!target) return target.error();
  if (from == to) return refuse("embedded.move", "a queue cannot be moved into itself");
  std::string bytes;
  ByteWriter out(bytes);
  out.u16(from);
  out.u16(to);
  out.moment(holdings_.latest());
  const auto arriving = arriving_in(from);
  encode_slots(arriving, bytes);
  const SlotSet stay(arriving.begin(), arriving.end());
  const auto moving = holdings_.who_moves(**source, stay);
  const Load here{(*target)->messages(), (*target)->bytes()};
  const auto room = dlo::check_room((*target)->options(), here,
                                    {moving.messages.size(), moving.bytes}, "embedded.move");
  if (!room) return room.error();
  const auto done = write_down(lock, RecordType::moved, std::move(bytes), [&] {
    holdings_.move_all(**source, **target, moving, stay, holdings_.latest());
    ring(to, 2);
  });
  if (!done) return done.error();
  return moving.messages.size();
}

Result<std::uint64_t> Depot::redrive(std::uint16_t number) {
  Lock lock(mutex_);
  auto found = usable(number, "embedded.redrive");
  if (!found) return found.error();
  std::string bytes;
  ByteWriter out(bytes);
  out.u16(number);
  out.moment(holdings_.latest());
  std::uint64_t count = 0;
  const auto done = write_down(lock, RecordType::redriven, std::move(bytes), [&] {
    count = holdings_.redrive(**found, holdings_.latest());
    ring(number, 2);
  });
  if (!done) return done.error();
  return count;
}

/// Copies, for the few who keep them.
std::vector<Result<std::string>> Depot::read_each(std::span<const Address> addresses) {
  std::vector<Result<std::string>> out(addresses.size(), std::string());
  journal_->read(addresses, [&](std::size_t i, const Result<std::string_view>& record) {
    out[i] = record ? Result<std::string>(std::string(*record)) : record.error();
  });
  return out;
}

// Those without a state go with one record that names them all. Of the others the record must say
// where their bodies lie, and that is read without the lock.
Result<std::uint64_t> Depot::purge(std::uint16_t number) {
  std::vector<SlotNumber> rest;
  std::uint64_t count = 0;
  {
    Lock lock(mutex_);
    auto found = usable(number, "embedded.purge");
    if (!found) return found.error();
    std::string bytes;
    ByteWriter out(bytes);
    out.u16(number);
    out.moment(holdings_.latest());
    const auto arriving = arriving_in(number);
    encode_slots(arriving, bytes);
    const auto done = write_down(lock, RecordType::purged, std::move(bytes), [&] {
      count = holdings_.purge_fresh(**found, SlotSet(arriving.begin(), arriving.end()), rest,
                                    holdings_.latest());
      ring(number, 2);
    });
    if (!done) return done.error();
  }
  constexpr std::size_t at_once = 4096;
  for (std::size_t from = 0; from < rest.size(); from += at_once) {
    const auto end = std::min(rest.size(), from + at_once);
    const auto purged = purge_stateful(number, std::span(rest).subspan(from, end - from));
    if (!purged) return purged.error();
    count += *purged;
  }
  return count;
}

Result<std::uint64_t> Depot::purge_stateful(std::uint16_t number,
                                            std::span<const SlotNumber> slots) {
  std::vector<Address> addresses;
  {
    const Lock lock(mutex_);
    for (const auto slot : slots) addresses.push_back(holdings_.address_of(slot));
  }
  const auto records = read_each(addresses);
  Lock lock(mutex_);
  auto found = usable(number, "embedded.purge");
  if (!found) return found.error();
  std::vector<Removal> removals;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = holdings_.slots()[slots[i]];
    const bool waits =
        slot.place == Place::ready || slot.place == Place::delayed || slot.place == Place::held;
    const Address now_at = holdings_.address_of(slots[i]);
    if (!waits || slot.queue != number || now_at.sequence != addresses[i].sequence) continue;
    const auto state = records[i] ? decode_state(*records[i]) : std::nullopt;
    removals.push_back({slots[i], Why::purged, state ? state->body.location.segment : 0});
  }
  if (removals.empty()) return std::uint64_t{0};
  std::string bytes;
  embedded::encode(removals, holdings_.latest(), bytes);
  const auto done = write_down(lock, RecordType::removed, std::move(bytes), [&] {
    holdings_.remove_waiting(**found, removals, holdings_.latest());
  });
  if (!done) return done.error();
  return removals.size();
}

Result<std::vector<Peeked>> Depot::peek(std::uint16_t number, bool dead, std::size_t limit) {
  std::vector<Claim> claims;
  std::string source;
  {
    const Lock lock(mutex_);
    auto found = usable(number, "embedded.peek");
    if (!found) return found.error();
    source = (*found)->options().source;
    const Chain& chain = dead ? (*found)->dead : (*found)->all;
    for (auto at = chain.oldest; at != no_slot && claims.size() < limit;
         at = holdings_.slots()[at].newer) {
      if (holdings_.slots()[at].place != Place::leased) claims.push_back(claim_of(at));
    }
  }
  std::vector<Peeked> out;
  for (Loaded& each : load(claims)) {
    if (each.state.undecodable && each.message->payload == std::nullopt)
      continue;  // gone meanwhile
    if (!source.empty()) each.message->source = source;
    out.push_back({std::move(each.message), std::move(each.state)});
  }
  return out;
}

}  // namespace dlo::embedded
