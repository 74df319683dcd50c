#include "dlo/broker/embedded/records.h"

#include <algorithm>
#include <cstring>

#include "dlo/core/decide.h"

namespace dlo::embedded {
namespace {

constexpr std::size_t fixed_tail = 16;
enum TailFlag : std::uint8_t {
  tail_priority = 3,  // two bits
  tail_expires = 4,
  tail_keyed = 8,
  tail_delayed = 16,
  tail_dedupe = 32,
  tail_position = 64,
  tail_carries = 128,
};

enum StateFlag : std::uint8_t {
  state_repeat = 1,
  state_interrupted = 2,
  state_dead = 4,
  state_relocated = 8,
  state_started = 16,  // first_attempt_at follows
  state_undecodable = 32,
  state_ahead = 64,
  state_holds_key = 128,
};

void write_optional(std::optional<std::uint64_t> value, ByteWriter& to) {
  to.u8(value.has_value());
  if (value) to.u64(*value);
}

std::optional<std::uint64_t> read_optional(ByteReader& from) {
  if (from.u8() == 0) return std::nullopt;
  return from.u64();
}

Millis read_millis(ByteReader& from) {
  return Millis{static_cast<Millis::rep>(from.u64())};
}
void write_millis(Millis value, ByteWriter& to) {
  to.u64(static_cast<std::uint64_t>(value.count()));
}

}  // namespace

void write_failure(const Failure& failure, ByteWriter& to) {
  to.text(failure.type);
  to.text(failure.text);
  to.text(failure.code);
  to.text(failure.stack);
}

std::shared_ptr<const Failure> read_failure(ByteReader& from) {
  auto failure = std::make_shared<Failure>();
  failure->type = from.text();
  failure->text = from.text();
  failure->code = from.text();
  failure->stack = from.text();
  return failure;
}

void write_counters(const Counters& counters, ByteWriter& to) {
  for (const auto count : {counters.fetch, counters.attempt, counters.failure, counters.abandon,
                           counters.retry, counters.replay, counters.total}) {
    to.number(count);
  }
}

Counters read_counters(ByteReader& from) {
  Counters counters;
  for (auto* count : {&counters.fetch, &counters.attempt, &counters.failure, &counters.abandon,
                      &counters.retry, &counters.replay, &counters.total}) {
    *count = static_cast<std::uint32_t>(std::min<std::uint64_t>(from.number(), UINT32_MAX));
  }
  return counters;
}

void MessageState::begin_anew() noexcept {
  counters = after_replay(counters, ReplayCount::restart);
  first_attempt_at.reset();
  previous_delay = Millis{0};
  interrupted = false;
  interruptions = 0;
  trail.clear();
}

std::size_t MessageState::text_size() const noexcept {
  const auto texts = last_error.size() + trail.size();
  if (!undecodable) return texts;
  return texts + undecodable->text.size() + undecodable->stack.size();
}

bool MessageState::is_fresh() const noexcept {
  return counters == Counters{} && is_fresh_but_claimed();
}

std::size_t encode(const PublishTail& tail, char* out) noexcept {
  char* at = out;
  const auto put = [&at](std::uint64_t value, std::size_t size) {
    std::memcpy(at, &value, size);
    at += size;
  };
  auto flags = static_cast<unsigned>(tail.priority);
  if (tail.can_expire) flags |= tail_expires;
  if (tail.keyed) flags |= tail_keyed;
  if (tail.carries) flags |= tail_carries;
  if (tail.due != tail.now) {  // of one that was moved it may be before, by another clock
    flags |= tail_delayed;
    put(pack(tail.due), 6);
  }
  if (tail.dedupe) {
    flags |= tail_dedupe;
    put(tail.dedupe->high, 8);
    put(tail.dedupe->low, 4);
  }
  if (tail.position) {
    flags |= tail_position;
    put(*tail.position, 8);
  }
  put(tail.slot, 4);
  put(tail.queue, 2);
  put(flags, 1);
  put(tail.meta_size, 3);
  put(pack(tail.now), 6);
  return static_cast<std::size_t>(at - out);
}

std::optional<StoredMessage> decode_published(std::string_view record) {
  if (record.size() < fixed_tail) return std::nullopt;
  StoredMessage stored;
  PublishTail& tail = stored.tail;
  ByteReader fixed(record.substr(record.size() - fixed_tail));
  record.remove_suffix(fixed_tail);
  tail.slot = fixed.u32();
  tail.queue = fixed.u16();
  const auto flags = fixed.u8();
  tail.meta_size = static_cast<std::uint32_t>(fixed.fixed(3));
  tail.now = tail.due = fixed.moment();
  tail.priority = static_cast<Priority>(std::min(flags & tail_priority, 2));
  tail.can_expire = (flags & tail_expires) != 0;
  tail.keyed = (flags & tail_keyed) != 0;
  tail.carries = (flags & tail_carries) != 0;
  const std::size_t more = ((flags & tail_delayed) != 0 ? 6U : 0U) +
                           ((flags & tail_dedupe) != 0 ? 12U : 0U) +
                           ((flags & tail_position) != 0 ? 8U : 0U);
  if (record.size() < more + tail.meta_size) return std::nullopt;
  ByteReader optional(record.substr(record.size() - more));
  record.remove_suffix(more);
  if ((flags & tail_delayed) != 0) tail.due = optional.moment();
  if ((flags & tail_dedupe) != 0) {
    tail.dedupe.emplace();
    tail.dedupe->high = optional.u64();
    tail.dedupe->low = optional.u32();
  }
  if ((flags & tail_position) != 0) tail.position = optional.u64();
  stored.meta = record.substr(0, tail.meta_size);
  stored.payload = record.substr(tail.meta_size);
  return stored;
}

void encode(const StateRecord& record, std::string& out) {
  const MessageState& state = record.state;
  unsigned flags = 0;
  const auto flag = [&](bool on, StateFlag bit) {
    if (on) flags |= bit;
  };
  flag(record.repeat, state_repeat);
  flag(state.interrupted, state_interrupted);
  flag(record.ahead, state_ahead);
  flag(record.dead, state_dead);
  flag(record.holds_key, state_holds_key);
  flag(record.left_segment.has_value(), state_relocated);
  flag(state.first_attempt_at.has_value(), state_started);
  flag(state.undecodable != nullptr, state_undecodable);
  ByteWriter to(out);
  to.u32(record.slot);
  to.u8(static_cast<std::uint8_t>(flags));
  to.moment(record.due);
  to.u32(record.body.location.segment);
  to.u32(record.body.location.offset);
  to.number(record.body.sequence);
  if (record.left_segment) to.u32(*record.left_segment);
  write_counters(state.counters, to);
  if (state.first_attempt_at) to.moment(*state.first_attempt_at);
  to.number(static_cast<std::uint64_t>(state.previous_delay.count()));
  to.number(state.interruptions);
  to.text(state.last_error);
  to.text(state.trail);
  if (state.undecodable) write_failure(*state.undecodable, to);
}

std::optional<StateRecord> decode_state(std::string_view bytes) {
  ByteReader from(bytes);
  StateRecord record;
  MessageState& state = record.state;
  record.slot = from.u32();
  const auto flags = from.u8();
  record.due = from.moment();
  record.body.location.segment = from.u32();
  record.body.location.offset = from.u32();
  record.body.sequence = from.number();
  record.repeat = (flags & state_repeat) != 0;
  state.interrupted = (flags & state_interrupted) != 0;
  record.ahead = (flags & state_ahead) != 0;
  record.dead = (flags & state_dead) != 0;
  record.holds_key = (flags & state_holds_key) != 0;
  if ((flags & state_relocated) != 0) record.left_segment = from.u32();
  state.counters = read_counters(from);
  if ((flags & state_started) != 0) state.first_attempt_at = from.moment();
  state.previous_delay = Millis{static_cast<Millis::rep>(from.number())};
  state.interruptions = static_cast<std::uint32_t>(from.number());
  state.last_error = from.text();
  state.trail = from.text();
  if ((flags & state_undecodable) != 0) state.undecodable = read_failure(from);
  if (!from.ok() || !from.at_end()) return std::nullopt;
  return record;
}

void encode(const std::vector<Removal>& removals, TimePoint now, std::string& out) {
  ByteWriter to(out);
  to.moment(now);
  for (const Removal& each : removals) {
    to.u32(each.slot);
    to.u8(static_cast<std::uint8_t>(each.why));
    to.u32(each.body_segment);
  }
}

std::optional<Removals> decode_removals(std::string_view bytes) {
  ByteReader from(bytes);
  Removals removals;
  removals.now = from.moment();
  while (from.ok() && !from.at_end()) {
    Removal each;
    each.slot = from.u32();
    const auto why = from.u8();
    if (why > static_cast<std::uint8_t>(Why::purged)) return std::nullopt;
    each.why = static_cast<Why>(why);
    each.body_segment = from.u32();
    removals.all.push_back(each);
  }
  if (!from.ok()) return std::nullopt;
  return removals;
}

void encode(const std::vector<Return>& returns, std::string& out) {
  ByteWriter to(out);
  for (const Return& each : returns) {
    to.u32(each.slot);
    to.u8(each.repeat);
    to.moment(each.due);
  }
}

std::optional<std::vector<Return>> decode_returns(std::string_view bytes) {
  ByteReader from(bytes);
  std::vector<Return> returns;
  while (from.ok() && !from.at_end()) {
    Return each;
    each.slot = from.u32();
    each.repeat = from.u8() != 0;
    each.due = from.moment();
    returns.push_back(each);
  }
  if (!from.ok()) return std::nullopt;
  return returns;
}

void encode_slots(const std::vector<SlotNumber>& slots, std::string& out) {
  out.append(reinterpret_cast<const char*>(slots.data()), slots.size() * sizeof(SlotNumber));
}

std::vector<SlotNumber> decode_slots(ByteReader& in) {
  std::vector<SlotNumber> slots;
  slots.reserve(in.left() / 4);
  while (in.ok() && !in.at_end()) slots.push_back(in.u32());
  return slots;
}

std::optional<Millis> read_clock_set(ByteReader& in) noexcept {
  const Millis by{static_cast<Millis::rep>(in.u64())};
  const Millis most{static_cast<Millis::rep>(end_of_time)};
  if (!in.ok() || by > most || by < -most) return std::nullopt;
  return by;
}

void encode(const QueueRecord& record, std::string& out) {
  const SourceOptions& options = record.options;
  ByteWriter to(out);
  to.u16(record.number);
  to.u8(static_cast<std::uint8_t>(
      (record.keeps_dead ? 1U : 0U) | (options.keys_in_order ? 2U : 0U) |
      (options.claims_count ? 4U : 0U) | (options.drop_expired ? 8U : 0U) |
      (options.on_death == OnDeath::hold ? 16U : 0U)));
  to.text(options.source);
  write_optional(options.max_messages, to);
  write_optional(options.max_bytes, to);
  write_millis(options.dedupe_window, to);
  write_millis(options.ageing, to);
  write_optional(
      options.ttl ? std::optional(static_cast<std::uint64_t>(options.ttl->count())) : std::nullopt,
      to);
}

std::optional<QueueRecord> decode_queue(std::string_view bytes) {
  ByteReader from(bytes);
  QueueRecord record;
  SourceOptions& options = record.options;
  record.number = from.u16();
  const auto flags = from.u8();
  record.keeps_dead = (flags & 1U) != 0;
  options.keys_in_order = (flags & 2U) != 0;
  options.claims_count = (flags & 4U) != 0;
  options.drop_expired = (flags & 8U) != 0;
  if ((flags & 16U) != 0) options.on_death = OnDeath::hold;
  options.source = from.text();
  options.max_messages = read_optional(from);
  options.max_bytes = read_optional(from);
  options.dedupe_window = read_millis(from);
  options.ageing = read_millis(from);
  if (const auto ttl = read_optional(from)) options.ttl = Millis{static_cast<Millis::rep>(*ttl)};
  if (!from.ok()) return std::nullopt;
  return record;
}

}  // namespace dlo::embedded
