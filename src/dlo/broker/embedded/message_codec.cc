#include <algorithm>

#include "dlo/broker/embedded/message_shelf.h"
#include "dlo/broker/embedded/records.h"
#include "dlo/broker/moments.h"

namespace dlo::embedded {
namespace {

// Which fields follow, in this order.
enum Field : std::uint16_t {
  has_key = 1U << 0U,  // first, so that a reader finds it without decoding the rest
  has_id = 1U << 1U,
  has_type = 1U << 2U,
  has_correlation = 1U << 3U,
  has_content_type = 1U << 4U,
  has_source = 1U << 5U,
  has_enqueued = 1U << 6U,  // absent: when it was published
  has_expiry = 1U << 7U,
  has_headers = 1U << 8U,
  has_owner = 1U << 9U,
  has_activity = 1U << 10U,
  has_payload = 1U << 11U,
  low_priority = 1U << 12U,
  high_priority = 1U << 13U,
  has_counters = 1U << 14U,
  has_failure = 1U << 15U,
};

std::uint16_t fields_of(const NewMessage& what, bool expires) {
  const Message& message = what.message;
  unsigned fields = 0;
  const auto flag = [&](bool present, Field field) {
    if (present) fields |= field;
  };
  flag(!message.key.empty(), has_key);
  flag(!message.id.empty(), has_id);
  flag(!message.event_type.empty(), has_type);
  flag(!message.correlation_id.empty(), has_correlation);
  flag(!message.content_type.empty(), has_content_type);
  flag(what.keep_source && !message.source.empty(), has_source);
  flag(message.enqueued_at != TimePoint{} && message.enqueued_at != what.now, has_enqueued);
  flag(expires, has_expiry);
  flag(!message.headers.empty(), has_headers);
  flag(message.owner.has_value(), has_owner);
  flag(message.owner && message.owner->activity, has_activity);
  flag(message.payload.has_value(), has_payload);
  flag(message.priority == Priority::low, low_priority);
  flag(message.priority == Priority::high, high_priority);
  flag(what.counters != Counters{}, has_counters);
  flag(what.undecodable != nullptr, has_failure);
  return static_cast<std::uint16_t>(fields);
}

void write_owner(const Owner& owner, ByteWriter& to) {
  to.text(owner.instance);
  to.number(owner.execution);
  to.text(owner.parent);
  if (!owner.activity) return;
  to.text(owner.activity->name);
  to.number(owner.activity->id);
}

Owner read_owner(bool with_activity, ByteReader& from) {
  Owner owner;
  owner.instance = from.text();
  owner.execution = from.number();
  owner.parent = from.text();
  if (!with_activity) return owner;
  Activity activity;
  activity.name = from.text();
  activity.id = from.number();
  owner.activity = std::move(activity);
  return owner;
}

void write_headers(const Headers& headers, ByteWriter& to) {
  to.number(headers.size());
  for (const Header& header : headers) {
    to.u8(static_cast<std::uint8_t>(header.type));
    to.text(header.name);
    to.text(header.value);
  }
}

Headers read_headers(ByteReader& from) {
  Headers headers;
  const auto count = from.number();
  for (std::uint64_t i = 0; i < count && from.ok(); ++i) {
    Header header;
    header.type = static_cast<HeaderType>(
        std::min<std::uint8_t>(from.u8(), static_cast<std::uint8_t>(HeaderType::structured)));
    header.name = from.text();
    header.value = from.text();
    headers.push_back(std::move(header));
  }
  return headers;
}

}  // namespace

void encode_fields(const NewMessage& what, std::string& out) {
  const Message& message = what.message;
  auto expires_at = message.expires_at;
  if (!expires_at && what.ttl) expires_at = later(what.now, *what.ttl);
  const auto fields = fields_of(what, expires_at.has_value());
  const auto exact = [](TimePoint at) {
    return static_cast<std::uint64_t>(at.time_since_epoch().count());
  };
  ByteWriter to(out);
  to.u16(fields);
  if (fields & has_key) to.text(message.key);
  if (fields & has_id) to.text(message.id);
  if (fields & has_type) to.text(message.event_type);
  if (fields & has_correlation) to.text(message.correlation_id);
  if (fields & has_content_type) to.text(message.content_type);
  if (fields & has_source) to.text(message.source);
  if (fields & has_enqueued) to.u64(exact(message.enqueued_at));
  if (fields & has_expiry) to.u64(exact(*expires_at));
  if (fields & has_headers) write_headers(message.headers, to);
  if (fields & has_owner) write_owner(*message.owner, to);
  if (fields & has_counters) write_counters(what.counters, to);
  if (fields & has_failure) write_failure(*what.undecodable, to);
}

namespace {

/// Fields in the order they were written; what came with the message goes to `state`, if asked for.
void read_fields(ByteReader& from, TimePoint published, Message& message, MessageState* state) {
  const auto fields = from.u16();
  const auto exact = [&] { return TimePoint{Millis{static_cast<Millis::rep>(from.u64())}}; };
  if (fields & has_key) message.key = from.text();
  if (fields & has_id) message.id = from.text();
  if (fields & has_type) message.event_type = from.text();
  if (fields & has_correlation) message.correlation_id = from.text();
  if (fields & has_content_type) message.content_type = from.text();
  if (fields & has_source) message.source = from.text();
  message.enqueued_at = fields & has_enqueued ? exact() : published;
  if (fields & has_expiry) message.expires_at = exact();
  if (fields & has_headers) message.headers = read_headers(from);
  if (fields & has_owner) message.owner = read_owner((fields & has_activity) != 0, from);
  if (fields & (has_counters | has_failure)) {
    MessageState carried;
    if (fields & has_counters) carried.counters = read_counters(from);
    if (fields & has_failure) carried.undecodable = read_failure(from);
    if (state != nullptr) *state = std::move(carried);
  }
  if (fields & has_payload) message.payload.emplace();
  if (fields & low_priority) message.priority = Priority::low;
  if (fields & high_priority) message.priority = Priority::high;
}

}  // namespace

std::shared_ptr<Message> decode_message(const StoredMessage& stored) {
  ByteReader from(stored.meta);
  auto message = std::allocate_shared<Message>(ShelfAllocator<Message>());
  read_fields(from, stored.tail.now, *message, nullptr);
  if (message->payload) message->payload->assign(stored.payload);
  return from.ok() && from.at_end() ? message : nullptr;
}

MessageState carried_state(const StoredMessage& stored) {
  ByteReader from(stored.meta);
  Message unused;
  MessageState state;
  read_fields(from, stored.tail.now, unused, &state);
  return state;
}

Expiry expiry_of(const StoredMessage& stored) {
  if (!stored.tail.can_expire) return never_expires;
  ByteReader from(stored.meta);
  Message message;
  read_fields(from, stored.tail.now, message, nullptr);
  return message.expires_at ? expiry_of(*message.expires_at) : never_expires;
}

std::string_view key_of(const StoredMessage& stored) noexcept {
  ByteReader from(stored.meta);
  return from.u16() & has_key ? from.text() : std::string_view{};
}

}  // namespace dlo::embedded
