#include "dlo/engine/handlers/command_environment.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "dlo/core/encoding.h"
#include "dlo/core/retry_request.h"
#include "dlo/core/spelling.h"
#include "dlo/engine/handlers/trace_context.h"

namespace dlo {

namespace {

class Environment {
 public:
  void put(std::string name, std::string_view value) {
    if (value.find('\0') == std::string_view::npos) {
      variables_.push_back(std::move(name) + "=" + std::string(value));
    } else {
      variables_.push_back(std::move(name) + "_BASE64=" + to_base64(value));
    }
  }
  void put_if(std::string name, std::string_view value) {
    if (!value.empty()) put(std::move(name), value);
  }
  /// For a field people might fill with megabytes.
  void put_short(std::string name, std::string_view value) {
    if (value.size() <= header_value_limit) put_if(std::move(name), value);
  }
  void put(std::string name, std::uint64_t value) {
    put(std::move(name), std::string_view(std::to_string(value)));
  }
  std::vector<std::string> take() { return std::move(variables_); }

 private:
  std::vector<std::string> variables_;
};

std::string variable_name(std::string_view header) {
  std::string name = "DLO_HEADER_";
  for (const char c : header) {
    const bool lower = c >= 'a' && c <= 'z';
    const bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += lower ? static_cast<char>(c - 'a' + 'A') : kept ? c : '_';
  }
  return name;
}

void put_headers(const Headers& headers, Environment& out) {
  std::map<std::string, const Header*> last;  // repeats: the last one counts, as for find_header
  std::uint64_t omitted = 0;
  for (const auto& header : headers) {
    if (header.name.size() > 256 || header.value.size() > header_value_limit) {
      ++omitted;
    } else {
      const bool targets = ascii_lower(header.name) == targets_header;
      last[targets ? "DLO_TARGETS" : variable_name(header.name)] = &header;
    }
  }
  std::size_t size = 0;
  for (const auto& [name, header] : last) {
    size += name.size() + header->value.size();
    if (size > all_headers_limit) {
      ++omitted;
      continue;
    }
    const bool binary = header->type == HeaderType::bytes || header->type == HeaderType::structured;
    if (binary) {
      out.put(name + "_BASE64", std::string_view(to_base64(header->value)));
    } else {
      out.put(name, std::string_view(header->value));
    }
  }
  if (omitted > 0) out.put("DLO_HEADERS_OMITTED", omitted);
}

void put_owner(const Owner& owner, Environment& out) {
  out.put_short("DLO_OWNER_INSTANCE", owner.instance);
  out.put("DLO_OWNER_EXECUTION", owner.execution);
  if (!owner.activity) return;
  out.put_short("DLO_OWNER_ACTIVITY", owner.activity->name);
  out.put("DLO_OWNER_ACTIVITY_ID", owner.activity->id);
}

}  // namespace

std::vector<std::string> message_environment(const Message& message, const RunContext& context) {
  Environment out;
  out.put("DLO_ID", std::string_view(to_string(context.id)));
  out.put("DLO_FENCE", std::string_view(to_string(context.fence)));
  out.put("DLO_ATTEMPT", context.counters.attempt);
  out.put("DLO_TOTAL_ATTEMPTS", context.counters.total);
  out.put("DLO_REPLAY", context.counters.replay);
  out.put_short("DLO_MESSAGE_ID", message.id);
  out.put_short("DLO_SOURCE", message.source);
  out.put_short("DLO_EVENT_TYPE", message.event_type);
  out.put_short("DLO_KEY", message.key);
  out.put_short("DLO_CORRELATION_ID", message.correlation_id);
  out.put_short("DLO_CONTENT_TYPE", message.content_type);
  out.put("DLO_ENQUEUED_AT", std::string_view(to_iso8601(message.enqueued_at)));
  if (message.expires_at) {
    out.put("DLO_EXPIRES_AT", std::string_view(to_iso8601(*message.expires_at)));
  }
  if (message.position) {
    out.put_short("DLO_PARTITION", message.position->partition);
    out.put("DLO_OFFSET", std::string_view(std::to_string(message.position->offset)));
  }
  if (message.payload) {
    out.put("DLO_PAYLOAD_SIZE", message.payload->size());
  } else {
    out.put("DLO_PAYLOAD_NULL", std::uint64_t{1});
  }
  if (message.owner) put_owner(*message.owner, out);
  const TraceContext trace = trace_of(message, context);
  out.put("TRACEPARENT", std::string_view(trace.parent));
  out.put_if("TRACESTATE", trace.state);
  put_headers(message.headers, out);
  return out.take();
}

}  // namespace dlo
