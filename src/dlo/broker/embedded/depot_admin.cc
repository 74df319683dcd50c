// What people do to a queue, and what they ask of it.
#include <algorithm>

#include "dlo/broker/embedded/claim.h"
#include "dlo/broker/embedded/depot.h"

namespace dlo::embedded {

Result<SourceStats> Depot::stats(std::uint16_t number, Instant now) {
  std::vector<Claim> oldest;
  SourceStats stats;
  {
    Lock lock(mutex_);
    auto found = usable(number, "embedded.stats");
    if (!found) return found.error();
    advance(now);
    QueueState& queue = **found;
    if (may_drop(queue, now.wall)) {
      lock.unlock();
      if (const auto dropped = drop_overdue(number, now); !dropped) return dropped.error();
      lock.lock();
    }
    stats = queue.totals;
    stats.trouble = trouble_;
    stats.ready = queue.in(Place::ready);
    stats.delayed = queue.in(Place::delayed);
    stats.leased = queue.in(Place::leased);
    stats.held = queue.in(Place::held);
    stats.in_per_second = queue.in_rate.per_second(now.steady);
    stats.out_per_second = queue.out_rate.per_second(now.steady);
    oldest = first_of(queue, 1);
    const auto& known = oldest_[number];
    if (known && !oldest.empty() && known->first == oldest.front().at.sequence) {
      stats.oldest = known->second;
    }
    if (const auto done = hand_over_ends(lock); !done) return done.error();
  }
  if (oldest.empty() || stats.oldest) return stats;
  stats.oldest = age_of(oldest);
  if (!stats.oldest) {  // damaged, or gone meanwhile: it is at least as old as those behind it
    constexpr std::size_t enough = 64;
    {
      const Lock lock(mutex_);
      oldest = first_of(*holdings_.queue(number), enough);
    }
    stats.oldest = age_of(oldest);
  }
  if (!stats.oldest) return stats;
  const Lock lock(mutex_);
  oldest_[number] = std::pair(oldest.front().at.sequence, *stats.oldest);
  return stats;
}

/// Those who came first. Needs the lock.
std::vector<Depot::Claim> Depot::first_of(const QueueState& queue, std::size_t count) const {
  std::vector<Claim> claims;
  for (auto at = queue.all.oldest; at != no_slot && claims.size() < count;
       at = holdings_.slots()[at].newer) {
    claims.push_back(claim_of(at));
  }
  return claims;
}

/// When the first of them that can be read was published: that is in its record.
std::optional<TimePoint> Depot::age_of(const std::vector<Claim>& claims) {
  for (const Loaded& each : load(claims)) {
    const bool unread = each.state.undecodable && each.message->enqueued_at == TimePoint{};
    if (!unread) return each.message->enqueued_at;
  }
  return std::nullopt;
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
    holdings_.free_key(**found, digest_of_key(key), holdings_.latest());
    ring(number, 2);
  });
}

/// What memory has of a key is a digest; its text is in whoever waits behind it.
Result<std::vector<std::string>> Depot::held_keys(std::uint16_t number, std::size_t skip,
                                                  std::size_t limit) {
  std::vector<Claim> claims;
  {
    const Lock lock(mutex_);
    auto found = usable(number, "embedded.held_keys");
    if (!found) return found.error();
    for (const SlotNumber first : (*found)->keys.held_back(holdings_.slots(), skip, limit)) {
      claims.push_back(claim_of(first));
    }
  }
  std::vector<std::string> keys;
  for (const Loaded& each : load(claims)) {
    if (!each.message->key.empty()) keys.push_back(each.message->key);
  }
  return keys;
}

Result<KeyHold> Depot::hold_on(std::uint16_t number, const std::string& key) {
  const Lock lock(mutex_);
  auto found = usable(number, "embedded.hold_on");
  if (!found) return found.error();
  return (*found)->keys.hold_on(holdings_.slots(), digest_of_key(key));
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
    if (each.unread) return *each.unread;
    if (each.state.undecodable && each.message->payload == std::nullopt)
      continue;  // gone meanwhile
    if (!source.empty()) each.message->source = source;
    out.push_back({std::move(each.message), std::move(each.state)});
  }
  return out;
}

}  // namespace dlo::embedded
