#include "dlo/broker/rabbitmq/parcel.h"

#include <algorithm>
#include <charconv>

#include "dlo/broker/rabbitmq/parcel_names.h"
#include "dlo/core/identity.h"

namespace dlo::rabbitmq {
namespace {

/// A few numbers go by the kind they came with: `I7:retries` says that the first number under
/// `retries` is a 32-bit one.
std::string kind_entry(char kind, std::string_view name) {
  return kind + std::to_string(name.size()) + ":" + std::string(name);
}

bool is_number(std::uint8_t kind) noexcept {
  return std::string_view("bBsuIilfd").find(static_cast<char>(kind)) != std::string_view::npos;
}

std::optional<TimePoint> moment(const amqp_field_value_t& value) {
  if (value.kind != AMQP_FIELD_KIND_I64) return std::nullopt;
  return TimePoint{Millis{value.value.i64}};
}

std::string text(const amqp_field_value_t& value) {
  const bool readable = value.kind == AMQP_FIELD_KIND_UTF8 || value.kind == AMQP_FIELD_KIND_BYTES;
  return readable ? std::string(view(value.value.bytes)) : std::string();
}

void read_counters(std::string_view words, Counters& counters) {
  while (!words.empty()) {
    const auto word = words.substr(0, words.find(' '));
    const auto equals = word.find('=');
    std::uint32_t value = 0;
    if (equals != std::string_view::npos) {
      std::from_chars(word.data() + equals + 1, word.data() + word.size(), value);
      (void)set_counter(counters, word.substr(0, equals), value);
    }
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
}

Owner read_owner(const amqp_table_t& table) {
  Owner owner;
  Activity activity;
  bool has_activity = false;
  for (int i = 0; i < table.num_entries; ++i) {
    const auto name = view(table.entries[i].key);
    const auto& value = table.entries[i].value;
    if (name == "instance") owner.instance = text(value);
    if (name == "parent") owner.parent = text(value);
    if (name == "execution") owner.execution = static_cast<std::uint64_t>(value.value.i64);
    if (name == "activity") activity.name = text(value);
    if (name == "activity-id") {
      activity.id = static_cast<std::uint64_t>(value.value.i64);
      has_activity = true;
    }
  }
  if (has_activity) owner.activity = activity;
  return owner;
}

void read_carried(const amqp_table_t& table, Parcel& parcel) {
  auto& carried = parcel.carried;
  auto& fields = parcel.carried_fields;
  for (int i = 0; i < table.num_entries; ++i) {
    const auto name = view(table.entries[i].key);
    const auto& value = table.entries[i].value;
    if (name == kept::of && value.kind == AMQP_FIELD_KIND_I64) parcel.carried_for = value.value.i64;
    if (name == kept::counters) read_counters(text(value), carried.counters);
    if (name == kept::due) carried.due = moment(value);
    if (name == kept::first_attempt) carried.first_attempt_at = moment(value);
    if (name == kept::delay) {
      carried.previous_delay = moment(value).value_or(TimePoint{}).time_since_epoch();
    }
    if (name == kept::error) carried.last_error = text(value);
    if (name == kept::trail) carried.trail = text(value);
    if (name == kept::key) fields.key = text(value);
    if (name == kept::id) fields.id = text(value);
    if (name == kept::type) fields.event_type = text(value);
    if (name == kept::correlation) fields.correlation_id = text(value);
    if (name == kept::content_type) fields.content_type = text(value);
    if (name == kept::at) fields.enqueued_at = moment(value).value_or(TimePoint{});
    if (name == kept::expires) fields.expires_at = moment(value);
    if (name == kept::no_payload) parcel.null_payload = true;
    if (name == kept::owner && value.kind == AMQP_FIELD_KIND_TABLE) {
      fields.owner = read_owner(value.value.table);
    }
  }
}

void read_headers(const amqp_table_t& table, Parcel& parcel) {
  std::string kinds;
  std::uint32_t attempts = 0;
  for (int i = 0; i < table.num_entries; ++i) {
    const auto name = view(table.entries[i].key);
    const auto& value = table.entries[i].value;
    if (name == carried_header && value.kind == AMQP_FIELD_KIND_TABLE) {
      read_carried(value.value.table, parcel);
      continue;
    }
    auto header = header_of(name, value);
    if (name == attempts_header || name == delivery_count_header) {
      std::uint32_t count = 0;
      std::from_chars(header.value.data(), header.value.data() + header.value.size(), count);
      (name == attempts_header ? attempts : parcel.returns) = count;
      continue;
    }
    const bool number = is_number(value.kind) && header.type != HeaderType::structured;
    if (number && static_cast<char>(value.kind) != usual_kind(header.type)) {
      kinds += kind_entry(static_cast<char>(value.kind), name);
    }
    parcel.message.headers.push_back(std::move(header));
  }
  auto& counters = parcel.carried.counters;
  counters.attempt = std::max(counters.attempt, attempts);
  counters.total = std::max(counters.total, attempts);
  if (!kinds.empty()) parcel.message.headers.push_back({std::string(kinds_header), kinds});
}

Priority priority_of(std::uint8_t number) noexcept {
  if (number < 4) return Priority::low;
  return number == 4 ? Priority::normal : Priority::high;
}

/// What neither Message nor a field table has a place for stays among the headers.
void read_other_properties(const amqp_basic_properties_t& from, Headers& headers) {
  const auto keep = [&](amqp_flags_t flag, std::string_view name, amqp_bytes_t value) {
    if ((from._flags & flag) == 0) return;
    headers.push_back({std::string(name), std::string(view(value)), HeaderType::text});
  };
  keep(AMQP_BASIC_CONTENT_ENCODING_FLAG, property::content_encoding, from.content_encoding);
  keep(AMQP_BASIC_REPLY_TO_FLAG, property::reply_to, from.reply_to);
  keep(AMQP_BASIC_EXPIRATION_FLAG, property::expiration, from.expiration);
  keep(AMQP_BASIC_USER_ID_FLAG, property::user_id, from.user_id);
  keep(AMQP_BASIC_APP_ID_FLAG, property::app_id, from.app_id);
  keep(AMQP_BASIC_CLUSTER_ID_FLAG, property::cluster_id, from.cluster_id);
  if ((from._flags & AMQP_BASIC_PRIORITY_FLAG) != 0 && from.priority != 0 && from.priority != 9) {
    headers.push_back(
        {std::string(property::priority), std::to_string(from.priority), HeaderType::integer});
  }
}

}  // namespace

std::int64_t mark_of(std::string_view id, std::string_view body) noexcept {
  constexpr std::size_t enough = 4096;
  std::uint64_t hash = 0xCBF29CE484222325ULL ^ body.size();
  for (const auto part : {id, body.substr(0, enough)}) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    hash = (hash ^ part.size()) * 0x100000001B3ULL;
  }
  return static_cast<std::int64_t>(hash);
}

void open_parcel(const amqp_basic_properties_t& from, Parcel& parcel) {
  Message& message = parcel.message;
  const auto has = [&](amqp_flags_t flag) { return (from._flags & flag) != 0; };
  if (has(AMQP_BASIC_HEADERS_FLAG)) read_headers(from.headers, parcel);
  if (has(AMQP_BASIC_MESSAGE_ID_FLAG)) message.id = view(from.message_id);
  if (has(AMQP_BASIC_TYPE_FLAG)) message.event_type = view(from.type);
  if (has(AMQP_BASIC_CORRELATION_ID_FLAG)) message.correlation_id = view(from.correlation_id);
  if (has(AMQP_BASIC_CONTENT_TYPE_FLAG)) message.content_type = view(from.content_type);
  if (has(AMQP_BASIC_TIMESTAMP_FLAG) && from.timestamp < std::uint64_t{1} << 40U) {
    message.enqueued_at = TimePoint{std::chrono::seconds{from.timestamp}};
  }
  if (has(AMQP_BASIC_PRIORITY_FLAG)) message.priority = priority_of(from.priority);
  read_other_properties(from, message.headers);
}

void seal(Parcel& parcel, std::string body) {
  Message& message = parcel.message;
  Message& fields = parcel.carried_fields;
  if (parcel.carried_for) {
    const std::string& id = fields.id.empty() ? message.id : fields.id;
    if (*parcel.carried_for != mark_of(id, body)) {
      parcel.carried = {};
      fields = {};
      parcel.null_payload = false;
    }
  }
  const auto take = [](std::string& to, std::string& from) {
    if (!from.empty()) to = std::move(from);
  };
  take(message.id, fields.id);
  take(message.key, fields.key);
  take(message.event_type, fields.event_type);
  take(message.correlation_id, fields.correlation_id);
  take(message.content_type, fields.content_type);
  if (fields.enqueued_at != TimePoint{}) message.enqueued_at = fields.enqueued_at;
  message.expires_at = fields.expires_at;
  message.owner = std::move(fields.owner);
  if (!parcel.null_payload || !body.empty()) message.payload = std::move(body);
}

}  // namespace dlo::rabbitmq
