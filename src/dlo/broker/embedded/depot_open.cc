// Reading a journal back.
#include <random>
#include <utility>

#include "dlo/broker/embedded/checkpoint.h"
#include "dlo/broker/embedded/depot.h"

namespace dlo::embedded {
namespace {

Error unreadable(const Entry& entry) {
  return Error{Code::corrupt, "embedded.open",
               "record " + std::to_string(entry.sequence) + " (type " + std::to_string(entry.type) +
                   ", segment " + std::to_string(entry.location.segment) + " at byte " +
                   std::to_string(entry.location.offset) +
                   ") is whole but makes no sense here. A newer dlo may have written it: use that "
                   "one, or run 'dlo queue dump' to see what is there. Nothing was changed."};
}

}  // namespace

Result<void> Depot::apply_published(const Entry& entry) {
  const auto stored = decode_published(entry.body);
  if (!stored || holdings_.queue(stored->tail.queue) == nullptr) return unreadable(entry);
  const PublishTail& tail = stored->tail;
  const Address at{entry.location, entry.sequence};
  if (static_cast<RecordType>(entry.type) == RecordType::relocated) {
    if (tail.slot != no_slot) holdings_.relocate(tail.slot, at);
    return {};
  }
  holdings_.put(tail, at, static_cast<std::uint32_t>(stored->meta.size() + stored->payload.size()));
  holdings_.arrive(tail.slot, tail.keyed ? key_of(*stored) : std::string_view{}, tail.now);
  return {};
}

Result<void> Depot::apply_small(const Entry& entry) {
  ByteReader in(entry.body);
  const auto known = [&](SlotNumber slot) {
    return slot < holdings_.slots().size() && holdings_.slots()[slot].place != Place::free;
  };
  const auto type = static_cast<RecordType>(entry.type);
  if (type == RecordType::claimed || type == RecordType::completed || type == RecordType::started) {
    const auto when = type == RecordType::started ? in.moment() : TimePoint{};
    for (const auto slot : decode_slots(in)) {
      if (!known(slot)) return unreadable(entry);
      Lease* lease = holdings_.lease_of(slot);
      if (type == RecordType::completed) {
        holdings_.remove({slot, Why::completed, 0}, TimePoint{});
      } else if (type == RecordType::claimed && lease == nullptr) {
        holdings_.lease(slot, 0, TimePoint{});
      } else if (type == RecordType::started && lease != nullptr) {
        lease->started = true;
        lease->started_at = when;
      }
    }
    return in.ok() ? Result<void>{} : unreadable(entry);
  }
  if (type == RecordType::removed) {
    const auto removals = decode_removals(entry.body);
    if (!removals) return unreadable(entry);
    for (const Removal& each : *removals) {
      if (!known(each.slot)) return unreadable(entry);
    }
    if (!removals->empty() && removals->front().why == Why::purged) {
      holdings_.remove_waiting(holdings_.queue_of(removals->front().slot), *removals, TimePoint{});
      return {};
    }
    for (const Removal& each : *removals) holdings_.remove(each, TimePoint{});
    return {};
  }
  const auto returns = decode_returns(entry.body);
  if (!returns) return unreadable(entry);
  for (const Return& each : *returns) {
    if (!known(each.slot)) return unreadable(entry);
    holdings_.return_unchanged(each, TimePoint{});
  }
  return {};
}

Result<void> Depot::apply(const Entry& entry) {
  ByteReader in(entry.body);
  switch (static_cast<RecordType>(entry.type)) {
    case RecordType::born:
      incarnation_ = in.u64();
      return {};
    case RecordType::queue: {
      const auto record = decode_queue(entry.body);
      if (!record) return unreadable(entry);
      holdings_.declare(*record);
      return {};
    }
    case RecordType::published:
    case RecordType::relocated:
      return apply_published(entry);
    case RecordType::state: {
      const auto record = decode_state(entry.body);
      const bool known = record && record->slot < holdings_.slots().size() &&
                         holdings_.slots()[record->slot].place != Place::free;
      if (!known) return unreadable(entry);
      holdings_.set_state(*record, {entry.location, entry.sequence}, TimePoint{});
      return {};
    }
    case RecordType::claimed:
    case RecordType::started:
    case RecordType::completed:
    case RecordType::removed:
    case RecordType::returned:
      return apply_small(entry);
    case RecordType::purged:
    case RecordType::key_freed:
    case RecordType::paused:
    case RecordType::moved:
    case RecordType::redriven:
      break;
  }
  return apply_to_queue(entry);
}

/// What is done to all of a queue.
Result<void> Depot::apply_to_queue(const Entry& entry) {
  ByteReader in(entry.body);
  const auto type = static_cast<RecordType>(entry.type);
  QueueState* queue = holdings_.queue(in.u16());
  if (queue == nullptr) return unreadable(entry);
  if (type == RecordType::purged) {
    std::vector<SlotNumber> rest;
    holdings_.purge_fresh(*queue, rest);
  } else if (type == RecordType::key_freed) {
    holdings_.free_key(*queue, std::string(in.text()), TimePoint{});
  } else if (type == RecordType::paused) {
    queue->totals.paused = in.u8() != 0;
  } else if (type == RecordType::redriven) {
    holdings_.redrive(*queue, in.moment());
  } else if (type == RecordType::moved) {
    QueueState* to = holdings_.queue(in.u16());
    if (to == nullptr) return unreadable(entry);
    holdings_.move_all(*queue, *to, TimePoint{});
  } else {
    return unreadable(entry);
  }
  return in.ok() ? Result<void>{} : unreadable(entry);
}

// Whoever held a lease died with the last process: who had started was interrupted (R7), the
// others get their claim back.
Result<void> Depot::end_leases_of_last_life(TimePoint now) {
  std::vector<Lease*> leases;
  for (std::size_t i = 0; i < holdings_.leases().size(); ++i) {
    Lease& lease = holdings_.leases()[i];
    if (lease.slot == no_slot) continue;
    lease.until = now;
    const QueueState& queue = holdings_.queue_of(lease.slot);
    if (!lease.loaded && (lease.started || queue.options().claims_count)) {
      const bool ok = load_state(lease);
      if (!ok) lease.body = holdings_.address_of(lease.slot);
    }
    lease.loaded = true;
    if (lease.started) {
      lease.state.counters = with_start(lease.state.counters);
      if (!lease.state.first_attempt_at) lease.state.first_attempt_at = lease.started_at;
    }
    leases.push_back(&lease);
  }
  return end_leases(leases, now);
}

/// State and body's place of a lease that was read back. False if its record is damaged.
bool Depot::load_state(Lease& lease) {
  const Address at = holdings_.address_of(lease.slot);
  const auto record = std::move(read_each({&at, 1}).front());
  if (!record) return false;
  if (holdings_.slots()[lease.slot].has_state) {
    auto state = decode_state(*record);
    if (!state) return false;
    lease.body = state->body;
    lease.state = std::move(state->state);
  } else {
    const auto stored = decode_published(*record);
    if (!stored) return false;
    lease.body = at;
    lease.state = carried_state(*stored);
  }
  if (lease.state.counters.fetch != UINT32_MAX) ++lease.state.counters.fetch;
  return true;
}

/// From where reading back begins no segment may be missing. `from` 0: there is no checkpoint.
Result<void> Depot::check_files(std::uint64_t from) {
  const auto names = files_.list();
  if (!names) return names.error();
  std::optional<std::uint64_t> first;
  for (const std::string& name : *names) {
    const auto number = segment_number(name);
    if (number && *number >= from && !first) first = number;
  }
  if (!first && from == 0) return {};
  const auto expected = from == 0 ? 1 : from;
  if (first == expected) return {};
  return Error{
      Code::corrupt, "embedded.open",
      files_.describe("") +
          (from == 0 ? " has journal segments from " + std::to_string(*first) +
                           " on but no checkpoint, which would say what came before."
                     : " has a checkpoint that goes on in journal segment " + std::to_string(from) +
                           ", and that file is missing.") +
          " Nothing was changed. Restore the missing file from a backup, or run 'dlo queue "
          "dump' to save what the remaining segments hold."};
}

Result<void> Depot::open(TimePoint now, RecoveryReport& report) {
  const Lock lock(mutex_);
  epoch_ = std::random_device{}();
  auto loaded = load_checkpoint(files_, holdings_);
  if (!loaded) return loaded.error();
  if (*loaded) {
    incarnation_ = (*loaded)->incarnation;
    checkpoint_size_ = (*loaded)->size;
  }
  if (const auto whole = check_files(*loaded ? (*loaded)->position.segment : 0); !whole) {
    return whole;
  }
  const auto from = *loaded ? std::optional((*loaded)->position) : std::nullopt;
  auto opened = Journal::open(
      files_, options_.journal, from, [this](const Entry& entry) { return apply(entry); }, report);
  if (!opened) return opened.error();
  journal_ = std::move(*opened);
  doorbells_.resize(holdings_.queue_count());
  oldest_.resize(holdings_.queue_count());
  if (const auto born = be_born(); !born) return born;
  holdings_.begin_work(now);
  if (const auto ended = end_leases_of_last_life(now); !ended) return ended;
  if (options_.housekeeping) housekeeper_ = std::thread([this] { housekeep(); });
  return {};
}

}  // namespace dlo::embedded
