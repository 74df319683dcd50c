#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/message.h"
#include "dlo/engine/handler.h"

namespace dlo {

/// A W3C trace context as text, ready for a header or an environment variable.
struct TraceContext {
  std::string parent;    // "00-<trace>-<span>-<flags>"
  std::string state;     // empty if there is none
  std::string creation;  // the context the message was created in, unchanged; empty if none known
};

/// The context of one attempt: a child of the context the message carries (same trace, same flags,
/// new span), else a new trace whose id is the record's id, so that all attempts of one message
/// are one trace. Derived, not drawn: the same attempt always gets the same span id. A malformed
/// `traceparent` is treated as absent and its `tracestate` is dropped, as the W3C text asks.
[[nodiscard]] TraceContext trace_of(const Message& message, const RunContext& context);

/// Whether `text` is a version 00 `traceparent`, or the known part of a later version.
[[nodiscard]] bool is_traceparent(std::string_view text) noexcept;

}  // namespace dlo
