#include "dlo/engine/handlers/http_request.h"

#include <algorithm>
#include <array>
#include <set>

#include "dlo/core/encoding.h"
#include "dlo/core/identity.h"
#include "dlo/core/retry_request.h"
#include "dlo/core/spelling.h"
#include "dlo/engine/handlers/trace_context.h"

namespace dlo {

namespace {

constexpr std::string_view structured_mode = "application/cloudevents";
constexpr std::string_view header_prefix = "dlo-header-";
constexpr std::string_view type_of_untyped = "dlo.message";

bool is_token_char(char c) noexcept {
  const bool alphanumeric =
      (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return alphanumeric ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

void append_hex(std::string& out, char c) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += digits[byte >> 4U];
  out += digits[byte & 15U];
}

/// Any bytes as a header name: what a token cannot hold, and the percent sign, becomes %XX.
std::string encoded_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (is_token_char(c) && c != '%') {
      out += c;
    } else {
      append_hex(out, c);
    }
  }
  return ascii_lower(out);
}

/// Attribute name of a header that carries a CloudEvents attribute in one of the bindings (HTTP
/// `ce-id`, Kafka `ce_id`, AMQP `cloudEvents:id` or `cloudEvents_id`), else empty.
std::string attribute_of(std::string_view header) {
  const std::string name = ascii_lower(header);
  for (const std::string_view prefix : {"ce-", "ce_", "cloudevents:", "cloudevents_"}) {
    if (!name.starts_with(prefix)) continue;
    std::string attribute = name.substr(prefix.size());
    // datacontenttype travels as Content-Type, data as the body.
    const bool legal = !attribute.empty() && attribute.size() <= 64 &&
                       attribute != "datacontenttype" && attribute != "data" &&
                       std::all_of(attribute.begin(), attribute.end(), [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
                       });
    return legal ? attribute : std::string();
  }
  return {};
}

bool is_textual(HeaderType type) noexcept {
  switch (type) {
    case HeaderType::text:
    case HeaderType::boolean:
    case HeaderType::integer:
    case HeaderType::real:
    case HeaderType::timestamp:
      return true;
    case HeaderType::bytes:
    case HeaderType::null:
    case HeaderType::structured:
      return false;
  }
  return false;
}

/// Names this handler gives a meaning of its own, or HTTP does: never taken from a message.
bool is_reserved(const std::string& name) {
  static const std::set<std::string, std::less<>> names = {"host",
                                                           "connection",
                                                           "content-length",
                                                           "transfer-encoding",
                                                           "te",
                                                           "trailer",
                                                           "upgrade",
                                                           "keep-alive",
                                                           "expect",
                                                           "content-type",
                                                           "traceparent",
                                                           "tracestate",
                                                           "idempotency-key",
                                                           "content-encoding",
                                                           "authorization",
                                                           "cookie",
                                                           "proxy-authorization",
                                                           "proxy-connection",
                                                           "date",
                                                           "user-agent"};
  return names.contains(name) || name.starts_with("dlo-") || name.starts_with("webhook-") ||
         name.starts_with("ce-");
}

class HeaderList {
 public:
  /// A header of our own; `value` must already be legal.
  void put(std::string name, std::string value) {
    names_.insert(name);
    size_ += name.size() + value.size() + 4;
    list_.emplace_back(std::move(name), std::move(value));
  }
  /// A header that repeats what the message says, if it fits and nothing stands there yet.
  void offer(std::string name, std::string value) {
    const bool fits = value.size() <= http_header_value_limit &&
                      size_ + name.size() + value.size() <= http_headers_limit;
    if (!fits) {
      ++omitted_;
    } else if (!names_.contains(name)) {
      put(std::move(name), std::move(value));
    }
  }
  HttpHeaders take() {
    if (omitted_ > 0) put("dlo-headers-omitted", std::to_string(omitted_));
    return std::move(list_);
  }

