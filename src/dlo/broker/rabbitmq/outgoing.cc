#include <algorithm>
#include <charconv>

#include "dlo/broker/collected_headers.h"
#include "dlo/broker/rabbitmq/parcel.h"
#include "dlo/broker/rabbitmq/parcel_names.h"
#include "dlo/core/identity.h"

namespace dlo::rabbitmq {
namespace {

constexpr std::size_t longest_short = 255;     // of AMQP's short strings
constexpr std::size_t besides_headers = 4096;  // all short strings of a header frame and its edges

struct NumberKind {
  char kind = 0;
  std::string_view name;
};

/// Reads what `kind_entry` wrote; stops at the first thing it does not understand.
std::vector<NumberKind> read_kinds(std::string_view text) {
  std::vector<NumberKind> kinds;
  while (!text.empty()) {
    std::size_t size = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 1, end, size);
    const auto used = static_cast<std::size_t>(stop - text.data());
    if (error != std::errc{} || used >= text.size() || text.size() - used - 1 < size) break;
    kinds.push_back({text.front(), text.substr(used + 1, size)});
    text.remove_prefix(used + 1 + size);
  }
  return kinds;
}

char take_kind(std::vector<NumberKind>& kinds, const Header& header) {
  if (header.type != HeaderType::integer && header.type != HeaderType::real) return 0;
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const NumberKind& each) {
    return each.kind != 0 && each.name == header.name;
  });
  return found == kinds.end() ? char{0} : std::exchange(found->kind, char{0});
}

std::int64_t millis(TimePoint at) {
  return at.time_since_epoch().count();
}

bool is_property(std::string_view name) {
  return name == property::content_encoding || name == property::reply_to ||
         name == property::expiration || name == property::app_id || name == property::cluster_id ||
         name == property::priority;
}

}  // namespace

Outgoing::Outgoing(const Message& message, const Carried& carried)
    : message_(message), carried_(carried) {
  add_headers();
  set_fields();
  add_carried();
  if (carried_.counters.attempt > 0) {
    headers_.number(attempts_header, carried_.counters.attempt);
  }
  if (!kept_.empty()) {
    kept_.number(kept::of, mark_of(message_.id, view(body())));
    headers_.table(carried_header, kept_);
  }
  properties_.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  properties_._flags |= AMQP_BASIC_DELIVERY_MODE_FLAG;
}

amqp_bytes_t Outgoing::body() const noexcept {
  return message_.payload ? bytes_of(*message_.payload) : amqp_empty_bytes;
}

const amqp_basic_properties_t& Outgoing::properties() noexcept {
  if (!headers_.empty()) {
    properties_.headers = headers_.get();
    properties_._flags |= AMQP_BASIC_HEADERS_FLAG;
  }
  return properties_;
}

void Outgoing::add_headers() {
  const Header* written = find_header(message_.headers, kinds_header);
  auto kinds = read_kinds(written == nullptr ? std::string_view() : written->value);
  for (const auto& header : message_.headers) {
    if (header.name == kinds_header || header.name == attempts_header ||
        header.name == carried_header || header.name == delivery_count_header ||
        header.name == untyped_header) {
      continue;
    }
    if (is_property(header.name) && header.value.size() <= longest_short) {
      set_property(header);
    } else {
      headers_.add(header, take_kind(kinds, header));
    }
  }
}

// The server refuses a user-id that is not the connection's: that one stays a header.
void Outgoing::set_property(const Header& header) {
  const auto put = [&](amqp_flags_t flag, amqp_bytes_t& to) {
    to = bytes_of(header.value);
    properties_._flags |= flag;
  };
  if (header.name == property::content_encoding) {
    put(AMQP_BASIC_CONTENT_ENCODING_FLAG, properties_.content_encoding);
  } else if (header.name == property::reply_to) {
    put(AMQP_BASIC_REPLY_TO_FLAG, properties_.reply_to);
  } else if (header.name == property::expiration) {
    put(AMQP_BASIC_EXPIRATION_FLAG, properties_.expiration);
  } else if (header.name == property::app_id) {
    put(AMQP_BASIC_APP_ID_FLAG, properties_.app_id);
  } else if (header.name == property::cluster_id) {
    put(AMQP_BASIC_CLUSTER_ID_FLAG, properties_.cluster_id);
  } else {
    unsigned number = 0;
    std::from_chars(header.value.data(), header.value.data() + header.value.size(), number);
    properties_.priority = static_cast<std::uint8_t>(std::min(number, 255U));
    properties_._flags |= AMQP_BASIC_PRIORITY_FLAG;
  }
}

