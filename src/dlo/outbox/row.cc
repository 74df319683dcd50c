#include "dlo/outbox/row.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "dlo/core/encoding.h"
#include "dlo/json/text/value.h"
#include "dlo/outbox/statements.h"

namespace dlo::outbox {
namespace {

class Reader {
 public:
  explicit Reader(const postgres::Row& row) : row_(row) {}
  [[nodiscard]] bool has(Read column) const { return !row_.is_null(at(column)); }
  [[nodiscard]] std::string text(Read column) const {
    return has(column) ? row_.text(at(column)) : std::string();
  }
  [[nodiscard]] std::optional<TimePoint> time(Read column) const {
    return row_.maybe_time(at(column));
  }
  [[nodiscard]] std::int64_t number(Read column) const {
    return has(column) ? row_.number(at(column)) : 0;
  }

 private:
  static int at(Read column) noexcept { return static_cast<int>(column); }
  const postgres::Row& row_;
};

Failures failures_of(const Reader& read) {
  Failures failures;
  failures.attempts = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(read.number(Read::attempts), 0, INT32_MAX));
  failures.due = read.time(Read::due_at);
  failures.first_attempt_at = read.time(Read::first_attempt_at);
  failures.last_error = read.text(Read::last_error);
  failures.trail = read.text(Read::trail);
  return failures;
}

}  // namespace

std::string source_of(const std::string& event_type, const std::string& outbox) {
  return "outbox_" + (event_type.empty() ? outbox : event_type);
}

Headers headers_of(const std::string& json) {
  Headers headers;
  if (json.empty()) return headers;
  const auto value = parse_json(json);
  if (!value || value->kind != JsonKind::object) {
    headers.push_back({"outbox-headers", json, HeaderType::text});
    return headers;
  }
  for (const JsonMember& each : value->members) {
    switch (each.value.kind) {
      case JsonKind::string:
        headers.push_back({each.name, each.value.text(), HeaderType::text});
        break;
      case JsonKind::boolean:
        headers.push_back({each.name, std::string(each.value.raw), HeaderType::boolean});
        break;
      case JsonKind::null:
        headers.push_back({each.name, "", HeaderType::null});
        break;
      case JsonKind::number:
      case JsonKind::array:
      case JsonKind::object:
        headers.push_back({each.name, std::string(each.value.raw),
                           each.value.to_int64() ? HeaderType::integer : HeaderType::text});
        break;
    }
  }
  return headers;
}

namespace {

/// Takes it apart; what is not wrapped as it should be is sent as it is.
void unwrap(const Wrapping& wrapping, Message& message) {
  if (wrapping.payload.empty() || !message.payload) return;
  const auto whole = parse_json(*message.payload);
  if (!whole || whole->kind != JsonKind::object) return;
  const JsonValue* value = whole->find(wrapping.payload);
  const JsonValue* headers = whole->find(wrapping.headers);
  if (value == nullptr || headers == nullptr || headers->kind != JsonKind::object) return;
  message.headers = headers_of(std::string(headers->raw));
  const Header* id = find_header(message.headers, wrapping.message_id);
  if (id != nullptr && !id->value.empty()) message.id = id->value;
  message.payload = value->kind == JsonKind::null ? std::string() : std::string(value->raw);
}

}  // namespace

Row row_of(const postgres::Row& read, const Shape& shape, const std::string& outbox) {
  const Reader reader(read);
  Row row;
  row.id = reader.text(Read::id);
  row.key = reader.text(Read::key);
  row.destination = reader.text(Read::destination);
  row.failures = failures_of(reader);
  auto message = std::make_shared<Message>();
  message->event_type = reader.text(Read::type);
  message->source = source_of(message->event_type, outbox);
  message->id = reader.text(Read::message_id);
  // A uuid is nobody else's; a number is this table's only.
  if (message->id.empty()) message->id = row.id.size() == 36 ? row.id : outbox + ":" + row.id;
  message->key = row.key;
  message->correlation_id = reader.text(Read::correlation_id);
  message->content_type = reader.text(Read::content_type);
  message->headers = headers_of(reader.text(Read::headers));
  if (reader.has(Read::payload)) message->payload = reader.text(Read::payload);
  unwrap(shape.wrapping, *message);
  if (!shape.id_header.empty()) {
    message->headers.push_back({shape.id_header, message->id, HeaderType::text});
  }
  // Whole seconds, as brokers have them: the same row is the same message, byte for byte.
  const auto created = reader.time(Read::created_at).value_or(TimePoint{});
  message->enqueued_at = std::chrono::floor<std::chrono::seconds>(created);
  message->expires_at = reader.time(Read::expires_at);
  row.message = std::move(message);
  return row;
}

std::string target_of(const std::string& pattern, const Row& row) {
  const auto put = [](std::string& out, const std::string& value) {
    for (const char c : value) {
      if (c == '/') {
        out += "%2F";
      } else if (c == '%') {
        out += "%25";
      } else {
        out += c;
      }
    }
  };
  std::string out;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::string_view rest = std::string_view(pattern).substr(at);
    const auto is = [&](std::string_view name) { return rest.starts_with(name); };
    if (is("{type}")) {
      put(out, row.message->event_type);
      at += 6;
    } else if (is("{key}")) {
      put(out, row.key);
      at += 5;
    } else if (is("{destination}")) {
      put(out, row.destination);
      at += 13;
    } else {
      out += pattern[at++];
    }
  }
  return out;
}

}  // namespace dlo::outbox
