#include "dlo/broker/postgres/envelope.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dlo::postgres {
namespace {

// The first byte says which form this is, the second which of the rest follows.
constexpr char form = 1;
enum Part : std::uint8_t {
  has_payload = 1U << 0U,
  has_headers = 1U << 1U,
  has_owner = 1U << 2U,
  has_activity = 1U << 3U,
  has_failure = 1U << 4U,
};

/// Numbers of seven bits a byte, the lowest first; texts with their length in front.
class Writer {
 public:
  explicit Writer(std::string& out) noexcept : out_(out) {}
  void byte(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) byte(static_cast<std::uint8_t>(value | 0x80U));
    byte(static_cast<std::uint8_t>(value));
  }
  void text(std::string_view value) {
    number(value.size());
    out_.append(value);
  }

 private:
  std::string& out_;
};

/// Past the end it answers nothing, and remembers.
class Reader {
 public:
  explicit Reader(std::string_view bytes) noexcept : rest_(bytes) {}
  [[nodiscard]] bool ended_well() const noexcept { return ok_ && rest_.empty(); }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  std::uint8_t byte() noexcept {
    const std::string_view taken = take(1);
    return taken.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(taken.front());
  }
  std::uint64_t number() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x7FU} << shift;
      if (next < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string text() { return std::string(take(number())); }

 private:
  std::string_view take(std::uint64_t size) noexcept {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
  bool ok_ = true;
};

std::uint8_t parts_of(const Message& message, const Failure* undecodable) {
  unsigned parts = 0;
  if (message.payload) parts |= has_payload;
  if (!message.headers.empty()) parts |= has_headers;
  if (message.owner) parts |= has_owner;
  if (message.owner && message.owner->activity) parts |= has_activity;
  if (undecodable != nullptr) parts |= has_failure;
  return static_cast<std::uint8_t>(parts);
}

void read_headers(Reader& from, Headers& headers) {
  const std::uint64_t count = from.number();
  for (std::uint64_t i = 0; i < count && from.ok(); ++i) {
    Header header;
    header.type = static_cast<HeaderType>(
        std::min(from.byte(), static_cast<std::uint8_t>(HeaderType::structured)));
    header.name = from.text();
    header.value = from.text();
    headers.push_back(std::move(header));
  }
}

Owner read_owner(Reader& from, bool with_activity) {
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

}  // namespace

std::string encode_envelope(const Message& message, TimePoint enqueued_at, bool keeps_source,
                            const Failure* undecodable) {
  std::string out;
  Writer to(out);
  out.push_back(form);
  to.byte(parts_of(message, undecodable));
  to.number(static_cast<std::uint64_t>(enqueued_at.time_since_epoch().count()));
  to.text(keeps_source ? message.source : "");
  for (const std::string* text : {&message.id, &message.key, &message.event_type,
                                  &message.correlation_id, &message.content_type}) {
    to.text(*text);
  }
  if (!message.headers.empty()) {
    to.number(message.headers.size());
    for (const Header& header : message.headers) {
      to.byte(static_cast<std::uint8_t>(header.type));
      to.text(header.name);
      to.text(header.value);
    }
  }
  if (message.owner) {
    to.text(message.owner->instance);
    to.number(message.owner->execution);
    to.text(message.owner->parent);
    if (message.owner->activity) {
      to.text(message.owner->activity->name);
      to.number(message.owner->activity->id);
    }
  }
  if (undecodable != nullptr) {
    to.text(undecodable->type);
    to.text(undecodable->text);
  }
  return out;
}

Envelope decode_envelope(std::string_view bytes) {
  Reader from(bytes);
  Envelope made;
  if (from.byte() != form) return made;
  const std::uint8_t parts = from.byte();
  auto message = std::make_shared<Message>();
  message->enqueued_at = TimePoint{Millis{static_cast<Millis::rep>(from.number())}};
  message->source = from.text();
  for (std::string* text : {&message->id, &message->key, &message->event_type,
                            &message->correlation_id, &message->content_type}) {
    *text = from.text();
  }
  if (parts & has_headers) read_headers(from, message->headers);
  if (parts & has_owner) message->owner = read_owner(from, (parts & has_activity) != 0);
  if (parts & has_failure) {
    Failure failure;
    failure.type = from.text();
    failure.text = from.text();
    made.undecodable = std::make_shared<const Failure>(std::move(failure));
  }
  if (!from.ended_well()) return {};
  made.has_payload = (parts & has_payload) != 0;
  made.message = std::move(message);
  return made;
}

std::int64_t hash_of_key(std::string_view key) noexcept {
  if (key.empty()) return 0;
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  hash = (hash ^ (hash >> 32U)) * 0x9E3779B97F4A7C15ULL;  // its lowest bits choose a lock
  hash ^= hash >> 29U;
  return hash == 0 ? 1 : static_cast<std::int64_t>(hash);
}

std::uint64_t weight_of(const Message& message) noexcept {
  std::uint64_t size = message.id.size() + message.event_type.size() + message.key.size() +
                       message.correlation_id.size() + message.content_type.size();
  for (const Header& header : message.headers) size += header.name.size() + header.value.size();
  return size + (message.payload ? message.payload->size() : 0);
}

}  // namespace dlo::postgres
