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
  holdings_.note_moment(tail.now);
  const Address at{entry.location, entry.sequence};
  if (static_cast<RecordType>(entry.type) == RecordType::relocated) {
    if (tail.slot != no_slot) holdings_.relocate(tail.slot, at);
    return {};
  }
  holdings_.put(tail, at, static_cast<std::uint32_t>(stored->meta.size() + stored->payload.size()));
  holdings_.arrive(tail.slot, tail.keyed ? key_of(*stored) : std::string_view{}, tail.now);
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
    if (!all.empty() && all.front().why == Why::purged) {
      holdings_.remove_waiting(holdings_.queue_of(all.front().slot), all, removals->now);
      return {};
    }
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
  if (type == RecordType::purged) {
    std::vector<SlotNumber> rest;
    const auto now = in.moment();
    const auto arriving = decode_slots(in);
    holdings_.purge_fresh(*queue, SlotSet(arriving.begin(), arriving.end()), rest, now);
  } else if (type == RecordType::key_freed) {
    const auto now = in.moment();
    holdings_.free_key(*queue, std::string(in.text()), now);
  } else if (type == RecordType::paused) {
    queue->totals.paused = in.u8() != 0;
  } else if (type == RecordType::redriven) {
    holdings_.redrive(*queue, in.moment());
  } else if (type == RecordType::moved) {
    QueueState* to = holdings_.queue(in.u16());
    if (to == nullptr) return unreadable(entry);
    const auto now = in.moment();
    const auto arriving = decode_slots(in);
    const SlotSet stay(arriving.begin(), arriving.end());
    holdings_.move_all(*queue, *to, holdings_.who_moves(*queue, stay), stay, now);
  } else {
    return unreadable(entry);
  }
  return in.ok() ? Result<void>{} : unreadable(entry);
}

}  // namespace dlo::embedded