void Outgoing::set(amqp_flags_t flag, amqp_bytes_t& to, std::string_view value,
                   const char* if_long) {
  if (value.empty()) return;
  if (value.size() > longest_short) return kept_.text(if_long, value);
  to = bytes_of(value);
  properties_._flags |= flag;
}

void Outgoing::set_fields() {
  auto& to = properties_;
  set(AMQP_BASIC_MESSAGE_ID_FLAG, to.message_id, message_.id, kept::id.data());
  const bool is_typed = find_header(message_.headers, untyped_header) == nullptr;
  if (is_typed) set(AMQP_BASIC_TYPE_FLAG, to.type, message_.event_type, kept::type.data());
  set(AMQP_BASIC_CORRELATION_ID_FLAG, to.correlation_id, message_.correlation_id,
      kept::correlation.data());
  set(AMQP_BASIC_CONTENT_TYPE_FLAG, to.content_type, message_.content_type,
      kept::content_type.data());
  if (const auto at = millis(message_.enqueued_at); at > 0) {
    to.timestamp = static_cast<std::uint64_t>(at / 1000);
    to._flags |= AMQP_BASIC_TIMESTAMP_FLAG;
    if (at % 1000 != 0) kept_.number(kept::at, at);
  }
  const bool has_priority = (to._flags & AMQP_BASIC_PRIORITY_FLAG) != 0;
  if (!has_priority && message_.priority != Priority::normal) {
    to.priority = message_.priority == Priority::low ? 0 : 9;
    to._flags |= AMQP_BASIC_PRIORITY_FLAG;
  }
  if (!message_.key.empty()) kept_.text(kept::key, message_.key);
  if (message_.expires_at) kept_.number(kept::expires, millis(*message_.expires_at));
  if (!message_.payload) kept_.number(kept::no_payload, 1);
  if (message_.owner) {
    const Owner& owner = *message_.owner;
    owner_.text("instance", owner.instance);
    owner_.number("execution", static_cast<std::int64_t>(owner.execution));
    owner_.text("parent", owner.parent);
    if (owner.activity) {
      owner_.text("activity", owner.activity->name);
      owner_.number("activity-id", static_cast<std::int64_t>(owner.activity->id));
    }
    kept_.table(kept::owner, owner_);
  }
}

void Outgoing::add_carried() {
  if (carried_.counters != Counters{}) {
    counters_ = print(carried_.counters);
    kept_.text(kept::counters, counters_);
  }
  if (carried_.due) kept_.number(kept::due, millis(*carried_.due));
  if (carried_.first_attempt_at) {
    kept_.number(kept::first_attempt, millis(*carried_.first_attempt_at));
  }
  if (carried_.previous_delay != Millis{0}) {
    kept_.number(kept::delay, carried_.previous_delay.count());
  }
  if (!carried_.last_error.empty()) kept_.text(kept::error, carried_.last_error);
  if (!carried_.trail.empty()) kept_.bytes(kept::trail, carried_.trail);
}

Result<void> Outgoing::fits(std::size_t frame_max) {
  std::size_t most = besides_headers + carried_.last_error.size() + carried_.trail.size() +
                     message_.id.size() + message_.event_type.size() + message_.key.size() +
                     message_.correlation_id.size() + message_.content_type.size();
  constexpr std::size_t each = 32;
  for (const auto& header : message_.headers) {
    if (header.name.size() > longest_short) {
      return Error{Code::invalid_argument, "rabbitmq.publish",
                   "the name of header \"" + header.name.substr(0, 40) +
                       "…\" is longer than the 255 bytes that AMQP allows"};
    }
    most += header.name.size() + header.value.size() + each;
  }
  if (most <= frame_max) return {};
  const auto room = frame_max - std::min(frame_max, besides_headers);
  if (encoded_size(headers_.get(), room) < room) return {};
  return Error{Code::invalid_argument, "rabbitmq.publish",
               "its headers do not fit into one frame of " + std::to_string(frame_max) +
                   " bytes; shorten them, or raise frame_max in rabbitmq.conf"};
}

}  // namespace dlo::rabbitmq
