#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/engine/handler.h"

namespace dlo {

/// Linux refuses a variable of 128 KB and an environment of a quarter of the stack limit. Headers
/// beyond these are left out and counted in DLO_HEADERS_OMITTED: absurd headers must not make a
/// message impossible to run.
inline constexpr std::size_t header_value_limit = 32 * 1024;
inline constexpr std::size_t all_headers_limit = 256 * 1024;

/// "DLO_NAME=value" for everything a program may want to know of a message and its attempt.
/// Names hold only A-Z, 0-9 and _, and always begin with DLO_ (TRACEPARENT and TRACESTATE aside),
/// so no message can set PATH or LD_PRELOAD. Values that a variable cannot hold (NUL, binary
/// headers) come as base64 under the same name with _BASE64 added.
[[nodiscard]] std::vector<std::string> message_environment(const Message& message,
                                                           const RunContext& context);

}  // namespace dlo