 private:
  HttpHeaders list_;
  std::set<std::string, std::less<>> names_;
  std::size_t size_ = 0;
  std::uint64_t omitted_ = 0;
};

/// A message that is a CloudEvent keeps its attributes; one that is not becomes one.
void put_event(const Message& message, const RunContext& context, const TraceContext& trace,
               HeaderList& out) {
  // The creation context is the event's and is never replaced by a hop's.
  if (!trace.creation.empty()) out.put("ce-traceparent", percent_encode(trace.creation));
  for (auto header = message.headers.rbegin(); header != message.headers.rend(); ++header) {
    const std::string attribute = attribute_of(header->name);
    if (!attribute.empty() && is_textual(header->type) && !header->value.empty()) {
      out.offer("ce-" + attribute, percent_encode(to_utf8(header->value)));
    }
  }
  const auto offer = [&out](const char* name, std::string_view value) {
    if (!value.empty()) out.offer(name, percent_encode(to_utf8(value)));
  };
  out.offer("ce-specversion", "1.0");
  const bool short_id = message.id.size() <= http_header_value_limit / 4;
  offer("ce-id", message.id.empty() || !short_id ? to_string(context.id) : message.id);
  offer("ce-source", "/" + message.source.substr(0, http_header_value_limit / 4));
  offer("ce-type", message.event_type.empty()
                       ? std::string(type_of_untyped)
                       : message.event_type.substr(0, http_header_value_limit / 4));
  if (message.enqueued_at != TimePoint{}) offer("ce-time", to_iso8601(message.enqueued_at));
  offer("ce-partitionkey", message.key);
  if (message.owner) offer("ce-subject", message.owner->instance);
}

void put_message_headers(const Message& message, const std::vector<std::string>& pass_headers,
                         HeaderList& out) {
  // From the back, because the last of several counts and the first offered stays.
  for (auto header = message.headers.rbegin(); header != message.headers.rend(); ++header) {
    if (!is_textual(header->type) || header->name.empty() || !attribute_of(header->name).empty()) {
      continue;
    }
    const std::string name = ascii_lower(header->name);
    const bool as_is =
        std::any_of(pass_headers.begin(), pass_headers.end(),
                    [&name](const std::string& passed) { return ascii_lower(passed) == name; });
    if (as_is && is_header_name(name) && !is_reserved(name) && is_header_value(header->value)) {
      out.offer(name, header->value);
    } else if (name == targets_header) {
      out.offer(name, percent_encode(header->value));
    } else if (name != "traceparent" && name != "tracestate") {
      out.offer(std::string(header_prefix) + encoded_name(header->name),
                percent_encode(header->value));
    }
  }
}

}  // namespace

std::string percent_encode(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  for (const char c : value) {
    if (c > ' ' && c <= '~' && c != '"' && c != '%') {
      out += c;
    } else {
      append_hex(out, c);
    }
  }
  return out;
}

bool is_header_name(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_header_value(std::string_view text) noexcept {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  return std::all_of(text.begin(), text.end(), printable) &&
         (text.empty() || (text.front() != ' ' && text.back() != ' '));
}

HttpHeaders push_headers(const Message& message, const RunContext& context,
                         const std::vector<std::string>& pass_headers, const Signer& signer,
                         TimePoint now) {
  HeaderList out;
  const std::string id = to_string(context.id);
  const bool typed = !message.content_type.empty() && is_header_value(message.content_type) &&
                     message.content_type.size() <= 256;
  out.put("content-type", typed ? message.content_type : "application/octet-stream");
  out.put(std::string(lineage_id_header), id);
  out.put("dlo-attempt", std::to_string(context.counters.attempt));
  out.put("dlo-fence", to_string(context.fence));
  if (context.counters.replay > 0) {
    out.put(std::string(lineage_replay_header), std::to_string(context.counters.replay));
  }
  if (!message.payload) out.put("dlo-payload", "null");
  out.put("idempotency-key", id);
  const TraceContext trace = trace_of(message, context);
  out.put("traceparent", trace.parent);
  if (!trace.state.empty()) out.put("tracestate", trace.state);
  if (!signer.is_empty()) {
    const std::string_view body =
        message.payload ? std::string_view(*message.payload) : std::string_view();
    out.put("webhook-id", id);
    out.put("webhook-timestamp", unix_seconds(now));
    out.put("webhook-signature", signer.sign(id, now, body));
  }
  // In structured mode the event is in the body, and binary headers beside it are forbidden.
  if (!ascii_lower(message.content_type).starts_with(structured_mode)) {
    put_event(message, context, trace, out);
  }
  if (!message.correlation_id.empty()) {
    out.offer("dlo-correlation-id", percent_encode(message.correlation_id));
  }
  put_message_headers(message, pass_headers, out);
  return out.take();
}

}  // namespace dlo
