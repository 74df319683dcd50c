#include "dlo/broker/embedded/mend.h"

#include <algorithm>

#include "dlo/journal/format.h"

namespace dlo::embedded {
namespace {

constexpr auto newest_type = static_cast<std::uint8_t>(RecordType::clock_set);

const char* settings_of(RecordType type) {
  if (type == RecordType::queue) return "The settings of a queue";
  if (type == RecordType::paused) return "Whether a queue is paused";
  return "The name of this journal in positions";
}

}  // namespace

Result<void> Mend::apply(const Entry& entry) {
  if (entry.type > newest_type) {
    return Error{Code::refused, "embedded.repair",
                 "record " + std::to_string(entry.sequence) + " is of type " +
                     std::to_string(entry.type) +
                     ", which this program does not know. A newer dlo wrote it: repair with that "
                     "one. Nothing was changed."};
  }
  if (!mending_) {
    const auto applied = replay_.apply(entry);
    incarnation = replay_.incarnation;
    if (applied) return {};
    notes.push_back(applied.error().detail);
    mending_ = true;
    doubt_all();
  }
  return mend(entry);
}

Result<void> Mend::mend(const Entry& entry) {
  switch (static_cast<RecordType>(entry.type)) {
    case RecordType::published:
    case RecordType::relocated:
      mend_published(entry);
      return {};
    case RecordType::state:
      mend_state(entry);
      return {};
    case RecordType::claimed:
    case RecordType::started:
    case RecordType::returned:
      mend_leases(entry);
      return {};
    case RecordType::completed:
    case RecordType::removed:
      mend_removed(entry);
      return {};
    case RecordType::born:
    case RecordType::queue:
    case RecordType::purged:
    case RecordType::key_freed:
    case RecordType::paused:
    case RecordType::moved:
    case RecordType::redriven:
    case RecordType::clock_set:
      break;
  }
  return mend_queue(entry);
}

void Mend::certain(SlotNumber slot) {
  if (slot < in_doubt_.size()) in_doubt_[slot] = false;
}

void Mend::doubt_all() {
  in_doubt_.resize(holdings_.slots().size());
  for (SlotNumber slot = 0; slot < holdings_.slots().size(); ++slot) {
    if (known(slot)) in_doubt_[slot] = true;
  }
  for (std::size_t i = 0; i < holdings_.queue_count(); ++i) {
    const auto number = static_cast<std::uint16_t>(i);
    QueueState* queue = holdings_.queue(number);
    if (queue->in(Place::dead) > 0) dead_then_.insert(number);
    queue->keys.for_each_note([&](const KeyNote& note) {
      if (note.on_hold) held_then_.emplace(number, note.key);
    });
  }
}

void Mend::lose(const LostRecords& lost) {
  // A seal says nothing of messages.
  if (lost.type == journal_format::seal_type && lost.outlined) return;
  mending_ = true;
  const auto type = static_cast<RecordType>(lost.type);
  // Without a checksum for its type a record is believed to be what can be read, or nothing.
  const auto stored = type == RecordType::published ? decode_published(lost.body) : std::nullopt;
  const auto publication = stored ? decode_message(*stored) : nullptr;
  if (lost.type == 0 || lost.type > newest_type || (!lost.outlined && !publication)) {
    unknown_records += lost.last - lost.first + 1;
    return doubt_all();
  }
  if (type == RecordType::queue || type == RecordType::paused || type == RecordType::born) {
    notes.push_back(std::string(settings_of(type)) + " was in lost record " +
                    std::to_string(lost.first) + ": declare or pause it anew.");
    return;
  }
  if (type == RecordType::clock_set) {
    notes.push_back("That somebody set the clock was in lost record " + std::to_string(lost.first) +
                    ": delays from before it may end as much too early or too late.");
    return;
  }
  if (type != RecordType::published && type != RecordType::relocated) return doubt_all();
  // One that was written again elsewhere is lost only if its first place is gone as well: that
  // is found when all messages are read.
  if (type == RecordType::relocated) return;
  LostMessage message{lost.first, lost.location, {}, {}};
  QueueState* queue = stored ? holdings_.queue(stored->tail.queue) : nullptr;
  if (queue != nullptr) message.queue = queue->options().source;
  if (publication) message.id = publication->id;
  lost_messages.push_back(std::move(message));
}

std::optional<std::string> Mend::read(const Address& at) {
  std::optional<std::string> out;
  journal_.read({&at, 1}, [&](std::size_t, const Result<std::string_view>& record) {
    if (record) out = std::string(*record);
  });
  return out;
}

std::optional<Address> Mend::body_of(SlotNumber slot) {
  const Address at = holdings_.address_of(slot);
  if (!holdings_.slots()[slot].has_state) return at;
  const auto record = read(at);
  const auto state = record ? decode_state(*record) : std::nullopt;
  return state ? std::optional(state->body) : std::nullopt;
}

/// Which message a body is: it keeps its first position wherever it is written again.
std::optional<std::uint64_t> Mend::position_of(const std::optional<Address>& body) {
  const auto record = body ? read(*body) : std::nullopt;
  const auto stored = record ? decode_published(*record) : std::nullopt;
  if (!stored) return std::nullopt;
  return stored->tail.position.value_or(body->sequence);
}

/// Queues whose settings are lost get a name of their own.
void Mend::need_queue(std::uint16_t number) {
  for (std::size_t each = 0; each <= number; ++each) {
    if (holdings_.queue(static_cast<std::uint16_t>(each)) != nullptr) continue;
    QueueRecord record;
    record.number = static_cast<std::uint16_t>(each);
    record.options.source = "recovered-" + std::to_string(each);
    holdings_.declare(record);
    notes.push_back("The name and the settings of queue " + std::to_string(each) +
                    " are lost. Its messages are in \"" + record.options.source +
                    "\": declare the queue again and move them with 'dlo queue move'.");
  }
}

void Mend::detach(SlotNumber slot) {
  holdings_.detach(slot);
}

/// What a key is called, if a message of it can still be read.
std::string Mend::name_of(const QueueState& queue, KeyDigest key) {
  std::string name;
  queue.keys.for_each_note([&](const KeyNote& note) {
    if (note.key != key || note.last == no_slot) return;
    const auto body = body_of(note.last);
    const auto record = body ? read(*body) : std::nullopt;
    const auto stored = record ? decode_published(*record) : std::nullopt;
    if (stored) name = key_of(*stored);
  });
  return name;
}

void Mend::remove(SlotNumber slot, Why why, TimePoint now) {
  const auto body = body_of(slot);
  detach(slot);
  holdings_.remove({slot, why, body ? body->location.segment : 0}, now);
  certain(slot);
}

/// A message whose record was found under a slot that is free, or another's who must be gone.
void Mend::adopt(std::string_view record, const Address& at, SlotNumber slot) {
  const auto stored = decode_published(record);
  if (!stored) return;
  if (known(slot)) remove(slot, Why::completed, stored->tail.now);
  need_queue(stored->tail.queue);
  PublishTail tail = stored->tail;
  tail.slot = slot;
  // One that was moved was published when the clock may have been ahead; it waits if it says so.
  const bool moved_ready = tail.position && tail.due == tail.now;
  if (moved_ready) tail.due = std::min(tail.due, holdings_.latest());
  holdings_.put(tail, at, static_cast<std::uint32_t>(stored->meta.size() + stored->payload.size()),
                tail.keyed ? digest_of_key(key_of(*stored)) : 0, expiry_of(*stored));
  holdings_.arrive(slot, tail.now);
  certain(slot);
}

void Mend::mend_published(const Entry& entry) {
  const auto stored = decode_published(entry.body);
  if (!stored) return;
  const auto slot = stored->tail.slot;
  const Address at{entry.location, entry.sequence};
  if (static_cast<RecordType>(entry.type) == RecordType::published) {
    holdings_.note_moment(stored->tail.now);
    return adopt(entry.body, at, slot);
  }
  if (slot == no_slot) return;  // the state that follows names it
  const auto here = known(slot) ? position_of(body_of(slot)) : std::nullopt;
  const bool same = known(slot) && (!here || *here == stored->tail.position);
  if (!same) return adopt(entry.body, at, slot);
  holdings_.relocate(slot, at);
  certain(slot);
}

void Mend::mend_state(const Entry& entry) {
  const auto record = decode_state(entry.body);
  if (!record) return;
  const auto slot = record->slot;
  const auto theirs = position_of(record->body);
  const auto ours = known(slot) ? position_of(body_of(slot)) : std::nullopt;
  const bool same = known(slot) && (!theirs || !ours || *theirs == *ours);
  if (!same) {
    const auto body = read(record->body);
    if (!body) return;  // its publication is among the lost
    adopt(*body, record->body, slot);
    if (!known(slot)) return;
  }
  const bool stays_dead = holdings_.slots()[slot].place == Place::dead && record->dead;
  if (!stays_dead) lease_again(slot);
  auto state = *record;
  if (!same) state.left_segment.reset();  // counted by `adopt`
  const Address at{entry.location, entry.sequence};
  holdings_.set_state(state, at, record->due);
  // One of a move ends no lease, and only its body's place is taken over: the rest is said again.
  if (state.left_segment && !stays_dead) {
    state.left_segment.reset();
    holdings_.set_state(state, at, record->due);
  }
  certain(slot);
}

/// Whatever kept it back is over: somebody had it.
void Mend::lease_again(SlotNumber slot) {
  if (Lease* lease = holdings_.lease_of(slot)) {
    lease->started = false;
    return;
  }
  detach(slot);
  holdings_.lease(slot, 0, TimePoint{});
}

void Mend::mend_leases(const Entry& entry) {
  const auto type = static_cast<RecordType>(entry.type);
  if (type == RecordType::returned) {
    for (const Return& each : decode_returns(entry.body).value_or(std::vector<Return>{})) {
      if (!known(each.slot)) continue;
      lease_again(each.slot);
      holdings_.return_unchanged(each, TimePoint{});
      certain(each.slot);
    }
    return;
  }
  ByteReader in(entry.body);
  const auto when = type == RecordType::started ? in.moment() : TimePoint{};
  for (const auto slot : decode_slots(in)) {
    if (!known(slot)) continue;
    lease_again(slot);
    certain(slot);
    if (type != RecordType::started) continue;
    Lease* lease = holdings_.lease_of(slot);
    lease->started = true;
    lease->started_at = when;
  }
}

void Mend::mend_removed(const Entry& entry) {
  if (static_cast<RecordType>(entry.type) == RecordType::completed) {
    ByteReader in(entry.body);
    const auto when = in.moment();
    for (const auto slot : decode_slots(in)) {
      if (known(slot)) remove(slot, Why::completed, when);
    }
    return;
  }
  const auto removals = decode_removals(entry.body).value_or(Removals{});
  for (const Removal& each : removals.all) {
    if (known(each.slot)) remove(each.slot, each.why, removals.now);
  }
}

Result<void> Mend::mend_queue(const Entry& entry) {
  const auto type = static_cast<RecordType>(entry.type);
  ByteReader in(entry.body);
  if (type == RecordType::purged) {
    // Who had it leased then may be among the lost: whoever is in doubt stays.
    const auto number = in.u16();
    need_queue(number);
    const auto now = in.moment();
    const auto first = in.u32();
    auto slots = holdings_.between(*holdings_.queue(number), first, in.u32());
    std::erase_if(slots,
                  [&](SlotNumber slot) { return slot < in_doubt_.size() && in_doubt_[slot]; });
    (void)holdings_.purge_fresh(slots, now);
    return {};
  }
  if (type == RecordType::queue) {
    if (const auto record = decode_queue(entry.body); record && record->number > 0) {
      need_queue(static_cast<std::uint16_t>(record->number - 1));
    }
  } else if (type != RecordType::born && type != RecordType::clock_set) {
    need_queue(in.u16());
    if (type == RecordType::moved) need_queue(in.u16());
  }
  const auto applied = replay_.apply(entry);
  incarnation = replay_.incarnation;
  if (!applied) notes.push_back(applied.error().detail);
  return {};
}

void Mend::finish() {
  for (SlotNumber slot = 0; slot < in_doubt_.size(); ++slot) {
    if (!in_doubt_[slot] || !known(slot) || holdings_.slots()[slot].place == Place::dead) continue;
    holdings_.slots().edit(slot).repeat = true;
    doubtful.push_back(slot);
  }
  for (const auto& [number, key] : held_then_) {
    QueueState* queue = holdings_.queue(number);
    if (!queue->keys.on_hold(holdings_.slots(), key)) continue;
    freed_keys.emplace_back(queue->options().source, name_of(*queue, key));
    holdings_.free_key(*queue, key, holdings_.latest());
  }
  for (const auto number : dead_then_) {
    QueueState* queue = holdings_.queue(number);
    if (queue->in(Place::dead) == 0) continue;
    notes.push_back("The dead set of queue \"" + queue->options().source +
                    "\" may have been sent back in a lost record. It is kept: 'dlo queue dump' "
                    "shows it, with the state dead.");
  }
}

}  // namespace dlo::embedded
