#include "dlo/broker/embedded/replay.h"

namespace dlo::embedded {
namespace {

Error unreadable(const Entry& entry) {
  return Error{Code::corrupt, "embedded.open",
               "record " + std::to_string(entry.sequence) + " (type " + std::to_string(entry.type) +
                   ", segment " + std::to_string(entry.location.segment) + " at byte " +
                   std::to_string(entry.location.offset) +
                   ") is whole but makes no sense here. A newer dlo may have written it: use that "
                   "one, or run 'dlo queue repair' to see what is affected. Nothing was changed."};
}

}  // namespace

Result<void> Replay::apply_published(const Entry& entry) {
  const auto stored = decode_published(entry.body);
  if (!stored || holdings_.queue(stored->tail.queue) == nullptr) return unreadable(entry);
  const PublishTail& tail = stored->tail;
  const Address at{entry.location, entry.sequence};
  if (static_cast<RecordType>(entry.type) == RecordType::relocated) {
    if (tail.slot != no_slot) holdings_.relocate(tail.slot, at);
    return {};  // when it was published says nothing of when this was written
  }
  holdings_.note_moment(tail.now);
  holdings_.put(tail, at, static_cast<std::uint32_t>(stored->meta.size() + stored->payload.size()),
                tail.keyed ? digest_of_key(key_of(*stored)) : 0, expiry_of(*stored));
  holdings_.arrive(tail.slot, tail.now);
  return {};
}

Result<void> Replay::apply_small(const Entry& entry) {
  ByteReader in(entry.body);
  const auto known = [&](SlotNumber slot) {
    return slot < holdings_.slots().size() && holdings_.slots()[slot].place != Place::free;
  };
  const auto type = static_cast<RecordType>(entry.type);
  if (type == RecordType::claimed || type == RecordType::completed || type == RecordType::started) {
    const auto when = type == RecordType::claimed ? TimePoint{} : in.moment();
    if (type != RecordType::claimed) holdings_.note_moment(when);
    for (const auto slot : decode_slots(in)) {
      if (!known(slot)) return unreadable(entry);
      Lease* lease = holdings_.lease_of(slot);
      if (type == RecordType::completed) {
        holdings_.remove({slot, Why::completed, 0}, when);
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
    const auto& all = removals->all;
    for (const Removal& each : all) {
      if (!known(each.slot)) return unreadable(entry);
    }
    holdings_.note_moment(removals->now);
    for (const Removal& each : all) holdings_.remove(each, removals->now);
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

Result<void> Replay::apply(const Entry& entry) {
  ByteReader in(entry.body);
  switch (static_cast<RecordType>(entry.type)) {
    case RecordType::born:
      incarnation = in.u64();
      return {};
    case RecordType::clock_set: {
      const auto by = read_clock_set(in);
      if (!by) return unreadable(entry);
      holdings_.clock_was_set(*by);
      return {};
    }
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
      // Only a death leaves its key to others, and its `due` is the moment of it.
      holdings_.set_state(*record, {entry.location, entry.sequence}, record->due);
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
Result<void> Replay::apply_to_queue(const Entry& entry) {
  ByteReader in(entry.body);
  const auto type = static_cast<RecordType>(entry.type);
  QueueState* queue = holdings_.queue(in.u16());
  if (queue == nullptr) return unreadable(entry);
  if (type == RecordType::paused) {
    queue->totals.paused = in.u8() != 0;
  } else if (type == RecordType::key_freed) {
    const auto now = in.moment();
    holdings_.free_key(*queue, digest_of_key(in.text()), now);
  } else if (!apply_to_set(type, *queue, in)) {
    return unreadable(entry);
  }
  return in.ok() ? Result<void>{} : unreadable(entry);
}

/// What was not yet synced then came afterwards.
bool Replay::after(ByteReader& in, TimePoint now, const std::function<void()>& act) {
  const auto arriving = decode_slots(in);
  for (const auto slot : arriving) {
    if (slot >= holdings_.slots().size() || !holdings_.waits(slot)) return false;
  }
  for (std::size_t i = arriving.size(); i-- > 0;) holdings_.depart(arriving[i]);
  act();
  for (const auto slot : arriving) holdings_.arrive(slot, now);
  return true;
}

bool Replay::apply_to_set(RecordType type, QueueState& queue, ByteReader& in) {
  if (type == RecordType::purged) {
    const auto now = in.moment();
    const auto first = in.u32();
    const auto slots = holdings_.between(queue, first, in.u32());
    if (slots.empty()) return false;
    return after(in, now, [&] { (void)holdings_.purge_fresh(slots, now); });
  }
  if (type == RecordType::redriven) {
    const auto now = in.moment();
    const auto last = in.u32();
    return after(in, now, [&] { (void)holdings_.redrive(queue, last, now); });
  }
  if (type != RecordType::moved) return false;
  const auto target = in.u16();
  QueueState* to = holdings_.queue(target);
  const auto now = in.moment();
  const auto first = in.u32();
  const auto last = in.u32();
  const bool more = in.u8() != 0;
  if (to == nullptr) return false;
  const auto slots =
      first == no_slot ? std::vector<SlotNumber>{} : holdings_.between(queue, first, last);
  if (slots.empty() && first != no_slot) return false;
  queue.moving_to = more ? std::optional(target) : std::nullopt;
  return after(in, now, [&] { (void)holdings_.move(slots, *to, now); });
}

}  // namespace dlo::embedded
