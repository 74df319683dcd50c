#include "dlo/engine/handlers/trace_context.h"

#include <algorithm>
#include <cstdint>

namespace dlo {

namespace {

constexpr std::size_t known_length = 55;  // "00-" 32 "-" 16 "-" 2
constexpr std::size_t state_limit = 512;  // what the W3C text asks everybody to pass on

bool is_lower_hex(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_printable(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_zero(std::string_view text) noexcept {
  return text.find_first_not_of('0') == std::string_view::npos;
}

std::string hex(std::uint64_t value) {
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4U) out[i] = "0123456789abcdef"[value & 15U];
  return out;
}

/// Spreads every bit of `value` over the whole word (Stafford's variant 13 of the Murmur
/// finaliser).
std::uint64_t spread(std::uint64_t value) noexcept {
  value ^= value >> 30U;
  value *= 0xBF58476D1CE4E5B9ULL;
  value ^= value >> 27U;
  value *= 0x94D049BB133111EBULL;
  return value ^ value >> 31U;
}

std::string span_of(const RunContext& context) {
  std::uint64_t mixed = 0x646C6F2D7370616EULL;
  for (const std::uint64_t part :
       {context.id.high, context.id.low, context.fence.high, context.fence.low,
        std::uint64_t{context.counters.total}, std::uint64_t{context.counters.attempt}}) {
    mixed = spread(mixed + part);
  }
  return hex(mixed == 0 ? 1 : mixed);
}

/// What some header named like `traceparent` says, or nothing.
std::string_view text_header(const Headers& headers, std::string_view name) noexcept {
  const Header* header = find_header(headers, name);
  return header == nullptr ? std::string_view{} : std::string_view{header->value};
}

bool is_state(std::string_view text) noexcept {
  return !text.empty() && text.size() <= state_limit && is_printable(text);
}

}  // namespace

bool is_traceparent(std::string_view text) noexcept {
  if (text.size() < known_length || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return false;
  }
  const std::string_view version = text.substr(0, 2);
  const bool longer = text.size() > known_length;
  if (!is_lower_hex(version) || version == "ff") return false;
  if (longer && (version == "00" || text[known_length] != '-')) return false;
  if (!is_printable(text)) return false;
  const std::string_view trace = text.substr(3, 32);
  const std::string_view span = text.substr(36, 16);
  return is_lower_hex(trace) && !is_zero(trace) && is_lower_hex(span) && !is_zero(span) &&
         is_lower_hex(text.substr(53, 2));
}

TraceContext trace_of(const Message& message, const RunContext& context) {
  TraceContext out;
  for (const std::string_view name : {"ce-traceparent", "ce_traceparent", "traceparent"}) {
    const std::string_view text = text_header(message.headers, name);
    if (out.creation.empty() && is_traceparent(text)) out.creation = text;
  }
  std::string_view carried = text_header(message.headers, "traceparent");
  if (!is_traceparent(carried)) carried = out.creation;
  if (carried.empty()) {
    const bool no_id = context.id.high == 0 && context.id.low == 0;
    out.parent = "00-" + (no_id ? hex(0) + hex(1) : hex(context.id.high) + hex(context.id.low)) +
                 "-" + span_of(context) + "-01";
    return out;
  }
  out.parent = "00-" + std::string(carried.substr(3, 32)) + "-" + span_of(context) + "-" +
               std::string(carried.substr(53, 2));
  const std::string_view state = text_header(message.headers, "tracestate");
  if (is_state(state)) out.state = state;
  return out;
}

}  // namespace dlo
